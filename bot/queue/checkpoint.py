"""The checkpoint of a workflow in the engine: a step that has a row is not run again."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.blob import Drawer, Kind
from bot.errors import BlobLost, GitHubError, MetaAgentError, QueueError, RateLimited, StoreError
from bot.ports import BlobStore
from bot.queue.patience import Patience, unwritten
from bot.queue.records import Record, keep, keep_error, recall
from bot.store.trouble import is_of_the_database
from sandbox.errors import HostGone, SandboxDied, SandboxError

Value = TypeVar("Value", bound=BaseModel)
Written = TypeVar("Written")

PAUSES_S = (20.0, 120.0, 600.0, 1_800.0)
"""Before a step is tried again that GitHub did not take, or under which Docker went away; a limit of GitHub's says
itself how long to wait."""
LONGEST_WAIT_S = 3_700.0
"""The longest limit, the hourly one, ends before this."""
DEATHS_OF_A_SANDBOX = 3
"""The code in it may be what ends a sandbox, so that is not tried as often as what gives sandboxes is waited for."""
ROW_BYTES = 256 * 1024
"""A larger value is no row: it goes to the store of large values, and its digest is the row."""
FOREIGN_ROWS = 5
"""So often a step is run anew in whose row the library wrote an error of its own."""
READING_PAUSES_S = (1.0, 5.0, 20.0)
"""Before such a value is asked for again."""

log = logging.getLogger(__name__)


class DurableCheckpoint:
    """Steps whose values, and errors, survive the process.

    An error is kept like a value, because classes of exceptions do not survive the engine's JSON. A database or a store
    that is away is no such error: the workflow is broken off, and goes on with the same step later.

    Args:
        pauses_s: Before each further try of a step that GitHub did not take.
        blobs: Where values are kept that are too large for a row; None keeps every value in its row.
        patience: How often that may be.
    """

    def __init__(
        self,
        pauses_s: tuple[float, ...] = PAUSES_S,
        blobs: BlobStore | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._pauses_s = pauses_s
        self._blobs = blobs
        self._patience = patience or Patience()
        self._names: set[str] = set()

    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        """The remembered value, or the value of calling it now.

        A step that GitHub limits, fails or does not answer waits (durably) and is tried again, and so does one whose
        sandbox went away.

        Raises:
            ValueError: the name was used before; replay would confuse the two.
            StoreError: the value is too large for a row, and where it is kept cannot be read.
        """
        if name in self._names:
            raise ValueError(f"two steps of one mission are called {name}")
        self._names.add(name)
        for turn, pause in enumerate((*self._pauses_s, None), start=1):
            record = await self._whole(await self._run(name if turn == 1 else f"{name}#{turn}", call))
            try:
                return recall(record, returns)
            except (GitHubError, SandboxError) as error:
                wait = _wait_s(error, pause, turn)
                if wait is None:
                    raise
                log.warning("step %s waits %.0f s and is tried again: %s", name, wait, error.message)
                await self.pause(wait)
            except (QueueError, StoreError):
                self._patience.use_up(_workflow())
                raise
        raise AssertionError("a loop over turns ends by returning or raising")

    async def pause(self, seconds: float) -> None:
        """Let time pass; after a restart only what is left of it."""
        from dbos import DBOS

        await _written(DBOS.sleep_async(seconds))

    async def _run(self, name: str, call: Callable[[], Awaitable[BaseModel]]) -> Record:
        from dbos import DBOS, PortableWorkflowError

        async def body() -> Record:
            try:
                record = keep(await call())
            except Exception as error:
                if self._patience.spend(error, _workflow()):
                    raise unwritten(error) from error
                # The boundary of durability: whatever went wrong is written down, so that a replay goes the same way.
                if not isinstance(error, MetaAgentError | SandboxError):
                    log.exception("step %s broke unexpectedly", name)
                return keep_error(error)
            return await self._light(record)

        for again in range(FOREIGN_ROWS + 1):
            try:
                return await _written(DBOS.run_step_async({"name": name + "~" * again, "preemptible": True}, body))
            except PortableWorkflowError as error:
                # Our own errors are values. This row is the library's: it could not write the value, and wrote that.
                if again == FOREIGN_ROWS:
                    raise
                log.warning("step %s is run anew, for its value was never written: %s", name, type(error).__name__)
        raise AssertionError("a loop over tries ends by returning or raising")

    async def _light(self, record: Record) -> Record:
        """The record, or where it is kept; what was paid for is not lost because a store is away."""
        content = json.dumps(record).encode()
        if self._blobs is None or len(content) <= ROW_BYTES:
            return record
        try:
            return {"blob": await self._blobs.put(_drawer(), content)}
        except StoreError as error:
            log.warning("%d bytes stay in their row: %s", len(content), error.message)
            return record

    async def _whole(self, record: Record) -> Record:
        """The record itself, wherever it is kept."""
        if "blob" not in record:
            return record
        if self._blobs is None:
            raise StoreError("a large value is in a store that is not set", "set the store that was set before")
        for pause in (*READING_PAUSES_S, None):
            try:
                kept: Record = json.loads(await self._blobs.get(_drawer(), record["blob"]))
            except StoreError as error:
                if isinstance(error, BlobLost) or pause is None:
                    raise
                log.warning("a large value is asked for again in %.0f s: %s", pause, error.message)
                await asyncio.sleep(pause)
            else:
                return kept
        raise AssertionError("a loop over pauses ends by returning or raising")


async def _written(call: Awaitable[Written]) -> Written:
    """What the engine gives, unless its database fails it."""
    try:
        return await call
    except Exception as error:
        # Every driver has errors of its own, and only the store may name its library.
        if is_of_the_database(error):
            raise unwritten(error) from error
        raise


def _drawer() -> Drawer:
    """Of the workflow that runs here."""
    return Drawer(kind=Kind.STEPS, owner=_workflow())


def _workflow() -> str:
    """The name of what runs here."""
    from dbos import DBOS

    return DBOS.workflow_id or ""


def _wait_s(error: GitHubError | SandboxError, pause: float | None, turn: int) -> float | None:
    """How long to wait before the next try; None when that makes no sense."""
    if isinstance(error, SandboxError):
        patient = isinstance(error, HostGone) or (isinstance(error, SandboxDied) and turn < DEATHS_OF_A_SANDBOX)
        return pause if patient else None
    if pause is None or not error.retryable:
        return None
    if not isinstance(error, RateLimited):
        return pause
    return error.retry_after_s if error.retry_after_s <= LONGEST_WAIT_S else None
