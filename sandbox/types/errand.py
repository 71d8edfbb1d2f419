"""Programs that run in a sandbox of their own, and their results."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import Field

from sandbox.types.checkout import FileEdit
from sandbox.types.frozen import Frozen
from sandbox.types.results import CommandResult

Door = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Handler of one connection out of a sandbox. The peer is untrusted."""
WAY_OUT = "MODEL_URL"
"""The environment variable with the address of the door, inside the sandbox."""


class Errand(Frozen):
    """A program that works on the checkout in its own sandbox, with one outbound connection."""

    command: str
    """A shell command line; `$MODEL_URL` leads to the door. Its programs must be in the image."""
    task: str
    """The standard input of the program."""
    variables: dict[str, str] = Field(default_factory=dict)
    """Environment variables; they must not hold secrets."""
    wall_s: float = Field(gt=0)


class Returned(Frozen):
    """The result of an errand."""

    result: CommandResult
    edits: tuple[FileEdit, ...]
    """Differences from the checked-out commit; untrusted."""
