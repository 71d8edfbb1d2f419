"""What a person looks at first when no fix was found."""

from typing import Any

import pytest

from bot.domain.diagnosis import Suspect
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import NearMiss, RungNote
from bot.mission.failures.look_at import look_at
from sandbox.types import SourceDiff, TestReport
from tests.builders import a_running_mission, an_attempt, an_iteration, facts
from tests.fakes.scripted_fixer import ScriptedFixer
from tests.fakes.scripted_workspace import a_run
from tests.unit.bot.mission.world import EVENS, PATH, Stage, a_world

ODD = "tests/test_m.py::test_odd"
OTHERS = {f"tests/test_m.py::test_{number}": "" for number in range(3)}


def a_mission(report: TestReport, changed: tuple[str, ...] = (), **attempt: Any) -> MissionContext:
    diff = SourceDiff(files=dict.fromkeys(changed, (1,)))
    iteration = an_iteration(
        candidate=None, verification=None, attempt=an_attempt(candidates=(), **attempt)
    )
    return a_running_mission(
        test_results=report, facts=facts(red_diff=diff), iterations=(iteration,)
    )


@pytest.mark.parametrize(
    "error",
    [
        "ImportError: cannot import name 'refund' from 'shop.till' (/work/shop/till.py)",
        "AttributeError: module 'shop.till' has no attribute 'refund'",
    ],
)
def test_a_name_that_only_the_tests_know_is_a_feature(error: str) -> None:
    told = look_at(a_mission(a_run({"tests/test_till.py": error})))
    assert told.startswith("`shop.till` has no `refund`, which the tests use")
    assert "feature" in told


@pytest.mark.parametrize("owner", ["'Till' object", "type object 'Till'"])
def test_a_member_that_a_test_asks_a_class_for_is_a_feature(owner: str) -> None:
    error = f"AttributeError: {owner} has no attribute 'refund'"
    told = look_at(a_mission(a_run({"tests/test_till.py::test_refund": error})))
    assert told.startswith("`Till` has no `refund`, which the tests use")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("tests/test_till.py::test_x", "AttributeError: 'NoneType' object has no attribute 'x'"),
        ("shop/till.py::test_x", "AttributeError: 'Till' object has no attribute 'x'"),
    ],
)
def test_a_member_that_code_asks_for_or_a_value_lacks_is_a_bug(name: str, error: str) -> None:
    assert "feature" not in look_at(a_mission(a_run({name: error})))


def test_a_changed_test_that_disagrees_with_confirmed_code_may_be_wrong() -> None:
    red = a_run({ODD: "AssertionError: assert 1 == 2", "tests/test_other.py::test_it": ""})
    told = look_at(a_mission(red, changed=("tests/test_m.py",)))
    assert told == (
        f"Only tests that were changed disagree with code that 1 other test confirms (`{ODD}`): they may be wrong"
    )
    assert "wrong" not in look_at(a_mission(red, changed=("tests/test_m.py", "shop/till.py")))
    assert "wrong" not in look_at(a_mission(red))


def test_a_lone_failing_test_among_many_may_be_wrong_also_without_a_history() -> None:
    assert "the test itself may be wrong" in look_at(
        a_mission(a_run({ODD: "AssertionError: x", **OTHERS}))
    )
    two = a_run(
        {ODD: "AssertionError: x", "tests/test_m.py::test_more": "AssertionError: y", **OTHERS}
    )
    assert look_at(a_mission(two)) == ""


def test_the_busiest_places_and_the_nearest_change_are_named() -> None:
    suspects = tuple(Suspect(file="a.py", line=n, score=0.5, reason="") for n in (3, 3, 7, 9))
    near = tuple(
        NearMiss(path="a.py", line=3, description=what, diff="", mended=mended)
        for what, mended in (("`<` became `>`", ("t1",)), ("`1` became `2`", ("t1", "t2")))
    )
    red = a_run({f"t{n}": "AssertionError: x" for n in (1, 2, 3)})
    assert look_at(a_mission(red, suspects=suspects, near=near)) == (
        "The search was busiest at a.py line 3, a.py line 7. `1` became `2` at a.py line 3 repairs 2 of 3 failing tests"
    )


@pytest.mark.anyio
async def test_a_mission_without_a_fix_says_so() -> None:
    looked = RungNote(
        reason="nothing", suspects=(Suspect(file=PATH, line=2, score=0.5, reason=""),)
    )
    context = await Stage(
        world=a_world(EVENS), fixers=(ScriptedFixer(lambda _files, _context: (looked,)),)
    ).play()
    assert context.outcome is Outcome.NO_FIX
    assert f"The search was busiest at {PATH} line 2" in context.advice


def test_nothing_red_gives_no_advice() -> None:
    assert look_at(a_running_mission()) == ""
