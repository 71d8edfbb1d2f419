"""The engine: everything that takes longer than an answer is a durable workflow, on SQLite or on PostgreSQL."""

import asyncio
import hashlib
import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from bot.domain.command import Command
from bot.domain.request import Feedback, MissionRequest, RedHead
from bot.errors import QueueError
from bot.queue import executor
from bot.queue.checkpoint import PAUSES_S, DurableCheckpoint
from bot.queue.lost import LostWork
from bot.queue.patience import Patience
from bot.queue.postgres import Postgres
from bot.queue.rows import COMMANDS, ENDED, NOTICES, Rows
from bot.queue.sqlite_file import SqliteFile
from bot.queue.supervisor import BEAT_S, TTL_S, Supervisor
from bot.queue.turns import Turn, Turns
from bot.queue.workflows import Change, Handlers, Workflows
from bot.store.database import SQLITE, is_postgres

Result = TypeVar("Result")
P = ParamSpec("P")

POLL_SQLITE_S, POLL_POSTGRES_S = 0.2, 0.5
"""Looking costs nothing in a file; a server is looked at by every worker."""
HOURLY = "7 * * * *"
ANSWER_S = 8.0
"""A server that does not answer in this time is away; GitHub waits ten seconds for us."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pace:
    """How long the engine waits for what."""

    poll_s: float | None = None
    """Between two looks at a queue."""
    pauses_s: tuple[float, ...] = PAUSES_S
    """Before a step is tried again that GitHub did not take."""
    beat_s: float = BEAT_S
    """Between two signs of life of a worker, and two looks at who works."""
    ttl_s: float = TTL_S
    """After so long a silence it is dead."""
    per_minute: int | None = None
    """Missions begun in a minute, in all processes together."""
    per_minute_each: int | None = None
    """The same of one repository."""
    tidy_at: str = HOURLY
    """When what is old is dropped, by one of all processes, as cron says it."""


class DurableEngine:
    """Work that survives `kill -9`: missions with a queue per repository, and what leads to them.

    On SQLite one process at a time may hold the file; a second one refuses to launch. On PostgreSQL any number
    work on the same missions, and those of a dead one are taken over by the others.

    Args:
        url: `sqlite:///` and the absolute path of the file, or `postgresql://…` of a database that is there.
        handlers: What is done with each kind of work.
        works: Whether this process works, or only puts work in line for others.
        workers: Missions that run at the same time in this process.
        workers_total: The same of all processes together; None does not limit.
        pace: How long it waits, where the defaults do not fit.
    """

    def __init__(
        self,
        url: str,
        handlers: Handlers,
        *,
        works: bool = True,
        workers: int = 2,
        workers_total: int | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.name = _name()
        self._postgres = Postgres(url, self.name) if is_postgres(url) else None
        self._file = SqliteFile(url) if url.startswith(SQLITE) else None
        if self._postgres is None and self._file is None:
            raise QueueError(
                f"the engine runs on SQLite or PostgreSQL, not on {url.partition(':')[0]}",
                f"leave METAAGENT_DATABASE_URL empty, or set it to {SQLITE}/path/to/engine.sqlite or postgresql://…",
            )
        self.url = url
        self._handlers = handlers
        self._pace = pace or Pace()
        patience = Patience()
        checkpoint = partial(DurableCheckpoint, self._pace.pauses_s, handlers.blobs, patience)
        self._workflows = Workflows(handlers, checkpoint, self.submit, patience)
        self._works = works
        self._workers, self._workers_total = workers, workers_total
        self._poll_s = self._pace.poll_s or (POLL_POSTGRES_S if self._postgres else POLL_SQLITE_S)
        self._rows: Rows | None = None
        self._turns: Turns | None = None
        self._one_thread = threading.Lock()
        # Synchronous calls in threads of our own: dbos would replace the caller's pool by its own.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="engine")

    async def launch(self) -> None:
        """Take the file or join the others, recover what was running, begin to work.

        Raises:
            QueueError: another process holds the file, or the database cannot be used.
        """
        await self._in_thread(self._launch)

    async def close(self) -> None:
        """Stop; what runs goes on at the next launch, or in another process."""
        if self._rows is None:
            return
        try:
            await self._workflows.close()
        except Exception as error:  # whatever it was, the rest is stopped all the same
            log.warning("not everything was given back (%s)", type(error).__name__)
        try:
            await self._in_thread(self._close)
        finally:
            self._threads.shutdown(wait=False)

    @property
    def is_working(self) -> bool:
        """Whether it was launched and, where it works, watches what is worked on."""
        return self._rows is not None and (self._turns is None or self._turns.is_working)

    async def submit(self, request: MissionRequest, *, delay_s: float = 0.0) -> bool:
        """Put a mission in line, to begin after a delay; False when it is there already and has not failed."""
        new = await self._ask(Rows.submit, request, delay_s)
        if new:
            await self._handlers.begun(request)
            if await self.status(request.mission_id) in ENDED:
                await self._handlers.ended(request.mission_id)  # it was quicker than we
        return new

    async def settle(self, red: RedHead) -> bool:
        """Watch a red head until its checks have settled; False when that is done already, or its mission is there."""
        return await self._ask(Rows.settle, red)

    async def command(self, command: Command) -> bool:
        """Put what a person asked in line; False when it is there already."""
        return await self._ask(Rows.enqueue, COMMANDS, command.command_id, command)

    async def feed_back(self, feedback: Feedback) -> None:
        """Put a verdict of a human in line."""
        fate = feedback.fate or ("merged" if feedback.merged else "closed")
        of = feedback.mission_id or feedback.pull_request
        about = f"feedback:{feedback.repository.id}:{of}:{fate}:{feedback.delivery_id or ''}"
        await self._ask(Rows.enqueue, NOTICES, about, feedback)

    async def notice(self, change: Change) -> None:
        """Put something that changes what is under way in line."""
        content = hashlib.sha256(change.model_dump_json().encode()).hexdigest()[:32]
        await self._ask(Rows.enqueue, NOTICES, f"notice:{content}", change)

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running; or the settling of the checks that would lead to it."""
        await self._ask(Rows.cancel, mission_id)
        await self._handlers.ended(mission_id)

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        """The missions that wait or run, of one repository or of all."""
        return await self._ask(Rows.under_way, repository_id)

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        return await self._ask(Rows.status, mission_id)

    async def is_unanswered(self, mission_id: str) -> bool:
        """Whether the settling of a head failed, so that its mission was never asked for."""
        return await self._ask(Rows.is_unanswered, mission_id)

    async def forget(self, before: datetime) -> int:
        """Drop the rows of what ended before then; how many. Only so long is the same thing not done twice."""
        return await self._ask(Rows.forget, before)

    async def steps(self, mission_id: str) -> tuple[str, ...]:
        """The names of the steps a mission has behind it."""
        return await self._ask(Rows.steps, mission_id)

    async def _ask(self, call: Callable[Concatenate[Rows, P], Result], *arguments: P.args, **named: P.kwargs) -> Result:
        if self._rows is None:
            raise QueueError("the engine is not launched")
        within = None if self._postgres is None else ANSWER_S
        return await self._in_thread(partial(call, self._rows, *arguments, **named), within)

    async def _in_thread(self, call: Callable[[], Result], within: float | None = None) -> Result:
        try:
            return await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(self._threads, call), within)
        except (QueueError, asyncio.CancelledError):
            raise
        except Exception as error:
            # dbos and the database below it raise many kinds; to the bot they are one.
            raise QueueError(f"the engine does not answer ({type(error).__name__})", "look at its log") from error

    # --- below: in a thread ---------------------------------------------------------------------

    def _launch(self) -> None:
        if self._file is not None:
            self._file.take()
        try:
            if self._postgres is not None:
                self._postgres.prepare()
            if self._works:
                self._work()
            else:
                executor.make_tables(self.url)
            self._rows = self._rows or Rows(self.url, self._alone)
        except BaseException:
            self._leave()
            raise

    def _work(self) -> None:
        if self._postgres is not None:
            self._postgres.beat()  # before the first mission is ours
        share = executor.Share(
            workers=self._workers,
            total=self._workers_total,
            per_minute=self._pace.per_minute,
            per_minute_each=self._pace.per_minute_each,
            poll_s=self._poll_s,
            tidy_at=self._pace.tidy_at,
            shared=self._postgres is not None,
        )
        executor.launch(self.url, self.name, self._workflows, share)
        self._rows = Rows(self.url, self._alone)
        dead = executor.DeadWork(self._rows, executor.library_recovery())
        turns: list[Turn] = [LostWork(self._rows, self.name, self._workflows.at_work).find_lost]
        if self._postgres is None:
            # Who holds the file is alone: all others that ever worked on it are gone.
            for gone in dead.running().keys() - {self.name}:
                dead.take_back(gone)
        else:
            supervisor = Supervisor(self._postgres, dead, ttl_s=self._pace.ttl_s)
            turns += [supervisor.beat, supervisor.judge]
        self._turns = Turns(turns, self._pace.beat_s)
        self._turns.start()

    def _close(self) -> None:
        if self._turns is not None:
            self._turns.stop()
            self._turns = None
        try:
            if self._works:
                executor.destroy()
                self._hand_back()
        finally:
            self._leave()

    def _hand_back(self) -> None:
        """Not a death: others, or we at the next start, go on at once."""
        if self._rows is None:
            return
        try:
            executor.put_back(self._rows, self._rows.running(self.name), self.name)
        except Exception as error:  # its kind is the database's; a stop is not held up by one that is away
            log.warning("what runs is taken back later, as a dead process's is (%s)", type(error).__name__)

    def _leave(self) -> None:
        with ExitStack() as parts:  # the last one first, each of them whatever becomes of the others
            if self._file is not None:
                parts.callback(self._file.drop)
            if self._postgres is not None:
                parts.callback(self._postgres.leave)
            if self._rows is not None:
                parts.callback(self._rows.close)
                self._rows = None

    def _alone(self, what: str) -> AbstractContextManager[object]:
        return self._one_thread if self._postgres is None else self._postgres.alone(what)


def _name() -> str:
    """Of this process among all that ever worked on the database."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
