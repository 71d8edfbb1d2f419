"""Read the scripts of a `package.json` like a Makefile: the commands behind `npm test`."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from sandbox.recipe.command import classify_command
from sandbox.recipe.files import CheckoutFiles, beside, mapping
from sandbox.recipe.job import ToolReading
from sandbox.recipe.preparing import BUILDS
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext
from sandbox.types import StepKind

_PATTERN = re.compile(r"/(?P<start>\^?)(?P<text>[\w:-]+)(?:\.[*+])?\$?/")
_MOST_PACKAGES = 60
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
        None if there is no such script, or no command in it is known to check anything.
    """
    scripts = scripts_of(context.files, call.folder)
    # A build makes files, even if a part of it is known to check something.
    if name not in scripts or name in BUILDS:
        return None
    text = " ".join((scripts[name], *arguments))
    lines = [scripts.get(f"pre{name}", ""), text, scripts.get(f"post{name}", "")]
    noted = len(context.log.entries())
    lines = [line for line in lines if line.strip()]
    reading = context.scripts(lines, call.folder, call.environment)
    kinds = {classify_command(command.command) for command in reading.commands}
    if kinds <= {StepKind.OTHER} and not reading.obstacles:
        return None
    if len(context.log.entries()) == noted:
        context.log.replaced(call.line(), f"its script is run: {text}")
    return reading


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


def packages_with(files: CheckoutFiles, folder: str, script: str) -> list[str]:
    """Return the folders of a workspace whose packages have a script, without its top."""
    prefix = "" if folder == "." else f"{folder}/"
    places = [
        name.rpartition("/")[0]
        for name in sorted(files.contents)
        if name.startswith(prefix)
        and name.endswith("/package.json")
        and name != f"{prefix}package.json"
        and "node_modules/" not in name
    ]
    return [place for place in places if script in scripts_of(files, place)][:_MOST_PACKAGES]


def find_package(files: CheckoutFiles, folder: str, wanted: str) -> list[str]:
    """Return the folders that a workspace option selects: a package's name or a folder."""
    prefix = "" if folder == "." else f"{folder}/"
    plain = wanted.removeprefix("./").strip("/")
    if files.is_file(f"{prefix}{plain}/package.json"):
        return [f"{prefix}{plain}"]
    pattern = wanted.strip("{}").removesuffix("...").removeprefix("./")
    found = []
    for name in sorted(files.contents):
        if name.rsplit("/", 1)[-1] != "package.json" or "node_modules/" in name:
            continue
        place = name.rpartition("/")[0] or "."
        own = files.json(name).get("name")
        if (isinstance(own, str) and fnmatchcase(own, pattern)) or fnmatchcase(place, pattern):
            found.append(place)
    return found[:_MOST_PACKAGES]
