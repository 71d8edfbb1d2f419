"""The checkpoint of a workflow in the engine: a step that has a row is not run again."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from bot.errors import GitHubError, MetaAgentError, RateLimited
from bot.queue.records import Record, keep, keep_error, recall
from sandbox.errors import SandboxError

Value = TypeVar("Value", bound=BaseModel)

PAUSES_S = (20.0, 120.0, 600.0, 1_800.0)
"""Before a step is tried again that GitHub did not take; a limit of GitHub's says itself how long to wait."""
LONGEST_WAIT_S = 3_700.0
"""The longest limit, the hourly one, ends before this."""

log = logging.getLogger(__name__)


class DurableCheckpoint:
    """Steps whose values, and errors, survive the process.

    An error is kept like a value, because classes of exceptions do not survive the engine's JSON.

    Args:
        pauses_s: Before each further try of a step that GitHub did not take.
    """

    def __init__(self, pauses_s: tuple[float, ...] = PAUSES_S) -> None:
        self._pauses_s = pauses_s
        self._names: set[str] = set()

    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        """The remembered value, or the value of calling it now.

        A step that GitHub limits, fails or does not answer waits (durably) and is tried again.

        Raises:
            ValueError: the name was used before; replay would confuse the two.
        """
        if name in self._names:
            raise ValueError(f"two steps of one mission are called {name}")
        self._names.add(name)
        for turn, pause in enumerate((*self._pauses_s, None), start=1):
            record = await _run(name if turn == 1 else f"{name}#{turn}", call)
            try:
                return recall(record, returns)
            except GitHubError as error:
                wait = _wait_s(error, pause)
                if wait is None:
                    raise
                log.warning("step %s waits %.0f s for GitHub: %s", name, wait, error.message)
                await self.pause(wait)
        raise AssertionError("a loop over turns ends by returning or raising")

    async def pause(self, seconds: float) -> None:
        """Let time pass; after a restart only what is left of it."""
        from dbos import DBOS

        await DBOS.sleep_async(seconds)


def _wait_s(error: GitHubError, pause: float | None) -> float | None:
    """How long to wait before the next try; None when that makes no sense."""
    if pause is None or not error.retryable:
        return None
    if not isinstance(error, RateLimited):
        return pause
    return error.retry_after_s if error.retry_after_s <= LONGEST_WAIT_S else None


async def _run(name: str, call: Callable[[], Awaitable[BaseModel]]) -> Record:
    from dbos import DBOS

    async def body() -> Record:
        try:
            return keep(await call())
        except Exception as error:
            # The boundary of durability: whatever went wrong is written down, so that a replay goes the same way.
            if not isinstance(error, MetaAgentError | SandboxError):
                log.exception("step %s broke unexpectedly", name)
            return keep_error(error)

    return await DBOS.run_step_async({"name": name, "preemptible": True}, body)
