"""Read the scripts of a `package.json` like a Makefile: the commands behind `npm test`."""

import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from sandbox.recipe.checks import may_fail
from sandbox.recipe.command import classify_command
from sandbox.recipe.files import CheckoutFiles, beside, mapping
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.preparing import BUILDS, prepares
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext
from sandbox.runners.builds import is_build_script
from sandbox.types import StepKind

_PATTERN = re.compile(r"/(?P<start>\^?)(?P<text>[\w:-]+)(?:\.[*+])?\$?/")
_MOST_NAMES = 20


def scripts_of(files: CheckoutFiles, folder: str) -> dict[str, str]:
    """Return the scripts of a folder's `package.json`."""
    found = mapping(files.json(beside(folder, "package.json")).get("scripts"))
    return {name: text for name, text in found.items() if isinstance(text, str)}


def read_script(
    call: Call, name: str, arguments: Iterable[str], context: ToolContext
) -> ToolReading | None:
    """Read a script with its `pre` and `post` scripts.

    Args:
        call: The call that runs it, in the folder of the `package.json`.
        name: The script's name.
        arguments: Further arguments for its last command, quoted.
        context: The files of the checkout.

    Returns:
        None if there is no such script, or it is better run unchanged: no command in it is known to
        check anything, or none is what its name says (`test`) and some are unknown.
    """
    scripts = scripts_of(context.files, call.folder)
    # A build makes files, even if a part of it is known to check something.
    if name not in scripts or name in BUILDS:
        return None
    text = " ".join((scripts[name], *arguments))
    lines = [scripts.get(f"pre{name}", ""), text, scripts.get(f"post{name}", "")]
    noted = context.log.position()
    lines = [line for line in lines if line.strip()]
    inside = replace(context, in_package=True)
    reading = inside.scripts(lines, call.folder, call.environment)
    kinds = {classify_command(command.command) for command in reading.commands}
    wanted = classify_command(f"npm run {name}")
    is_unknown = (kinds <= {StepKind.OTHER} and not _is_spread(call, reading, context)) or (
        wanted is not StepKind.OTHER
        and wanted not in kinds
        and any(_is_unknown(command, context) for command in reading.commands)
    )
    if is_unknown and not reading.obstacles:
        context.log.forget(noted)
        return None
    if context.log.position() == noted:
        context.log.replaced(call.line(), f"its script is run: {text}")
    return reading


def _is_spread(call: Call, reading: ToolReading, context: ToolContext) -> bool:
    """Return True if a script only builds packages of a workspace, one by one."""
    folders = {command.working_directory for command in reading.commands}
    is_building = all(prepares(command, context.files) for command in reading.commands)
    return bool(folders - {call.folder}) and is_building


def _is_unknown(command: ToolCommand, context: ToolContext) -> bool:
    """Return True if a command of a script may be a check that is not known as one."""
    is_known = classify_command(command.command) is not StepKind.OTHER
    return not is_known and may_fail(command, context.files, is_behind=False)


def matching_scripts(files: CheckoutFiles, folder: str, patterns: Iterable[str]) -> list[str]:
    """Return the scripts that `npm-run-all` would run, in order: `lint:*` names several."""
    scripts = scripts_of(files, folder)
    found: list[str] = []
    for word in patterns:
        pattern = word.strip("'\"")
        # A colon separates like a slash does in paths, which seldom matters here.
        named = [pattern] if pattern in scripts else []
        named = named or [name for name in scripts if fnmatchcase(name, pattern)]
        found += [name for name in named if name not in found]
    return found[:_MOST_NAMES]


def named_by_pattern(files: CheckoutFiles, folder: str, word: str) -> list[str]:
    """Return the scripts that `pnpm run "/^test:/"` runs; only plain prefixes are understood."""
    found = _PATTERN.fullmatch(word)
    if found is None:
        return []
    start, text = found["start"], found["text"]
    return [
        name
        for name in scripts_of(files, folder)
        if (name.startswith(text) if start else text in name)
    ][:_MOST_NAMES]


class Needed(NamedTuple):
    """The scripts that run before a task of a workspace."""

    builds: tuple[str, ...] = ()
    """They run in all packages."""
    checks: tuple[str, ...] = ()
    """Other tasks, of the same packages."""


def needed_scripts(files: CheckoutFiles, folder: str, name: str) -> Needed:
    """Return what `turbo.json` or `nx.json` run before a script of the packages."""
    turbo, nx = files.json(beside(folder, "turbo.json")), files.json(beside(folder, "nx.json"))
    tasks = mapping(turbo.get("tasks") or turbo.get("pipeline") or nx.get("targetDefaults"))
    builds: list[str] = []
    checks: list[str] = []
    left = [name]
    for task in left:  # grows below
        listed = mapping(tasks.get(task)).get("dependsOn")
        for one in listed if isinstance(listed, list) else ():
            script = mapping(one).get("target", one)
            if not isinstance(script, str) or len(left) >= _MOST_NAMES:
                continue
            plain = script.lstrip("^")
            if plain not in left:
                left.append(plain)
                found = builds if is_build_script(plain) else checks
                # What another package checks is no part of this one's task.
                found += [plain] if found is builds or plain == script else []
    return Needed(tuple(reversed(builds)), tuple(reversed(checks)))
