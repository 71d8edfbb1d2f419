"""The only code that knows dbos: missions as durable workflows on one SQLite file."""

import asyncio
import fcntl
import json
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import Feedback, MissionRequest
from bot.errors import GitHubError, MetaAgentError, QueueError, RateLimited
from bot.ports import Checkpoint
from bot.queue.records import Record, keep, keep_error, recall
from sandbox.errors import SandboxError

Value = TypeVar("Value", bound=BaseModel)
Result = TypeVar("Result")
P = ParamSpec("P")
HandleRequest = Callable[[MissionRequest, Checkpoint], Awaitable[MissionContext]]
HandleFeedback = Callable[[Feedback], Awaitable[None]]

PROTOCOL = "mission-protocol-2"
"""Application version: changes only with the order or the names of steps, else waiting missions would be stranded."""

MISSIONS = "missions"
FEEDBACK = "feedback"
SQLITE = "sqlite:///"
DEATHS = 5
"""A mission that took its process with it this often is given up."""

PAUSES_S = (20.0, 120.0, 600.0, 1_800.0)
"""Before a step is tried again that GitHub did not take; a limit of GitHub's says itself how long to wait."""
LONGEST_WAIT_S = 3_700.0
"""The longest limit, the hourly one, ends before this."""

log = logging.getLogger(__name__)


class DurableEngine:
    """Missions that survive `kill -9`: a queue per repository, every stage checkpointed.

    One process at a time may hold the file; a second one refuses to launch.

    Args:
        url: `sqlite:///` and the absolute path of the file.
        handle_request: The whole line, from admission to lessons.
        handle_feedback: What to do with a human's verdict.
        workers: Missions that run at the same time.
        poll_s: How often the queue is looked at.
        pauses_s: Before a step is tried again that GitHub did not take.
    """

    def __init__(
        self,
        url: str,
        handle_request: HandleRequest,
        handle_feedback: HandleFeedback,
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
        self._handle_request = handle_request
        self._handle_feedback = handle_feedback
        self._workers = workers
        self._poll_s = poll_s
        self._pauses_s = pauses_s
        self._lock: IO[str] | None = None
        self._mission: Callable[..., Any] | None = None
        self._feedback: Callable[..., Any] | None = None
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
        await self._in_thread(self._close)
        self._threads.shutdown(wait=False)

    async def submit(self, request: MissionRequest) -> bool:
        """Put a mission in line; False when it is there already and has not failed."""
        return await self._in_thread(self._submit, request)

    async def feed_back(self, feedback: Feedback) -> None:
        """Put a verdict of a human in line."""
        await self._in_thread(self._submit_feedback, feedback)

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running."""
        await self._in_thread(self._cancel, mission_id)

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        return await self._in_thread(self._status, mission_id)

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
        self._register()
        DBOS.launch()
        DBOS.register_queue(
            MISSIONS,
            partition_concurrency=1,
            worker_concurrency=self._workers,
            polling_interval_sec=self._poll_s,
            on_conflict="always_update",
        )
        DBOS.register_queue(FEEDBACK, worker_concurrency=1, polling_interval_sec=1.0, on_conflict="always_update")

    def _register(self) -> None:
        from dbos import DBOS

        handle_request, handle_feedback, pauses_s = self._handle_request, self._handle_feedback, self._pauses_s

        async def mission(data: Record) -> Record:
            request = MissionRequest.model_validate_json(json.dumps(data))
            try:
                context = await handle_request(request, DurableCheckpoint(pauses_s))
            except (MetaAgentError, SandboxError) as error:
                log.exception("mission %s broke", request.mission_id, extra={"mission": request.mission_id})
                return keep_error(error)
            return {"ok": {"outcome": context.outcome.value if context.outcome else None}}

        async def feedback(data: Record) -> Record:
            async def hand_over() -> Record:
                try:
                    await handle_feedback(Feedback.model_validate_json(json.dumps(data)))
                except (MetaAgentError, SandboxError) as error:
                    log.exception("feedback was not taken")
                    return keep_error(error)
                return {"ok": {}}

            return await DBOS.run_step_async({"name": "feed_back"}, hand_over)

        self._mission = DBOS.workflow(name="mission", max_recovery_attempts=DEATHS)(mission)
        self._feedback = DBOS.workflow(name="feedback", max_recovery_attempts=DEATHS)(feedback)

    def _close(self) -> None:
        from dbos import DBOS

        DBOS.destroy(destroy_registry=True)
        self._drop_lock()

    def _submit(self, request: MissionRequest) -> bool:
        from dbos import DBOS, SetEnqueueOptions, SetWorkflowID

        if self._mission is None or request.repository is None:
            raise QueueError("the engine is not launched" if self._mission is None else "a mission needs a repository")
        before = self._status(request.mission_id)
        if before == "failed":
            DBOS.delete_workflow(request.mission_id)
        elif before is not None:
            return False
        partition = str(request.repository.id)
        with SetWorkflowID(request.mission_id), SetEnqueueOptions(queue_partition_key=partition):
            DBOS.enqueue_workflow(MISSIONS, self._mission, to_jsonable_python(request))
        return True

    def _submit_feedback(self, feedback: Feedback) -> None:
        from dbos import DBOS, SetWorkflowID

        if self._feedback is None:
            raise QueueError("the engine is not launched")
        verdict = "merged" if feedback.merged else "closed"
        name = f"feedback:{feedback.repository.id}:{feedback.pull_request}:{verdict}"
        with SetWorkflowID(name):
            DBOS.enqueue_workflow(FEEDBACK, self._feedback, to_jsonable_python(feedback))

    def _cancel(self, mission_id: str) -> None:
        from dbos import DBOS

        DBOS.cancel_workflow(mission_id)

    def _status(self, mission_id: str) -> str | None:
        from dbos import DBOS

        known = DBOS.get_workflow_status(mission_id)
        if known is None:
            return None
        return _named(known.status, known.output)

    def _steps(self, mission_id: str) -> tuple[str, ...]:
        from dbos import DBOS

        return tuple(step["function_name"] for step in DBOS.list_workflow_steps(mission_id))


class DurableCheckpoint:
    """The checkpoint of a mission in the engine: a step that has a row is not run again.

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
        from dbos import DBOS

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
                await DBOS.sleep_async(wait)
        raise AssertionError("a loop over turns ends by returning or raising")


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


def _named(status: str, output: Any) -> str:
    """The engine's word for a state in ours."""
    if status == "SUCCESS":
        kept = output if isinstance(output, dict) else {}
        failed = "err" in kept or kept.get("ok", {}).get("outcome") == Outcome.ERROR.value
        return "failed" if failed else "done"
    words = {"ENQUEUED": "waiting", "DELAYED": "waiting", "PENDING": "running", "CANCELLED": "cancelled"}
    return words.get(status, "failed")
