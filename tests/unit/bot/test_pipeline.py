"""The story from request to outcome, on fakes: admitted, refused, broken, forked, resumed, forgotten."""

import copy
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.domain.evidence import EvidenceLimits, KeptEvidence
from bot.domain.github import CommitState
from bot.domain.lesson import Lesson
from bot.domain.mission import MissionContext, Outcome
from bot.domain.mission_record import MissionQuery, RecordState
from bot.domain.policy import Limits
from bot.domain.request import MissionRequest
from bot.errors import GitHubError, NotPermitted, StoreError, UsageError
from bot.evidence.bundle import read_bundle
from bot.evidence.keep import EvidenceStore
from bot.mission.loop import MissionPorts
from bot.pipeline import MissionServices, handle_folder, handle_request
from bot.policy.policy_file import POLICY_PATH
from bot.ports import Minds, OpenWorkspace, Progress, Workspace
from bot.ports.work import Value
from bot.publish.progress import SilentProgress
from bot.publish.recorder import Recorder
from bot.publish.story import Story
from bot.queue.memory import MemoryCheckpoint
from sandbox.errors import SandboxUnavailable
from sandbox.types import Checkout, FolderSource, GitSource, JobHints, TestReport, TrustTier
from tests.builders import (
    BASE,
    HEAD,
    a_commanded_request,
    a_folder_request,
    a_pull_request,
    a_request,
)
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_records import MemoryRecords
from tests.fakes.memory_registry import MemoryRegistry
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_workspace import Asked, World
from tests.unit.bot.mission.minded import a_mind
from tests.unit.bot.mission.world import ADDS, a_world, honest, one_step_at_a_time

pytestmark = pytest.mark.anyio


class RecordingCheckpoint:
    """Remembers every value as JSON, as the engine does, and gives it back to whoever resumes."""

    def __init__(self, known: dict[str, str] | None = None) -> None:
        self.known = known or {}
        self.ran: list[str] = []

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        if name not in self.known:
            self.ran.append(name)
            self.known[name] = (await call()).model_dump_json()
        return returns.model_validate_json(self.known[name])


class ForgetfulLessons(MemoryLessons):
    """A store that cannot be written."""

    @override
    async def remember(self, lesson: Lesson) -> None:
        raise StoreError("the lessons file is read-only", "check the data directory")


@dataclass
class Stage:
    """Services on a world in memory, and a GitHub on which the red commit is the head of main."""

    world: World = field(default_factory=a_world)
    github: FakeGitHub = field(default_factory=FakeGitHub)
    lessons: MemoryLessons = field(default_factory=MemoryLessons)
    checkouts: list[Checkout] = field(default_factory=list)
    listened: list[MissionRequest] = field(default_factory=list)
    listening: int = 0
    minds: Minds | None = None

    def __post_init__(self) -> None:
        self.github.branches["main"] = HEAD
        self.github.commits[HEAD] = CommitState(
            sha=HEAD, parents=(BASE,), message="break it", author="ann"
        )

    @property
    def services(self) -> MissionServices:
        @asynccontextmanager
        async def open_workspace(checkout: Checkout) -> AsyncIterator[Workspace]:
            self.checkouts.append(checkout)
            async with self.world.open_workspace(checkout) as workspace:
                yield workspace

        @asynccontextmanager
        async def listen(request: MissionRequest) -> AsyncIterator[Progress]:
            self.listened.append(request)
            self.listening += 1
            try:
                yield SilentProgress()
            finally:
                self.listening -= 1

        return MissionServices(
            open_workspace=open_workspace,
            fixers=(ScriptedFixer(one_step_at_a_time),),
            lessons=self.lessons,
            clock=FixedClock(),
            open_progress=listen,
            minds=self.minds,
        )

    async def play(
        self, request: MissionRequest | None = None, checkpoint: Any = None
    ) -> MissionContext:
        context = await handle_request(
            request or a_request(), self.services, self.github, checkpoint or RecordingCheckpoint()
        )
        assert (self.world.open_now, self.listening) == (0, 0), "what was opened is closed"
        return context


async def test_a_red_check_becomes_a_pull_request_and_a_lesson() -> None:
    stage = Stage(a_world(ADDS))
    context = await stage.play()
    assert context.outcome is Outcome.FIXED
    (number,) = stage.github.pulls
    (check,) = stage.github.checks
    assert check.updates[-1].status == "completed"
    assert "FIXED" in check.updates[-1].title
    (lesson,) = stage.lessons.lessons.values()
    assert (lesson.outcome, lesson.pull_request, lesson.repository_id) == ("FIXED", number, "42")
    assert [request.mission_id for request in stage.listened] == ["m-0001"]


async def test_a_mission_leaves_its_record_with_everything_that_its_page_shows() -> None:
    stage, records = Stage(a_world(ADDS)), MemoryRecords()
    services = replace(stage.services, recorder=Recorder(records, FixedClock()))
    await handle_request(a_request(), services, stage.github, RecordingCheckpoint())
    record, detail = await records.find("m-0001"), await records.detail("m-0001")
    (number,) = stage.github.pulls
    assert record is not None
    assert detail is not None
    assert (record.outcome, record.state, record.way, record.pull_request, record.rung) == (
        Outcome.FIXED,
        RecordState.ENDED,
        "pull-request",
        number,
        1,
    )
    assert (record.place, record.check, record.head_sha) == ("octo/calculator", "tests", HEAD)
    assert record.title == "Use `== 0` for `== 1` in `even` (calc.py)"
    assert "+++ b/calc.py" in detail["diff"]
    assert detail["iterations"][-1]["green"] is True
    assert detail["verification"]["table"]


async def test_a_refused_mission_and_a_mission_on_a_folder_leave_records_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="bot.pipeline")
    records = MemoryRecords()
    stage = Stage(a_world(ADDS))
    stage.github.files["main", ".github/metaagent.yml"] = b"enabled: false\n"
    services = replace(stage.services, recorder=Recorder(records, FixedClock()))
    await handle_request(a_request(), services, stage.github, RecordingCheckpoint())
    request = a_folder_request(str(tmp_path))
    await handle_folder(request, services, MemoryCheckpoint())
    refused, local = await records.find("m-0001"), await records.find("m-0002")
    assert refused is not None
    assert local is not None
    assert (refused.outcome, refused.way) == (Outcome.POLICY, "")
    assert (local.outcome, local.way, local.place) == (Outcome.FIXED, "report", str(tmp_path))
    ends = [record for record in caplog.records if record.getMessage() == "mission ended"]
    assert [end.__dict__["repository"] for end in ends] == ["octo/calculator", str(tmp_path)]


async def test_a_mission_that_ended_is_one_line_of_the_log_with_names_people_know(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(a_world(ADDS))
    with caplog.at_level(logging.INFO, logger="bot.pipeline"):
        await stage.play()
    (line,) = [record for record in caplog.records if record.getMessage() == "mission ended"]
    (number,) = stage.github.pulls
    told = {
        "repository": "octo/calculator",
        "outcome": "FIXED",
        "pull_request": number,
        "mission": "m-0001",
    }
    assert line.__dict__.items() >= {**told, "commit": HEAD}.items()
    assert line.__dict__["seconds"] >= 0


def inside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def kept_in(folder: Path) -> EvidenceStore:
    return EvidenceStore(HashedStore(FolderShelf(folder)), EvidenceLimits(), FixedClock())


async def test_the_evidence_is_kept_before_it_is_told_and_the_pull_request_names_it(
    tmp_path: Path,
) -> None:
    stage = Stage(a_world(ADDS))
    evidence = kept_in(tmp_path)
    checkpoint = RecordingCheckpoint()
    services = replace(stage.services, keep_evidence=evidence.keep)
    await handle_request(a_request(), services, stage.github, checkpoint)
    (bundle,) = inside(tmp_path)
    assert read_bundle(bundle.read_bytes()).claim.outcome == "FIXED"
    (pull,) = stage.github.pulls.values()
    assert "metaagent replay m-0001" in pull.body
    assert f"sha256 {bundle.name}`, kept until 2026-02-01" in pull.body
    assert checkpoint.ran.index("evidence") < checkpoint.ran.index("publish")
    bundle.unlink()
    await handle_request(a_request(), services, stage.github, RecordingCheckpoint(checkpoint.known))
    assert inside(tmp_path) == [], "a resumed mission does not do it twice"


async def test_evidence_that_cannot_be_kept_costs_the_mission_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(
        story: Story, checkout: Checkout, open_workspace: OpenWorkspace
    ) -> KeptEvidence:
        raise OSError("no room")

    stage = Stage(a_world(ADDS))
    await handle_request(
        a_request(),
        replace(stage.services, keep_evidence=broken),
        stage.github,
        RecordingCheckpoint(),
    )
    (pull,) = stage.github.pulls.values()
    assert pull.state == "open"
    assert "storing evidence failed" in caplog.text


async def test_a_refused_request_leaves_no_evidence(tmp_path: Path) -> None:
    stage = Stage()
    stage.github.branches["main"] = "f" * 40
    evidence = kept_in(tmp_path / "blobs")
    services = replace(stage.services, keep_evidence=evidence.keep)
    await handle_request(a_request(), services, stage.github, RecordingCheckpoint())
    assert inside(tmp_path) == []


async def test_the_next_like_failure_recalls_the_lesson() -> None:
    stage = Stage(a_world(ADDS))
    await stage.play()
    again = await stage.play(a_request(mission_id="m-0002"))
    assert [one.lesson.id for one in again.lessons] == ["m-0001"]


async def test_a_refused_request_opens_nothing_and_is_told() -> None:
    stage = Stage()
    stage.github.branches["main"] = "f" * 40
    context = await stage.play()
    assert context.outcome is Outcome.STALE
    assert "moved on" in context.reason
    assert (stage.checkouts, stage.listened) == ([], [])
    assert "STALE" in stage.github.checks[0].updates[-1].title
    assert [lesson.outcome for lesson in stage.lessons.lessons.values()] == ["STALE"]


@pytest.mark.parametrize(("head", "admitted"), [(HEAD, [True]), ("f" * 40, [False])])
async def test_it_is_known_whether_a_mission_was_let_work(head: str, admitted: list[bool]) -> None:
    stage, registry = Stage(), MemoryRegistry()
    stage.github.branches["main"] = head
    await handle_request(
        a_request(), replace(stage.services, registry=registry), stage.github, RecordingCheckpoint()
    )
    assert [live.admitted for live in await registry.live(42)] == admitted


async def test_a_command_by_a_stranger_is_answered_where_it_was_given() -> None:
    stage = Stage()
    stage.github.pulls[5] = a_pull_request(
        number=5, head_sha=HEAD, head_ref="feature/x", author="ann"
    )
    context = await stage.play(a_commanded_request())
    assert context.outcome is Outcome.POLICY
    assert stage.checkouts == []
    assert "write access" in stage.github.comments[0].body


async def test_a_fork_is_repaired_and_told_but_nothing_is_pushed() -> None:
    stage = Stage(a_world(ADDS))
    fork = a_pull_request(
        number=5, head_sha=HEAD, head_ref="feature/x", author="ann", from_fork=True
    )
    stage.github.pulls[5] = fork
    stage.github.permissions["alice"] = "write"
    context = await stage.play(a_commanded_request())
    assert context.outcome is Outcome.FIXED
    assert {checkout.tier for checkout in stage.checkouts} == {TrustTier.FORK}
    assert list(stage.github.pulls) == [5]
    assert stage.github.edits == {}
    assert (
        "+    return n % 2 == 0"
        in stage.github.comments[0].body + stage.github.checks[0].updates[-1].text
    )
    assert [lesson.repository_id for lesson in stage.lessons.lessons.values()] == ["42:fork"]


async def test_the_right_to_fetch_is_asked_for_at_each_opening_and_never_stored() -> None:
    stage = Stage(a_world(ADDS))
    checkpoint = RecordingCheckpoint()
    await stage.play(checkpoint=checkpoint)
    assert len(stage.checkouts) >= 2, (
        "a mission opens at least one workspace to work and a fresh one to verify"
    )
    # One more call than openings: admission asks where the repository is, and drops the right that comes with it.
    assert stage.github.calls.count("clone_source") == len(stage.checkouts) + 1
    for checkout in stage.checkouts:
        assert isinstance(checkout.source, GitSource)
        assert checkout.source.authorization is not None
        assert checkout.source.authorization.get_secret_value() == "Basic none"
    assert "Basic none" not in "".join(checkpoint.known.values())


async def test_a_mission_that_breaks_is_told_with_a_reference_that_the_log_knows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def breaks(asked: Asked) -> TestReport:
        raise ZeroDivisionError("a bug of ours")

    stage = Stage(a_world(run=breaks))
    with caplog.at_level(logging.ERROR, logger="bot.pipeline"):
        context = await stage.play()
    assert context.outcome is Outcome.ERROR
    assert context.error_reference == "m-0001:ZeroDivisionError"
    told = stage.github.checks[0].updates[-1]
    assert "ERROR" in told.title
    assert "m-0001:ZeroDivisionError" in told.summary + told.text
    assert "a bug of ours" not in told.summary + told.text
    (record,) = [r for r in caplog.records if r.name == "bot.pipeline"]
    assert record.exc_info is not None
    assert record.__dict__["reference"] == context.error_reference
    (lesson,) = stage.lessons.lessons.values()
    assert lesson.outcome == "ERROR"
    assert lesson.reflection is not None
    (improvement,) = lesson.reflection.improvements
    assert (improvement.area, improvement.priority) == ("execution", "high")
    assert improvement.expected_impact


async def test_a_sandbox_that_cannot_be_had_ends_the_mission_and_is_told() -> None:
    stage = Stage(
        a_world(trouble=lambda _: SandboxUnavailable("Docker does not answer", "start it"))
    )
    context = await stage.play()
    assert context.outcome is not None
    assert context.outcome is not Outcome.FIXED
    told = stage.github.checks[0].updates[-1]
    assert told.status == "completed"
    assert "Docker does not answer" in told.summary + told.text


async def test_a_lesson_that_cannot_be_kept_undoes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(a_world(ADDS), lessons=ForgetfulLessons())
    context = await stage.play()
    assert context.outcome is Outcome.FIXED
    assert len(stage.github.pulls) == 1
    assert "storing the lesson failed: the lessons file is read-only" in caplog.text


async def test_what_github_refuses_is_left_to_the_engine_to_try_again() -> None:
    stage = Stage(a_world(ADDS))
    stage.github.faults["publish_check"] = [GitHubError("bad gateway", status=502, retryable=True)]
    checkpoint = RecordingCheckpoint()
    with pytest.raises(GitHubError, match="bad gateway"):
        await stage.play(checkpoint=checkpoint)
    context = await stage.play(checkpoint=checkpoint)
    assert context.outcome is Outcome.FIXED
    assert len(stage.github.pulls) == 1


async def test_what_github_will_not_tell_us_is_told_to_people() -> None:
    stage = Stage(a_world(ADDS))
    stage.github.faults["read_file"] = [
        NotPermitted("403 Resource not accessible", "grant contents:read", status=403)
    ]
    context = await stage.play()
    assert context.outcome is Outcome.ERROR
    told = stage.github.checks[0].updates[-1]
    assert "403 Resource not accessible" in told.summary
    assert "grant contents:read" in told.summary


async def test_a_push_in_the_middle_ends_the_mission_before_its_next_long_stage() -> None:
    stage = Stage()

    def pushed(asked: Asked) -> TestReport:
        stage.github.branches["main"] = "d" * 40
        return honest(asked)

    stage.world.run = pushed
    context = await stage.play()
    assert context.outcome is Outcome.STALE
    assert "dddddddddddd" in context.reason
    assert stage.github.pulls == {}
    assert "STALE" in stage.github.checks[0].updates[-1].title


async def test_a_resumed_mission_runs_nothing_twice() -> None:
    stage = Stage(a_world(ADDS))
    first = RecordingCheckpoint()
    context = await stage.play(checkpoint=first)
    calls, runs = len(stage.github.calls), len(stage.world.runs)
    again = RecordingCheckpoint(first.known)
    assert await stage.play(checkpoint=again) == context
    assert again.ran == []
    assert len(stage.world.runs) == runs
    assert stage.github.calls[calls:] == []
    assert len(first.ran) == len(set(first.ran))


async def test_a_mission_cut_off_anywhere_ends_the_same_and_repeats_no_finished_step() -> None:
    whole = RecordingCheckpoint()
    expected = await Stage(a_world(ADDS)).play(checkpoint=whole)
    for cut in range(0, len(whole.ran), 3):
        done = {name: whole.known[name] for name in whole.ran[:cut]}
        resumed = RecordingCheckpoint(copy.copy(done))
        stage = Stage(a_world(ADDS))
        context = await stage.play(checkpoint=resumed)
        assert context.outcome is expected.outcome, f"cut before {whole.ran[cut]}"
        assert context.fix is not None
        assert expected.fix is not None
        assert context.fix[1].diff == expected.fix[1].diff
        assert not set(resumed.ran) & set(done)


async def test_a_model_judges_the_mission_and_adds_to_its_lesson() -> None:
    mind, checkpoint = a_mind(), RecordingCheckpoint()
    stage = Stage(a_world(ADDS), minds=mind)
    context = await stage.play(checkpoint=checkpoint)
    assert context.outcome is Outcome.FIXED
    assert context.iterations[0].critique is not None
    assert context.iterations[0].critique.by == "model"
    assert [question.stage for question in mind.questions][-2:] == ["review", "reflect"]
    (lesson,) = stage.lessons.lessons.values()
    assert lesson.sentence.endswith(". calc.add was written with a minus")
    assert lesson.reflection is not None
    assert lesson.reflection.by == "model"
    asked = len(mind.questions)
    assert await stage.play(checkpoint=RecordingCheckpoint(checkpoint.known)) == context
    assert len(mind.questions) == asked


async def test_a_mission_that_is_not_admitted_asks_no_model() -> None:
    mind = a_mind()
    stage = Stage(minds=mind)
    stage.github.branches["main"] = BASE
    context = await stage.play()
    assert context.outcome is not Outcome.FIXED
    assert not mind.questions


async def test_a_folder_is_repaired_without_anybody_to_tell() -> None:
    stage = Stage(a_world(ADDS, base=None))
    context = await handle_folder(
        a_folder_request("/checkout"), stage.services, MemoryCheckpoint(through_json=True)
    )
    assert context.outcome is Outcome.FIXED
    source = stage.checkouts[0].source
    assert isinstance(source, FolderSource)
    assert (source.path, stage.checkouts[0].tier, stage.checkouts[0].hints.command) == (
        "/checkout",
        TrustTier.LOCAL,
        "pytest -q",
    )
    assert stage.github.calls == []
    assert [lesson.repository_id for lesson in stage.lessons.lessons.values()] == [
        "local:/checkout"
    ]


@pytest.mark.parametrize(("in_a_row", "outcome"), [(1, Outcome.PARTIAL), (3, Outcome.FIXED)])
async def test_missions_in_a_row_go_on_from_what_the_one_before_repaired(
    in_a_row: int, outcome: Outcome
) -> None:
    services = replace(
        Stage(a_world(base=None)).services, limits=Limits(iterations=1, missions_in_a_row=in_a_row)
    )
    context = await handle_folder(
        a_folder_request("/checkout"), services, MemoryCheckpoint(through_json=True)
    )
    assert context.outcome is outcome, context.reason


@pytest.mark.parametrize(
    ("continuous", "outcome"), [(False, Outcome.PARTIAL), (True, Outcome.FIXED)]
)
async def test_a_continuous_request_takes_as_many_missions_as_the_policy_says(
    continuous: bool,  # noqa: FBT001 -- a column of the table
    outcome: Outcome,
) -> None:
    stage = Stage(a_world(base=None))
    stage.github.files["main", POLICY_PATH] = b"continuous: {schedule: daily, missions: 2}\n"
    services = replace(stage.services, limits=Limits(iterations=1))
    request = a_request().with_(continuous=continuous)
    context = await handle_request(request, services, stage.github, RecordingCheckpoint())
    assert context.outcome is outcome, context.reason
    outcomes = [lesson.outcome for lesson in stage.lessons.lessons.values()]
    assert outcomes == (["PARTIAL", "FIXED"] if continuous else ["PARTIAL"])
    assert len(stage.github.pulls) == continuous, "one pull request for the whole row"


async def test_missions_in_a_row_are_one_mission_to_everyone_else() -> None:
    stage, records = Stage(a_world(base=None)), MemoryRecords()
    recorder = Recorder(records, FixedClock())
    limits = Limits(iterations=1, missions_in_a_row=2)

    @asynccontextmanager
    async def listen(_: MissionRequest) -> AsyncIterator[Progress]:
        yield recorder

    services = replace(stage.services, limits=limits, recorder=recorder, open_progress=listen)
    await recorder.enqueue(a_request())
    context = await handle_request(a_request(), services, stage.github, RecordingCheckpoint())
    record = await records.find("m-0001")
    assert record is not None
    assert (record.state, record.outcome) == (RecordState.ENDED, Outcome.FIXED)
    assert len((await records.page(MissionQuery())).missions) == 1
    names = [mark.name for mark in await records.stages("m-0001")]
    assert names.count("analyze") == len(lessons := stage.lessons.lessons.values()), names
    assert {check.updates[-1].external_id for check in stage.github.checks} == {"m-0001"}
    assert (context.mission_id, context.request.mission_id) == ("m-0001", "m-0001")
    assert [(one.id, one.outcome) for one in lessons] == [
        ("m-0001-1", "PARTIAL"),
        ("m-0001", "FIXED"),
    ]


async def test_a_folder_with_a_policy_of_its_own_is_rebuilt_by_it(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "metaagent.yml").write_text(
        "test_command: make check\nsetup: [make data]\npython: '3.10'\n"
    )
    stage = Stage(a_world(ADDS, base=None))
    request = a_folder_request(str(tmp_path)).with_(command=None)
    await handle_folder(request, stage.services, MemoryCheckpoint(through_json=True))
    assert stage.checkouts[0].hints == JobHints(
        command="make check", setup=("make data",), python="3.10"
    )


async def test_a_folder_request_without_a_folder_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="folder"):
        await handle_folder(a_request(), Stage().services, MemoryCheckpoint())


def test_a_mission_needs_nothing_that_the_line_does_not_give() -> None:
    given = set(MissionServices.__dataclass_fields__) | {
        "recall",
        "checkpoint",
        "progress",
        "mind",
        "meter",
    }
    assert set(MissionPorts.__dataclass_fields__) <= given
