"""The process as one that works: the library launched, its queues, and what dead executors left taken back."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.queue.postgres import with_timeout
from bot.queue.rows import APPLICATION, ASKED, COMMANDS, INTAKE, MISSIONS, NOTICES, PROTOCOL, Rows
from bot.queue.workflows import Workflows

SETTLING = 1_000
"""Red heads that are watched at the same time; nearly all of that time is sleep."""
LINES = frozenset({ASKED, MISSIONS})
"""Where missions wait that did not take their process with them again and again."""
QUARANTINE, DEATHS = "quarantine", 3
"""After so many deaths in a row at the same step a mission goes on there, one at a time in each worker; after as many
there it is given up. Who wrote a step down since he was claimed made progress, and counts from nothing again: the
others in a dying process are no poison."""
FORGIVEN = 200
"""Nobody's progress is endless: with so many steps behind it a mission that dies is forgiven no more."""
LIBRARY_DEATHS = 50
"""The library's own limit, which knows no innocent bystanders; ours comes long before."""
POOL = 2
"""Connections of one worker for its steps, besides one each for the rows, our own tables and its signs of life."""
MINUTE_S = 60.0
PRIVATE = "_recover_pending_workflows"
"""The one call of the library that it does not promise; without it we do what it does with calls that it promises."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """How much one process does.

    Attributes:
        workers: Missions that run at the same time here.
        total: The same in all processes together; None does not limit.
        per_minute: Missions begun in a minute, in all processes together.
        per_minute_each: The same of one repository.
        poll_s: How often the queues are looked at.
        tidy_at: When it is tidied up, as cron says it.
        shared: Whether other processes work on the same database.
    """

    workers: int
    total: int | None
    per_minute: int | None
    per_minute_each: int | None
    poll_s: float
    tidy_at: str
    shared: bool


def make_tables(url: str) -> None:
    """Make the library's tables when they are not there: whoever puts work in line may be first on a new database."""
    from dbos import DBOS

    DBOS.migrate(with_timeout(url))


def launch(url: str, executor: str, workflows: Workflows, share: Share) -> None:
    """Begin to work.

    Args:
        url: The database.
        executor: The name of this process in the engine's rows; no other living one has it.
        workflows: What is worked on, and what is done at fixed times.
        share: How much is done here.
    """
    # Its own console handler would pass by the masks of ours.
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
            "use_listen_notify": not share.shared,  # a connection less; nothing of ours waits for one
            "max_executor_threads": 64,
            "log_level": "WARNING",
            "run_migrations": True,
        }
    )
    for name, work in workflows.by_name.items():
        DBOS.workflow(name=name, max_recovery_attempts=LIBRARY_DEATHS)(work)
    tidies = DBOS.workflow(name="tidy")(workflows.tidying())
    DBOS.launch()
    # A limit of all is kept by all: whoever starts last says what it is.
    at_once = share.workers if share.total is None else min(share.workers, share.total)
    for name in (ASKED, MISSIONS):
        _register(
            name,
            share.poll_s,
            partition_concurrency=1,
            worker_concurrency=at_once,
            global_concurrency=share.total,
            limiter=_a_minute(share.per_minute),
            partition_limiter=_a_minute(share.per_minute_each),
        )
    for name, at_once in ((INTAKE, SETTLING), (COMMANDS, 4), (NOTICES, 4), (QUARANTINE, 1)):
        _register(name, share.poll_s, worker_concurrency=at_once)
    DBOS.apply_schedules(
        [{"schedule_name": "tidy", "workflow_fn": tidies, "schedule": share.tidy_at, "queue_name": NOTICES}]
    )


def destroy() -> None:
    """Stop working; what runs is left as it is."""
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)


def _register(name: str, poll_s: float, **limits: Any) -> None:
    from dbos import DBOS

    DBOS.register_queue(name, polling_interval_sec=poll_s, on_conflict="always_update", **limits)


def _a_minute(limit: int | None) -> Mapping[str, float] | None:
    return None if limit is None else {"limit": limit, "period": MINUTE_S}


def library_recovery() -> Callable[[list[str]], object] | None:
    """The library's own way to put what executors worked on in line again, while it has one."""
    from dbos import DBOS

    return getattr(DBOS, PRIVATE, None)


class DeadWork:
    """What dead executors worked on.

    Args:
        rows: The engine's rows.
        library: The library's own way, or None.
    """

    def __init__(self, rows: Rows, library: Callable[[list[str]], object] | None) -> None:
        self._rows = rows
        self._library = library

    def running(self) -> Mapping[str, Sequence[str]]:
        """By executor, what it works on as the rows say."""
        found: dict[str, list[str]] = defaultdict(list)
        for row in self._rows.running():
            found[row.executor_id or ""].append(row.workflow_id)
        return found

    def take_back(self, executor: str) -> None:
        """Put everything of an executor in line again; what died too often apart from the others, or nowhere."""
        left = self._rows.running(executor)
        forgiven = [row for row in left if row.queue_name in {*LINES, QUARANTINE} and self._has_progressed(row)]
        put_back(self._rows, forgiven, executor)
        left = [row for row in left if row not in forgiven]
        often = [row for row in left if (row.recovery_attempts or 0) >= DEATHS]
        deadly = [row for row in often if row.queue_name in LINES]
        if deadly:
            names = [row.workflow_id for row in deadly]
            log.warning("died %d times and goes on alone: %s", DEATHS, ", ".join(names))
            self._rows.put_back(names, QUARANTINE, executor)
        given_up = [row for row in often if row.queue_name == QUARANTINE]
        for row in given_up:
            log.error("died %d times alone and is given up: %s", DEATHS, row.workflow_id)
            self._rows.give_up(row.workflow_id, 2 * DEATHS)
        if self._library is not None:
            self._library([executor])
        else:
            put_back(self._rows, [row for row in left if row not in deadly + given_up], executor)

    def _has_progressed(self, row: Any) -> bool:
        """Whether it wrote a step down since it was claimed."""
        written = self._rows.written(row.workflow_id)
        return bool(written) and len(written) <= FORGIVEN and max(written) >= (row.dequeued_at or 0)


def put_back(rows: Rows, left: Sequence[Any], executor: str) -> None:
    """Put rows that an executor works on in the lines they came from."""
    by_queue: dict[str, list[str]] = defaultdict(list)
    for row in left:
        by_queue[row.queue_name or NOTICES].append(row.workflow_id)
    for queue, names in by_queue.items():
        rows.put_back(names, queue, executor)
