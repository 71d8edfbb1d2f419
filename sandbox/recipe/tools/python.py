"""Read calls of the interpreter: `python -m module`, `python setup.py test`, `python script.py`."""

from sandbox.recipe.command import classify_command
from sandbox.recipe.job import ToolReading
from sandbox.recipe.requirements import Local, Requirements
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools import hatch, nox, pdm, pip, pipenv, poe, poetry, pre_commit, tox, uv
from sandbox.recipe.tools.base import Reader, ToolContext, checked_command, plain_command
from sandbox.recipe.tools.wrappers import skip_python_options
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
    "poethepoet": poe.read,
}
_NOTHING = frozenset({"venv", "virtualenv", "ensurepip", "site", "sysconfig", "platform"})
_DROPPED = {
    "build": "the project counts as installed",
    "twine": "nothing is published",
    "coverage": "coverage is not checked",
}


def read_python(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of the interpreter."""
    index = skip_python_options(call.words)
    if index >= len(call.words):
        return ToolReading()  # `python --version`
    if call.words[index] == "-m" and index + 1 < len(call.words):
        return _module(call, index + 1, context)
    if call.words[index] == "-c":
        return _inline(call, index, context)
    if call.words[index].rpartition("/")[2] == "setup.py":
        return _setup(call, index, context)
    return plain_command(_with_own_python(call))


def _with_own_python(call: Call) -> Call:
    """Replace the interpreter by the environment's own."""
    return call.with_(words=("python", *call.words[1:]), shown=("python", *call.shown[1:]))


def _module(call: Call, index: int, context: ToolContext) -> ToolReading | None:
    module = call.words[index]
    if module in _NOTHING:
        return ToolReading()
    if module in _MODULES:
        return _MODULES[module](call.from_(index), context)
    if module in _DROPPED:
        context.log.dropped(call.line(), _DROPPED[module])
        return ToolReading()
    named = _with_own_python(call)
    return (
        checked_command(named, context)
        if classify_command(named.line()) is not StepKind.OTHER
        else plain_command(named)
    )


def _inline(call: Call, index: int, context: ToolContext) -> ToolReading:
    """Read `python -c`: it is kept unless it only prints."""
    code = call.words[index + 1] if index + 1 < len(call.words) else ""
    if "print(" in code and not any(
        word in code for word in ("open(", "write", "mkdir", "assert", "exit", "raise")
    ):
        context.log.dropped(call.line(), "it only prints")
        return ToolReading()
    return plain_command(_with_own_python(call))


def _setup(call: Call, index: int, context: ToolContext) -> ToolReading:
    """Read `python setup.py test|install|develop|build_ext`."""
    asked = set(call.words[index + 1 :])
    if asked & {"test", "pytest", "ptr"}:
        context.log.replaced(
            call.line(), "setup.py is not run: its tests are run with pytest directly"
        )
        wanted = Requirements(
            local=(Local(folder=call.folder, extras=("test", "tests", "testing")),)
        )
        return plain_command(
            call.with_(
                words=("python", "-m", "pytest"), shown=("python", "-m", "pytest"), whole=True
            )
        ).with_(wanted=wanted)
    if asked & {"install", "develop"}:
        context.log.replaced(call.line(), "setup.py is not run: the project counts as installed")
        return ToolReading(wanted=Requirements(local=(Local(folder=call.folder),)))
    if asked & {"build_ext"} and "--inplace" in asked | {"--inplace" if "-i" in asked else ""}:
        needs = Requirements(lines=("setuptools", *(("cython",) if "--cython" in asked else ())))
        return plain_command(_with_own_python(call)).with_(wanted=needs)
    if asked & {"check", "sdist", "bdist_wheel", "build", "clean", "egg_info", "upload"}:
        context.log.dropped(call.line(), "setup.py is not run: the project counts as installed")
        return ToolReading()
    return plain_command(_with_own_python(call))
