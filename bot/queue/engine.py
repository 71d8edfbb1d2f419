"""The engine: everything that takes longer than an answer is a durable workflow on one SQLite file."""

import asyncio
import fcntl
import hashlib
import json
import logging
import re
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bot.domain.command import Command
from bot.domain.mission import Outcome
from bot.domain.request import Feedback, MissionRequest, RedHead, Trigger
from bot.errors import QueueError
from bot.queue.checkpoint import PAUSES_S, DurableCheckpoint
from bot.queue.workflows import Change, Handlers, Workflows, workflow_for

Result = TypeVar("Result")
P = ParamSpec("P")

PROTOCOL = "mission-protocol-3"
"""Application version: changes only with the order or the names of steps, else waiting missions would be stranded."""

MISSIONS, INTAKE, COMMANDS, NOTICES = "missions", "intake", "commands", "notices"
"""The queues. Only missions are heavy: they take turns in each repository."""
SETTLING = 1_000
"""Red heads that are watched at the same time; nearly all of that time is sleep."""
ASKED, AUTOMATIC = 1, 10
"""Whose mission of a repository is first in line: the lower number."""
ENDED = frozenset({"done", "failed", "cancelled"})
_SETTLED = re.compile(r"mission:(?P<repository>\d+):(?P<sha>[0-9a-f]{40}):auto")
FORGET_AT_ONCE = 1_000
SQLITE = "sqlite:///"
DEATHS = 5
"""A mission that took its process with it this often is given up."""

log = logging.getLogger(__name__)


class DurableEngine:
    """Work that survives `kill -9`: missions with a queue per repository, and what leads to them.

    One process at a time may hold the file; a second one refuses to launch.

    Args:
        url: `sqlite:///` and the absolute path of the file.
        handlers: What is done with each kind of work.
        workers: Missions that run at the same time.
        poll_s: How often the queue is looked at.
        pauses_s: Before a step is tried again that GitHub did not take.
    """

    def __init__(
        self,
        url: str,
        handlers: Handlers,
        *,
        workers: int = 2,
        poll_s: float = 0.2,
        pauses_s: tuple[float, ...] = PAUSES_S,
    ) -> None:
        if not url.startswith(SQLITE):
            raise QueueError(
                f"the engine runs on SQLite, not on {url.partition(':')[0]}",
                f"leave METAAGENT_DATABASE_URL empty or set it to {SQLITE}/path/to/engine.sqlite",
            )
        self._url = url
        self._path = Path(url.removeprefix(SQLITE))
        self._handlers = handlers
        self._workflows = Workflows(handlers, partial(DurableCheckpoint, pauses_s), self.submit)
        self._workers = workers
        self._poll_s = poll_s
        self._lock: IO[str] | None = None
        self._registered: dict[str, Callable[..., Any]] = {}
        # Synchronous calls in threads of our own: dbos would replace the caller's pool by its own.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="engine")

    async def launch(self) -> None:
        """Take the file, recover what was running, begin to work.

        Raises:
            QueueError: another process holds the file, or it cannot be written.
        """
        await self._in_thread(self._launch)

    async def close(self) -> None:
        """Stop; what runs goes on at the next launch."""
        if self._lock is None:
            return
        try:
            await self._workflows.close()
        except TimeoutError:
            log.warning("not everything was given back in time")
        await self._in_thread(self._close)
        self._threads.shutdown(wait=False)

    async def submit(self, request: MissionRequest) -> bool:
        """Put a mission in line; False when it is there already and has not failed."""
        new = await self._in_thread(self._submit, request)
        if new:
            await self._handlers.begun(request)
            if await self.status(request.mission_id) in ENDED:
                await self._handlers.ended(request.mission_id)  # it was quicker than we
        return new

    async def settle(self, red: RedHead) -> bool:
        """Watch a red head until its checks have settled; False when that is done already, or its mission is there."""
        return await self._in_thread(self._settle, red)

    async def command(self, command: Command) -> bool:
        """Put what a person asked in line; False when it is there already."""
        return await self._in_thread(self._enqueue, COMMANDS, command.command_id, command)

    async def feed_back(self, feedback: Feedback) -> None:
        """Put a verdict of a human in line."""
        fate = feedback.fate or ("merged" if feedback.merged else "closed")
        about = f"feedback:{feedback.repository.id}:{feedback.pull_request}:{fate}:{feedback.delivery_id or ''}"
        await self._in_thread(self._enqueue, NOTICES, about, feedback)

    async def notice(self, change: Change) -> None:
        """Put something that changes what is under way in line."""
        content = hashlib.sha256(change.model_dump_json().encode()).hexdigest()[:32]
        await self._in_thread(self._enqueue, NOTICES, f"notice:{content}", change)

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running; or the settling of the checks that would lead to it."""
        await self._in_thread(self._cancel, mission_id)
        await self._handlers.ended(mission_id)

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        """The missions that wait or run, of one repository or of all."""
        return await self._in_thread(self._under_way, repository_id)

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        return await self._in_thread(self._mission_status, mission_id)

    async def forget(self, before: datetime) -> int:
        """Drop the rows of what ended before then; how many. Only so long is the same thing not done twice."""
        return await self._in_thread(self._forget, before)

    async def steps(self, mission_id: str) -> tuple[str, ...]:
        """The names of the steps a mission has behind it."""
        return await self._in_thread(self._steps, mission_id)

    async def _in_thread(self, call: Callable[P, Result], *arguments: P.args, **named: P.kwargs) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *arguments, **named))
        except (QueueError, asyncio.CancelledError):
            raise
        except Exception as error:
            # dbos and the database below it raise many kinds; to the bot they are one.
            raise QueueError(f"the engine does not answer ({type(error).__name__})", "look at its log") from error

    # --- below: in a thread ---------------------------------------------------------------------

    def _launch(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        try:
            self._write_ahead()
            self._start()
        except BaseException:
            self._drop_lock()
            raise

    def _take_lock(self) -> None:
        """The kernel drops the lock with the process, so a dead one is never mistaken for a living."""
        lock = self._path.with_name(self._path.name + ".executor.lock").open("a")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise QueueError(
                f"another process already works on {self._path}: SQLite takes one executor",
                "stop it, or give this one another METAAGENT_DATA_DIR",
            ) from error
        self._lock = lock

    def _drop_lock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _write_ahead(self) -> None:
        """A property of the file, and dbos does not set it: without it every step costs three times as much."""
        try:
            database = sqlite3.connect(self._path, timeout=30)
            try:
                database.execute("PRAGMA journal_mode=WAL")
            finally:
                database.close()
        except sqlite3.Error as error:
            raise QueueError(f"{self._path} cannot be used: {error}", "check METAAGENT_DATA_DIR") from error

    def _start(self) -> None:
        # Its own console handler would pass by the masks of ours.
        logging.getLogger("dbos").addHandler(logging.NullHandler())
        from dbos import DBOS, DBOSPortableJSONSerializer

        DBOS(
            config={
                "name": "metaagent",
                "system_database_url": self._url,
                "application_version": PROTOCOL,
                "executor_id": "local",
                "serializer": DBOSPortableJSONSerializer(),
                "sys_db_pool_size": 4,
                "max_executor_threads": 64,
                "log_level": "WARNING",
                "run_migrations": True,
            }
        )
        for name, work in self._workflows.by_name.items():
            self._registered[name] = DBOS.workflow(name=name, max_recovery_attempts=DEATHS)(work)
        DBOS.launch()
        DBOS.register_queue(
            MISSIONS,
            partition_concurrency=1,
            worker_concurrency=self._workers,
            polling_interval_sec=self._poll_s,
            on_conflict="always_update",
        )
        for name, at_once in ((INTAKE, SETTLING), (COMMANDS, 4), (NOTICES, 4)):
            DBOS.register_queue(
                name, worker_concurrency=at_once, polling_interval_sec=self._poll_s, on_conflict="always_update"
            )

    def _close(self) -> None:
        from dbos import DBOS

        DBOS.destroy(destroy_registry=True)
        self._drop_lock()

    def _submit(self, request: MissionRequest) -> bool:
        if request.repository is None:
            raise QueueError("a mission needs a repository")
        partition = str(request.repository.id)
        priority = ASKED if request.trigger is Trigger.COMMENT else AUTOMATIC
        return self._enqueue(MISSIONS, request.mission_id, request, partition=partition, priority=priority)

    def _settle(self, red: RedHead) -> bool:
        if self._status(red.mission_id) not in {None, "failed"}:
            return False
        # A head that settled without a mission was green again: the next red check is news, unless somebody said stop.
        anew = ENDED if red.again else ENDED - {"cancelled"}
        return self._enqueue(INTAKE, _intake(red.repository.id, red.head_sha), red, anew=anew)

    def _enqueue(
        self,
        queue: str,
        name: str,
        value: BaseModel,
        *,
        partition: str | None = None,
        priority: int | None = None,
        anew: frozenset[str] = frozenset({"failed"}),
    ) -> bool:
        """Under this name at most once, unless it ended in a state that allows it `anew`."""
        from dbos import DBOS, SetEnqueueOptions, SetWorkflowID

        workflow = self._registered.get(workflow_for(value))
        if workflow is None:
            raise QueueError("the engine is not launched")
        before = self._status(name)
        if before in anew:
            DBOS.delete_workflow(name)
        elif before is not None:
            return False
        with SetWorkflowID(name), SetEnqueueOptions(queue_partition_key=partition, priority=priority):
            DBOS.enqueue_workflow(queue, workflow, to_jsonable_python(value))
        return True

    def _cancel(self, mission_id: str) -> None:
        from dbos import DBOS

        DBOS.cancel_workflow(mission_id)
        if settling := _SETTLED.fullmatch(mission_id):
            DBOS.cancel_workflow(_intake(settling["repository"], settling["sha"]))

    def _mission_status(self, mission_id: str) -> str | None:
        """Of a mission whose head still settles, too; when that came to none, the next red check is news."""
        state = self._status(mission_id)
        settling = _SETTLED.fullmatch(mission_id)
        if state is not None or settling is None:
            return state
        state = self._status(_intake(settling["repository"], settling["sha"]))
        return "failed" if state == "done" else state

    def _status(self, name: str) -> str | None:
        from dbos import DBOS

        known = DBOS.get_workflow_status(name)
        if known is None:
            return None
        return _named(known.status, known.output)

    def _under_way(self, repository_id: int | None) -> tuple[MissionRequest, ...]:
        from dbos import DBOS

        rows = DBOS.list_workflows(name="mission", status=["ENQUEUED", "DELAYED", "PENDING"], load_output=False)
        requests = (MissionRequest.model_validate_json(json.dumps(row.input["args"][0])) for row in rows if row.input)
        return tuple(r for r in requests if repository_id in {None, r.repository.id if r.repository else None})

    def _forget(self, before: datetime) -> int:
        from dbos import DBOS

        done = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
        rows = DBOS.list_workflows(
            completed_before=before.isoformat(), status=done, load_input=False, load_output=False, limit=FORGET_AT_ONCE
        )
        if rows:
            DBOS.delete_workflows([row.workflow_id for row in rows])
        return len(rows)

    def _steps(self, mission_id: str) -> tuple[str, ...]:
        from dbos import DBOS

        return tuple(step["function_name"] for step in DBOS.list_workflow_steps(mission_id))


def _intake(repository: int | str, sha: str) -> str:
    return f"intake:{repository}:{sha}"


def _named(status: str, output: Any) -> str:
    """The engine's word for a state in ours."""
    if status == "SUCCESS":
        kept = output if isinstance(output, dict) else {}
        failed = "err" in kept or kept.get("ok", {}).get("outcome") == Outcome.ERROR.value
        return "failed" if failed else "done"
    words = {"ENQUEUED": "waiting", "DELAYED": "waiting", "PENDING": "running", "CANCELLED": "cancelled"}
    return words.get(status, "failed")
