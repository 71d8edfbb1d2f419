"""Records of missions are sanitized, and a database that fails costs only the record."""

import json
import logging

import pytest
from typing_extensions import override

from bot.domain.mission import Outcome
from bot.domain.mission_record import MissionRecord, RecordState
from bot.domain.publication import Publication
from bot.errors import StoreError
from bot.publish.recorder import Recorder
from bot.publish.story import build_story
from tests.builders import (
    a_check,
    a_folder_request,
    a_mission,
    a_repository,
    a_request,
    a_running_mission,
)
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_records import MemoryRecords
from tests.reports import a_told_story

pytestmark = pytest.mark.anyio
SECRET = "ghs_0123456789abcdefghij0123456789"


class Unwritable(MemoryRecords):
    """A table that cannot be written."""

    @override
    async def enqueue(self, record: MissionRecord) -> None:
        raise StoreError("the disk is full")


async def test_the_first_mission_that_people_see_is_the_first() -> None:
    records = MemoryRecords()
    recorder = Recorder(records, FixedClock())
    request = a_request()
    assert await recorder.is_first(request)
    await recorder.enqueue(request)
    # Reported in a check run only.
    await recorder.enqueue(a_request(mission_id="m-2"))
    await recorder.enqueue(a_request(mission_id="m-3", repository=a_repository(id=99)))
    await recorder.enqueue(a_request(mission_id="m-5", requested_by="metaagent[bot]"))
    assert await recorder.is_first(request)
    await recorder.enqueue(a_request(mission_id="m-4", requested_by="ada"))
    assert not await recorder.is_first(request)
    assert not await recorder.is_first(a_folder_request())


async def test_a_mission_is_recorded_while_it_waits_and_runs() -> None:
    records = MemoryRecords()
    recorder = Recorder(records, FixedClock())
    await recorder.enqueue(a_request(requested_by="ada", pull_request=5))
    await recorder.stage(a_running_mission(), "reproduce", "run 1\nof 3")
    found = await records.find("m-0001")
    assert found is not None
    assert (found.state, found.requested_by, found.for_pull_request, found.place) == (
        RecordState.RUNNING,
        "ada",
        5,
        "octo/calculator",
    )
    assert [mark.detail for mark in await records.stages("m-0001")] == ["run 1 of 3"]
    await recorder.stop("m-0001", Outcome.CANCELLED, "ada stopped it")
    stopped = await records.find("m-0001")
    assert stopped is not None
    assert (stopped.outcome, stopped.reason) == (Outcome.CANCELLED, "ada stopped it")


async def test_secrets_and_control_characters_are_in_no_record() -> None:
    records = MemoryRecords()
    recorder = Recorder(records, FixedClock(), (SECRET,))
    check = a_check(name=f"tests {SECRET} \x1b[31m\u202e")
    await recorder.enqueue(a_request(check=check, head_branch=f"b/{SECRET}"))
    story = build_story(a_mission(Outcome.NO_FIX, reason=f"it printed {SECRET}"), secrets=(SECRET,))
    await recorder.report(story, Publication(mission_id="m-0001"))
    found = await records.find("m-0001")
    assert found is not None
    kept = found.model_dump_json() + json.dumps(await records.detail("m-0001"))
    assert SECRET not in kept
    assert not {"\\u001b", "\\u202e", "\x1b", "\u202e"} & set(kept)


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_every_outcome_has_a_record_and_a_detail(outcome: Outcome) -> None:
    records = MemoryRecords()
    story = a_told_story(outcome)
    mission_id = story.context.mission_id
    await Recorder(records, FixedClock()).report(story, Publication(mission_id=mission_id))
    found, detail = await records.find(mission_id), await records.detail(mission_id)
    assert found is not None
    assert detail is not None
    assert (found.outcome, found.state) == (outcome, RecordState.ENDED)
    assert detail["outcome"] == outcome.value
    assert ("diff" in detail) == (story.fix is not None)
    json.dumps(detail)


async def test_a_table_that_cannot_be_written_costs_the_record_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        await Recorder(Unwritable(), FixedClock()).enqueue(a_request(repository=a_repository()))
    (line,) = caplog.records
    assert line.getMessage() == "recording the mission failed: the disk is full"
    assert line.__dict__["mission"] == "m-0001"
