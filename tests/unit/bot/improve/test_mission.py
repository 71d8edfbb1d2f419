"""Improvements of a repository on GitHub: a pull request with evidence, or a clear end, and nothing else."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.domain.evidence import EvidenceLimits, KeptEvidence
from bot.domain.github import CommitState
from bot.domain.mission import MissionContext, Outcome
from bot.domain.registry import FixState
from bot.domain.request import Feedback, Trigger
from bot.evidence.bundle import read_bundle
from bot.evidence.keep import EvidenceStore
from bot.evidence.replay import replay_bundle
from bot.pipeline import MissionServices, handle_request
from bot.policy.policy_file import POLICY_PATH
from bot.ports import Progress
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from sandbox.types import CommandResult, TestReport
from tests.builders import BASE, HEAD, a_request
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.fake_workspace import Files
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.memory_registry import MemoryRegistry
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.scripted_workspace import Asked, World, a_run
from tests.unit.bot.improve.world import failed
from tests.unit.bot.mission.world import Recording

pytestmark = pytest.mark.anyio

FLAWED = "import os\n\n\ndef has(items, name):\n    return name in items\n"
TESTS = "from stock import has\n\n\ndef test_has():\n    assert has([1], 1)\n"
FILES = {"stock.py": FLAWED, "tests/test_stock.py": TESTS}
PASSING = {"tests/test_stock.py::test_has": "", "tests/test_stock.py::test_other": ""}
ANSWERS: dict[str, Any] = {
    "analyze_target": {"title": "say what has does", "problem": "no docstring", "change": "add it"},
    "implement_improvement": (
        "stock.py\n```python\n<<<<<<< SEARCH\ndef has(items, name):\n=======\n"
        'def has(items, name):\n    """Return True if it is there."""\n>>>>>>> REPLACE\n```\n'
    ),
    "critique_improvement": {"score": 0.9, "justification": "right"},
}


def passing(asked: Asked) -> TestReport:
    return a_run(PASSING, targets=asked.targets)


def broken_by_a_change(asked: Asked) -> TestReport:
    broken = "import os" not in asked.files["stock.py"]
    return a_run({**PASSING, "tests/test_stock.py::test_has": "Error: gone" if broken else ""})


@dataclass
class Stage:
    """A green head of main, and all that a mission needs."""

    files: dict[str, str] = field(default_factory=lambda: dict(FILES))
    run: Callable[[Asked], TestReport] = passing
    mind: ScriptedMind | None = None
    policy: str = ""
    github: FakeGitHub = field(default_factory=FakeGitHub)
    registry: MemoryRegistry = field(default_factory=MemoryRegistry)
    lessons: MemoryLessons = field(default_factory=MemoryLessons)
    shell: Callable[[Files, str], CommandResult] | None = None
    evidence: EvidenceStore | None = None

    def __post_init__(self) -> None:
        self.world = World(files=self.files, run=self.run)
        self.github.branches["main"] = HEAD
        self.github.permissions["alice"] = "write"
        self.github.commits[HEAD] = CommitState(
            sha=HEAD, parents=(BASE,), message="m", author="ann"
        )
        if self.policy:
            self.github.files["main", POLICY_PATH] = self.policy.encode()

    @property
    def services(self) -> MissionServices:
        @asynccontextmanager
        async def listen(_: object) -> AsyncIterator[Progress]:
            yield SilentProgress()

        @asynccontextmanager
        async def opened(checkout: Any) -> AsyncIterator[Any]:
            async with self.world.open_workspace(checkout) as workspace:
                if self.shell is not None:
                    workspace._shell = self.shell
                yield workspace

        async def keep(*arguments: Any) -> KeptEvidence:
            return await self.evidence.keep(*arguments) if self.evidence else KeptEvidence()

        return MissionServices(
            open_workspace=opened,
            fixers=(),
            lessons=self.lessons,
            clock=FixedClock(),
            open_progress=listen,
            minds=self.mind,
            registry=self.registry,
            keep_evidence=keep,
        )

    async def improve(self, path: str = "", **changes: Any) -> MissionContext:
        values = {
            "trigger": Trigger.COMMENT,
            "requested_by": "alice",
            "mission_id": "i-1",
            **changes,
        }
        request = a_request(**values).with_(improve=path, check=None)
        context = await handle_request(
            request, self.services, self.github, MemoryCheckpoint(through_json=True)
        )
        assert self.world.open_now == 0, "every workspace is closed"
        return context


def told(stage: Stage) -> str:
    last = stage.github.checks[-1].updates[-1]
    return f"{last.title}\n{last.summary}\n{last.text}"


async def test_an_improvement_becomes_a_pull_request_that_claims_no_repair() -> None:
    stage = Stage()
    context = await stage.improve("stock.py")
    assert context.outcome is Outcome.IMPROVED, context.reason
    (pull,) = stage.github.pulls.values()
    assert stage.github.titles == {pull.number: "Remove 1 unused import (stock.py)"}
    assert pull.base_ref == "main"
    (commit,) = stage.github.edits.values()
    assert [(edit.path, edit.content.decode()) for edit in commit] == [
        ("stock.py", FLAWED.removeprefix("import os\n\n\n"))
    ]
    assert "nothing was red; 2 tests pass before and after this change" in pull.body
    assert "no code, string or comment of the file mentions the name" in pull.body
    assert "passed before the tests: guard, compiles, import" in pull.body
    for word in ("Red to green", "Red check", "failing", "repair", "Was this right"):
        assert word not in pull.body, word
    assert "IMPROVED" in told(stage)


async def test_the_tests_ran_in_two_fresh_sandboxes_before_anything_was_pushed() -> None:
    stage = Stage()
    context = await stage.improve()
    assert context.fix is not None
    proof = context.fix[1]
    assert {run.sandbox for run in proof.runs} == {1, 2}
    assert proof.control is None, "a run without the change would show nothing"
    assert all(criterion.passed for criterion in context.acceptance_criteria)
    assert proof.review is not None
    assert (proof.review.score, proof.review.by) == (0.95, "rules")


async def test_an_improvement_is_no_lesson_about_a_failure() -> None:
    stage = Stage()
    await stage.improve()
    assert stage.lessons.lessons == {}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("tests/test_stock.py", "it is protected (tests)"),
        ("nowhere.py", "no Python file at nowhere.py"),
        ("tests", "no Python file there can be improved"),
        ("stock.py/", ""),
    ],
)
async def test_a_path_that_cannot_be_improved_is_answered(path: str, said: str) -> None:
    stage = Stage()
    context = await stage.improve(path)
    assert (context.outcome is Outcome.NO_FIX) is bool(said)
    assert said in context.reason
    assert bool(stage.github.pulls) is not bool(said)
    assert ("nothing was improved" in told(stage)) is bool(said)


async def test_code_whose_tests_fail_is_not_improved() -> None:
    stage = Stage(run=lambda asked: a_run({"tests/test_stock.py::test_has": "AssertionError: no"}))
    context = await stage.improve()
    assert context.outcome is Outcome.NO_FIX
    assert "do not pass without any change" in context.reason
    assert stage.github.edits == {}
    assert "/metaagent fix" in told(stage)


async def test_a_change_that_breaks_a_test_is_not_pushed() -> None:
    stage = Stage(run=broken_by_a_change)
    context = await stage.improve()
    assert context.outcome is Outcome.NO_FIX
    assert "no improvement passed" in context.reason
    assert (stage.github.edits, context.fix) == ({}, None)


async def test_a_version_that_cannot_be_imported_runs_no_test() -> None:
    def shell(files: Files, command: str) -> CommandResult:
        worse = "import os" not in files["stock.py"] and "import_module" in command
        return failed(files, command) if worse else CommandResult(argv=("sh",), exit_code=0)

    stage = Stage(shell=shell)
    context = await stage.improve()
    assert "import: exit status 1: Boom: it broke" in context.reason
    assert len(stage.world.runs) == 1, "only the run without the change"


async def test_the_next_improvement_is_tried_when_the_first_one_fails() -> None:
    files = {**FILES, "stock.py": FLAWED + "\n\nclass A(object):\n    x = 1\n"}

    def run(asked: Asked) -> TestReport:
        worse = "import os" not in asked.files["stock.py"]
        return a_run({"tests/test_stock.py::test_has": "Error: gone" if worse else ""})

    stage = Stage(files=files, run=run)
    context = await stage.improve()
    assert context.outcome is Outcome.IMPROVED
    assert [one.candidate.template for one in context.iterations if one.candidate] == [
        "unused_import",
        "object_base",
    ]
    assert len(stage.github.pulls) == 1


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("paths_protected: ['stock.py']\n", "no Python file there"),
        ("paths_allowed: ['src/**']\n", "no Python file there"),
        ("rungs: [2]\n", "nothing to improve was found"),
    ],
)
async def test_the_policy_guards_improvements_too(policy: str, said: str) -> None:
    stage = Stage(policy=policy)
    context = await stage.improve()
    assert context.outcome is Outcome.NO_FIX
    assert said in context.reason
    assert stage.github.edits == {}


async def test_an_improvement_is_never_pushed_to_a_branch_of_people() -> None:
    stage = Stage(policy="deliver:\n  - deliver: push\n")
    await stage.improve()
    assert stage.github.branches["main"] == HEAD
    assert len(stage.github.pulls) == 1


async def test_what_the_policy_only_reports_is_only_shown() -> None:
    stage = Stage(policy="deliver:\n  - deliver: report\n")
    context = await stage.improve()
    assert context.outcome is Outcome.IMPROVED
    assert (stage.github.pulls, stage.github.edits) == ({}, {})
    assert "-import os" in told(stage)
    assert await stage.registry.proposal(42, proposal_id="i-1") is None


async def test_an_open_improvement_is_not_offered_twice() -> None:
    stage = Stage()
    await stage.improve()
    again = await stage.improve(mission_id="i-2")
    assert (again.outcome, again.reason) == (Outcome.NO_FIX, "nothing to improve was found")
    assert len(stage.github.pulls) == 1


async def test_a_refused_improvement_is_offered_again_only_to_a_person_who_asks() -> None:
    policy = "improve:\n  schedule: daily\n"
    stage = Stage(policy=policy)
    await stage.improve()
    ((key, _),) = [(fix.key, fix) for fix in await stage.registry.offered(42)]
    await stage.registry.revise(key, lambda fix: fix.with_(state=FixState.CLOSED))
    (number,) = stage.github.pulls
    stage.github.pulls[number] = stage.github.pulls[number].with_(state="closed")
    by_schedule = await stage.improve(
        mission_id="i-2", trigger=Trigger.SCHEDULE, requested_by="metaagent[bot]"
    )
    assert by_schedule.reason == "nothing to improve was found"
    asked = await stage.improve(mission_id="i-3")
    assert asked.outcome is Outcome.IMPROVED


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ("", Outcome.POLICY),
        ("improve: {schedule: never}\n", Outcome.POLICY),
        ("enabled: false\nimprove: {schedule: daily}\n", Outcome.POLICY),
        ("improve: {schedule: weekly}\n", Outcome.IMPROVED),
        ("automatic: false\nimprove: {schedule: daily}\n", Outcome.IMPROVED),
    ],
)
async def test_a_schedule_needs_its_policy_key(policy: str, outcome: Outcome) -> None:
    stage = Stage(policy=policy)
    context = await stage.improve(trigger=Trigger.SCHEDULE, requested_by="metaagent[bot]")
    assert context.outcome is outcome, context.reason


async def test_scheduled_improvements_use_up_no_attempt_to_repair() -> None:
    stage = Stage(policy="improve: {schedule: daily}\n")
    await stage.improve(trigger=Trigger.SCHEDULE, requested_by="metaagent[bot]")
    assert await stage.registry.attempts(42, branch="main") == 0


async def test_a_stranger_may_not_ask() -> None:
    stage = Stage()
    context = await stage.improve(requested_by="mallory")
    assert context.outcome is Outcome.POLICY
    assert stage.world.opened == 0


async def test_a_models_improvement_is_named_as_one() -> None:
    stage = Stage(mind=ScriptedMind(ANSWERS))
    context = await stage.improve("stock.py")
    assert context.outcome is Outcome.IMPROVED, context.reason
    (pull,) = stage.github.pulls.values()
    assert stage.github.titles == {pull.number: "Say what has does (stock.py)"}
    assert "A model proposes to say what has does" in pull.body
    assert context.bill.calls == 3


async def test_a_models_open_improvement_leaves_the_next_one_to_the_rules() -> None:
    stage = Stage(mind=ScriptedMind(ANSWERS))
    await stage.improve("stock.py")
    again = await stage.improve("stock.py", mission_id="i-2")
    assert again.outcome is Outcome.IMPROVED, again.reason
    assert [one.candidate.fixer for one in again.iterations if one.candidate] == ["rules"]
    assert len(stage.github.pulls) == len(("the model's", "the rules'"))


async def test_a_models_low_critique_leaves_the_improvement_to_the_rules() -> None:
    low = {"score": 0.1, "justification": "pointless"}
    stage = Stage(mind=ScriptedMind({**ANSWERS, "critique_improvement": low}))
    context = await stage.improve("stock.py")
    assert context.outcome is Outcome.IMPROVED
    assert [one.candidate.fixer for one in context.iterations if one.candidate] == [
        "model",
        "rules",
    ]


async def test_a_resumed_mission_repeats_no_step() -> None:
    stage, checkpoint = Stage(), Recording()
    request = a_request(trigger=Trigger.COMMENT, requested_by="alice").with_(improve="", check=None)
    first = await handle_request(request, stage.services, stage.github, checkpoint)
    ran, opened = list(checkpoint.ran), stage.world.opened
    again = await handle_request(request, stage.services, stage.github, checkpoint)
    assert (checkpoint.ran, stage.world.opened) == (ran, opened)
    assert again == first


def inside(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_its_evidence_can_be_replayed(tmp_path: Path) -> None:
    evidence = EvidenceStore(HashedStore(FolderShelf(tmp_path)), EvidenceLimits(), FixedClock())
    stage = Stage(evidence=evidence)
    await stage.improve()
    (path,) = inside(tmp_path)
    bundle = read_bundle(path.read_bytes())
    assert bundle.claim.outcome == "IMPROVED"
    again = await replay_bundle(bundle, stage.services.open_workspace, clock=FixedClock())
    assert again.verdict == "CONFIRMED", again
    assert again.reason == "green as claimed, with the improvement and without it"


async def test_feedback_on_an_improvement_changes_no_lesson() -> None:
    stage = Stage()
    await stage.improve()
    (pull,) = stage.github.pulls.values()
    request = a_request()
    assert request.repository is not None
    feedback = Feedback(
        repository=request.repository, pull_request=pull.number, merged=True, branch=pull.head_ref
    )
    assert await stage.lessons.feed_back(feedback) == 0
