"""What collecting takes and gives, whichever runner does it."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Tuple

from sandbox.guest.pytest_command import PytestCommand


class Command(NamedTuple):
    """A command line that runs tests."""

    runner: str
    """`pytest` or `unittest`."""
    parts: PytestCommand
    root: str
    """The checkout; names are told relative to it."""


class Broken(NamedTuple):
    """Something that could not be collected."""

    name: str
    """A file relative to the checkout; empty when the whole session could not start."""
    error: BaseException


class Collected(NamedTuple):
    """What was found."""

    session: Any
    """pytest's, or one that looks like it."""
    broken: Tuple[Broken, ...]


class NothingCollected(Exception):
    """The runner ended without collecting anything."""


Inside = Callable[[Collected], Any]
