"""A checkpoint that lives as long as the process: for the command line and for tests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

Value = TypeVar("Value", bound=BaseModel)


class MemoryCheckpoint:
    """Runs every step once and forgets with the process.

    Args:
        through_json: Send every value through JSON, as the durable checkpoint does; for tests.
    """

    def __init__(self, *, through_json: bool = False) -> None:
        self._through_json = through_json
        self._names: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        """The steps that ran."""
        return frozenset(self._names)

    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        """The value of calling it now.

        Raises:
            ValueError: the name was used before; replay would confuse the two.
        """
        if name in self._names:
            raise ValueError(f"two steps of one mission are called {name}")
        self._names.add(name)
        value = await call()
        return returns.model_validate_json(value.model_dump_json()) if self._through_json else value

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)
