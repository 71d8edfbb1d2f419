"""Find what commands use and the sandbox has not: clones, archives, artifacts, values."""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

from sandbox.recipe.files import CheckoutFiles, inside
from sandbox.recipe.job import Absent, ToolCommand, ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import read_options
from sandbox.runners.builds import is_node_build

_CLONE_VALUED = frozenset({"-b", "--branch", "--depth", "-o", "--origin", "-c", "-j", "--jobs"})
_BUILT = re.compile(r"(?<![\w./-])(?:\./)?dist/\S*(?:[*?]\S*|\.whl|\.tar\.gz)")
_BUILDS = re.compile(r"\bbuild\b|\bsdist\b|\bbdist_wheel\b")
_SCRIPT_NAME = re.compile(r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?[\w:-]+")
_NAMED = re.compile(r"\$(?:([A-Za-z_]\w{0,99})|\{([A-Za-z_]\w{0,99})\})")
_MOST_SHOWN = 100


def read_clone(call: Call, files: CheckoutFiles) -> ToolReading:
    """Return the folder that a `git clone` would make; nothing for another call.

    Args:
        call: The call.
        files: The checkout, which may have the folder itself.
    """
    if call.words[:2] != ("git", "clone"):
        return ToolReading()
    named = read_options(call.words[2:], _CLONE_VALUED).positional
    last = named[-1].rstrip("/").rpartition("/")[2].removesuffix(".git") if named else ""
    folder = named[1] if named[1:] else last
    place = inside(call.folder, folder) or folder
    is_missing = bool(place) and not files.is_folder(place)
    reason = f"needs what `{call.line()[:_MOST_SHOWN]}` fetches"
    return ToolReading(absent=(Absent(place=place, reason=reason),) if is_missing else ())


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
    found = [
        one.reason
        for one in absent
        if not (reads_only and one.place == ".")
        and any(_uses(command, one) for command in commands)
    ]
    if not any(is_node_build(one.command) or _BUILDS.search(one.command) for one in commands):
        built = (_BUILT.search(one.command) for one in commands)
        found += [
            f"needs {one[0][:_MOST_SHOWN]}, which no command here builds" for one in built if one
        ]
    return list(dict.fromkeys(found))


def _uses(command: ToolCommand, absent: Absent) -> bool:
    """Return True if a command works in a place, or names it."""
    folder, place = command.working_directory, absent.place
    if place == "." or f"{folder}/".startswith(f"{place}/"):
        return True
    named = place if absent.anywhere else posixpath.relpath(place, folder)
    before = r"(?<![\w.-])" if absent.anywhere else r"(?<![\w./-])(?:\./)?"
    text = _SCRIPT_NAME.sub(" ", command.command)
    return re.search(rf"{before}{re.escape(named)}(?![\w.-])", text) is not None


def find_unknown_values(commands: Iterable[ToolCommand], unknown: Mapping[str, str]) -> list[str]:
    """Return the obstacles of commands that name variables which only GitHub knows.

    Args:
        commands: The judged commands.
        unknown: The variables with what they need.
    """
    return [
        f"`{command.command[:_MOST_SHOWN]}` needs {name}: {unknown[name]}, which only GitHub knows"
        for command in commands
        for name in dict.fromkeys(one[1] or one[2] for one in _NAMED.finditer(command.command))
        if name in unknown and name not in command.environment
    ]
