"""Input and output of collecting, for both runners."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Tuple

from sandbox.guest.pytest_command import PytestCommand


class SuiteCommand(NamedTuple):
    """A command line that runs tests."""

    runner: str
    """`pytest` or `unittest`."""
    parts: PytestCommand
    root: str
    """The checkout; names are relative to it."""


class BrokenFile(NamedTuple):
    """A file that could not be collected."""

    name: str
    """Path relative to the checkout; empty if the whole session could not start."""
    error: BaseException


class Collected(NamedTuple):
    """The result of collecting."""

    session: Any
    """The pytest session, or an object with the same interface."""
    broken: Tuple[BrokenFile, ...]


class NothingCollected(Exception):
    """The runner ended without collecting anything."""


Inside = Callable[[Collected], Any]
