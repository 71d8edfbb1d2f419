"""The engine's rows, as every process may read and write them."""

import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from bot.domain.mission import Outcome
from bot.domain.request import GivenUp, MissionRequest, RedHead, Trigger
from bot.errors import QueueError
from bot.queue.library_table import library_table
from bot.queue.postgres import with_timeout
from bot.queue.workflows import workflow_for

APPLICATION = "metaagent"
PROTOCOL = "mission-protocol-4"
"""Application version.

It changes with the order or names of steps, which strands waiting missions.
"""

ASKED, MISSIONS, INTAKE, COMMANDS, NOTICES = "asked", "missions", "intake", "commands", "notices"
"""The queues.

Missions take turns in each repository; those requested by people have their own queue.
"""
ENDED = frozenset({"done", "failed", "cancelled"})
UNDER_WAY = ("ENQUEUED", "DELAYED", "PENDING")
"""The library's states of waiting and running workflows."""
FORGET_AT_ONCE = 1_000
POOL = 1
"""Database connections of one process for these rows."""

_SETTLED = re.compile(r"mission:(?P<repository>\d+):(?P<sha>[0-9a-f]{40}):auto")

Alone = Callable[[str], AbstractContextManager[object]]

log = logging.getLogger(__name__)


class Rows:
    """Blocking access to the rows; an unavailable database is an error at once.

    Args:
        url: The database, with its tables.
        alone: Returns a lock against other threads and processes.
    """

    def __init__(self, url: str, alone: Alone) -> None:
        from dbos import DBOSClient, DBOSPortableJSONSerializer

        self._alone = alone
        self._client = DBOSClient(
            system_database_url=with_timeout(url),
            serializer=DBOSPortableJSONSerializer(),
            system_database_pool_size=POOL,
            application_name=APPLICATION,
            lazy=True,
            retry_connection_errors=False,
        )
        self._table = library_table(self._client)

    def close(self) -> None:
        """Close the connections."""
        self._client.destroy()

    def set_limits(self, queue: str, poll_s: float, **limits: Any) -> None:
        """Create a queue or overwrite its limits."""
        self._client.register_queue(queue, polling_interval_sec=poll_s, **limits)

    def submit(self, request: MissionRequest, delay_s: float = 0.0) -> bool:
        """Enqueue a mission; return False if it is already there and has not failed."""
        if request.repository is None:
            raise QueueError("a mission needs a repository")
        line = ASKED if request.trigger is Trigger.COMMENT else MISSIONS
        partition = str(request.repository.id)
        return self.enqueue(line, request.mission_id, request, partition=partition, delay_s=delay_s)

    def settle(self, red: RedHead) -> bool:
        """Enqueue the settling of a red head.

        Return False if that is done or its mission exists.
        """
        if self._status(red.mission_id) not in {None, "failed"}:
            return False
        # A head that settled without a mission was green again, so a new red check may start over.
        # A cancelled one stays cancelled, unless the red head asks for it again.
        restartable = ENDED if red.again else ENDED - {"cancelled"}
        return self.enqueue(
            INTAKE, _intake(red.repository.id, red.head_sha), red, restartable=restartable
        )

    def enqueue(
        self,
        queue: str,
        name: str,
        value: BaseModel,
        *,
        partition: str | None = None,
        delay_s: float = 0.0,
        restartable: frozenset[str] = frozenset({"failed"}),
    ) -> bool:
        """Enqueue under a unique name.

        A name whose work ended in one of the `restartable` states is free.
        """
        from dbos import EnqueueOptions

        options = EnqueueOptions(
            workflow_name=workflow_for(value),
            queue_name=queue,
            workflow_id=name,
            workflow_id_reuse_policy="reject",
            app_version=PROTOCOL,
        )
        if partition is not None:
            options["queue_partition_key"] = partition
        if delay_s:
            options["delay_seconds"] = delay_s
        if self._try_enqueue(options, value):
            return True
        if self._status(name) not in restartable:
            return False
        # Two callers may both see that it ended; the second must not delete the first one's new
        # row.
        with self._alone("anew"):
            if self._status(name) not in restartable:
                return False
            self._client.delete_workflow(name)
            return self._try_enqueue(options, value)

    def cancel(self, mission_id: str) -> None:
        """Cancel a mission, or the settling that would lead to it."""
        self._client.cancel_workflow(mission_id)
        if settling := _SETTLED.fullmatch(mission_id):
            self._client.cancel_workflow(_intake(settling["repository"], settling["sha"]))

    def is_unanswered(self, mission_id: str) -> bool:
        """Return True if settling the head failed, so that its mission was never requested."""
        settling = _SETTLED.fullmatch(mission_id)
        if settling is None or self._status(mission_id) is not None:
            return False
        return self._status(_intake(settling["repository"], settling["sha"])) == "failed"

    def status(self, mission_id: str) -> str | None:
        """Return a mission's state, or that of its head's settling.

        A settling that led to no mission counts as failed, so that the next red check is accepted.
        """
        state = self._status(mission_id)
        settling = _SETTLED.fullmatch(mission_id)
        if state is not None or settling is None:
            return state
        state = self._status(_intake(settling["repository"], settling["sha"]))
        return "failed" if state == "done" else state

    def under_way(self, repository_id: int | None) -> tuple[MissionRequest, ...]:
        """Return the waiting and running missions of one repository, or of all."""
        names = None
        if repository_id is not None and self._table is not None:
            # Do not load the backlog of all repositories for one of them.
            names = list(self._table.in_partition("mission", str(repository_id), UNDER_WAY))
            if not names:
                return ()
        rows = self._client.list_workflows(
            workflow_ids=names, name="mission", status=list(UNDER_WAY), load_output=False
        )
        return tuple(
            r
            for r in _requests(rows)
            if repository_id in {None, r.repository.id if r.repository else None}
        )

    def forget(self, before: datetime) -> int:
        """Delete rows of work that ended before a time; return their number."""
        done = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
        rows = self._client.list_workflows(
            completed_before=before.isoformat(),
            status=done,
            load_input=False,
            load_output=False,
            limit=FORGET_AT_ONCE,
        )
        if rows:
            self._client.delete_workflows([row.workflow_id for row in rows])
        return len(rows)

    def steps(self, mission_id: str) -> tuple[str, ...]:
        """Return the names of the completed steps of a mission."""
        return tuple(step["function_name"] for step in self._client.list_workflow_steps(mission_id))

    def written(self, mission_id: str) -> tuple[int, ...]:
        """Return the start of each completed step, in milliseconds by the executor's clock."""
        steps = self._client.list_workflow_steps(mission_id, load_output=False)
        return tuple(step["started_at_epoch_ms"] or 0 for step in steps)

    def running(self, executor: str | None = None) -> Sequence[Any]:
        """Return the rows of active workflows, of one executor or of all."""
        return self._client.list_workflows(
            status="PENDING",
            app_version=PROTOCOL,
            executor_id=executor,
            load_input=False,
            load_output=False,
        )

    def requeue(self, names: Sequence[str], queue: str, executor: str) -> None:
        """Requeue an executor's workflows with a crash count of zero.

        Cancelled ones stay cancelled.
        """
        if self._table is not None:
            self._table.requeue(names, queue, executor)
            return
        rows = self._client.list_workflows(
            workflow_ids=list(names),
            status="PENDING",
            executor_id=executor,
            load_input=False,
            load_output=False,
        )
        # Not atomic: the library's call has no condition, so a cancellation right now is lost.
        if rows:
            self._client.resume_workflows([row.workflow_id for row in rows], queue_name=queue)

    def give_up(self, mission_id: str, times: int, why: str = "") -> None:
        """Cancel a mission that crashed or failed too often, and enqueue a report of it."""
        rows = self._client.list_workflows(
            workflow_ids=[mission_id], status="PENDING", load_output=False
        )
        for request in _requests(rows):  # empty if it was cancelled meanwhile, which was reported
            self.enqueue(
                NOTICES, f"given up:{mission_id}", GivenUp(request=request, deaths=times, why=why)
            )
        self._client.cancel_workflow(mission_id)

    def _try_enqueue(self, options: Any, value: BaseModel) -> bool:
        """Enqueue; return False if the name is taken."""
        from dbos import error

        try:
            self._client.enqueue(options, to_jsonable_python(value))
        except error.DBOSWorkflowIDInUseError:
            return False
        return True

    def _status(self, name: str) -> str | None:
        known = self._client.list_workflows(workflow_ids=[name], load_input=False)
        return _map_status(known[0].status, known[0].output) if known else None


def _requests(rows: Sequence[Any]) -> Iterator[MissionRequest]:
    """Yield the readable requests; the others belong to a process of a newer version."""
    for row in rows:
        try:
            if row.input:
                yield MissionRequest.model_validate_json(json.dumps(row.input["args"][0]))
        except ValidationError:
            log.info("unreadable mission skipped", extra={"mission": row.workflow_id})


def _intake(repository: int | str, sha: str) -> str:
    return f"intake:{repository}:{sha}"


def _map_status(status: str, output: Any) -> str:
    """Return our name for the engine's state."""
    if status == "SUCCESS":
        kept = output if isinstance(output, dict) else {}
        failed = "err" in kept or kept.get("ok", {}).get("outcome") == Outcome.ERROR.value
        return "failed" if failed else "done"
    words = {
        "ENQUEUED": "waiting",
        "DELAYED": "waiting",
        "PENDING": "running",
        "CANCELLED": "cancelled",
    }
    return words.get(status, "failed")
