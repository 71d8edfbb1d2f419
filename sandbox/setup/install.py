"""Requirements are installed: wheels without running anything; what has none is built when nothing can be reached."""

import io
import json
import re
import tarfile
from collections.abc import Mapping

from sandbox.backends.base import Backend
from sandbox.setup.shell import Shell
from sandbox.types import CommandResult, Egress, Frozen, Recipe

_PIN = re.compile(r"[A-Za-z0-9._-]{1,100}==[A-Za-z0-9.!+_-]{1,100}")
_MOST_BUILT = 500
_PLACE = """
import os, shutil, sys, sysconfig
home = os.path.dirname(os.path.dirname(sys.executable))
source, site = sys.argv[1], sysconfig.get_path("purelib", "posix_prefix", {"base": home})
for kind, target in (("site", site), ("bin", os.path.dirname(sys.executable))):
    for folder, _, names in os.walk(os.path.join(source, kind)):
        inner = os.path.join(target, os.path.relpath(folder, os.path.join(source, kind)))
        os.makedirs(inner, exist_ok=True)
        for name in names:
            if kind == "site" or not os.path.exists(os.path.join(inner, name)):
                shutil.copyfile(os.path.join(folder, name), os.path.join(inner, name))
                os.chmod(os.path.join(inner, name), 0o755 if kind == "bin" else 0o644)
"""


class Installed(Frozen):
    """What became of the requirements."""

    built: tuple[str, ...] = ()
    """`name==version` of what had no wheel."""
    egress: Egress = Egress()


async def install(backend: Backend, shell: Shell, recipe: Recipe, files: Mapping[str, str]) -> Installed:
    """Install what a recipe requires. Afterwards the set-up sandbox reaches nothing any more.

    Args:
        backend: Whose sandbox it is.
        shell: The sandbox, its environment made.
        recipe: Names the requirements.
        files: `site/...` and `bin/...` files that make the checkout count as installed.

    Raises:
        SetupFailed: something could not be installed.
    """
    texts = {"requirements.txt": recipe.requirements, "constraints.txt": recipe.constraints}
    bundle = {name: "".join(f"{line}\n" for line in lines).encode() for name, lines in texts.items()}
    bundle |= {name: text.encode() for name, text in files.items()}
    await shell.guest.unpack(pack(bundle), shell.scratch)
    built = await _fetch(shell, recipe) if recipe.requirements else ()
    # From here on code of others may run, and it must not reach anything.
    egress = await backend.end_egress(shell.guest)
    if built:
        await _build(shell)
    if files:
        # Without `site`: it would run the `.pth` files of packages, and the environment may serve others.
        await shell.check(await shell.run(shell.python, "-I", "-S", "-c", _PLACE, shell.scratch), "place the checkout")
    return Installed(built=built, egress=egress)


async def _fetch(shell: Shell, recipe: Recipe) -> tuple[str, ...]:
    """Install wheels; where some are missing, fetch what is to be built. Returns what that is."""
    bounds = ("--constraint", f"{shell.scratch}/constraints.txt") if recipe.constraints else ()
    lines = ("-r", f"{shell.scratch}/requirements.txt", *bounds)
    command = ("uv", "pip", "install", "--python", shell.python, *lines)
    wheels = await shell.run(*command, "--only-binary", ":all:")
    if wheels.ok:
        return ()
    if not _may_need_build(wheels):
        await shell.check(wheels, "install the requirements")
    fetched = await shell.run_ours("fetch_sdists", shell.scratch, shell.python)
    answer = _answer(fetched)
    sources = answer.get("sources")
    if not fetched.ok or not isinstance(sources, list):
        raise shell.failure(fetched, _reason(answer, "could not install the requirements"))
    if len(sources) > _MOST_BUILT or not all(_PIN.fullmatch(str(source)) for source in sources):
        raise shell.failure(fetched, "could not install the requirements")
    return tuple(str(source) for source in sources)


async def _build(shell: Shell) -> None:
    done = await shell.run_ours("build_sdists", shell.scratch, shell.python)
    if not done.ok:
        raise shell.failure(done, _reason(_answer(done), "could not build what has no wheel"))


def _answer(result: CommandResult) -> dict[str, object]:
    """What a guest program told; code of others may have run beside it."""
    try:
        found = json.loads(result.results or b"{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _reason(answer: Mapping[str, object], otherwise: str) -> str:
    reason, package = answer.get("reason"), answer.get("package")
    if not isinstance(reason, str) or not isinstance(package, str):
        return otherwise
    text = f"could not install {package}: {reason}" if package else f"could not install the requirements: {reason}"
    return re.sub(r"[^\x20-\x7e]+", " ", text)[:400]


def _may_need_build(result: CommandResult) -> bool:
    """Whether a wheels-only install failed for want of a wheel, and not for want of the network or the package."""
    return not result.timed_out and re.search(r"wheel|no-binary|only-binary|no-build", result.stderr) is not None


def pack(files: Mapping[str, bytes]) -> bytes:
    """Files as a tar archive, the same bytes for the same files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()
