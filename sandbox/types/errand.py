"""What an agent is sent into a sandbox with, and what it comes back with."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import Field

from sandbox.types.checkout import FileEdit
from sandbox.types.frozen import Frozen
from sandbox.types.results import CommandResult

Door = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Answers one connection out of a sandbox, from outside. Whoever connects is hostile."""
WAY_OUT = "MODEL_URL"
"""The variable that holds the address, inside, which leads to the door."""


class Errand(Frozen):
    """A program that works on the checkout in a sandbox of its own, with one door to the outside."""

    command: str
    """A shell command line; `$MODEL_URL` leads to the door. Its programs have to be in the image."""
    task: str
    """Its standard input."""
    variables: dict[str, str] = Field(default_factory=dict)
    """No secrets."""
    wall_s: float = Field(gt=0)


class Returned(Frozen):
    """What it left behind."""

    result: CommandResult
    edits: tuple[FileEdit, ...]
    """What differs from the checked-out commit; hostile."""
