"""Split a command line of plain commands, joined by `&&`, `;` or newlines, into its steps.

Constructs around a test or lint command that only keep or show its output (`| tee log`, `2>&1`, `>
log`, `|| exit 1`, `time`, `echo`) are removed, so that its own runner can read it.
"""

import posixpath
import re

from pydantic import Field

from sandbox.guest.pytest_command import split_pytest_command, split_unittest_command, split_words
from sandbox.runners.go import split_go_test
from sandbox.runners.javascript.command import split_node_command
from sandbox.runners.matchers import matchers_for
from sandbox.types import Frozen

MAX_STEPS = 120
MAX_CHARACTERS = 200_000
"""A pattern of pre-commit's configuration is repeated for each of its hooks.

Linux accepts 131,071 bytes for one step; the report of a longer one says so.
"""
_LEAVES = re.compile(
    r"\|\|\s*(?:exit|return)(?:\s+(?:[1-9]\d{0,2}|\"?\$\?\"?))?\s*$|\|\|\s*false\s*$"
)
_COPIES = re.compile(
    r"(?:2>&1\s*)?\|&?\s*tee(?:\s+(?:-a|--append))?\s+(?P<file>[\w./-]{1,200})\s*$"
)
_REDIRECTS = re.compile(
    r"(?:&>|(?<![0-9&])>)\s*(?P<file>[\w./-]{1,200})(?:\s+2>&1)?\s*$|(?<=\s)2>&1\s*$"
)
_AROUND = re.compile(r"^(?:(?:time(?: -p)?|command|exec|nice(?: -n ?\d+)?)\s+)+")
_SAYS = re.compile(
    r"^(?:echo|printf)\s[^|;&<>`]*(?:>>?\s*\"?\$\{?GITHUB_(?:STEP_SUMMARY|OUTPUT|ENV)\}?\"?\s*)?$",
    re.DOTALL,
)
_COMMANDS_IN = re.compile(r"\$\(|`")


class CommandStep(Frozen):
    """One plain command of a command line with its folder."""

    command: str
    folder: str = "."
    """Relative to the working directory."""
    environment: dict[str, str] = Field(default_factory=dict)


def split_steps(command: str) -> tuple[CommandStep, ...] | None:
    """Return the plain commands in order, with `cd` and `export` applied.

    Return None if the line needs a shell.

    `;` and newlines count as `&&`, because a job's script stops at the first error.
    """
    parts = _split_unquoted(command) if len(command) <= MAX_CHARACTERS else None
    if parts is None:
        return None
    folder = "."
    environment: dict[str, str] = {}
    steps: list[CommandStep] = []
    for index, whole in enumerate(parts):
        if _SAYS.match(whole) and not _COMMANDS_IN.search(whole):
            continue
        part = _strip_output_handling(whole, parts[index + 1 :])
        words = split_words(part) or _one_word(part)
        if not words:
            return None
        match words:
            case ["cd", target] if not target.startswith("-"):
                folder = posixpath.normpath(posixpath.join(folder, target))
                if folder.startswith(("/", "..")):
                    return None
            case ["export", *assignments] if assignments and all(
                "=" in word for word in assignments
            ):
                environment = {**environment, **dict(word.split("=", 1) for word in assignments)}
            case ["set", *options] if not any(option.startswith("+e") for option in options):
                continue
            case [
                "cd"
                | "export"
                | "set"
                | "source"
                | "."
                | "exit"
                | "if"
                | "for"
                | "while"
                | "trap"
                | "alias"
                | "eval",
                *_,
            ]:
                return None
            case _:
                steps.append(CommandStep(command=part, folder=folder, environment=environment))
    return tuple(steps) if 0 < len(steps) <= MAX_STEPS else None


def _one_word(part: str) -> list[str]:
    """Return a command of a known tool as one word: only its file patterns need a shell."""
    return [part] if matchers_for(part) or split_node_command(part) else []


def _strip_output_handling(part: str, later: list[str]) -> str:
    """Strip output handling from a command that a runner recognises.

    Args:
        part: The command with its surrounding constructs.
        later: The following commands, which may read the output file.
    """
    bare = _AROUND.sub("", _LEAVES.sub("", part)).rstrip()
    for pattern in (_COPIES, _REDIRECTS):
        match = pattern.search(bare)
        file = match.groupdict().get("file") if match is not None else None
        if match is not None and not (file and any(file in line for line in later)):
            bare = bare[: match.start()].rstrip()
    readers = (split_pytest_command, split_unittest_command, matchers_for, split_go_test)
    return bare if any(reader(bare) for reader in readers) else part


def _split_unquoted(command: str) -> list[str] | None:
    """Split at unquoted `&&`, `;` and newlines; return None for an unclosed quote."""
    parts, start, quote, index = [], 0, "", 0
    text = command.replace("\\\n", " ").replace("\r\n", "\n")
    while index < len(text):
        character, width = text[index], 1
        if quote:
            width = 2 if quote == '"' and character == "\\" else 1
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "\\":
            width = 2
        elif character in ";\n" or text.startswith("&&", index):
            width = 2 if character == "&" else 1
            parts.append(text[start:index])
            start = index + width
        index += width
    parts.append(text[start:])
    return (
        None
        if quote
        else [part.strip() for part in parts if part.strip() and not part.strip().startswith("#")]
    )
