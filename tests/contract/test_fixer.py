"""What every Fixer keeps to: budgets, honest candidates, and a workspace left as it was found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from bot.domain.account import ModelLimits
from bot.domain.diagnosis import Diagnosis, FailureKind
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, FixBudget, Rung, RungNote
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ports import Fixer
from sandbox.types import LOCK_RUNNER, LockRepair, RunVerdict, TestReport
from tests.builders import (
    OTHER_TEST,
    SOURCE,
    TEST,
    a_candidate,
    a_diagnosis,
    a_lint_failure,
    a_lint_recipe,
    a_lint_report,
    a_running_mission,
    facts,
)
from tests.fakes.checked_workspace import proposed
from tests.fakes.fake_workspace import FakeWorkspace, green
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_mind import ScriptedMind
from tests.fakes.searching_workspace import SearchingWorkspace
from tests.fakes.tool_workspace import ToolWorkspace

pytestmark = pytest.mark.anyio


@dataclass(frozen=True)
class Case:
    """A fixer with a workspace it can repair and one in which there is nothing for it to do."""

    fixer: Callable[[], Fixer]
    repairable: Callable[[], FakeWorkspace]
    hopeless: Callable[[], FakeWorkspace]
    context: MissionContext = field(default_factory=a_running_mission)
    diagnosis: Diagnosis = field(default_factory=a_diagnosis)


def scripted() -> Fixer:
    return ScriptedFixer(
        lambda files, _: (
            [a_candidate()] if "calculator.py" in files else [RungNote(reason="no calculator")]
        )
    )


SLIP = "if a == None:\n    b()\n"
SLIPPED = a_lint_report(
    a_lint_failure(rule="E711", error_message="Comparison to `None`"), verdict=RunVerdict.FAIL
)


def linted(files: Mapping[str, str], command: str) -> TestReport:
    """What a linter says that looks for one thing."""
    return (
        SLIPPED
        if "== None" in files.get("calculator.py", "")
        else green(files, command).with_(runner="diagnostics")
    )


REFUSED = a_lint_report(
    a_lint_failure(file="yarn.lock", rule="lock-drift"), verdict=RunVerdict.FAIL
).with_(runner=LOCK_RUNNER)
REPAIR = LockRepair(
    path="yarn.lock", content="new", program="yarn 1", command="", refused="", refusal=""
)
EDIT = "calculator.py\n<<<<<<< SEARCH\n    return {}\n=======\n    return {}\n>>>>>>> REPLACE\n"
ANSWERS = [
    EDIT.format("a * b", "a + b"),
    *(EDIT.format("a - b", new) for new in ("b - a", "a + b")),
]


def model() -> Fixer:
    return ModelFixer(
        ScriptedMind({"fix": ANSWERS}), SearchTrials(MemoryLessons()), ModelLimits(rounds=1)
    )


def checked(files: Mapping[str, str]) -> FakeWorkspace:
    """A checkout whose tests look for a sum."""
    return SearchingWorkspace(
        files, {TEST: ("calculator.py", "a + b"), OTHER_TEST: ("calculator.py", "def add")}
    )


CASES: dict[str, Case] = {
    "model": Case(
        fixer=model,
        repairable=lambda: checked({"calculator.py": SOURCE}),
        hopeless=lambda: checked({"other.py": "x\n"}),
    ),
    "search for findings": Case(
        fixer=lambda: SearchFixer(MemoryLessons()),
        repairable=lambda: FakeWorkspace({"calculator.py": SLIP}, judge=linted, proposer=proposed),
        hopeless=lambda: FakeWorkspace({"calculator.py": SLIP}, judge=linted),
        context=a_running_mission(test_results=SLIPPED),
        diagnosis=a_diagnosis(kind=FailureKind.LINT, failures=SLIPPED.failures),
    ),
    "scripted": Case(
        fixer=scripted,
        repairable=lambda: FakeWorkspace({"calculator.py": "x\n"}),
        hopeless=lambda: FakeWorkspace({"other.py": "x\n"}),
    ),
    "ruff": Case(
        fixer=lambda: tool_fixers()[0],
        repairable=lambda: ToolWorkspace(a_lint_recipe(), {"calculator.py": b"x = 1\n"}),
        hopeless=lambda: ToolWorkspace(a_lint_recipe(), {}),
        context=a_running_mission(test_results=a_lint_report()),
        diagnosis=a_diagnosis(kind=FailureKind.LINT, failures=(a_lint_failure(),)),
    ),
    "lock files": Case(
        fixer=lambda: tool_fixers()[1],
        repairable=lambda: FakeWorkspace({"yarn.lock": "old"}, facts=facts(lock_repair=REPAIR)),
        hopeless=lambda: FakeWorkspace({"yarn.lock": "old"}),
        context=a_running_mission(test_results=REFUSED),
        diagnosis=a_diagnosis(kind=FailureKind.LINT, failures=REFUSED.failures),
    ),
}


@pytest.fixture(params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


async def proposals(
    case: Case, workspace: FakeWorkspace, budget: FixBudget | None = None
) -> list[Candidate | RungNote]:
    proposing = case.fixer().propose(case.context, case.diagnosis, workspace, budget or FixBudget())
    return [proposal async for proposal in proposing]


async def test_it_says_who_it_is(case: Case) -> None:
    fixer = case.fixer()
    assert fixer.name
    assert fixer.rung in set(Rung)


async def test_it_applies_to_the_red_run_it_repairs_and_to_no_green_one(case: Case) -> None:
    fixer, red = case.fixer(), case.context.test_results
    assert red is not None
    assert fixer.applies(red)
    assert not fixer.applies(
        red.with_(success=True, failed=False, verdict=RunVerdict.PASS, outcomes={}, failures=())
    )


async def test_a_candidate_says_where_it_comes_from_and_what_it_changes(case: Case) -> None:
    found = [one for one in await proposals(case, case.repairable()) if isinstance(one, Candidate)]
    assert found
    assert len({candidate.id for candidate in found}) == len(found)
    for candidate in found:
        assert candidate.rung is case.fixer().rung or case.fixer().name == "scripted"
        assert candidate.changes
        assert candidate.title
        assert "\n" not in candidate.title
        assert candidate.candidates_tried >= 1


async def test_the_workspace_is_left_as_it_was_found(case: Case) -> None:
    for workspace in (case.repairable(), case.hopeless()):
        before = workspace.texts()
        await proposals(case, workspace)
        assert workspace.texts() == before


async def test_what_was_proposed_can_be_applied(case: Case) -> None:
    workspace = case.repairable()
    found = [one for one in await proposals(case, workspace) if isinstance(one, Candidate)]
    await workspace.apply_changes(found[0].changes)
    assert {edit.path for edit in await workspace.changes()} == {
        change.path for change in found[0].changes
    }


async def test_whoever_has_nothing_to_propose_says_why(case: Case) -> None:
    found = await proposals(case, case.hopeless())
    assert found
    assert all(isinstance(one, RungNote) and one.reason for one in found)


async def test_no_more_survivors_are_proposed_than_asked_for(case: Case) -> None:
    found = await proposals(case, case.repairable(), FixBudget(max_survivors=1))
    assert sum(isinstance(one, Candidate) for one in found) == 1


async def test_running_it_again_proposes_the_same(case: Case) -> None:
    def essence(found: list[Candidate | RungNote]) -> list[object]:
        return [one.changes if isinstance(one, Candidate) else one.reason for one in found]

    assert essence(await proposals(case, case.repairable())) == essence(
        await proposals(case, case.repairable())
    )
