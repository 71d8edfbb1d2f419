"""Plans name the rungs that apply, and criteria that say when it is done."""

import pytest

from bot.domain.patch import Rung
from bot.domain.plan import CriterionType
from bot.mission.judging.critique import critique_plan
from bot.mission.judging.plan import plan_fix, refine_plan
from sandbox.types import TestStatus
from tests.builders import (
    OTHER_TEST,
    TEST,
    a_diagnosis,
    a_lint_recipe,
    a_lint_report,
    a_plan,
    a_report,
    facts,
)

BOTH = (Rung.TOOLS, Rung.SEARCH)


@pytest.mark.parametrize(
    ("rungs", "actions"),
    [
        ((Rung.SEARCH,), ["search", "verify"]),
        (BOTH, ["tools", "search", "verify"]),
        ((Rung.TOOLS,), ["tools", "verify"]),
        ((Rung.MODEL, Rung.SEARCH), ["search", "model", "verify"]),
        ((), []),
    ],
)
def test_the_rungs_that_apply_become_steps(rungs: tuple[Rung, ...], actions: list[str]) -> None:
    plan = plan_fix(a_diagnosis(), a_report(), facts(), rungs)
    assert [step.action for step in plan.steps] == actions
    assert len(critique_plan(plan).issues) == (0 if actions else 1)


def test_every_failing_test_is_a_critical_criterion_and_the_suite_comes_after() -> None:
    report = a_report(
        outcomes={
            TEST: TestStatus.FAIL,
            OTHER_TEST: TestStatus.ERROR,
            "tests/t.py::ok": TestStatus.PASS,
        }
    )
    criteria = plan_fix(a_diagnosis(), report, facts(), BOTH).acceptance_criteria
    assert [c.check for c in criteria] == [TEST, OTHER_TEST, "suite", "collected", "paths"]
    assert [c.id for c in criteria] == ["AC-1", "AC-2", "AC-3", "AC-4", "AC-5"]
    assert all(c.critical and not c.passed for c in criteria)
    assert criteria[0].type is CriterionType.UNIT


def test_a_lint_plan_has_no_criteria_per_finding() -> None:
    plan = plan_fix(a_diagnosis(), a_lint_report(), facts(recipe=a_lint_recipe()), BOTH)
    assert [c.check for c in plan.acceptance_criteria] == ["suite", "collected", "paths"]
    assert plan.acceptance_criteria[0].type is CriterionType.LINT


def test_many_failing_tests_are_bounded() -> None:
    report = a_report(outcomes={f"t.py::t{n}": TestStatus.FAIL for n in range(500)})
    assert len(plan_fix(a_diagnosis(), report, facts(), BOTH).acceptance_criteria) == 53


def test_a_plan_without_suspects_is_less_sure() -> None:
    rungs = (Rung.SEARCH,)
    sure = plan_fix(a_diagnosis(), a_report(), facts(), rungs).confidence
    assert plan_fix(a_diagnosis(suspects=()), a_report(), facts(), rungs).confidence < sure


def test_a_refined_plan_drops_what_the_critic_objects_to() -> None:
    first = a_plan()
    bad = first.with_(steps=(first.steps[0].with_(action="shell"), *first.steps[1:]))
    refined = refine_plan(bad, critique_plan(bad), BOTH)
    assert refined.refined
    assert [step.action for step in refined.steps] == []
    with_paths = first.with_(
        steps=(first.steps[0].with_(parameters={"path": "../x"}), *first.steps[1:])
    )
    refined = refine_plan(with_paths, critique_plan(with_paths), BOTH)
    assert [step.action for step in refined.steps] == ["search", "verify"]
    assert not critique_plan(refined).issues
    assert refined.confidence == with_paths.confidence, "being refined makes no plan surer"
