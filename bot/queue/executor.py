"""The engine's working process: launching dbos, queues, recovery of dead executors' work."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.queue.postgres import with_timeout
from bot.queue.rows import APPLICATION, ASKED, COMMANDS, INTAKE, MISSIONS, NOTICES, PROTOCOL, Rows
from bot.queue.workflows import Workflows

SLEEPING = 1_000
"""Red heads, commands and notices that one process takes at the same time.

They sleep nearly all the time, until checks settle or GitHub's rate limit resets. A small number
would let one account at its limit block all others. Their steps have a limit of their own.
"""
LINES = frozenset({ASKED, MISSIONS})
"""Queues of missions that have not repeatedly crashed their process."""
QUARANTINE, DEATHS = "quarantine", 3
"""Crashes in a row at the same step before a mission moves to the quarantine queue.

The quarantine runs one mission at a time in each worker. After as many crashes there, the mission
is given up. A mission that completed a step since its last claim starts from zero: it was probably
a bystander of another mission's crash.
"""
FORGIVEN = 200
"""Completed steps after which a crash always counts: progress must not excuse crashes for ever."""
LIBRARY_DEATHS = 50
"""The library's own limit. It also counts bystanders, so ours must be reached long before."""
POOL = 2
"""Database connections of a worker's steps.

Rows, our tables and heartbeats have one each besides.
"""
MINUTE_S = 60.0
PRIVATE = "_recover_pending_workflows"
"""The only private call of the library that we use; without it, public calls do the same."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """The share of the work that one process takes.

    Attributes:
        workers: Concurrent missions in this process.
        total: Concurrent missions over all processes; None for no limit.
        per_minute: Mission starts per minute, over all processes.
        per_minute_each: Mission starts per minute and repository, over all processes.
        poll_s: Interval between two polls of a queue, in seconds.
        tidy_at: Cron schedule of the cleanup.
        shared: True if other processes use the same database.
    """

    workers: int
    total: int | None
    per_minute: int | None
    per_minute_each: int | None
    poll_s: float
    tidy_at: str
    shared: bool


def create_tables(url: str) -> None:
    """Create the library's tables if missing: a process that only enqueues may be the first one."""
    from dbos import DBOS

    DBOS.migrate(with_timeout(url))


def set_limits(rows: Rows, share: Share) -> None:
    """Write the queues' limits, which all processes share: the last one to start sets them.

    Call it before `launch`: a queue that is polled before its limits are written starts missions
    by those of the process before, and does not count them.
    """
    at_once = share.workers if share.total is None else min(share.workers, share.total)
    for name in (ASKED, MISSIONS):
        rows.set_limits(
            name,
            share.poll_s,
            partition_concurrency=1,
            worker_concurrency=at_once,
            global_concurrency=share.total,
            limiter=_per_minute(share.per_minute),
            partition_limiter=_per_minute(share.per_minute_each),
        )
    for name in (INTAKE, COMMANDS, NOTICES):
        rows.set_limits(name, share.poll_s, worker_concurrency=SLEEPING)
    rows.set_limits(QUARANTINE, share.poll_s, worker_concurrency=1)


def launch(url: str, executor: str, workflows: Workflows, share: Share) -> None:
    """Start working.

    Args:
        url: The database.
        executor: This process's name in the engine's rows, unique among live processes.
        workflows: The workflows to register, and the scheduled cleanup.
        share: Limits of this process, written before by `set_limits`.
    """
    # Its own console handler would bypass the secret masking of our handlers.
    logging.getLogger("dbos").addHandler(logging.NullHandler())
    from dbos import DBOS, DBOSPortableJSONSerializer

    DBOS(
        config={
            "name": APPLICATION,
            "system_database_url": with_timeout(url),
            "application_version": PROTOCOL,
            "executor_id": executor,
            "serializer": DBOSPortableJSONSerializer(),
            "sys_db_pool_size": POOL if share.shared else 4,
            "use_listen_notify": not share.shared,  # saves a connection; we poll
            "max_executor_threads": 64,
            "log_level": "WARNING",
            "run_migrations": True,
        }
    )
    for name, work in workflows.by_name.items():
        DBOS.workflow(name=name, max_recovery_attempts=LIBRARY_DEATHS)(work)
    tidies = DBOS.workflow(name="tidy")(workflows.cleanup_workflow())
    DBOS.launch()
    DBOS.apply_schedules(
        [
            {
                "schedule_name": "tidy",
                "workflow_fn": tidies,
                "schedule": share.tidy_at,
                "queue_name": NOTICES,
            }
        ]
    )


def destroy() -> None:
    """Stop working; active missions stay claimed."""
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)


def _per_minute(limit: int | None) -> Mapping[str, float] | None:
    return None if limit is None else {"limit": limit, "period": MINUTE_S}


def library_recovery() -> Callable[[list[str]], object] | None:
    """Return the library's private recovery call, or None if it no longer exists."""
    from dbos import DBOS

    return getattr(DBOS, PRIVATE, None)


class DeadWork:
    """Recovery of work that dead executors left.

    Args:
        rows: The engine's rows.
        library: The library's recovery call, or None.
    """

    def __init__(self, rows: Rows, library: Callable[[list[str]], object] | None) -> None:
        self._rows = rows
        self._library = library

    def running(self) -> Mapping[str, Sequence[str]]:
        """Return the ids of active workflows by executor."""
        found: dict[str, list[str]] = defaultdict(list)
        for row in self._rows.running():
            found[row.executor_id or ""].append(row.workflow_id)
        return found

    def recover(self, executor: str) -> None:
        """Requeue an executor's work; quarantine or give up what crashed too often."""
        left = self._rows.running(executor)
        forgiven = [
            row
            for row in left
            if row.queue_name in {*LINES, QUARANTINE} and self._has_progressed(row)
        ]
        requeue(self._rows, forgiven, executor)
        left = [row for row in left if row not in forgiven]
        often = [row for row in left if (row.recovery_attempts or 0) >= DEATHS]
        deadly = [row for row in often if row.queue_name in LINES]
        if deadly:
            names = [row.workflow_id for row in deadly]
            log.warning("crashed %d times, moved to quarantine: %s", DEATHS, ", ".join(names))
            self._rows.requeue(names, QUARANTINE, executor)
        given_up = [row for row in often if row.queue_name == QUARANTINE]
        for row in given_up:
            log.error("crashed %d times in quarantine, giving up: %s", DEATHS, row.workflow_id)
            self._rows.give_up(row.workflow_id, 2 * DEATHS)
        if self._library is not None:
            self._library([executor])
        else:
            requeue(self._rows, [row for row in left if row not in deadly + given_up], executor)

    def _has_progressed(self, row: Any) -> bool:
        """Return True if the workflow completed a step since it was claimed."""
        written = self._rows.written(row.workflow_id)
        return bool(written) and len(written) <= FORGIVEN and max(written) >= (row.dequeued_at or 0)


def requeue(rows: Rows, left: Sequence[Any], executor: str) -> None:
    """Requeue an executor's rows in the queues they came from."""
    by_queue: dict[str, list[str]] = defaultdict(list)
    for row in left:
        by_queue[row.queue_name or NOTICES].append(row.workflow_id)
    for queue, names in by_queue.items():
        rows.requeue(names, queue, executor)
