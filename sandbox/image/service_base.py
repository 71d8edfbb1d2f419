"""Bases of the service's images from Debian packages, for hosts without a registry.

`python -m sandbox.image.service_base` prints a tag that depends on all inputs; with a folder, it
writes `web.tar` and `git.tar` there.
"""

import hashlib
import sys
from pathlib import Path

from sandbox.image.build import LEFT_OUT, install_packages, pack_root
from sandbox.spec import SandboxSpec

PACKAGES = ("ca-certificates", "git", "python3", "python3-venv")
UNREAD = (
    *LEFT_OUT,
    "./usr/bin/perl*",
    "./usr/bin/scalar",
    "./usr/lib/*/gconv",
    "./usr/lib/*/libperl*",
    "./usr/lib/*/perl*",
    "./usr/share/bug",
    "./usr/share/i18n",
    "./usr/share/perl*",
    "./var/lib/dpkg/info",
)
"""Paths that neither Python nor the commands of git that we use read."""
OTHERS = (
    "./usr/bin/apt*",
    "./usr/bin/git*",
    "./usr/lib/*/libapt-*",
    "./usr/lib/*/libcurl-*",
    "./usr/lib/*/libgnutls*",
    "./usr/lib/*/libhogweed*",
    "./usr/lib/*/libnettle*",
    "./usr/lib/*/libp11-kit*",
    "./usr/lib/*/libunistring*",
    "./usr/lib/apt",
    "./usr/lib/git-core",
    "./usr/lib/python3*/distutils",
    "./usr/lib/python3*/lib2to3",
    "./usr/lib/python3*/pydoc_data",
    "./usr/share/git-core",
    "./usr/share/gitweb",
    "./usr/share/python-wheels",
    "./usr/sbin/*",
    "./var/cache/debconf",
)
"""Paths that only apt, git, new environments and administrators read."""
BASES = {"web": (*UNREAD, *OTHERS), "git": UNREAD}
"""Paths that each base leaves out."""


def hash_inputs(spec: SandboxSpec) -> str:
    """Return twelve hex digits that depend on all inputs of the bases."""
    inputs = repr((spec.debian_suite, PACKAGES, BASES)).encode()
    return hashlib.sha256(inputs).hexdigest()[:12]


def write_bases(spec: SandboxSpec, folder: Path) -> None:
    """Write the root file system of each base as a tar archive.

    Args:
        spec: The Debian suite.
        folder: An existing folder.

    Raises:
        SandboxUnavailable: This host cannot build them.
    """
    root = folder / "root"
    install_packages(root, spec.debian_suite, PACKAGES)
    for name, left_out in BASES.items():
        pack_root(root, folder / f"{name}.tar", left_out)


def main(arguments: list[str]) -> None:
    """Write the archives to the named folder, or print the tag."""
    if arguments:
        write_bases(SandboxSpec(), Path(arguments[0]))
    else:
        sys.stdout.write(hash_inputs(SandboxSpec()) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
