"""Common types of all tool readers: context, options, and helpers for results."""

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import ToolCommand, ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.shell.words import MOST_CHARACTERS

_MOST_FILES = 300
_MOST_SCRIPTS = 100
MOST_READINGS = 1500
TOO_MANY = "the limit of tool calls is reached, and a check may be left out"
MOST_STEPS = 4_000_000
DEEPEST = 8


@dataclass
class ReadingBudget:
    """Limits of a plan's work, which also end circular calls."""

    left: int = MOST_READINGS
    """The scripts and calls that may still be read."""
    steps: int = MOST_STEPS
    """The characters of configuration that may still be read."""

    def take(self) -> bool:
        """Use one unit. Return True if the budget allows it."""
        self.left -= 1
        return self.left >= 0

    def spend(self, steps: int) -> bool:
        """Use some steps. Return True if the budget allows it."""
        self.steps -= steps
        return self.steps >= 0


@dataclass(frozen=True)
class ToolContext:
    """The checkout's files and the job's cell, for readers."""

    files: CheckoutFiles
    read_script: Callable[["ToolContext", str, str, Mapping[str, str]], ToolReading]
    """Reads a script of a tool's configuration; injected, because the readers are below that
    module.
    """
    python: str | None = None
    """The job's Python, such as `3.11`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The environment of the current step."""
    depth: int = 0
    in_package: bool = False
    """A script of a `package.json` is read, which finds the programs of packages by their name."""
    budget: ReadingBudget = field(default_factory=ReadingBudget)

    @property
    def log(self) -> FidelityLog:
        """Return the fidelity log."""
        return self.files.log

    def script(
        self, text: str, folder: str, environment: Mapping[str, str] | None = None
    ) -> ToolReading:
        """Read a script of a tool's configuration; empty if tools call each other too deeply."""
        if self.depth >= DEEPEST:
            self.log.dropped(text, "tools call each other too deeply")
            return ToolReading()
        if not self.budget.take():
            self.log.dropped(text, TOO_MANY)
            return ToolReading(obstacles=(TOO_MANY,))
        return self.read_script(
            replace(self, depth=self.depth + 1), text, folder, environment or {}
        )

    def scripts(
        self, lines: Collection[str], folder: str, environment: Mapping[str, str] | None = None
    ) -> ToolReading:
        """Read several scripts in order; none of them if they are too many."""
        if len(lines) > _MOST_SCRIPTS:
            self.log.dropped(next(iter(lines)), TOO_MANY)
            return ToolReading(obstacles=(TOO_MANY,))
        reading = ToolReading()
        for line in lines:
            reading = reading.plus(self.script(line, folder, environment))
        return reading


def substitute(pattern: re.Pattern[str], value: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace what matches in a text, until the text is longer than a script may be.

    A short line could otherwise repeat its arguments very often.
    """
    left = MOST_CHARACTERS

    def replace_one(found: re.Match[str]) -> str:
        nonlocal left
        new = value(found) if left > 0 else ""
        left -= len(new)
        return new

    return pattern.sub(replace_one, text)


Reader = Callable[[Call, ToolContext], ToolReading | None]
"""Reads one call; returns None for another tool's."""


@dataclass(frozen=True)
class Options:
    """The sorted arguments of a command line."""

    positional: tuple[str, ...] = ()
    given: tuple[tuple[str, str], ...] = ()
    """Options with their values; a flag has an empty one."""
    rest: tuple[str, ...] = ()
    """The words after `--`, or those of the script or program that a call starts."""

    def values(self, *names: str) -> list[str]:
        """Return the values of an option in order."""
        return [value for name, value in self.given if name in names]

    def split(self, *names: str) -> list[str]:
        """Return the values of an option, split at commas and whitespace."""
        return [item for value in self.values(*names) for item in value.replace(",", " ").split()]

    def has(self, *names: str) -> bool:
        """Return True if an option is present."""
        return any(name in names for name, _ in self.given)


def read_options(words: Sequence[str], valued: Collection[str], *, stop: bool = False) -> Options:
    """Sort arguments into options and positional ones.

    Args:
        words: The words without the program.
        valued: The options with a value.
        stop: Stop at the first positional word; it and the following ones are `rest`.
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
        elif not word.startswith("--") and word[:2] in valued and len(word) > 2:  # noqa: PLR2004
            given.append((word[:2], word[2:]))
        else:
            given.append((word, ""))
    return Options(tuple(positional), tuple(given))


def checked_command(call: Call, context: ToolContext) -> ToolReading:
    """Return the call as a judged command, with patterns expanded.

    Output redirections are dropped.
    """
    shown = tuple(
        word
        for value, text in zip(call.words, call.shown, strict=True)
        for word in _matching(value, text, call, context)
    )
    return plain_command(call.with_(shown=shown, words=call.words, whole=True, tolerated=False))


def _matching(value: str, text: str, call: Call, context: ToolContext) -> list[str]:
    """Expand an unquoted pattern as a shell would, because the judge starts no shell."""
    if not set("*?") & set(value) or text == shlex.quote(value) or set("$`{") & set(value):
        return [text]
    return [
        shlex.quote(name) for name in context.files.matching(value, call.folder)[:_MOST_FILES]
    ] or [text]


def plain_command(call: Call) -> ToolReading:
    """Return the call as one unchanged command."""
    line = call.line() if call.whole else call.text
    if call.tolerated and not call.text.endswith("true"):
        line = f"{line} || true"
    return ToolReading(
        commands=(
            ToolCommand(command=line, working_directory=call.folder, environment=call.environment),
        )
    )
