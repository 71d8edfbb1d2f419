"""`python -m module`, `python setup.py test`, `python script.py`: what a call of the interpreter is for."""

from sandbox.recipe.command import kind_of
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Local, Wanted
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools import hatch, nox, pdm, pip, pipenv, poetry, pre_commit, tox, uv
from sandbox.recipe.tools.base import Desk, Reader, checks, runs
from sandbox.types import StepKind

_MODULES: dict[str, Reader] = {
    "pip": pip.read,
    "uv": uv.read,
    "pipx": uv.read,
    "tox": tox.read,
    "nox": nox.read,
    "hatch": hatch.read,
    "poetry": poetry.read,
    "pipenv": pipenv.read,
    "pdm": pdm.read,
    "pre_commit": pre_commit.read,
}
_NOTHING = frozenset({"venv", "virtualenv", "ensurepip", "site", "sysconfig", "platform"})
_DROPPED = {
    "build": "the project counts as installed",
    "twine": "nothing is published",
    "coverage": "coverage is not judged",
}
_WITH_VALUE = frozenset({"-W", "-X"})


def read_python(call: Call, desk: Desk) -> ToolReading | None:
    """A call of the interpreter."""
    index = 1
    while index < len(call.words) and call.words[index].startswith("-") and call.words[index] not in {"-m", "-c", "-"}:
        index += 2 if call.words[index] in _WITH_VALUE else 1
    if index >= len(call.words):
        return ToolReading()  # `python --version`
    if call.words[index] == "-m" and index + 1 < len(call.words):
        return _module(call, index + 1, desk)
    if call.words[index] == "-c":
        return _inline(call, index, desk)
    if call.words[index].rpartition("/")[2] == "setup.py":
        return _setup(call, index, desk)
    return runs(_named(call))


def _named(call: Call) -> Call:
    """With the environment's own interpreter, whatever the script calls it."""
    return call.with_(words=("python", *call.words[1:]), shown=("python", *call.shown[1:]))


def _module(call: Call, index: int, desk: Desk) -> ToolReading | None:
    module = call.words[index]
    if module in _NOTHING:
        return ToolReading()
    if module in _MODULES:
        return _MODULES[module](call.from_(index), desk)
    if module in _DROPPED:
        desk.log.dropped(call.line(), _DROPPED[module])
        return ToolReading()
    named = _named(call)
    return checks(named, desk) if kind_of(named.line()) is not StepKind.OTHER else runs(named)


def _inline(call: Call, index: int, desk: Desk) -> ToolReading:
    """`python -c`: kept, unless it only looks around."""
    code = call.words[index + 1] if index + 1 < len(call.words) else ""
    if "print(" in code and not any(word in code for word in ("open(", "write", "mkdir", "assert", "exit", "raise")):
        desk.log.dropped(call.line(), "it only prints")
        return ToolReading()
    return runs(_named(call))


def _setup(call: Call, index: int, desk: Desk) -> ToolReading:
    """`python setup.py test|install|develop|build_ext`."""
    asked = set(call.words[index + 1 :])
    if asked & {"test", "pytest", "ptr"}:
        desk.log.replaced(call.line(), "setup.py is not run: its tests are run with pytest directly")
        wanted = Wanted(local=(Local(folder=call.folder, extras=("test", "tests", "testing")),))
        return runs(call.with_(words=("python", "-m", "pytest"), shown=("python", "-m", "pytest"), whole=True)).with_(
            wanted=wanted
        )
    if asked & {"install", "develop"}:
        desk.log.replaced(call.line(), "setup.py is not run: the project counts as installed")
        return ToolReading(wanted=Wanted(local=(Local(folder=call.folder),)))
    if asked & {"build_ext"} and "--inplace" in asked | {"--inplace" if "-i" in asked else ""}:
        needs = Wanted(lines=("setuptools", *(("cython",) if "--cython" in asked else ())))
        return runs(_named(call)).with_(wanted=needs)
    if asked & {"check", "sdist", "bdist_wheel", "build", "clean", "egg_info", "upload"}:
        desk.log.dropped(call.line(), "setup.py is not run: the project counts as installed")
        return ToolReading()
    return runs(_named(call))
