"""Build the toolchain's root file system from Debian packages, for hosts without a registry."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from sandbox.errors import SandboxUnavailable
from sandbox.spec import SANDBOX_UID, SandboxSpec

PACKAGES = (
    "ca-certificates",
    "g++",
    "gcc",
    "git",
    "libc6-dev",
    "make",
    "procps",
    "python3",
    "python3-dev",
    "python3-venv",
    "tzdata",
)
"""Debian packages of the toolchain."""

NEWER = {
    "bookworm": {
        "cargo": "cargo-web",
        "rust-clippy": "rust-web-clippy",
        "rustc": "rustc-web",
        "rustfmt": "rustfmt-web",
    }
}
"""Newer versions of a suite's packages, which Debian keeps beside them to build web browsers."""

UV_VERSION = "0.13.9"
"""Version of the installer, from the Python package index."""

RECIPE = 1
"""Version of the build steps below; a higher number rebuilds the image."""

LEFT_OUT = (
    "./dev/*",
    "./proc/*",
    "./sys/*",
    "./debootstrap",
    "./var/cache/apt/*",
    "./var/lib/apt/lists/*",
    "./var/log/*",
    "./usr/share/doc/*",
    "./usr/share/man/*",
    "./usr/share/info/*",
    "./usr/share/locale/*",
)
"""Path patterns that the archive excludes."""

BUILD_WALL_S = 1200.0

ADVICE = "Set sandbox.image to an image that can be pulled, or choose --sandbox-backend local."

DOCKERFILE = Path(__file__).with_name("Dockerfile")
"""The same image for hosts with access to a registry."""


def newest(suite: str, packages: Sequence[str]) -> tuple[str, ...]:
    """Return the packages, each exchanged for its newer version if the suite has one.

    Args:
        suite: The Debian suite.
        packages: Names of packages.
    """
    newer = NEWER.get(suite, {})
    return tuple(newer.get(name, name) for name in packages)


def inputs_hash(spec: SandboxSpec) -> str:
    """Return twelve hex digits that depend on all inputs of the image."""
    further = sorted(set(spec.debian_packages))
    parts = (str(RECIPE), spec.debian_suite, UV_VERSION, *PACKAGES, *LEFT_OUT, *further)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def run_tool(
    argv: list[str],
    what: str,
    *,
    extra_env: dict[str, str] | None = None,
    wall_s: float = BUILD_WALL_S,
) -> str:
    """Run a host tool and return its output.

    Args:
        argv: The command.
        what: Its purpose, in a few words.
        extra_env: Additional variables.
        wall_s: Time limit in seconds.

    Raises:
        SandboxUnavailable: The tool failed.
    """
    command = [
        "/usr/bin/env",
        *(f"{name}={value}" for name, value in (extra_env or {}).items()),
        *argv,
    ]
    try:
        # Not in the caller's folder: it may be a checkout, and `python -m pip` would import its
        # modules.
        done = subprocess.run(  # noqa: S603 (fixed programs, arguments made here)
            command,
            cwd="/",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=wall_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        # This error's text contains the whole command, with the proxy's password: it must not be
        # shown.
        raise SandboxUnavailable(f"{what} took longer than {wall_s:g} s.", ADVICE) from None
    except OSError as error:
        raise SandboxUnavailable(f"{what} failed: {error.strerror}", ADVICE) from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise SandboxUnavailable(f"{what} failed: {' '.join(last)[:300]}", ADVICE)
    return done.stdout


def choose_mirror(targets: str, suite: str) -> str | None:
    """Return the package mirror of a suite from apt's configuration.

    Args:
        targets: Lines of `release component site`.
        suite: The Debian suite.

    Returns:
        None if this host has no mirror of the suite; debootstrap then uses its default.
    """
    for line in targets.splitlines():
        release, _, rest = line.partition(" ")
        component, _, site = rest.partition(" ")
        if release == suite and component == "main" and site.startswith(("http://", "https://")):
            return site.strip()
    return None


def _mirror(suite: str) -> str | None:
    if shutil.which("apt-get") is None:
        return None
    form = "$(RELEASE) $(COMPONENT) $(SITE)"
    return choose_mirror(
        run_tool(["apt-get", "indextargets", "--format", form], "Asking apt for its mirrors"), suite
    )


def _proxy() -> dict[str, str]:
    """Return apt's proxy for debootstrap."""
    if shutil.which("apt-config") is None:
        return {}
    output = run_tool(
        ["apt-config", "shell", "PROXY", "Acquire::http::Proxy"], "Asking apt for its proxy"
    )
    value = output.strip().removeprefix("PROXY=").strip("'")
    return {"http_proxy": value} if value and value != "DIRECT" else {}


def _pip() -> list[str]:
    """Return the start of a command for the host's pip."""
    for candidate in (
        [sys.executable, "-m", "pip"],
        ["pip3"],
        ["pip"],
        ["/usr/bin/python3", "-m", "pip"],
    ):
        with contextlib.suppress(SandboxUnavailable):
            run_tool([*candidate, "--version"], "Looking for pip")
            return candidate
    raise SandboxUnavailable("No pip was found on this host to fetch uv with.", ADVICE)


def fetch_uv(target: Path) -> None:
    """Write the uv program to `target`, extracted from its wheel."""
    with tempfile.TemporaryDirectory(prefix="metaagent-uv-") as folder:
        wanted = [
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--dest",
            folder,
            f"uv=={UV_VERSION}",
        ]
        run_tool([*_pip(), *wanted], "Fetching uv from the package index")
        wheels = sorted(Path(folder).glob("uv-*.whl"))
        if not wheels:
            raise SandboxUnavailable("The package index has no wheel of uv.", ADVICE)
        with zipfile.ZipFile(wheels[0]) as wheel:
            program = wheel.read(f"uv-{UV_VERSION}.data/scripts/uv")
    fresh = target.with_name(target.name + ".new")
    fresh.write_bytes(program)
    fresh.chmod(0o755)
    fresh.replace(target)


def _add_user_and_folders(root: Path) -> None:
    """Create the user and the folders of the sandbox."""
    with (root / "etc/passwd").open("a") as file:
        file.write(f"sandbox:x:{SANDBOX_UID}:{SANDBOX_UID}::/home/sandbox:/bin/sh\n")
    with (root / "etc/group").open("a") as file:
        file.write(f"sandbox:x:{SANDBOX_UID}:\n")
    for folder in ("opt/env", "opt/metaagent/guest", "work", "home/sandbox"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in ("opt/env", "work", "home/sandbox"):
        os.chown(root / folder, SANDBOX_UID, SANDBOX_UID)
    # Setuid programs have no effect inside, and snapshots do not need them.
    for path in (root / "usr/bin").iterdir():
        if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o6000:
            path.chmod(path.stat().st_mode & 0o1777)


@contextlib.contextmanager
def root_archive(spec: SandboxSpec) -> Iterator[IO[bytes]]:
    """Build the toolchain's root file system and yield it as an open tar archive.

    Args:
        spec: The Debian suite, and further packages.

    Raises:
        SandboxUnavailable: This host cannot build it.
    """
    with tempfile.TemporaryDirectory(prefix="metaagent-image-") as folder:
        root = Path(folder) / "root"
        install_packages(root, spec.debian_suite, (*PACKAGES, *spec.debian_packages))
        fetch_uv(root / "usr/local/bin/uv")
        _add_user_and_folders(root)
        archive = root.with_suffix(".tar")
        pack_root(root, archive)
        shutil.rmtree(root)
        with archive.open("rb") as file:
            yield file


def install_packages(root: Path, suite: str, packages: Sequence[str]) -> None:
    """Install Debian packages to a new root file system.

    Args:
        root: The folder to create.
        suite: The Debian suite.
        packages: Names of packages; those they need come along, recommended ones do not.

    Raises:
        SandboxUnavailable: This host cannot do it.
    """
    debootstrap = shutil.which("debootstrap", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if debootstrap is None:
        raise SandboxUnavailable(
            "The toolchain image cannot be built: debootstrap is not installed.", ADVICE
        )
    if os.geteuid() != 0:
        raise SandboxUnavailable(
            "The toolchain image can only be built from Debian packages by root.", ADVICE
        )
    mirror = _mirror(suite)
    wanted = ("--variant=minbase", f"--include={','.join(packages)}", suite, str(root))
    argv = [debootstrap, *wanted, *([mirror] if mirror else [])]
    run_tool(argv, "Installing Debian packages", extra_env=_proxy())


def pack_root(root: Path, archive: Path, left_out: Sequence[str] = LEFT_OUT) -> None:
    """Write a root file system to a tar archive.

    Args:
        root: The folder.
        archive: The file to write.
        left_out: Patterns of paths that no program reads.
    """
    patterns = [f"--exclude={pattern}" for pattern in left_out]
    options = ("--numeric-owner", "--one-file-system", *patterns)
    run_tool(["tar", "-C", str(root), *options, "-cf", str(archive), "."], "Packing the image")
