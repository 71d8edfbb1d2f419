"""Find what commands use and the sandbox has not: clones, archives, artifacts, values."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

from sandbox.recipe.failed_step import describe_unknown
from sandbox.recipe.job import Absent, ToolCommand
from sandbox.runners.builds import is_node_build

_BUILT = re.compile(r"(?<![\w./!-])(?:\./)?dist/\S*(?:[*?]\S*|\.whl|\.tar\.gz)")
_DISTRIBUTION = re.compile(r"\.(?:whl|tar\.gz)(?!\w)")
_BUILDS = re.compile(r"\bbuild\b|\bsdist\b|\bbdist_wheel\b")
_SCRIPT_NAME = r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?[\w:-]+"
_LEFT_OUT = re.compile(
    rf"{_SCRIPT_NAME}|\s-{{1,2}}(?:x|[\w-]{{0,20}}(?:exclude|ignore|skip|omit)[\w-]{{0,20}})(?:=|\s+)\S+"
)
"""Names of scripts, and what options tell a program to leave out."""
_NAMED = re.compile(r"\$(?:([A-Za-z_]\w{0,99})|\{([A-Za-z_]\w{0,99})\})")
_AROUND = {
    "path": (r"(?<![\w./-])(?:\./)?", r"(?![\w.-])"),
    "name": (r"(?<![\w.-])", r"(?![\w.-])"),
    "program": (r"(?<![\w./-])", r"(?![\w./-])"),
}
"""Patterns before and after a place in a command, by its kind."""
_MOST_SHOWN = 100
_MOST_ABSENT = 30
_LONGEST = 20_000


def find_absent(
    absent: Iterable[Absent],
    commands: Sequence[ToolCommand],
    *,
    reads_only: bool,
) -> list[str]:
    """Return the obstacles of commands that use missing files.

    Args:
        absent: The missing files.
        commands: The judged commands, and those that prepare them.
        reads_only: The commands are linters, which need no more than the sources.
    """
    texts = [
        (command.working_directory, _LEFT_OUT.sub(" ", command.command[:_LONGEST]))
        for command in commands
    ]
    found = [
        one.reason
        for one in list(dict.fromkeys(absent))[:_MOST_ABSENT]
        if not (reads_only and one.place == ".")
        and any(_uses(folder, text, one) for folder, text in texts)
    ]
    if not any(is_node_build(one.command) or _BUILDS.search(one.command) for one in commands):
        built = [one[0] for _, text in texts if (one := _BUILT.search(text))]
        found += [
            f"needs {one[:_MOST_SHOWN]}, which no command here builds"
            for one in built
            if _DISTRIBUTION.search(one) or not reads_only
        ]
    return list(dict.fromkeys(found))


def _uses(folder: str, text: str, absent: Absent) -> bool:
    """Return True if a command works in a place, or names it."""
    place = absent.place
    if place == "." or (absent.kind != "program" and f"{folder}/".startswith(f"{place}/")):
        return True
    named = posixpath.relpath(place, folder) if absent.kind == "path" else place
    before, after = _AROUND[absent.kind]
    return re.search(f"{before}{re.escape(named)}{after}", text) is not None


def find_unknown_values(commands: Iterable[ToolCommand], unknown: Mapping[str, str]) -> list[str]:
    """Return the obstacles of commands that name variables which only GitHub knows.

    Args:
        commands: The judged commands.
        unknown: The variables with what they need.
    """
    return [
        f"`{command.command[:_MOST_SHOWN]}` needs {name}: {describe_unknown([unknown[name]])}"
        for command in commands
        for name in dict.fromkeys(one[1] or one[2] for one in _NAMED.finditer(command.command))
        if name in unknown and name not in command.environment
    ]
