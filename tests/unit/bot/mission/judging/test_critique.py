"""Quick validation: the exact numbers, and everything it objects to."""

import pytest

from bot.domain.plan import Plan, PlanStep
from bot.domain.verdict import IssueCategory, Recommendation, Severity
from bot.mission.judging.critique import critique_plan, is_outside, quick_score, recommend
from sandbox.changes import is_protected
from tests.builders import a_plan


def step(number: int = 1, **changes: object) -> PlanStep:
    return PlanStep(id=f"S-{number}", order=number, description="do it", action="search").with_(
        **changes
    )


def plan(*steps: PlanStep) -> Plan:
    return a_plan(steps=steps)


@pytest.mark.parametrize(
    ("issues", "score"), [(0, 0.9), (1, 0.7), (2, 0.5), (3, 0.3), (4, 0.3), (100, 0.3)]
)
def test_every_issue_costs_two_tenths_down_to_three(issues: int, score: float) -> None:
    assert quick_score(issues) == score


@pytest.mark.parametrize(
    ("score", "recommendation"),
    [
        (1.0, Recommendation.APPROVE),
        (0.8, Recommendation.APPROVE),
        (0.79, Recommendation.REVISE),
        (0.6, Recommendation.REVISE),
        (0.59, Recommendation.REJECT),
        (0.0, Recommendation.REJECT),
    ],
)
def test_approve_from_eight_revise_from_six(score: float, recommendation: Recommendation) -> None:
    assert recommend(score) is recommendation


def test_a_sound_plan_is_approved_with_nine_tenths() -> None:
    found = critique_plan(a_plan())
    assert found.overall == 0.9
    assert found.recommendation is Recommendation.APPROVE
    assert not found.issues
    assert found.by == "rules"


@pytest.mark.parametrize(
    ("bad", "category", "severity"),
    [
        (plan(), IssueCategory.COMPLETENESS, Severity.HIGH),
        (
            plan(step(1, dependencies=("S-2",)), step(2, dependencies=("S-1",))),
            IssueCategory.LOGIC,
            Severity.CRITICAL,
        ),
        (plan(step(1, dependencies=("S-1",))), IssueCategory.LOGIC, Severity.CRITICAL),
        (plan(step(action="shell")), IssueCategory.FEASIBILITY, Severity.HIGH),
        (plan(step(parameters={"path": "../other"})), IssueCategory.SAFETY, Severity.CRITICAL),
        (plan(step(parameters={"path": "/etc/passwd"})), IssueCategory.SAFETY, Severity.CRITICAL),
        (
            plan(step(parameters={"paths": "calc.py\n.git/config"})),
            IssueCategory.SAFETY,
            Severity.CRITICAL,
        ),
        (
            plan(step(parameters={"path": "tests/test_math.py"})),
            IssueCategory.SAFETY,
            Severity.HIGH,
        ),
        (
            plan(step(parameters={"path": ".github/workflows/ci.yml"})),
            IssueCategory.SAFETY,
            Severity.HIGH,
        ),
    ],
)
def test_each_fault_is_one_issue(bad: Plan, category: IssueCategory, severity: Severity) -> None:
    found = critique_plan(bad, is_protected=is_protected)
    assert [(issue.category, issue.severity) for issue in found.issues] == [(category, severity)]
    assert found.overall == 0.7
    assert found.recommendation is Recommendation.REVISE
    assert found.suggestions


def test_faults_add_up_to_a_rejection() -> None:
    found = critique_plan(
        plan(step(action="shell", parameters={"path": "../x"}, dependencies=("S-1",)))
    )
    assert found.overall == 0.3
    assert found.recommendation is Recommendation.REJECT
    assert (found.safety, found.feasibility, found.correctness, found.efficiency) == (
        0.7,
        0.7,
        0.7,
        0.9,
    )


def test_a_dependency_on_a_step_that_is_not_there_is_no_circle() -> None:
    assert not critique_plan(plan(step(dependencies=("S-9",)))).issues


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/x", "~/x", "C:/x", "..\\x", "\\\\server\\x", "a\0b", "x/.git/hooks"],
)
def test_paths_that_leave_the_checkout(path: str) -> None:
    assert is_outside(path)


@pytest.mark.parametrize("path", ["calc.py", "src/pkg/mod.py", "a..b.py", ".gitignore"])
def test_paths_that_stay_inside(path: str) -> None:
    assert not is_outside(path)
