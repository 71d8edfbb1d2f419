"""What the engine's workflows do, apart from the engine: JSON in, a handler called, JSON out."""

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
from bot.domain.request import Feedback, GivenUp, Halted, HeadMoved, InstallationChange, MissionRequest, RedHead
from bot.errors import MetaAgentError, QueueError, StoreError
from bot.ports import BlobStore, Checkpoint, PatientCheckpoint
from bot.queue.patience import Patience, unwritten
from bot.queue.records import Record, keep_error
from sandbox.errors import SandboxError
from sandbox.types import Frozen

Told = TypeVar("Told", bound=BaseModel)
Change = HeadMoved | InstallationChange | GivenUp | Halted
Workflow = Callable[[Record], Awaitable[Record]]
Tidy = Callable[[datetime, Any], Coroutine[Any, Any, None]]
Submit = Callable[[MissionRequest], Awaitable[bool]]
MakeCheckpoint = Callable[[], PatientCheckpoint]

_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)

CLOSE_S = 10.0
"""So long closing may take."""

log = logging.getLogger(__name__)


async def _begun(_: MissionRequest) -> None:
    """Nobody keeps a list of what is under way."""


async def _ended(_: str) -> None:
    """Nobody keeps a list of what is under way."""


async def _nothing() -> None:
    """Nothing belongs to the loop, nothing is to be tidied up."""


@dataclass(frozen=True)
class Handlers:
    """What is done with each kind of work; a handler may be called again after a death, a step of it is not."""

    mission: Callable[[MissionRequest, Checkpoint], Awaitable[MissionContext]]
    """The whole line, from admission to lessons."""
    settle: Callable[[RedHead, PatientCheckpoint], Awaitable[MissionRequest | None]]
    """Waits for the other checks of a red head; the mission to ask for, or None when nothing is red any more."""
    command: Callable[[Command, PatientCheckpoint], Awaitable[None]]
    feedback: Callable[[Feedback], Awaitable[None]]
    notice: Callable[[Change, PatientCheckpoint], Awaitable[None]]
    begun: Callable[[MissionRequest], Awaitable[None]] = _begun
    """A mission was put in line."""
    ended: Callable[[str], Awaitable[None]] = _ended
    """A mission neither waits nor runs any more."""
    tidy: Callable[[], Awaitable[None]] = _nothing
    """Drops what is old."""
    blobs: BlobStore | None = None
    """Where results of steps are kept that are too large for a row."""
    closing: Callable[[], Awaitable[None]] = _nothing
    """Gives back what belongs to the event loop the handlers run in, before that ends."""


class Workflows:
    """The five workflows, and what is done at fixed times.

    Args:
        handlers: What is done.
        checkpoint: Makes the checkpoint of one workflow.
        submit: Puts a mission in line.
        patience: How often work may be broken off because a database is away.
    """

    def __init__(
        self, handlers: Handlers, checkpoint: MakeCheckpoint, submit: Submit, patience: Patience | None = None
    ) -> None:
        self._handlers = handlers
        self._checkpoint = checkpoint
        self._submit = submit
        self._patience = patience or Patience()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._here: list[str] = []
        works = (self._mission, self._settle, self._command, self._feedback, self._notice)
        self.by_name: Mapping[str, Workflow] = {work.__name__.lstrip("_"): self._plain(work) for work in works}
        """The workflows by the name that the engine's rows have for them."""

    def tidying(self) -> Tidy:
        """What the engine calls at fixed times, with the time and nothing."""

        async def tidy(_: datetime, __: Any) -> None:
            with self._at_work():
                try:
                    await self._checkpoint().step("tidy", Frozen, self._tidy)
                except (MetaAgentError, SandboxError) as error:
                    log.warning("what is old is still there: %s", error)

        return tidy

    async def _tidy(self) -> Frozen:
        try:
            await self._handlers.tidy()
        except (QueueError, StoreError) as error:
            # Not broken off as other work is: the next one comes by the clock.
            log.warning("what is old is still there: %s", error.message)
        return Frozen()

    async def close(self) -> None:
        """Call `closing` where the handlers run, if any ever did."""
        if self._loop is not None and self._loop.is_running():
            closed = asyncio.run_coroutine_threadsafe(_call(self._handlers.closing), self._loop)
            await asyncio.wait_for(asyncio.wrap_future(closed), CLOSE_S)

    def _plain(self, work: Workflow) -> Workflow:
        """A function: the engine marks what it registers, and a method cannot be marked."""

        async def run(data: Record) -> Record:
            with self._at_work() as name:
                try:
                    ended = await work(data)
                except _Unreadable as error:
                    ended = await self._left_to_others(name, error)
                self._patience.forget(name)
                return ended

        return run

    def at_work(self) -> frozenset[str]:
        """The names of what is worked on in this process; may be asked from any thread."""
        return frozenset(self._here)

    @contextmanager
    def _at_work(self) -> Iterator[str]:
        """What runs here is known by its name. Where a database failed it, it has not ended: others go on with it."""
        from dbos import DBOS

        name = DBOS.workflow_id or ""
        self._loop = asyncio.get_running_loop()
        self._here.append(name)
        try:
            yield name
        except (QueueError, StoreError) as error:
            raise unwritten(error) from error
        finally:
            self._here.remove(name)

    def _go_on_later(self, error: Exception) -> None:
        """Break off what met a database or a store that is away; returns when its error is its end."""
        from dbos import DBOS

        if self._patience.spend(error, DBOS.workflow_id or ""):
            raise unwritten(error) from error

    async def _left_to_others(self, name: str, error: "_Unreadable") -> Record:
        """A newer process wrote it, and may take it; when none ever does, it ends and waits nowhere any more."""
        if self._patience.spend_on_anything(error, name):
            raise unwritten(error) from error
        await self._handlers.ended(name)
        return keep_error(error)

    async def _mission(self, data: Record) -> Record:
        """From a request to what people are told."""
        request = _read(MissionRequest, data)
        # Said when it was put in line, too; a death between the two must not hide it.
        await self._handlers.begun(request)
        try:
            context = await self._handlers.mission(request, self._checkpoint())
            record: Record = {"ok": {"outcome": context.outcome.value if context.outcome else None}}
        except (MetaAgentError, SandboxError) as error:
            self._go_on_later(error)
            log.exception("mission %s broke", request.mission_id, extra={"mission": request.mission_id})
            record = keep_error(error)
        # Not when the process stops: then the mission goes on at the next start.
        await self._handlers.ended(request.mission_id)
        return record

    async def _settle(self, data: Record) -> Record:
        """From the first red check of a head to the one mission for all of them."""
        red = _read(RedHead, data)
        try:
            request = await self._handlers.settle(red, self._checkpoint())
            if request is not None:
                await self._submit(request)
        except (MetaAgentError, SandboxError) as error:
            self._go_on_later(error)
            log.exception("a red head was not answered", extra={"mission": red.mission_id})
            return keep_error(error)
        return {"ok": {"mission": request.mission_id if request else None}}

    async def _command(self, data: Record) -> Record:
        """What a person asked."""
        command = _read(Command, data)
        try:
            await self._handlers.command(command, self._checkpoint())
        except (MetaAgentError, SandboxError) as error:
            self._go_on_later(error)
            log.exception("command %s was not obeyed", command.command_id)
            return keep_error(error)
        return {"ok": {}}

    async def _feedback(self, data: Record) -> Record:
        """What became of something we proposed."""
        feedback = _read(Feedback, data)

        async def hand_over() -> Frozen:
            await self._handlers.feedback(feedback)
            return Frozen()

        try:
            await self._checkpoint().step("feed_back", Frozen, hand_over)
        except (MetaAgentError, SandboxError) as error:
            self._go_on_later(error)
            log.exception("feedback was not taken")
            return keep_error(error)
        return {"ok": {}}

    async def _notice(self, data: Record) -> Record:
        """Something changed under what is under way."""
        with _reading():
            change = _CHANGE.validate_json(json.dumps(data))
        try:
            if isinstance(change, GivenUp):
                await self._handlers.ended(change.request.mission_id)
            await self._handlers.notice(change, self._checkpoint())
        except (MetaAgentError, SandboxError) as error:
            self._go_on_later(error)
            log.exception("a change was not taken")
            return keep_error(error)
        return {"ok": {}}


def workflow_for(value: BaseModel) -> str:
    """The name of the workflow that takes a value."""
    names = {MissionRequest: "mission", RedHead: "settle", Command: "command", Feedback: "feedback"}
    return names.get(type(value), "notice")


async def _call(what: Callable[[], Awaitable[None]]) -> None:
    await what()


def _read(kind: type[Told], data: Record) -> Told:
    with _reading():
        return kind.model_validate_json(json.dumps(data))


class _Unreadable(MetaAgentError):
    """What is to be done is not in words of this version."""


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except ValidationError:
        raise _Unreadable("another version wrote what is to be done", "let all processes be of one version") from None
