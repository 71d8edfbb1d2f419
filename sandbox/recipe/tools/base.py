"""What every reader of a tool works with: the call it reads, the desk with the checkout's files, and its answer."""

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import Files
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.shell.walk import Call

_MOST_FILES = 300
MOST_READINGS = 1500
DEEPEST = 8


@dataclass
class Budget:
    """How many scripts and calls may still be read; tools that call each other in a circle end here."""

    left: int = MOST_READINGS

    def take(self) -> bool:
        """Whether one more may be read."""
        self.left -= 1
        return self.left >= 0


@dataclass(frozen=True)
class Desk:
    """The checkout's files and the job's cell, for readers."""

    files: Files
    read_script: Callable[["Desk", str, str, Mapping[str, str]], ToolReading]
    """Reads a script that a tool's configuration holds; given in, because the readers are below it."""
    python: str | None = None
    """The job's Python, `3.11`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment of the step that is read."""
    depth: int = 0
    budget: Budget = field(default_factory=Budget)

    @property
    def log(self) -> FidelityLog:
        """Where notes go."""
        return self.files.log

    def script(self, text: str, folder: str, environment: Mapping[str, str] | None = None) -> ToolReading:
        """What a script in a tool's configuration asks for; nothing when tools call each other without end."""
        if self.depth >= DEEPEST or not self.budget.take():
            self.log.dropped(text, "tools call each other too deeply")
            return ToolReading()
        return self.read_script(replace(self, depth=self.depth + 1), text, folder, environment or {})

    def scripts(self, lines: Collection[str], folder: str, environment: Mapping[str, str] | None = None) -> ToolReading:
        """Several scripts, one after the other."""
        reading = ToolReading()
        for line in list(lines)[:100]:
            reading = reading.plus(self.script(line, folder, environment))
        return reading


Reader = Callable[[Call, Desk], ToolReading | None]
"""Reads one call; None when it is not the tool's own."""


@dataclass(frozen=True)
class Options:
    """A command line's arguments, sorted."""

    positional: tuple[str, ...] = ()
    given: tuple[tuple[str, str], ...] = ()
    """Options with their values; a flag has an empty one."""
    rest: tuple[str, ...] = ()
    """What stands after `--`."""

    def values(self, *names: str) -> list[str]:
        """What was given for an option, in order."""
        return [value for name, value in self.given if name in names]

    def split(self, *names: str) -> list[str]:
        """The same, each value taken apart at commas and blanks."""
        return [item for value in self.values(*names) for item in value.replace(",", " ").split()]

    def has(self, *names: str) -> bool:
        """Whether an option was given."""
        return any(name in names for name, _ in self.given)


def read_options(words: Sequence[str], valued: Collection[str], *, stop: bool = False) -> Options:
    """Sort arguments.

    Args:
        words: Without the program.
        valued: The options that take a value.
        stop: Options end at the first other word; it and what follows is `rest`.
    """
    positional: list[str] = []
    given: list[tuple[str, str]] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            return Options(tuple(positional), tuple(given), tuple(words[index:]))
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            if stop:
                return Options((), tuple(given), tuple(words[index - 1 :]))
            positional.append(word)
        elif word in valued and index < len(words):
            given.append((word, words[index]))
            index += 1
        elif equals and name.startswith("-"):
            given.append((name, value))
        elif not word.startswith("--") and word[:2] in valued and len(word) > 2:  # noqa: PLR2004 (`-rfile`)
            given.append((word[:2], word[2:]))
        else:
            given.append((word, ""))
    return Options(tuple(positional), tuple(given))


def checks(call: Call, desk: Desk) -> ToolReading:
    """The call as a command whose outcome is read: where its output goes is left out, patterns are filled in."""
    shown = tuple(
        word for value, text in zip(call.words, call.shown, strict=True) for word in _matching(value, text, call, desk)
    )
    return runs(call.with_(shown=shown, words=call.words, whole=True, tolerated=False))


def _matching(value: str, text: str, call: Call, desk: Desk) -> list[str]:
    """The files an unquoted pattern stands for, as a shell would find them; the judge starts no shell."""
    if not set("*?") & set(value) or text == shlex.quote(value) or set("$`{") & set(value):
        return [text]
    return [shlex.quote(name) for name in desk.files.matching(value, call.folder)[:_MOST_FILES]] or [text]


def runs(call: Call) -> ToolReading:
    """The call as one command that runs as it is."""
    line = call.line() if call.whole else call.text
    if call.tolerated and not call.text.endswith("true"):
        line = f"{line} || true"
    return ToolReading(
        commands=(ToolCommand(command=line, working_directory=call.folder, environment=call.environment),)
    )
