"""The engine's workflows without the engine: they read JSON, call a handler and return JSON."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from bot.domain.command import Command
from bot.domain.mission import MissionContext
from bot.domain.request import (
    Feedback,
    GivenUp,
    MissionRequest,
    RedHead,
)
from bot.errors import MetaAgentError, QueueError, StoreError
from bot.ports import BlobStore, Checkpoint, Notice, PatientCheckpoint
from bot.queue.interruptions import InterruptionLimit, interruption
from bot.queue.records import Record, keep_error
from sandbox.errors import SandboxError
from sandbox.types import Frozen

Input = TypeVar("Input", bound=BaseModel)
Change = Notice | GivenUp
Workflow = Callable[[Record], Awaitable[Record]]
Tidy = Callable[[datetime, Any], Coroutine[Any, Any, None]]
Submit = Callable[[MissionRequest], Awaitable[bool]]
MakeCheckpoint = Callable[[asyncio.Semaphore | None], PatientCheckpoint]
"""Creates a checkpoint; its steps take turns if a semaphore is given."""

_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)

CLOSE_S = 10.0
"""Timeout for closing the handlers, in seconds."""
AT_ONCE = 4
"""Steps of commands that one process runs at the same time, and as many of notices and feedback."""

log = logging.getLogger(__name__)


async def _begun(_: MissionRequest) -> None:
    """Do nothing: no list of active missions is kept."""


async def _ended(_: str) -> None:
    """Do nothing: no list of active missions is kept."""


async def _nothing() -> None:
    """Do nothing: there is nothing to close or clean up."""


@dataclass(frozen=True)
class Handlers:
    """One handler for each kind of work. After a crash a handler runs again, its steps do not."""

    mission: Callable[[MissionRequest, Checkpoint], Awaitable[MissionContext]]
    """Runs a mission, from admission to lessons."""
    settle: Callable[[RedHead, PatientCheckpoint], Awaitable[MissionRequest | None]]
    """Waits for a red head's other checks; returns the mission to run, or None if all are green."""
    command: Callable[[Command, PatientCheckpoint], Awaitable[None]]
    feedback: Callable[[Feedback], Awaitable[None]]
    notice: Callable[[Change, PatientCheckpoint], Awaitable[None]]
    begun: Callable[[MissionRequest], Awaitable[None]] = _begun
    """Called when a mission was enqueued."""
    ended: Callable[[str], Awaitable[None]] = _ended
    """Called when a mission no longer waits or runs."""
    tidy: Callable[[], Awaitable[None]] = _nothing
    """Deletes old data."""
    blobs: BlobStore | None = None
    """Store for step results that are too large for a row."""
    closing: Callable[[], Awaitable[None]] = _nothing
    """Releases resources that belong to the handlers' event loop, before it ends."""


class Workflows:
    """The five workflows and the scheduled cleanup.

    Args:
        handlers: One handler for each kind of work.
        checkpoint: Creates the checkpoint of one workflow.
        submit: Enqueues a mission.
        interruptions: Limit of interruptions while a database is unavailable.
    """

    def __init__(
        self,
        handlers: Handlers,
        checkpoint: MakeCheckpoint,
        submit: Submit,
        interruptions: InterruptionLimit | None = None,
    ) -> None:
        self._handlers = handlers
        self._checkpoint = checkpoint
        self._submit = submit
        self._interruptions = interruptions or InterruptionLimit()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._here: list[str] = []
        self._commands, self._notices = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(AT_ONCE)
        works = (self._mission, self._settle, self._command, self._feedback, self._notice)
        self.by_name: Mapping[str, Workflow] = {
            work.__name__.lstrip("_"): self._wrap(work) for work in works
        }
        """The workflows by their names in the engine's rows."""

    def cleanup_workflow(self) -> Tidy:
        """Return the cleanup workflow.

        The engine passes it the time and a context, which is unused.
        """

        async def tidy(_: datetime, __: Any) -> None:
            with self._at_work():
                try:
                    await self._checkpoint(self._notices).step("tidy", Frozen, self._tidy)
                except (MetaAgentError, SandboxError) as error:
                    log.warning("cleanup failed, retrying at the next scheduled time: %s", error)

        return tidy

    async def _tidy(self) -> Frozen:
        try:
            await self._handlers.tidy()
        except (QueueError, StoreError) as error:
            # Not interrupted like other work: the schedule starts the next one.
            log.warning("cleanup failed, retrying at the next scheduled time: %s", error.message)
        return Frozen()

    async def close(self) -> None:
        """Call `closing` in the handlers' event loop, if any handler ran."""
        if self._loop is not None and self._loop.is_running():
            closed = asyncio.run_coroutine_threadsafe(_call(self._handlers.closing), self._loop)
            await asyncio.wait_for(asyncio.wrap_future(closed), CLOSE_S)

    def _wrap(self, work: Workflow) -> Workflow:
        """Wrap a method in a function: the engine sets attributes, which methods do not allow."""

        async def run(data: Record) -> Record:
            with self._at_work() as name:
                try:
                    ended = await work(data)
                except _Unreadable as error:
                    ended = await self._leave_to_newer(name, error)
                self._interruptions.reset(name)
                return ended

        return run

    def at_work(self) -> frozenset[str]:
        """Return the ids of the workflows that run in this process; thread-safe."""
        return frozenset(self._here)

    @contextmanager
    def _at_work(self) -> Iterator[str]:
        """Track a running workflow; a database failure interrupts it instead of ending it."""
        from dbos import DBOS

        name = DBOS.workflow_id or ""
        self._loop = asyncio.get_running_loop()
        self._here.append(name)
        try:
            yield name
        except (QueueError, StoreError) as error:
            raise interruption(error) from error
        finally:
            self._here.remove(name)

    def _interrupt_if_temporary(self, error: Exception) -> None:
        """Interrupt the workflow if the error may be temporary; return if it is final."""
        from dbos import DBOS

        if self._interruptions.allow(error, DBOS.workflow_id or ""):
            raise interruption(error) from error

    async def _leave_to_newer(self, name: str, error: "_Unreadable") -> Record:
        """Leave an unreadable workflow to a newer process, and end it if none takes it."""
        if self._interruptions.count(error, name):
            raise interruption(error) from error
        await self._handlers.ended(name)
        return keep_error(error)

    async def _mission(self, data: Record) -> Record:
        """Run a mission."""
        request = _read(MissionRequest, data)
        # Repeated from `submit`: a crash between the two must not hide the mission.
        await self._handlers.begun(request)
        try:
            context = await self._handlers.mission(request, self._checkpoint(None))
            record: Record = {"ok": {"outcome": context.outcome.value if context.outcome else None}}
        except (MetaAgentError, SandboxError) as error:
            self._interrupt_if_temporary(error)
            log.exception(
                "mission %s failed", request.mission_id, extra={"mission": request.mission_id}
            )
            record = keep_error(error)
        # Not in a `finally`: when the process stops, the mission continues at the next start.
        await self._handlers.ended(request.mission_id)
        return record

    async def _settle(self, data: Record) -> Record:
        """Wait for a head's checks and submit one mission for all its failures."""
        red = _read(RedHead, data)
        try:
            request = await self._handlers.settle(red, self._checkpoint(None))
            if request is not None:
                await self._submit(request)
        except (MetaAgentError, SandboxError) as error:
            self._interrupt_if_temporary(error)
            log.exception("settling a red head failed", extra={"mission": red.mission_id})
            return keep_error(error)
        return {"ok": {"mission": request.mission_id if request else None}}

    async def _command(self, data: Record) -> Record:
        """Execute a command."""
        command = _read(Command, data)
        try:
            await self._handlers.command(command, self._checkpoint(self._commands))
        except (MetaAgentError, SandboxError) as error:
            self._interrupt_if_temporary(error)
            log.exception("command %s failed", command.command_id)
            return keep_error(error)
        return {"ok": {}}

    async def _feedback(self, data: Record) -> Record:
        """Process feedback on a proposal."""
        feedback = _read(Feedback, data)

        async def hand_over() -> Frozen:
            await self._handlers.feedback(feedback)
            return Frozen()

        try:
            await self._checkpoint(self._notices).step("feed_back", Frozen, hand_over)
        except (MetaAgentError, SandboxError) as error:
            self._interrupt_if_temporary(error)
            log.exception(
                "processing feedback failed", extra={"pull_request": feedback.pull_request}
            )
            return keep_error(error)
        return {"ok": {}}

    async def _notice(self, data: Record) -> Record:
        """Process a change that affects active missions or a pull request."""
        with _reading():
            change = _CHANGE.validate_json(json.dumps(data))
        try:
            if isinstance(change, GivenUp):
                await self._handlers.ended(change.request.mission_id)
            await self._handlers.notice(change, self._checkpoint(self._notices))
        except (MetaAgentError, SandboxError) as error:
            self._interrupt_if_temporary(error)
            log.exception("processing a change failed", extra={"change": change.kind})
            return keep_error(error)
        return {"ok": {}}


def workflow_for(value: BaseModel) -> str:
    """Return the name of the workflow that takes a value."""
    names = {MissionRequest: "mission", RedHead: "settle", Command: "command", Feedback: "feedback"}
    return names.get(type(value), "notice")


async def _call(what: Callable[[], Awaitable[None]]) -> None:
    await what()


def _read(kind: type[Input], data: Record) -> Input:
    with _reading():
        return kind.model_validate_json(json.dumps(data))


class _Unreadable(MetaAgentError):
    """The input was written by another version and cannot be read."""


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except ValidationError:
        raise _Unreadable(
            "another version wrote this workflow's input", "run the same version in all processes"
        ) from None
