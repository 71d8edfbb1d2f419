"""Read `pipenv install` and `pipenv run`, with Pipfile and Pipfile.lock."""

from collections.abc import Mapping
from typing import Any

from sandbox.recipe.files import beside, inside, section
from sandbox.recipe.job import ToolReading
from sandbox.recipe.lockfiles import read_lock
from sandbox.recipe.poetry_table import poetry_lines, poetry_paths
from sandbox.recipe.requirements import Local, Requirements, clean_lines
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools import pip
from sandbox.recipe.tools.base import ToolContext, read_options
from sandbox.recipe.tools.projects import project_folder, read_inner

_VALUED = frozenset(
    {
        "--python",
        "-r",
        "--requirements",
        "--categories",
        "--index",
        "-i",
        "--extra-pip-args",
        "--pypi-mirror",
    }
)


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of pipenv."""
    start = 1
    while start < len(call.words) and call.words[start].startswith("-"):
        start += 2 if call.words[start] in _VALUED else 1
    asks = call.words[start] if start < len(call.words) else ""
    options = read_options(call.words[start + 1 :], _VALUED)
    if asks in {"install", "sync"}:
        named = [
            *(part for value in options.values("-r", "--requirements") for part in ("-r", value)),
            *options.positional,
        ]
        wanted = pip.read_install(call, tuple(named), context)
        dev = options.has("--dev", "-d") or "dev-packages" in options.split("--categories")
        context.log.replaced(
            call.line(), "the Pipfile's packages are installed in the versions of Pipfile.lock"
        )
        return ToolReading(wanted=wanted.plus(_packages(call, context, dev=dev)))
    if asks == "run":
        return _run(call, start + 1, context)
    if asks in {
        "lock",
        "check",
        "verify",
        "--version",
        "graph",
        "clean",
        "requirements",
        "--venv",
        "update",
        "",
        "audit",
    }:
        return ToolReading()
    return None


def _pipfile(call: Call, context: ToolContext) -> tuple[str, Mapping[str, Any]]:
    folder = project_folder(context, call.folder, read_options((), ()), marker="Pipfile")
    return folder, context.files.toml(beside(folder, "Pipfile"))


def _packages(call: Call, context: ToolContext, *, dev: bool) -> Requirements:
    folder, table = _pipfile(call, context)
    wanted = Requirements(constraints=read_lock(context.files, folder, "Pipfile.lock"))
    for name in ("packages", *(("dev-packages",) if dev else ())):
        packages = section(table, name)
        lines = [line.replace("==*", "") for line in poetry_lines(packages)]
        found = clean_lines(lines, "Pipfile", context.log, folder)
        wanted = wanted.plus(found.as_for_tests() if name == "dev-packages" else found)
        places = (inside(folder, path) for path in poetry_paths(packages))
        wanted = wanted.plus(
            Requirements(local=tuple(Local(folder=place) for place in places if place is not None))
        )
    return wanted


def _run(call: Call, start: int, context: ToolContext) -> ToolReading:
    """Read a program, or a script of the Pipfile by name."""
    folder, table = _pipfile(call, context)
    name = call.words[start] if start < len(call.words) else ""
    script = section(table, "scripts").get(name)
    if isinstance(script, str):
        context.log.replaced(call.line(), f"the script `{name}` of the Pipfile is run")
        return context.script(
            " ".join((script, *call.shown[start + 1 :])), folder, call.environment
        )
    return read_inner(call, start, context)
