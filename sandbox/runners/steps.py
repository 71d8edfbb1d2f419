"""Split a command line of plain commands joined by `&&`, `;` or newlines, so that each is read by its own runner."""

import posixpath

from pydantic import Field

from sandbox.guest.pytest_command import split_words
from sandbox.types import Frozen

MAX_STEPS = 12


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
    parts = _split_unquoted(command)
    if parts is None or len(parts) > MAX_STEPS:
        return None
    folder = "."
    environment: dict[str, str] = {}
    steps: list[Step] = []
    for part in parts:
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
            case ["set", *_]:
                continue
            case ["cd" | "export" | "source" | "." | "exit" | "if" | "for" | "while" | "trap" | "alias" | "eval", *_]:
                return None
            case _:
                steps.append(Step(command=part, folder=folder, environment=environment))
    return tuple(steps) or None


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
