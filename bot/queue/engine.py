"""The engine: durable workflows on SQLite or PostgreSQL for all work that outlasts a request."""

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
from bot.domain.request import DashboardDue, Feedback, MissionRequest, RedHead
from bot.errors import QueueError
from bot.queue import executor
from bot.queue.checkpoint import PAUSES_S, DurableCheckpoint
from bot.queue.interruptions import InterruptionLimit
from bot.queue.lost import LostWork
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
"""Polling intervals, in seconds. Polling a file is cheap; on a server, each worker adds load."""
HOURLY = "7 * * * *"
ANSWER_S = 8.0
"""Timeout of a database call, in seconds: GitHub waits ten seconds for our answer."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineTiming:
    """Intervals and rate limits of the engine."""

    poll_s: float | None = None
    """Interval between two polls of a queue, in seconds."""
    pauses_s: tuple[float, ...] = PAUSES_S
    """Pauses before each retry of a failed GitHub step, in seconds."""
    beat_s: float = BEAT_S
    """Interval of heartbeats and liveness checks, in seconds."""
    ttl_s: float = TTL_S
    """Time without a heartbeat after which a worker counts as dead, in seconds."""
    per_minute: int | None = None
    """Mission starts per minute, over all processes."""
    per_minute_each: int | None = None
    """Mission starts per minute and repository, over all processes."""
    tidy_at: str = HOURLY
    """Cron schedule of the cleanup, which one process runs for all."""


class DurableEngine:
    """A workflow engine whose missions survive `kill -9`; each repository has its own queue.

    On SQLite, one process at a time may hold the file; a second one refuses to launch. On
    PostgreSQL, any number of processes share the missions and take over those of dead workers.

    Args:
        url: `sqlite:///` and the absolute path of the file, or `postgresql://…` of an existing
            database.
        handlers: One handler for each kind of work.
        works: True to run work, False to only enqueue it for other processes.
        workers: Concurrent missions in this process.
        workers_total: Concurrent missions over all processes; None for no limit.
        pace: Intervals and rate limits, if not the defaults.
    """

    def __init__(
        self,
        url: str,
        handlers: Handlers,
        *,
        works: bool = True,
        workers: int = 2,
        workers_total: int | None = None,
        pace: EngineTiming | None = None,
    ) -> None:
        self.name = _name()
        self._postgres = Postgres(url, self.name) if is_postgres(url) else None
        self._file = SqliteFile(url) if url.startswith(SQLITE) else None
        if self._postgres is None and self._file is None:
            raise QueueError(
                f"the engine runs on SQLite or PostgreSQL, not on {url.partition(':')[0]}",
                "leave METAAGENT_DATABASE_URL empty, "
                f"or set it to {SQLITE}/path/to/engine.sqlite or postgresql://…",
            )
        self.url = url
        self._handlers = handlers
        self._pace = pace or EngineTiming()
        interruptions = InterruptionLimit()

        def checkpoint(turns: asyncio.Semaphore | None) -> DurableCheckpoint:
            return DurableCheckpoint(self._pace.pauses_s, handlers.blobs, interruptions, turns)

        self._workflows = Workflows(handlers, checkpoint, self.submit, interruptions)
        self._works = works
        self._workers, self._workers_total = workers, workers_total
        self._poll_s = self._pace.poll_s or (POLL_POSTGRES_S if self._postgres else POLL_SQLITE_S)
        self._rows: Rows | None = None
        self._turns: Turns | None = None
        self._one_thread = threading.Lock()
        # Our own threads for blocking calls: dbos would replace the event loop's default executor.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="engine")

    async def launch(self) -> None:
        """Lock the file or join the other processes, recover interrupted work and start working.

        Raises:
            QueueError: another process holds the file, or the database cannot be used.
        """
        await self._in_thread(self._launch)

    async def close(self) -> None:
        """Stop; active missions continue at the next launch or in another process."""
        if self._rows is None:
            return
        try:
            await self._workflows.close()
        except Exception as error:  # of any handler; the engine must stop all the same
            log.warning("closing the handlers failed (%s)", type(error).__name__)
        try:
            await self._in_thread(self._close)
        finally:
            self._threads.shutdown(wait=False)

    @property
    def is_working(self) -> bool:
        """Return True if the engine is launched and its background threads are alive."""
        return self._rows is not None and (self._turns is None or self._turns.is_working)

    async def submit(self, request: MissionRequest, *, delay_s: float = 0.0) -> bool:
        """Enqueue a mission; return False if it is already there and has not failed."""
        new = await self._ask(Rows.submit, request, delay_s)
        if new:
            await self._handlers.begun(request)
            if await self.status(request.mission_id) in ENDED:
                await self._handlers.ended(request.mission_id)  # it finished before `begun` did
        return new

    async def settle(self, red: RedHead) -> bool:
        """Wait for the checks of a red head; return False if that is done or its mission exists."""
        return await self._ask(Rows.settle, red)

    async def command(self, command: Command) -> bool:
        """Enqueue a command; return False if it is already there."""
        return await self._ask(Rows.enqueue, COMMANDS, command.command_id, command)

    async def feed_back(self, feedback: Feedback) -> None:
        """Enqueue human feedback on a proposal."""
        fate = feedback.fate or ("merged" if feedback.merged else "closed")
        of = feedback.mission_id or feedback.pull_request
        about = f"feedback:{feedback.repository.id}:{of}:{fate}:{feedback.delivery_id or ''}"
        await self._ask(Rows.enqueue, NOTICES, about, feedback)

    async def notice(self, change: Change, *, delay_s: float = 0.0) -> None:
        """Enqueue a change that affects active missions; an equal one is enqueued once."""
        if isinstance(change, DashboardDue):
            await self._ask(Rows.enqueue, NOTICES, change.key, change, delay_s=delay_s)
            return
        content = hashlib.sha256(change.model_dump_json().encode()).hexdigest()[:32]
        await self._ask(Rows.enqueue, NOTICES, f"notice:{content}", change)

    async def cancel(self, mission_id: str) -> None:
        """Cancel a mission, or the settling of the checks that would lead to it."""
        await self._ask(Rows.cancel, mission_id)
        await self._handlers.ended(mission_id)

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        """Return the waiting and running missions of one repository, or of all."""
        return await self._ask(Rows.under_way, repository_id)

    async def status(self, mission_id: str) -> str | None:
        """Return `waiting`, `running`, `done`, `failed`, `cancelled`, or None if unknown."""
        return await self._ask(Rows.status, mission_id)

    async def is_unanswered(self, mission_id: str) -> bool:
        """Return True if settling the head failed, so that its mission was never requested."""
        return await self._ask(Rows.is_unanswered, mission_id)

    async def forget(self, before: datetime) -> int:
        """Delete rows of work that ended before a time; return their number.

        Duplicates are recognized only while their row exists.
        """
        return await self._ask(Rows.forget, before)

    async def steps(self, mission_id: str) -> tuple[str, ...]:
        """Return the names of the completed steps of a mission."""
        return await self._ask(Rows.steps, mission_id)

    async def _ask(
        self, call: Callable[Concatenate[Rows, P], Result], *arguments: P.args, **named: P.kwargs
    ) -> Result:
        if self._rows is None:
            raise QueueError("the engine is not launched")
        within = None if self._postgres is None else ANSWER_S
        return await self._in_thread(partial(call, self._rows, *arguments, **named), within)

    async def _in_thread(self, call: Callable[[], Result], within: float | None = None) -> Result:
        try:
            return await asyncio.wait_for(
                asyncio.get_running_loop().run_in_executor(self._threads, call), within
            )
        except (QueueError, asyncio.CancelledError):
            raise
        except Exception as error:
            # dbos and the drivers raise many kinds of errors; callers handle one.
            raise QueueError(
                f"the engine does not answer ({type(error).__name__})", "see the engine's log"
            ) from error

    # --- blocking code, run in a thread -----------------------------------------------------------

    def _launch(self) -> None:
        if self._file is not None:
            self._file.take()
        try:
            if self._postgres is not None:
                self._postgres.prepare()
            if self._works:
                self._work()
            else:
                executor.create_tables(self.url)
            self._rows = self._rows or Rows(self.url, self._alone)
        except BaseException:
            self._leave()
            raise

    def _work(self) -> None:
        if self._postgres is not None:
            self._postgres.beat()  # before claiming, else it looks dead to others
        share = executor.Share(
            workers=self._workers,
            total=self._workers_total,
            per_minute=self._pace.per_minute,
            per_minute_each=self._pace.per_minute_each,
            poll_s=self._poll_s,
            tidy_at=self._pace.tidy_at,
            shared=self._postgres is not None,
        )
        executor.create_tables(self.url)
        self._rows = Rows(self.url, self._alone)
        executor.set_limits(self._rows, share)
        executor.launch(self.url, self.name, self._workflows, share)
        dead = executor.DeadWork(self._rows, executor.library_recovery())
        turns: list[Turn] = [LostWork(self._rows, self.name, self._workflows.at_work).find_lost]
        if self._postgres is None:
            # The file's lock proves that every other executor in the rows is dead.
            for gone in dead.running().keys() - {self.name}:
                dead.recover(gone)
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
        """Release active missions, so that they continue at once elsewhere or at the next start."""
        if self._rows is None:
            return
        try:
            executor.requeue(self._rows, self._rows.running(self.name), self.name)
        except Exception as error:  # of any driver; an unavailable database must not block the stop
            log.warning(
                "releasing active missions failed, others take them over after the timeout (%s)",
                type(error).__name__,
            )

    def _leave(self) -> None:
        # Closed in reverse order, each one even if another fails.
        with ExitStack() as parts:
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
    """Return a name for this process that no other executor ever had."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
