"""Read `pdm install`, `pdm run` with its scripts, and the similar rye."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from sandbox.recipe.declared import project_in
from sandbox.recipe.files import beside, inside, mapping, section, words
from sandbox.recipe.job import ToolReading
from sandbox.recipe.lockfiles import read_lock
from sandbox.recipe.requirements import Requirements, clean_lines, read_constraint_file
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import Options, ToolContext, read_options, substitute
from sandbox.recipe.tools.projects import project_folder, read_inner, selected_groups, whole_project

_VALUED = frozenset(
    {
        "-G",
        "--group",
        "--with",
        "--without",
        "-p",
        "--project",
        "-L",
        "--lockfile",
        "--features",
        "--venv",
        "-E",
    }
)

_ARGUMENTS = re.compile(r"\{args(?::([^{}]*))?\}")


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of pdm or rye."""
    start = 1
    while start < len(call.words) and call.words[start].startswith("-"):
        start += 2 if call.words[start] in _VALUED else 1
    asks = call.words[start] if start < len(call.words) else ""
    options = read_options(call.words[1:start] + call.words[start + 1 :], _VALUED)
    if asks in {"install", "sync"}:
        return ToolReading(wanted=_install(call, options, context))
    if asks == "run":
        return _run(call, start + 1, context)
    if asks == "add":
        return ToolReading(
            wanted=clean_lines(list(options.positional), call.line(), context.log, call.folder)
        )
    if asks in {"test", "lint", "fmt"} and call.program == "rye":
        line = {"test": "pytest", "lint": "ruff check", "fmt": "ruff format"}[asks]
        return context.script(" ".join((line, *options.rest)), call.folder, call.environment)
    if asks in {
        "",
        "lock",
        "use",
        "venv",
        "config",
        "cache",
        "self",
        "build",
        "publish",
        "list",
        "info",
        "export",
        "pin",
        "fetch",
    }:
        return ToolReading()
    folder = project_folder(context, call.folder, options, "-p", "--project")
    return _run(call, start, context) if asks in _scripts(context, folder) else None


def _install(call: Call, options: Options, context: ToolContext) -> Requirements:
    folder = project_folder(context, call.folder, options, "-p", "--project")
    toml = context.files.toml(beside(folder, "pyproject.toml"))
    project = project_in(context.files, folder)
    context.log.replaced(
        call.line(), "what the project declares is installed, at the versions of its lock file"
    )
    groups = selected_groups(
        options, project, extras=("--features", "-E"), groups=("-G", "--group", "--with")
    )
    # pdm's word for all groups of optional dependencies.
    if ":all" in groups:
        groups += project.extras
    # Without such an option pdm installs all groups for development.
    if not options.has("--prod", "--production", "--no-dev", "--no-default"):
        groups += [
            *section(toml, "tool", "pdm", "dev-dependencies"),
            *section(toml, "dependency-groups"),
        ]
    without = set(options.split("--without"))
    groups = [name for name in groups if name not in without and not name.startswith(":")]
    rye = words(section(toml, "tool", "rye").get("dev-dependencies"))
    wanted = clean_lines(rye, "tool.rye", context.log, folder).as_for_tests()
    if call.program == "rye":
        for name in ("requirements-dev.lock", "requirements.lock"):
            if context.files.is_file(beside(folder, name)):
                bounds = read_constraint_file(beside(folder, name), context.files)
                wanted = wanted.plus(bounds.with_(files=(), local=()))
    lock = next(iter(options.values("-L", "--lockfile")), "pdm.lock")
    itself = not options.has("--no-self", "--no-root") and project.name is not None
    found = whole_project(
        context, folder, groups, lock, itself=itself, only=options.has("--dev-only")
    )
    return wanted.plus(found).plus(
        Requirements(constraints=read_lock(context.files, folder, "pylock.toml"))
    )


def _scripts(context: ToolContext, folder: str) -> Mapping[str, Any]:
    toml = context.files.toml(beside(folder, "pyproject.toml"))
    return {**section(toml, "tool", "rye", "scripts"), **section(toml, "tool", "pdm", "scripts")}


def _run(call: Call, start: int, context: ToolContext) -> ToolReading:
    """Read a program, or a script of pyproject.toml by name."""
    options = read_options(call.words[start:], _VALUED, stop=True)
    first = len(call.words) - len(options.rest)
    folder = project_folder(context, call.folder, options, "-p", "--project")
    name = call.words[first] if first < len(call.words) else ""
    scripts = _scripts(context, folder)
    # `_` holds options for all scripts, and is none itself.
    if name not in scripts or name == "_":
        return read_inner(call, first, context)
    context.log.replaced(call.line(), f"the script `{name}` of pyproject.toml is run")
    lines, environment = _lines(scripts[name], scripts)
    given = " ".join(call.shown[first + 1 :])
    filled = [
        # Arguments go where the script asks for them, or else to the end.
        substitute(_ARGUMENTS, lambda found: given or found[1] or "", line)
        if "{args" in line
        else f"{line} {given}".strip()
        for line in lines
    ]
    shared = _environment(mapping(scripts.get("_")))
    own = mapping(scripts[name]).get("working_dir")
    place = inside(folder, own) if isinstance(own, str) else None
    variables = {**call.environment, **shared, **environment}
    return context.scripts(filled, place or folder, variables)


def _environment(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the variables of a script, or of all scripts."""
    given = list(mapping(options.get("env")).items())[:50]
    return {str(name): str(value) for name, value in given if isinstance(value, str | int)}


def _lines(
    script: object, scripts: Mapping[str, Any], depth: int = 0
) -> tuple[list[str], dict[str, str]]:
    """Return the command lines of a script; a composite names others."""
    if isinstance(script, str):
        return [script], {}
    if isinstance(script, list):
        quoted = [word if "{args" in word else shlex.quote(word) for word in words(script)]
        return [" ".join(quoted)], {}
    table = mapping(script)
    environment = _environment(table)
    if isinstance(table.get("call"), str):
        module, _, function = str(table["call"]).partition(":")
        return [
            f"python -c 'import {module}; {module}.{function.partition('(')[0]}()'"
        ], environment
    found = table.get("cmd", table.get("shell"))
    if found is not None:
        return _lines(found, scripts, depth)[0] if isinstance(
            found, str | list
        ) else [], environment
    lines: list[str] = []
    for name in words(table.get("composite", table.get("chain")))[:8]:
        first, _, rest = name.partition(" ")
        if first in scripts and depth < 3:  # noqa: PLR2004 (scripts that name each other)
            lines += [
                f"{line} {rest}".strip() for line in _lines(scripts[first], scripts, depth + 1)[0]
            ]
        else:
            lines.append(name)
    return lines[:50], environment
