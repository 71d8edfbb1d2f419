"""Split a command line of plain commands joined by `&&`, `;` or newlines, so that each is read by its own runner.

What a script does around a test or lint command only to keep or show its output (`| tee log`, `2>&1`, `> log`,
`|| exit 1`, `time`, `echo`) is left out: the command is run and read for what it is.
"""

import posixpath
import re

from pydantic import Field

from sandbox.guest.pytest_command import split_pytest_command, split_unittest_command, split_words
from sandbox.runners.matchers import matchers_for
from sandbox.types import Frozen

MAX_STEPS = 12
MAX_CHARACTERS = 20_000
_LEAVES = re.compile(r"\|\|\s*(?:exit|return)(?:\s+(?:[1-9]\d{0,2}|\"?\$\?\"?))?\s*$|\|\|\s*false\s*$")
_COPIES = re.compile(r"(?:2>&1\s*)?\|&?\s*tee(?:\s+(?:-a|--append))?\s+(?P<file>[\w./-]{1,200})\s*$")
_REDIRECTS = re.compile(r"(?:&>|(?<![0-9&])>)\s*(?P<file>[\w./-]{1,200})(?:\s+2>&1)?\s*$|(?<=\s)2>&1\s*$")
_AROUND = re.compile(r"^(?:(?:time(?: -p)?|command|exec|nice(?: -n ?\d+)?)\s+)+")
_SAYS = re.compile(
    r"^(?:echo|printf)\s[^|;&<>`]*(?:>>?\s*\"?\$\{?GITHUB_(?:STEP_SUMMARY|OUTPUT|ENV)\}?\"?\s*)?$", re.DOTALL
)
_COMMANDS_IN = re.compile(r"\$\(|`")


class Step(Frozen):
    """One plain command of a command line, and where it runs."""

    command: str
    folder: str = "."
    """Relative to the working directory."""
    environment: dict[str, str] = Field(default_factory=dict)


def split_steps(command: str) -> tuple[Step, ...] | None:
    """The plain commands in order, with `cd` and `export` worked in; None when only a shell can run the line.

    `;` and newlines count as `&&`, because a job's script stops at the first error.
    """
    parts = _split_unquoted(command) if len(command) <= MAX_CHARACTERS else None
    if parts is None or len(parts) > MAX_STEPS:
        return None
    folder = "."
    environment: dict[str, str] = {}
    steps: list[Step] = []
    for index, whole in enumerate(parts):
        if _SAYS.match(whole) and not _COMMANDS_IN.search(whole):
            continue
        part = _bare(whole, parts[index + 1 :])
        words = split_words(part)
        if not words:
            return None
        match words:
            case ["cd", target] if not target.startswith("-"):
                folder = posixpath.normpath(posixpath.join(folder, target))
                if folder.startswith(("/", "..")):
                    return None
            case ["export", *assignments] if assignments and all("=" in word for word in assignments):
                environment = {**environment, **dict(word.split("=", 1) for word in assignments)}
            case ["set", *options] if not any(option.startswith("+e") for option in options):
                continue
            case [
                "cd" | "export" | "set" | "source" | "." | "exit" | "if" | "for" | "while" | "trap" | "alias" | "eval",
                *_,
            ]:
                return None
            case _:
                steps.append(Step(command=part, folder=folder, environment=environment))
    return tuple(steps) or None


def _bare(part: str, later: list[str]) -> str:
    """A command that is read by name, without what only keeps its output or passes its failure on.

    Args:
        part: The command with what stands around it.
        later: What follows; who reads the file there needs it.
    """
    bare = _AROUND.sub("", _LEAVES.sub("", part)).rstrip()
    for pattern in (_COPIES, _REDIRECTS):
        match = pattern.search(bare)
        file = match.groupdict().get("file") if match is not None else None
        if match is not None and not (file and any(file in line for line in later)):
            bare = bare[: match.start()].rstrip()
    known = split_pytest_command(bare) or split_unittest_command(bare) or matchers_for(bare)
    return bare if known else part


def _split_unquoted(command: str) -> list[str] | None:
    """The parts between unquoted `&&`, `;` and newlines; None at a quote that does not end."""
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
    return None if quote else [part.strip() for part in parts if part.strip() and not part.strip().startswith("#")]
