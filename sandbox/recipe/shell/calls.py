"""The program calls of a script, collected while it is followed."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from posixpath import join, relpath

from pydantic import Field

from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.shell.budget import Spend
from sandbox.recipe.shell.syntax import Pipeline
from sandbox.recipe.shell.variables import ShellVariables
from sandbox.recipe.shell.words import Expanded, ShellExpression
from sandbox.types import USUAL, Frozen

OUTSIDE = "it runs outside the checkout"
UNKNOWN_DECISION = "only a shell knows whether it fails"
FETCHING_DECISION = "whether it fails depends on what it fetches, and nothing is fetched here"
UNKNOWN_VALUE = "it uses a value that only a shell knows"
CHECKOUT_PATH = re.compile(rf"(--?[\w-]+=)?({USUAL.workdir}(?:/[\w./@+-]*)?)")
"""A word that is a path in the checkout, or an option with such a path."""


class Call(Frozen):
    """One program call of a script."""

    words: tuple[str, ...]
    """The program and its arguments with variables substituted."""
    shown: tuple[str, ...]
    """The same words, quoted for a command line."""
    text: str
    """The whole pipeline as written."""
    folder: str = "."
    environment: dict[str, str] = Field(default_factory=dict)
    """Assignments before the call, and exported variables."""
    unknown: tuple[str, ...] = ()
    """Such variables whose values only a shell knows."""
    whole: bool = True
    """No part of the pipeline leads to a file or another program."""
    background: bool = False
    tolerated: bool = False
    """Its failure does not count: `|| true` follows."""
    decides: bool = False
    """It is a part of the shell's own logic, `text`, and fails as the script does."""

    @property
    def uses_unknown(self) -> bool:
        """Return True if the pipeline runs as written and uses a value that only a shell knows."""
        names = re.findall(r"\$\{?([A-Za-z_]\w{0,99})", self.text)
        return not self.whole and not set(names).isdisjoint(self.unknown)

    @property
    def program(self) -> str:
        """Return the program's name without its folder."""
        return self.words[0].rpartition("/")[2] if self.words else ""

    def line(self) -> str:
        """Return the call as one command line."""
        return " ".join(self.shown)

    def from_(self, start: int) -> "Call":
        """Return the call without its first words."""
        return self.with_(words=self.words[start:], shown=self.shown[start:])


@dataclass
class State:
    """The place of a script that is followed, and what it did so far."""

    files: CheckoutFiles
    folder: str | None
    variables: ShellVariables
    spend: Spend
    later: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    folders: list[str | None] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    """The text of each function by its name."""
    steps: int = 0

    def enter(self, folder: str | None) -> None:
        """Change the folder of the following calls; None is outside of the checkout."""
        self.folder = folder
        self.variables.enter(folder)

    def add(
        self,
        words: list[Expanded],
        own: Mapping[str, str],
        pipeline: Pipeline,
        *,
        whole: bool = True,
    ) -> None:
        """Add a call of a program.

        Args:
            words: The program and its arguments.
            own: The assignments before it.
            pipeline: The pipeline that it is a part of.
            whole: See `Call.whole`.
        """
        if self.folder is None:
            self.files.log.dropped(pipeline.text, OUTSIDE)
            return
        environment = {**self.variables.exported, **own}
        if not whole:  # a pipeline runs as written, and its text names variables of the script
            environment = {**self.variables.named_in(pipeline.text), **environment}
        unknown = [key for key, value in environment.items() if isinstance(value, ShellExpression)]
        for key in unknown:
            self.files.log.dropped(f"{key}={environment.pop(key)}", "only a shell knows its value")
        if words[0].value != "ln":  # a link is relative to its own folder
            words = [*words[:1], *(_relative(word, self.folder) for word in words[1:])]
        self.calls.append(
            Call(
                words=tuple(word.value for word in words),
                shown=tuple(word.shown for word in words),
                text=pipeline.text,
                folder=self.folder,
                environment=environment,
                unknown=tuple(unknown),
                whole=whole,
                background=pipeline.background,
            )
        )


def _relative(word: Expanded, folder: str) -> Expanded:
    """Return a path in the checkout relative to a folder: not every sandbox has it at one place."""
    found = CHECKOUT_PATH.fullmatch(word.value)
    if found is None or word.shown != shlex.quote(word.value):
        return word
    plain = (found[1] or "") + relpath(found[2], join(USUAL.workdir, folder))
    return Expanded(plain, shlex.quote(plain))
