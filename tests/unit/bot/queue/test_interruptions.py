"""A database that is away is the end of no work; one that stays away is, some time."""

import asyncio
import json
from collections.abc import Callable

import pytest

from bot.domain.command import Command, Verb
from bot.domain.mission import MissionContext
from bot.domain.request import Feedback, HeadMoved, MissionRequest, RedHead, Trigger
from bot.errors import BlobLost, BlobRefused, GitHubError, MetaAgentError, QueueError, StoreError
from bot.ports import Checkpoint, PatientCheckpoint
from bot.queue.interruptions import BREAKS, InterruptionLimit
from bot.queue.memory import MemoryCheckpoint
from bot.queue.records import Record
from bot.queue.workflows import Change, Handlers, Workflows, workflow_for
from tests.builders import a_repository

pytestmark = pytest.mark.anyio

WORK = (
    MissionRequest(mission_id="m-1", trigger=Trigger.CHECK_RUN, repository=a_repository()),
    RedHead(repository=a_repository(), head_sha="a" * 40),
    Command(command_id="command:42:c1", verb=Verb.FIX, repository=a_repository(), author="alice"),
    Feedback(repository=a_repository(), pull_request=8, merged=False, branch="metaagent/x/1"),
    HeadMoved(repository=a_repository(), branch="feature", after="b" * 40),
)


class Away:
    """Whatever is asked meets the same error."""

    def __init__(self, error: MetaAgentError) -> None:
        self.error = error
        self.ended: list[str] = []

    async def mission(self, _: MissionRequest, __: Checkpoint) -> MissionContext:
        raise self.error

    async def settle(self, _: RedHead, __: PatientCheckpoint) -> MissionRequest | None:
        raise self.error

    async def command(self, _: Command, __: PatientCheckpoint) -> None:
        raise self.error

    async def feedback(self, _: Feedback) -> None:
        raise self.error

    async def notice(self, _: Change, __: PatientCheckpoint) -> None:
        raise self.error

    async def end(self, mission: str) -> None:
        self.ended.append(mission)

    async def submit(self, _: MissionRequest) -> bool:
        return True

    def workflows(self) -> Workflows:
        handlers = Handlers(
            mission=self.mission,
            settle=self.settle,
            command=self.command,
            feedback=self.feedback,
            notice=self.notice,
            ended=self.end,
        )
        return Workflows(handlers, lambda _: MemoryCheckpoint(), self.submit, InterruptionLimit())


def as_kept(work: MissionRequest | RedHead | Command | Feedback | HeadMoved) -> Record:
    kept: Record = json.loads(work.model_dump_json())
    return kept


@pytest.mark.parametrize("work", WORK, ids=lambda work: type(work).__name__)
@pytest.mark.parametrize("kind", [QueueError, StoreError])
async def test_work_that_a_database_fails_is_broken_off_until_patience_is_at_its_end(
    work: MissionRequest | RedHead | Command | Feedback | HeadMoved,
    kind: Callable[[str], MetaAgentError],
) -> None:
    away = Away(kind("the database is away"))
    run = away.workflows().by_name[workflow_for(work)]
    for _ in range(BREAKS):
        with pytest.raises(asyncio.CancelledError):
            await run(as_kept(work))
        assert away.ended == []
    assert "err" in await run(as_kept(work))
    with pytest.raises(asyncio.CancelledError):
        await run(as_kept(work))  # asked for once more, it counts from nothing


@pytest.mark.parametrize("kind", [BlobLost, BlobRefused, GitHubError])
async def test_what_no_waiting_mends_is_an_end_at_once(
    kind: Callable[[str], MetaAgentError],
) -> None:
    away = Away(kind("gone"))
    assert "err" in await away.workflows().by_name["mission"](as_kept(WORK[0]))
    assert away.ended == ["m-1"]


@pytest.mark.parametrize("work", WORK, ids=lambda work: type(work).__name__)
async def test_what_a_newer_version_wrote_is_left_to_it_until_patience_is_at_its_end(
    work: MissionRequest | RedHead | Command | Feedback | HeadMoved,
) -> None:
    away = Away(GitHubError("never called"))
    run, newer = away.workflows().by_name[workflow_for(work)], as_kept(work) | {"newer": 1}
    for _ in range(BREAKS):
        with pytest.raises(asyncio.CancelledError):
            await run(newer)
        assert away.ended == []
    assert "another version" in str(await run(newer))
    assert len(away.ended) == 1


async def test_an_error_that_was_written_down_is_the_end_when_it_is_met_again() -> None:
    patience = InterruptionLimit()
    patience.exhaust("m-1")
    assert not patience.allow(StoreError("the disk is full"), "m-1")
    assert patience.allow(StoreError("the disk is full"), "m-2")
