"""An in-memory checkpoint, for the command line and for tests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

Value = TypeVar("Value", bound=BaseModel)


class MemoryCheckpoint:
    """Runs every step once; nothing survives the process.

    Args:
        through_json: Convert every result to JSON and back, like the durable checkpoint; for tests.
    """

    def __init__(self, *, through_json: bool = False) -> None:
        self._through_json = through_json
        self._names: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the steps that ran."""
        return frozenset(self._names)

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        """Run a step and return its result.

        Raises:
            ValueError: the name was used before; a replay would confuse the two steps.
        """
        if name in self._names:
            raise ValueError(f"two steps of one mission are called {name}")
        self._names.add(name)
        value = await call()
        return returns.model_validate_json(value.model_dump_json()) if self._through_json else value

    async def pause(self, seconds: float) -> None:
        """Sleep."""
        await asyncio.sleep(seconds)
