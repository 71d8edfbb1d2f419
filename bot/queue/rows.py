"""The engine's rows as any process may read and write them, whether it works on missions or not."""

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
PROTOCOL = "mission-protocol-3"
"""Application version: changes only with the order or the names of steps, else waiting missions would be stranded."""

ASKED, MISSIONS, INTAKE, COMMANDS, NOTICES = "asked", "missions", "intake", "commands", "notices"
"""The queues. Only missions are heavy: they take turns in each repository; who asked for one waits for no machine."""
ENDED = frozenset({"done", "failed", "cancelled"})
UNDER_WAY = ("ENQUEUED", "DELAYED", "PENDING")
"""The library's words for what waits or runs."""
FORGET_AT_ONCE = 1_000
POOL = 1
"""Connections of one process for all of this."""

_SETTLED = re.compile(r"mission:(?P<repository>\d+):(?P<sha>[0-9a-f]{40}):auto")

Alone = Callable[[str], AbstractContextManager[object]]

log = logging.getLogger(__name__)


class Rows:
    """All calls block; a database that is away is an error at once.

    Args:
        url: The database; its tables are there.
        alone: Keeps others, threads and processes, from doing the same at the same time.
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

    def submit(self, request: MissionRequest, delay_s: float = 0.0) -> bool:
        """Put a mission in line; False when it is there already and has not failed."""
        if request.repository is None:
            raise QueueError("a mission needs a repository")
        line = ASKED if request.trigger is Trigger.COMMENT else MISSIONS
        partition = str(request.repository.id)
        return self.enqueue(line, request.mission_id, request, partition=partition, delay_s=delay_s)

    def settle(self, red: RedHead) -> bool:
        """Watch a red head; False when that is done already, or its mission is there."""
        if self._status(red.mission_id) not in {None, "failed"}:
            return False
        # A head that settled without a mission was green again: the next red check is news, unless somebody said stop.
        anew = ENDED if red.again else ENDED - {"cancelled"}
        return self.enqueue(INTAKE, _intake(red.repository.id, red.head_sha), red, anew=anew)

    def enqueue(
        self,
        queue: str,
        name: str,
        value: BaseModel,
        *,
        partition: str | None = None,
        delay_s: float = 0.0,
        anew: frozenset[str] = frozenset({"failed"}),
    ) -> bool:
        """Under this name at most once, unless it ended in a state that allows it `anew`."""
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
        if self._begins(options, value):
            return True
        if self._status(name) not in anew:
            return False
        # Two who both saw that it ended must not drop what the other one has just begun.
        with self._alone("anew"):
            if self._status(name) not in anew:
                return False
            self._client.delete_workflow(name)
            return self._begins(options, value)

    def cancel(self, mission_id: str) -> None:
        """Stop a mission, or the settling that would lead to it."""
        self._client.cancel_workflow(mission_id)
        if settling := _SETTLED.fullmatch(mission_id):
            self._client.cancel_workflow(_intake(settling["repository"], settling["sha"]))

    def is_unanswered(self, mission_id: str) -> bool:
        """Whether a head's settling failed, so that its mission was never asked for."""
        settling = _SETTLED.fullmatch(mission_id)
        if settling is None or self._status(mission_id) is not None:
            return False
        return self._status(_intake(settling["repository"], settling["sha"])) == "failed"

    def status(self, mission_id: str) -> str | None:
        """Of a mission whose head still settles, too; when that came to none, the next red check is news."""
        state = self._status(mission_id)
        settling = _SETTLED.fullmatch(mission_id)
        if state is not None or settling is None:
            return state
        state = self._status(_intake(settling["repository"], settling["sha"]))
        return "failed" if state == "done" else state

    def under_way(self, repository_id: int | None) -> tuple[MissionRequest, ...]:
        """The missions that wait or run, of one repository or of all."""
        names = None
        if repository_id is not None and self._table is not None:
            # The whole backlog of all repositories is not read for the few of one.
            names = list(self._table.in_partition("mission", str(repository_id), UNDER_WAY))
            if not names:
                return ()
        rows = self._client.list_workflows(
            workflow_ids=names, name="mission", status=list(UNDER_WAY), load_output=False
        )
        return tuple(r for r in _requests(rows) if repository_id in {None, r.repository.id if r.repository else None})

    def forget(self, before: datetime) -> int:
        """Drop what ended before then; how many."""
        done = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
        rows = self._client.list_workflows(
            completed_before=before.isoformat(), status=done, load_input=False, load_output=False, limit=FORGET_AT_ONCE
        )
        if rows:
            self._client.delete_workflows([row.workflow_id for row in rows])
        return len(rows)

    def steps(self, mission_id: str) -> tuple[str, ...]:
        """The names of the steps a mission has behind it."""
        return tuple(step["function_name"] for step in self._client.list_workflow_steps(mission_id))

    def written(self, mission_id: str) -> tuple[int, ...]:
        """When each step that a mission has behind it began, in milliseconds of the clock of who worked on it."""
        steps = self._client.list_workflow_steps(mission_id, load_output=False)
        return tuple(step["started_at_epoch_ms"] or 0 for step in steps)

    def running(self, executor: str | None = None) -> Sequence[Any]:
        """The rows of what is worked on, by one executor or by all."""
        return self._client.list_workflows(
            status="PENDING", app_version=PROTOCOL, executor_id=executor, load_input=False, load_output=False
        )

    def put_back(self, names: Sequence[str], queue: str, executor: str) -> None:
        """Put what an executor works on in a line again, its count of deaths at nothing; what was stopped stays so."""
        if self._table is not None:
            self._table.put_back(names, queue, executor)
            return
        rows = self._client.list_workflows(
            workflow_ids=list(names), status="PENDING", executor_id=executor, load_input=False, load_output=False
        )
        if rows:  # a moment too early for who is stopped right now: the library's call knows no condition
            self._client.resume_workflows([row.workflow_id for row in rows], queue_name=queue)

    def give_up(self, mission_id: str, times: int, why: str = "") -> None:
        """Stop a mission that takes every process with it, or says why it failed so often, after that was told."""
        rows = self._client.list_workflows(workflow_ids=[mission_id], status="PENDING", load_output=False)
        for request in _requests(rows):  # none when somebody stopped it meanwhile: that was told
            self.enqueue(NOTICES, f"given up:{mission_id}", GivenUp(request=request, deaths=times, why=why))
        self._client.cancel_workflow(mission_id)

    def _begins(self, options: Any, value: BaseModel) -> bool:
        """Put it in line, unless the name is taken."""
        from dbos import error

        try:
            self._client.enqueue(options, to_jsonable_python(value))
        except error.DBOSWorkflowIDInUseError:
            return False
        return True

    def _status(self, name: str) -> str | None:
        known = self._client.list_workflows(workflow_ids=[name], load_input=False)
        return _named(known[0].status, known[0].output) if known else None


def _requests(rows: Sequence[Any]) -> Iterator[MissionRequest]:
    """What can be read; a newer process wrote the rest, and looks after it."""
    for row in rows:
        try:
            if row.input:
                yield MissionRequest.model_validate_json(json.dumps(row.input["args"][0]))
        except ValidationError:
            log.info("it cannot be read here and is passed over", extra={"mission": row.workflow_id})


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
