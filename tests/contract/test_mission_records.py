"""What every MissionRecords and AuditLog keeps to, the fakes and the real ones."""

from pathlib import Path

import pytest

from bot.domain.mission import Outcome
from bot.domain.mission_record import (
    AuditEntry,
    ClassTally,
    MissionQuery,
    MissionRecord,
    RecordState,
    StageMark,
)
from bot.domain.registry import FixState
from bot.domain.request import improvement_id
from bot.ports import AuditLog, MissionRecords
from bot.registry.audit import StoredAudit
from bot.registry.missions import StoredMissions
from bot.registry.stored import StoredRegistry
from tests.builders import HEAD
from tests.contract.test_registry import a_fix
from tests.databases import BOTH, a_database_of
from tests.fakes.memory_records import MemoryAudit, MemoryRecords

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["memory", *BOTH])
def records(request: pytest.FixtureRequest, tmp_path: Path) -> MissionRecords:
    if request.param == "memory":
        return MemoryRecords()
    return StoredMissions(a_database_of(request.param, request, tmp_path / "data"))


@pytest.fixture(params=["memory", *BOTH])
def audit(request: pytest.FixtureRequest, tmp_path: Path) -> AuditLog:
    if request.param == "memory":
        return MemoryAudit()
    return StoredAudit(a_database_of(request.param, request, tmp_path / "data"))


def a_record(name: str = "m-1", **changes: object) -> MissionRecord:
    values = {
        "mission_id": name,
        "repository": 42,
        "place": "octo/calculator",
        "trigger": "check_run",
        "check": "tests",
        "branch": "main",
        "head_sha": HEAD,
        "queued_at": "2026-01-02T03:04:05+00:00",
    }
    return MissionRecord.model_validate(values | changes)


def an_end(name: str = "m-1", outcome: Outcome = Outcome.FIXED, **changes: object) -> MissionRecord:
    values = {
        "outcome": outcome,
        "title": "Restore + in add",
        "kind": "AssertionError",
        "ended_at": "2026-01-02T03:05:00+00:00",
        "seconds": 12.5,
        "cost_usd": 0.25,
        "rung": 1,
        "confidence": 0.9,
    }
    return a_record(name, **(values | changes))


async def test_a_mission_is_followed_from_the_queue_to_its_outcome(
    records: MissionRecords,
) -> None:
    await records.enqueue(a_record())
    assert await records.find("m-1") == a_record()
    for name in ("reproduce", "fix"):
        mark = StageMark(name=name, at=f"2026-01-02T03:04:10+00:00 {name}", detail="run 1")
        await records.stage("m-1", mark)
    running = await records.find("m-1")
    assert running is not None
    assert (running.state, running.began_at) == (
        RecordState.RUNNING,
        "2026-01-02T03:04:10+00:00 reproduce",
    )
    assert [mark.name for mark in await records.stages("m-1")] == ["reproduce", "fix"]
    await records.finish(an_end(), {"diff": "-a\n+b", "runs": [1, 2]})
    ended = await records.find("m-1")
    assert ended == an_end(state=RecordState.ENDED, began_at=running.began_at)
    assert await records.detail("m-1") == {"diff": "-a\n+b", "runs": [1, 2]}


async def test_a_mission_that_never_waited_is_recorded_at_its_end(records: MissionRecords) -> None:
    await records.finish(an_end(repository=None, place="/srv/shop", cost_usd=None))
    found = await records.find("m-1")
    assert found is not None
    assert (found.state, found.cost_usd, found.repository) == (RecordState.ENDED, None, None)
    assert await records.detail("m-1") is None
    assert await records.stages("m-1") == ()


async def test_an_end_is_counted_once_however_often_it_is_told(records: MissionRecords) -> None:
    for _ in range(2):
        await records.finish(an_end())
    board = await records.scoreboard()
    assert (board.missions, board.cost_usd) == (1, 0.25)
    assert [one.mission_id for one in (await records.page(MissionQuery())).missions] == ["m-1"]


async def test_an_ended_mission_that_is_asked_for_again_is_the_newest(
    records: MissionRecords,
) -> None:
    await records.enqueue(a_record())
    await records.stage("m-1", StageMark(name="fix", at="2026"))
    await records.finish(an_end(outcome=Outcome.ERROR))
    await records.enqueue(a_record("m-2"))
    await records.enqueue(a_record(queued_at="2026-01-03"))
    await records.enqueue(a_record(queued_at="2026-01-04"))  # it waits already
    first, second = (await records.page(MissionQuery())).missions
    assert (first.mission_id, first.tries, first.outcome, first.queued_at) == (
        "m-1",
        2,
        None,
        "2026-01-03",
    )
    assert second.mission_id == "m-2"
    assert await records.stages("m-1") == ()


async def test_a_stop_does_not_hide_an_outcome_and_an_outcome_may_follow_a_stop(
    records: MissionRecords,
) -> None:
    await records.enqueue(a_record())
    await records.stop("m-1", "2026-01-05")
    stopped = await records.find("m-1")
    assert stopped is not None
    assert (stopped.state, stopped.outcome, stopped.verdict) == (RecordState.ENDED, None, "ended")
    await records.stop("m-1", "2026-01-06", Outcome.CANCELLED, "ada stopped it")
    await records.stop("m-1", "2026-01-07", Outcome.STALE, "too late")
    cancelled = await records.find("m-1")
    assert cancelled is not None
    assert (cancelled.verdict, cancelled.reason, cancelled.ended_at) == (
        "CANCELLED",
        "ada stopped it",
        "2026-01-05",
    )
    await records.stop("unknown", "2026-01-06")
    assert await records.find("unknown") is None


async def test_only_an_active_mission_can_be_asked_to_stop(records: MissionRecords) -> None:
    await records.enqueue(a_record("waits"))
    await records.enqueue(a_record("ends"))
    assert await records.ask_stop("waits", "ada")
    assert await records.ask_stop("ends", "ada")
    assert not await records.ask_stop("unknown", "ada")
    assert await records.asked_to_stop() == {"waits": "ada", "ends": "ada"}
    await records.finish(an_end("ends"))
    assert not await records.ask_stop("ends", "ada")
    assert await records.asked_to_stop() == {"waits": "ada"}
    await records.enqueue(a_record("ends"))
    assert await records.asked_to_stop() == {"waits": "ada"}, "a new try was not asked to stop"


async def test_pages_follow_each_other_without_gap_or_repetition(records: MissionRecords) -> None:
    for number in range(7):
        await records.enqueue(a_record(f"m-{number}"))
    seen: list[str] = []
    before = None
    while True:
        page = await records.page(MissionQuery(limit=3, before=before))
        seen += [one.mission_id for one in page.missions]
        if page.next is None:
            break
        before = page.next
        await records.enqueue(a_record(f"late-{before}"))  # a new one does not shift the pages
    assert seen == [f"m-{number}" for number in reversed(range(7))]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"repository": 43}, ["mission:43:improve:x", "other"]),
        ({"place": "Octo/Calculator"}, ["runs", "flaky", "fixed"]),
        ({"improves": True}, ["mission:43:improve:x"]),
        ({"improves": False}, ["runs", "flaky", "fixed", "other"]),
        ({"outcome": Outcome.FLAKY}, ["flaky"]),
        ({"state": RecordState.WAITING}, ["runs"]),
        ({"since": "2026-02-01"}, ["runs", "flaky"]),
    ],
)
async def test_missions_are_selected(
    records: MissionRecords, query: dict[str, object], expected: list[str]
) -> None:
    await records.finish(an_end("other", repository=43, place="octo/other"))
    improvement = improvement_id(43, "x")
    await records.finish(an_end(improvement, repository=43, place="octo/other"))
    await records.finish(an_end("fixed"))
    await records.finish(an_end("flaky", Outcome.FLAKY, ended_at="2026-02-02"))
    await records.enqueue(a_record("runs", queued_at="2026-02-03"))
    page = await records.page(MissionQuery.model_validate(query))
    assert [one.mission_id for one in page.missions] == expected


async def test_nothing_crosses_from_one_repository_to_a_reader_of_another(
    records: MissionRecords,
) -> None:
    await records.finish(an_end("mine"))
    await records.finish(an_end("theirs", repository=43, place="evil/other"))
    await records.finish(an_end("local", repository=None, place="/srv/x"))
    for readable, expected in ((None, 3), ({42}, 1), ({42, 43}, 2), (set(), 0)):
        page = await records.page(MissionQuery(), readable)
        assert len(page.missions) == expected
        assert len(await records.repositories(readable)) == expected
        assert (await records.scoreboard("", readable)).missions == expected
    assert await records.find("theirs", {42}) is None
    assert await records.find("local", {42, 43}) is None
    assert await records.find("mine", {42}) is not None


async def test_fixes_are_counted_for_the_repository_that_has_the_name_now(
    records: MissionRecords,
) -> None:
    assert await records.count_fixes("octo/calculator") == (0, 0)
    await records.finish(an_end("old", repository=7, fate="open"))
    await records.finish(an_end("a", fate="open"))
    await records.finish(an_end("b", fate="merged", place="octo/former"))
    await records.finish(an_end("c", Outcome.NO_FIX))
    await records.finish(an_end("local", repository=None, fate="open"))
    await records.finish(an_end("theirs", repository=43, place="octo/theirs", fate="open"))
    assert await records.count_fixes("octo/calculator") == (1, 2)
    assert await records.count_fixes("octo/unknown") == (0, 0)


async def test_repositories_and_the_scoreboard_add_up(records: MissionRecords) -> None:
    await records.finish(an_end("a", seconds=10.0))
    await records.finish(an_end("b", Outcome.FLAKY, kind="", seconds=30.0, cost_usd=None))
    await records.finish(an_end("c", Outcome.NO_FIX, seconds=20.0, ended_at="2026-01-03"))
    await records.enqueue(a_record("d"))
    (tally,) = await records.repositories()
    assert (tally.missions, tally.fixed, tally.flaky, tally.place) == (4, 1, 1, "octo/calculator")
    board = await records.scoreboard()
    assert board.outcomes == {"FIXED": 1, "FLAKY": 1, "NO_FIX": 1}
    assert board.kinds == (ClassTally(kind="AssertionError", missions=2, fixed=1),)
    assert board.days == {"2026-01-02": (2, 1), "2026-01-03": (1, 0)}
    assert board.seconds == (10.0, 20.0, 30.0)
    assert (board.quantile(0.5), board.cost_usd) == (20.0, 0.5)
    later = await records.scoreboard("2026-01-03")
    assert (later.missions, later.cost_per_accepted, later.reverted_rate) == (1, None, None)


async def test_a_renamed_repository_has_its_latest_name(records: MissionRecords) -> None:
    for number, name in enumerate(("octo/sums", "octo/calculator")):
        await records.enqueue(a_record(f"m-{number}", repository=42, place=name))
    (tally,) = await records.repositories()
    assert (tally.place, tally.missions) == ("octo/calculator", 2)


@pytest.mark.parametrize("kind", BOTH)
async def test_what_becomes_of_a_fix_is_in_the_row_of_its_mission(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = a_database_of(kind, request, tmp_path / "data")
    registry, records = StoredRegistry(database), StoredMissions(database)
    await records.enqueue(a_record())
    fix = a_fix()
    await registry.offer(fix)  # published before the mission is recorded as ended
    await records.finish(an_end(way="pull-request", pull_request=1))
    fates = []
    for state in (FixState.MERGED, FixState.REVERTED):
        found = await records.find("m-1")
        assert found is not None
        fates.append(found.fate)
        await registry.revise(fix.key, lambda one, to=state: one.with_(state=to))  # type: ignore[misc]
    board = await records.scoreboard()
    assert (fates, board.fates, board.reverted_rate) == (["open", "merged"], {"reverted": 1}, 1.0)


@pytest.mark.parametrize("kind", BOTH)
async def test_old_missions_are_forgotten_and_their_details_sooner(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    records = StoredMissions(a_database_of(kind, request, tmp_path / "data"))
    for name, ended in (("old", "2024"), ("older", "2025-06"), ("new", "2026-01")):
        await records.enqueue(a_record(name, queued_at="2023"))
        await records.stage(name, StageMark(name="fix", at="2023"))
        await records.finish(an_end(name, ended_at=ended), {"diff": name})
    await records.enqueue(a_record("waits", queued_at="2020"))
    assert await records.forget("2025", details_before="2025-12") == 5
    page = await records.page(MissionQuery())
    assert [one.mission_id for one in page.missions] == ["waits", "new", "older"]
    assert [await records.detail(name) is None for name in ("older", "new")] == [True, False]
    assert [len(await records.stages(name)) for name in ("older", "new")] == [0, 1]
    assert await records.totals() == {"FIXED": (3, 37.5, 0.75)}, "totals never decrease"
    assert await records.under_way() == {"waiting": (1, "2020")}


@pytest.mark.parametrize("kind", BOTH)
async def test_a_detail_that_is_too_large_costs_only_itself(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    records = StoredMissions(a_database_of(kind, request, tmp_path / "data"))
    await records.finish(an_end(), {"diff": "x" * 600_000})
    assert await records.detail("m-1") is None
    assert await records.find("m-1") is not None


async def test_the_audit_log_is_read_newest_first_and_by_its_readers_only(audit: AuditLog) -> None:
    for number, repository in enumerate((42, 43, None)):
        entry = AuditEntry(
            at=f"2026-01-0{number + 1}",
            actor="ada",
            action="cancel",
            repository=repository,
            mission=f"m-{number}",
        )
        await audit.note(entry)
    assert [one.mission for one in await audit.entries()] == ["m-2", "m-1", "m-0"]
    assert [one.mission for one in await audit.entries(since="2026-01-02", limit=1)] == ["m-2"]
    assert [one.mission for one in await audit.entries(mission="m-1")] == ["m-1"]
    assert [one.mission for one in await audit.entries(readable={42})] == ["m-0"]
    assert await audit.entries(readable=set()) == ()
