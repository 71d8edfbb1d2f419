"""Durable checkpoints: a workflow step with a stored result is not run again."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.blob import BlobKind, Drawer
from bot.errors import BlobLost, GitHubError, MetaAgentError, QueueError, RateLimited, StoreError
from bot.ports import BlobStore
from bot.queue.interruptions import InterruptionLimit, interruption
from bot.queue.records import Record, keep, keep_error, recall
from bot.store.database_errors import is_database_error
from sandbox.errors import HostGone, SandboxDied, SandboxError

Value = TypeVar("Value", bound=BaseModel)
Written = TypeVar("Written")

PAUSES_S = (20.0, 120.0, 600.0, 1_800.0)
"""Pauses before each retry of a step after a GitHub or Docker failure, in seconds.

A GitHub rate limit brings its own waiting time.
"""
LONGEST_WAIT_S = 3_700.0
"""Longest accepted rate-limit wait, in seconds; GitHub's hourly limit resets before this."""
DEATHS_OF_A_SANDBOX = 3
"""Tries after a sandbox died.

Fewer than for a lost host, since the code inside may be the cause.
"""
ROW_BYTES = 256 * 1024
"""Largest value stored in a row, in bytes.

A larger one goes to the blob store, its digest to the row.
"""
FOREIGN_ROWS = 5
"""Retries of a step whose row holds an error that dbos wrote itself."""
READING_PAUSES_S = (1.0, 5.0, 20.0)
"""Pauses before each retry of reading a blob, in seconds."""

log = logging.getLogger(__name__)


class DurableCheckpoint:
    """Steps whose results and errors survive the process.

    Errors are stored like results, because exception classes do not survive the engine's JSON.
    If a database or blob store is unavailable, nothing is stored: the workflow is interrupted and
    resumes later at the same step.

    Args:
        pauses_s: Pauses before each retry of a failed GitHub call, in seconds.
        blobs: Store for values too large for a row; None keeps every value in its row.
        interruptions: Limit of such interruptions.
        turns: Limit of steps that run at the same time; a pause before a retry takes no turn.
    """

    def __init__(
        self,
        pauses_s: tuple[float, ...] = PAUSES_S,
        blobs: BlobStore | None = None,
        interruptions: InterruptionLimit | None = None,
        turns: asyncio.Semaphore | None = None,
    ) -> None:
        self._pauses_s = pauses_s
        self._blobs = blobs
        self._interruptions = interruptions or InterruptionLimit()
        self._turns = turns or nullcontext()
        self._names: set[str] = set()

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        """Return the stored result of a step, or run it and store its result.

        A step is retried after a durable pause if GitHub limits, fails or does not answer the call,
        or if its sandbox was lost.

        Raises:
            ValueError: the name was used before; a replay would confuse the two steps.
            StoreError: the result is in the blob store and cannot be read.
        """
        if name in self._names:
            raise ValueError(f"two steps of one mission are called {name}")
        self._names.add(name)
        for turn, pause in enumerate((*self._pauses_s, None), start=1):
            record = await self._load_record(
                await self._run(name if turn == 1 else f"{name}#{turn}", call)
            )
            try:
                return recall(record, returns)
            except (GitHubError, SandboxError) as error:
                wait = _wait_s(error, pause, turn)
                if wait is None:
                    raise
                log.warning("step %s failed, retrying in %.0f s: %s", name, wait, error.message)
                await self.pause(wait)
            except (QueueError, StoreError):
                self._interruptions.exhaust(_workflow())
                raise
        raise AssertionError("a loop over turns ends by returning or raising")

    async def pause(self, seconds: float) -> None:
        """Sleep durably; after a restart, only for the rest of the time."""
        from dbos import DBOS

        await _await_durably(DBOS.sleep_async(seconds))

    async def _run(self, name: str, call: Callable[[], Awaitable[BaseModel]]) -> Record:
        from dbos import DBOS, PortableWorkflowError

        async def body() -> Record:
            try:
                async with self._turns:
                    record = keep(await call())
            except Exception as error:
                if self._interruptions.allow(error, _workflow()):
                    raise interruption(error) from error
                # Every error becomes a record here, so that a replay takes the same path.
                if not isinstance(error, MetaAgentError | SandboxError):
                    log.exception("step %s failed with an unexpected error", name)
                return keep_error(error)
            return await self._offload(record)

        for again in range(FOREIGN_ROWS + 1):
            try:
                return await _await_durably(
                    DBOS.run_step_async({"name": name + "~" * again, "preemptible": True}, body)
                )
            except PortableWorkflowError as error:
                # Our errors are stored as values, so dbos wrote this one when it failed to store
                # ours.
                if again == FOREIGN_ROWS:
                    raise
                log.warning(
                    "step %s rerun, its result was never stored: %s",
                    name,
                    type(error).__name__,
                )
        raise AssertionError("a loop over tries ends by returning or raising")

    async def _offload(self, record: Record) -> Record:
        """Move a large record to the blob store; keep it in the row if the store is unavailable."""
        content = json.dumps(record).encode()
        if self._blobs is None or len(content) <= ROW_BYTES:
            return record
        try:
            return {"blob": await self._blobs.put(_drawer(), content)}
        except StoreError as error:
            log.warning(
                "storing %d bytes in the row, blob store failed: %s", len(content), error.message
            )
            return record

    async def _load_record(self, record: Record) -> Record:
        """Return the record itself, loaded from the blob store if it was moved there."""
        if "blob" not in record:
            return record
        if self._blobs is None:
            raise StoreError(
                "a step result is in a blob store, but none is configured",
                "configure the blob store that was used before",
            )
        for pause in (*READING_PAUSES_S, None):
            try:
                kept: Record = json.loads(await self._blobs.get(_drawer(), record["blob"]))
            except StoreError as error:
                if isinstance(error, BlobLost) or pause is None:
                    raise
                log.warning("reading a blob failed, retrying in %.0f s: %s", pause, error.message)
                await asyncio.sleep(pause)
            else:
                return kept
        raise AssertionError("a loop over pauses ends by returning or raising")


async def _await_durably(call: Awaitable[Written]) -> Written:
    """Await an engine call; turn a database failure into an interruption."""
    try:
        return await call
    except Exception as error:
        # Each driver has its own error classes, and only bot.store may import a driver.
        if is_database_error(error):
            raise interruption(error) from error
        raise


def _drawer() -> Drawer:
    """Return the blob drawer of the current workflow."""
    return Drawer(kind=BlobKind.STEPS, owner=_workflow())


def _workflow() -> str:
    """Return the id of the current workflow."""
    from dbos import DBOS

    return DBOS.workflow_id or ""


def _wait_s(error: GitHubError | SandboxError, pause: float | None, turn: int) -> float | None:
    """Return the seconds to wait before the next try, or None if a retry is pointless."""
    if isinstance(error, SandboxError):
        patient = isinstance(error, HostGone) or (
            isinstance(error, SandboxDied) and turn < DEATHS_OF_A_SANDBOX
        )
        return pause if patient else None
    if pause is None or not error.retryable:
        return None
    if not isinstance(error, RateLimited):
        return pause
    return error.retry_after_s if error.retry_after_s <= LONGEST_WAIT_S else None
