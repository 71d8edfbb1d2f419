"""Install requirements: wheels first; source builds only after the network is cut."""

import json
import re
from collections.abc import Mapping

from sandbox.backends.base import Backend
from sandbox.errors import SetupFailed
from sandbox.guest.unavailable import read_unavailable
from sandbox.setup.python.interpreters import Interpreters
from sandbox.setup.shell import Shell, pack
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, PythonPart, Recipe

_PIN = re.compile(r"[A-Za-z0-9._-]{1,100}==[A-Za-z0-9.!+_-]{1,100}")
_MOST_BUILT = 500
_PLACE = """
import csv, os, re, shutil, sys, sysconfig
home = os.path.dirname(os.path.dirname(sys.executable))
source, site = sys.argv[1], sysconfig.get_path("purelib", "posix_prefix", {"base": home})
def projects(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else ()
    return {name: re.sub("[-_.]+", "-", name.split("-")[0]).lower()
            for name in names if name.endswith(".dist-info")}
ours = set(projects(os.path.join(source, "site")).values())
# A dependency may have installed a release of the checkout's own project. As an installer does,
# remove it: its modules and metadata would come before the checkout's.
for info in [info for info, name in projects(site).items() if name in ours]:
    record = os.path.join(site, info, "RECORD")
    with open(os.devnull if not os.path.isfile(record) else record, newline="") as file:
        paths = [os.path.normpath(os.path.join(site, row[0])) for row in csv.reader(file) if row]
    for path in paths:
        if path.startswith(site + os.sep) and os.path.isfile(path):
            os.unlink(path)
            folder = os.path.dirname(path)
            while folder != site and not set(os.listdir(folder)) - {"__pycache__"}:
                shutil.rmtree(folder)
                folder = os.path.dirname(folder)
    shutil.rmtree(os.path.join(site, info), ignore_errors=True)
for kind, target in (("site", site), ("bin", os.path.dirname(sys.executable))):
    for folder, _, names in os.walk(os.path.join(source, kind)):
        inner = os.path.join(target, os.path.relpath(folder, os.path.join(source, kind)))
        os.makedirs(inner, exist_ok=True)
        for name in names:
            if kind == "site" or not os.path.exists(os.path.join(inner, name)):
                shutil.copyfile(os.path.join(folder, name), os.path.join(inner, name))
                os.chmod(os.path.join(inner, name), 0o755 if kind == "bin" else 0o644)
"""


_LOCK = """
import hashlib, importlib.metadata, re, sys
found = {(re.sub(r"[-_.]+", "-", one.metadata["Name"] or "").lower(), one.version)
         for one in importlib.metadata.distributions(path=sys.argv[1:])}
lines = "".join(f"{name}=={version}\\n" for name, version in sorted(found))
print(hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest())
"""


class PythonToolchain:
    """The set-up of a recipe's Python part; every environment has one.

    Args:
        backend: Where environments are set up.
        spec: The sources of Pythons and packages.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self._spec = spec
        self._interpreters = Interpreters(backend, spec)

    def expect(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the Python that an environment will probably get."""
        return _with_version(recipe, self._interpreters.expected(recipe.python.version))

    def runtime(self, recipe: Recipe) -> Recipe | None:
        """Return a recipe of the requested Python alone; None for the image's."""
        version = recipe.python.version
        return None if version is None else _with_version(Recipe(command=""), version)

    async def provide(self, shell: Shell, recipe: Recipe) -> Recipe:
        """Create the environment's folder with the requested Python, else with the nearest."""
        version = await self._interpreters.make_environment(shell, recipe.python.version)
        return _with_version(recipe, version)

    async def fetch(
        self, shell: Shell, recipe: Recipe, files: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Install wheels, and fetch the sources of distributions without one."""
        python = recipe.python
        if python.version is None:
            await self._interpreters.make_environment(shell, None)
        texts = {"requirements.txt": python.requirements, "constraints.txt": python.constraints}
        bundle = {
            name: "".join(f"{line}\n" for line in lines).encode() for name, lines in texts.items()
        }
        bundle |= {name: text.encode() for name, text in files.items() if _is_placed(name)}
        await shell.guest.unpack(pack(bundle), shell.scratch)
        return await _fetch(shell, python) if python.requirements else ()

    async def build(
        self,
        shell: Shell,
        recipe: Recipe,  # noqa: ARG002 - required by the protocol
        files: Mapping[str, str],
        fetched: tuple[str, ...],
    ) -> None:
        """Build source distributions, then make the checkout count as installed."""
        if fetched:
            await _build(shell)
        if any(map(_is_placed, files)):
            # Without `site`: it would run the packages' `.pth` files, and other repositories may
            # use the environment.
            await shell.check(
                await shell.run(shell.python, "-I", "-S", "-c", _PLACE, shell.scratch),
                "place the checkout",
            )

    async def lock_hash(self, shell: Shell) -> str:
        """Return the SHA-256 over the installed distributions, without running any of them."""
        script = f'exec "$1" -I -S -c "$2" {shell.folder}/lib*/python*/site-packages'
        command = ("/bin/sh", "-c", script, "sh", shell.guest.python, _LOCK)
        done = await shell.run(*command, wall_s=60.0)
        return found[0] if (found := re.findall(r"^[0-9a-f]{64}$", done.stdout.strip())) else ""

    def key(self, recipe: Recipe) -> dict[str, object]:
        """Return the Python with its sources, and the packages."""
        python, spec = recipe.python, self._spec
        sources = (spec.python_downloads, spec.python_mirror, spec.python_downloads_json)
        return {
            "python": (python.version, *sources) if python.version is not None else None,
            "requirements": sorted(python.requirements),
            "constraints": sorted(python.constraints),
        }


def _with_version(recipe: Recipe, version: str | None) -> Recipe:
    return recipe.with_part(recipe.python.with_(version=version))


def _is_placed(name: str) -> bool:
    return name.startswith(("site/", "bin/"))


async def _fetch(shell: Shell, python: PythonPart) -> tuple[str, ...]:
    """Install wheels, and fetch the sources of missing ones. Return the sources to build."""
    bounds = ("--constraint", f"{shell.scratch}/constraints.txt") if python.constraints else ()
    lines = ("-r", f"{shell.scratch}/requirements.txt", *bounds)
    command = ("uv", "pip", "install", "--python", shell.python, *lines)
    # Wheels are unpacked without running code. Source distributions run their build script.
    wheels = await shell.run(*command, "--only-binary", ":all:")
    if wheels.ok:
        return ()
    if not _may_need_build(wheels):
        blamed = read_unavailable(wheels.stderr)
        if blamed is not None:
            what = f"could not install {blamed.name}: {blamed.reason}"
            raise shell.failure(wheels, what, (blamed.name,))
        await shell.check(wheels, "install the requirements")
    fetched = await shell.run_ours("fetch_sdists", shell.scratch, shell.python)
    answer = _parse_reply(fetched)
    sources = answer.get("sources")
    if not fetched.ok or not isinstance(sources, list):
        raise _failure(shell, fetched, answer, "could not install the requirements")
    if len(sources) > _MOST_BUILT or not all(_PIN.fullmatch(str(source)) for source in sources):
        raise shell.failure(fetched, "could not install the requirements")
    return tuple(str(source) for source in sources)


async def _build(shell: Shell) -> None:
    done = await shell.run_ours("build_sdists", shell.scratch, shell.python)
    if not done.ok:
        raise _failure(shell, done, _parse_reply(done), "could not build what has no wheel")


def _parse_reply(result: CommandResult) -> dict[str, object]:
    """Parse a guest program's reply. Package code may have tampered with it."""
    try:
        found = json.loads(result.results or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _failure(
    shell: Shell, result: CommandResult, answer: Mapping[str, object], otherwise: str
) -> SetupFailed:
    """Return the error for a guest program that failed."""
    given = answer.get("requested")
    names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    return shell.failure(result, _describe_failure(answer, otherwise), tuple(names[:_MOST_BUILT]))


def _describe_failure(answer: Mapping[str, object], otherwise: str) -> str:
    reason, package = answer.get("reason"), answer.get("package")
    if not isinstance(reason, str) or not isinstance(package, str):
        return otherwise
    text = (
        f"could not install {package}: {reason}"
        if package
        else f"could not install the requirements: {reason}"
    )
    return re.sub(r"[^\x20-\x7e]+", " ", text)[:400]


def _may_need_build(result: CommandResult) -> bool:
    """Return True if a wheels-only install failed only because a wheel is missing."""
    return (
        not result.timed_out
        and re.search(r"wheel|no-binary|only-binary|no-build", result.stderr) is not None
    )
