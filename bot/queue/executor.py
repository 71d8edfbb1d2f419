"""The process as one that works: the library launched, its queues, and what dead executors left taken back."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.queue.rows import APPLICATION, COMMANDS, INTAKE, MISSIONS, NOTICES, PROTOCOL, Rows
from bot.queue.workflows import Workflow

SETTLING = 1_000
"""Red heads that are watched at the same time; nearly all of that time is sleep."""
DEATHS = 5
"""A mission that took its process with it this often is given up."""
QUARANTINE, QUARANTINE_FROM = "quarantine", 3
"""From that death on a mission runs there, one at a time: those beside it die with it."""
POOL = 3
"""Connections of one worker for its steps, besides that of the rows and our own: five in all."""
PRIVATE = "_recover_pending_workflows"
"""The one call of the library that it does not promise; without it we do what it does with calls that it promises."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Share:
    """How much one process does.

    Attributes:
        workers: Missions that run at the same time here.
        total: The same in all processes together; None does not limit.
        poll_s: How often the queues are looked at.
        shared: Whether other processes work on the same database.
    """

    workers: int
    total: int | None
    poll_s: float
    shared: bool


def launch(url: str, executor: str, by_name: Mapping[str, Workflow], share: Share) -> None:
    """Begin to work.

    Args:
        url: The database.
        executor: The name of this process in the engine's rows; no other living one has it.
        by_name: The workflows.
        share: How much is done here.
    """
    # Its own console handler would pass by the masks of ours.
    logging.getLogger("dbos").addHandler(logging.NullHandler())
    from dbos import DBOS, DBOSPortableJSONSerializer

    DBOS(
        config={
            "name": APPLICATION,
            "system_database_url": url,
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
    for name, work in by_name.items():
        DBOS.workflow(name=name, max_recovery_attempts=DEATHS)(work)
    DBOS.launch()
    # A limit of all is kept by all: whoever starts last says what it is.
    at_once = share.workers if share.total is None else min(share.workers, share.total)
    _register(
        MISSIONS, share.poll_s, partition_concurrency=1, worker_concurrency=at_once, global_concurrency=share.total
    )
    for name, at_once in ((INTAKE, SETTLING), (COMMANDS, 4), (NOTICES, 4)):
        _register(name, share.poll_s, worker_concurrency=at_once)
    if share.shared:
        _register(QUARANTINE, share.poll_s, worker_concurrency=1, global_concurrency=1)


def destroy() -> None:
    """Stop working; what runs is left as it is."""
    from dbos import DBOS

    DBOS.destroy(destroy_registry=True)


def _register(name: str, poll_s: float, **limits: int | None) -> None:
    from dbos import DBOS

    DBOS.register_queue(name, polling_interval_sec=poll_s, on_conflict="always_update", **limits)  # type: ignore[arg-type]


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
        """Put everything of an executor in line again; what died too often apart from the others."""
        left = self._rows.running(executor)
        deadly = [row for row in left if (row.recovery_attempts or 0) >= QUARANTINE_FROM and row.queue_name == MISSIONS]
        if deadly:
            names = [row.workflow_id for row in deadly]
            log.warning("died %d times and goes on alone: %s", QUARANTINE_FROM, ", ".join(names))
            self._rows.put_back(names, QUARANTINE)
        if self._library is not None:
            self._library([executor])
        else:
            put_back(self._rows, [row for row in left if row not in deadly])


def put_back(rows: Rows, left: Sequence[Any]) -> None:
    """Put rows in the lines they came from, with calls that the library promises."""
    by_queue: dict[str, list[str]] = defaultdict(list)
    for row in left:
        by_queue[row.queue_name or NOTICES].append(row.workflow_id)
    for queue, names in by_queue.items():
        rows.put_back(names, queue)
