"""The verdict: what makes a candidate green, partial or refused."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from typing_extensions import override

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Rung, Verification
from bot.mission.judging.plan import plan_fix
from bot.mission.verifying.verify import verify_fix
from bot.ports import Workspace
from sandbox.errors import SandboxUnavailable
from sandbox.types import CHANGED, Checkout, RunVerdict, TestReport, TestStatus
from tests.builders import a_change, a_diagnosis, a_running_mission, facts
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_workspace import SKIP, Asked, ScriptedWorkspace, World, a_run
from tests.unit.bot.mission.world import (
    ADD,
    ADDS,
    BROKEN,
    CHECKOUT,
    EVEN,
    EVENS,
    MENDED,
    PATH,
    SUB,
    TESTS,
    a_fix,
    a_world,
    outcomes,
)

pytestmark = pytest.mark.anyio


def mission(before: TestReport) -> MissionContext:
    plan = plan_fix(a_diagnosis(), before, facts(), tuple(Rung))
    return a_running_mission(test_results=before, acceptance_criteria=plan.acceptance_criteria)


async def verified(
    world: World, candidate: Candidate | None = None, before: TestReport | None = None
) -> Verification:
    red = before or a_run(outcomes(BROKEN))
    fix = candidate or a_fix(MENDED)
    return await verify_fix(
        fix, mission(red), CHECKOUT, world.open_workspace, clock=FixedClock(step=0.5)
    )


def after(**said: str) -> World:
    """A world in which the mended tree says this in addition (or instead)."""
    names = {"add": ADD, "even": EVEN, "sub": SUB, "new": "tests/test_math.py::test_new"}

    def run(asked: Asked) -> TestReport:
        found = outcomes(asked.files[PATH])
        if asked.files[PATH] != BROKEN:
            for name, words in said.items():
                if words == "gone":
                    del found[names[name]]
                else:
                    found[names[name]] = words
        return a_run(found, targets=asked.targets)

    return a_world(run=run)


async def test_green_needs_four_runs_in_two_fresh_workspaces_and_a_red_one_without_the_change() -> (
    None
):
    world = a_world()
    found = await verified(world)
    assert found.green
    assert not found.partial
    assert (world.opened, world.open_now) == (2, 0)
    assert [
        (run.targets, run.order, run.seed) for run in world.runs if run.files[PATH] == MENDED
    ] == [
        ((ADD, EVEN), "given", 0),
        ((), "given", 0),
        ((), "given", 1),
        ((ADD, EVEN), "reversed", 2),
    ]
    assert [
        (run.targets, run.order, run.seed) for run in world.runs if run.files[PATH] == BROKEN
    ] == [((ADD, EVEN), "given", 1)]
    assert [(run.label, run.sandbox, run.seed) for run in found.runs] == [
        ("failing tests", 1, 0),
        ("full command", 1, 0),
        ("full command again", 2, 1),
        ("other order", 2, 2),
    ]
    assert found.control is not None
    assert found.control.failing == {ADD, EVEN}
    assert [(row.name, row.before, row.after) for row in found.table] == [
        (ADD, TestStatus.FAIL, TestStatus.PASS),
        (EVEN, TestStatus.FAIL, TestStatus.PASS),
    ]
    assert all(criterion.passed for criterion in found.criteria)
    assert found.seconds > 0


async def test_the_failing_tests_are_confirmed_by_known_answer_copies() -> None:
    world = a_world()
    found = await verified(world)
    assert world.confirmed == [(ADD, EVEN)]
    assert not any("no copy" in text for text in found.not_verified)


async def test_a_whole_run_is_confirmed_where_no_test_can_be_asked_for() -> None:
    def run(asked: Asked) -> TestReport:
        whole = a_run(outcomes(asked.files[PATH]))
        if not asked.targets:
            return whole
        return whole.with_(
            success=False, verdict=RunVerdict.NO_VERDICT, outcomes={}, failures=(), failed=False
        )

    world = a_world(run=run)
    assert (await verified(world)).green
    assert world.confirmed == [()]


async def test_a_command_that_ran_before_is_no_row_of_the_table() -> None:
    def run(asked: Asked) -> TestReport:
        found = outcomes(asked.files[PATH])
        if asked.files[PATH] != BROKEN and not asked.targets:
            found["ruff check ."] = ""
        return a_run(found, targets=asked.targets)

    found = await verified(a_world(run=run))
    assert found.green
    assert [row.name for row in found.table] == [ADD, EVEN]


def needs_others(asked: Asked) -> TestReport:
    """A run in which `add` needs a test that runs before it."""
    found = outcomes(asked.files[PATH])
    if asked.targets:
        found[ADD] = "NameError: name 'Version' is not defined"
    return a_run(found, targets=asked.targets)


async def test_a_test_that_needs_earlier_ones_is_proved_by_whole_runs() -> None:
    world = a_world(run=needs_others)
    found = await verified(world)
    assert found.green
    labels = ["full command", "full command again", "other order"]
    assert [run.label for run in found.runs] == labels
    assert world.confirmed == [(EVEN,)], "the others are still confirmed by name"
    assert found.control is not None
    assert found.control.failing == {ADD, EVEN}
    assert (
        f"`{ADD}` alone: it needs tests that run before it, so only whole runs prove it"
        in found.not_verified
    )


async def test_a_test_that_fails_otherwise_alone_and_again_in_the_whole_run_is_red() -> None:
    world = a_world(run=needs_others)
    only_even = MENDED.replace("+", "-")
    found = await verified(world, a_fix(only_even))
    assert not found.green
    assert [run.label for run in found.runs] == ["full command"]


@pytest.mark.parametrize("verdict", [RunVerdict.TAMPERED, RunVerdict.NO_VERDICT])
async def test_a_fix_whose_tests_are_not_confirmed_is_not_believed(verdict: RunVerdict) -> None:
    world = a_world()
    world.confirm = lambda report: report.with_(
        success=False, verdict=verdict, summary="a copy of it that must fail passed"
    )
    found = await verified(world)
    assert not found.green
    assert not found.partial
    assert (
        found.reason
        == "the failures are gone, but the run is not believed: a copy of it that must fail passed"
    )


async def test_tests_without_copies_are_named_as_not_verified() -> None:
    world = a_world()
    world.confirm = lambda report: report.with_(unconfirmed=(ADD,))
    found = await verified(world)
    assert found.green
    assert any(ADD in text for text in found.not_verified)


async def test_a_candidate_that_mends_nothing_costs_one_run() -> None:
    world = a_world()
    found = await verified(world, a_fix(f"{BROKEN}# nothing\n"))
    assert not found.green
    assert not found.partial
    assert len(world.runs) == 1
    assert found.reason == "2 of 2 failures are still there"


async def test_a_part_is_partial_after_two_runs() -> None:
    world = a_world()
    found = await verified(world, a_fix(ADDS))
    assert found.partial
    assert not found.green
    assert len(world.runs) == 2
    assert found.reason == "1 of 2 failures are gone, and nothing else changed"
    assert {c.check: c.passed for c in found.criteria} == {
        ADD: True,
        EVEN: False,
        "suite": False,
        "collected": True,
        "paths": True,
    }


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"sub": "AssertionError: assert 3 == -1"}, "1 test fails that did not fail before"),
        ({"sub": "gone"}, "1 test is no longer collected"),
        ({"sub": SKIP}, "1 test is skipped that did run before"),
        ({"new": "AssertionError: assert 0"}, "1 test fails that did not fail before"),
        ({"even": SKIP}, "1 test is skipped that did run before"),
        ({"even": "gone"}, "1 test is no longer collected"),
    ],
)
async def test_a_fix_that_harms_anything_is_neither_green_nor_partial(
    said: dict[str, str], words: str
) -> None:
    found = await verified(after(**said))
    assert not found.green
    assert not found.partial
    assert found.reason == words


async def test_a_green_run_that_says_it_stopped_early_is_not_believed() -> None:
    def run(asked: Asked) -> TestReport:
        found = {name: said for name, said in outcomes(asked.files[PATH]).items() if name != SUB}
        return a_run(found, targets=asked.targets).with_(
            raw_output="!!! stopping after 1 failures !!!"
        )

    found = await verified(a_world(run=run))
    assert not found.green
    assert found.missing == (SUB,)


async def test_a_test_with_another_name_in_each_run_is_not_missing() -> None:
    found = await verified(a_world(run=with_time_in_a_name()), before=a_timed_run(BROKEN, 0))
    assert found.green, found.reason
    assert found.missing == ()
    assert "1 test has another name in each run, so only their number counts" in found.not_verified


async def test_a_test_that_goes_with_the_change_is_missing_although_others_change_names() -> None:
    found = await verified(a_world(run=with_time_in_a_name(SUB)), before=a_timed_run(BROKEN, 0))
    assert not found.green
    assert SUB in found.missing


async def test_a_name_that_stays_without_the_change_is_missing() -> None:
    found = await verified(after(sub="gone"))
    assert found.missing == (SUB,)


def a_timed_run(text: str, run: int, targets: tuple[str, ...] = (), lost: str = "") -> TestReport:
    known = outcomes(text) if targets else {**outcomes(text), f"{EVEN}[12:00:{run:02}]": ""}
    return a_run({n: said for n, said in known.items() if n != lost}, targets=targets)


def with_time_in_a_name(lost: str = "") -> Callable[[Asked], TestReport]:
    """Return runs with one name of their own each; a changed tree loses a test."""
    numbers = itertools.count(1)

    def run(asked: Asked) -> TestReport:
        text = asked.files[PATH]
        gone = "" if text == BROKEN else lost
        return a_timed_run(text, next(numbers), tuple(asked.targets), gone)

    return run


@pytest.mark.parametrize("said", ["gone", SKIP])
async def test_the_second_run_counts_like_the_first(said: str) -> None:
    def run(asked: Asked) -> TestReport:
        found = outcomes(asked.files[PATH])
        if asked.seed == 1 and not asked.targets:
            found = {
                n: SKIP if n == SUB else s for n, s in found.items() if (n, said) != (SUB, "gone")
            }
        return a_run(found, targets=asked.targets)

    assert not (await verified(a_world(run=run))).green


class Meddling(ScriptedWorkspace):
    """Its runs edit the tests."""

    @override
    async def run_tests(self, *words: Any, **options: Any) -> TestReport:
        report = await super().run_tests(*words, **options)
        await self.apply_changes([a_change("tests/test_math.py", "def test_nothing(): ...\n")])
        return report


async def test_every_run_starts_from_the_commit_and_the_change_alone() -> None:
    world = a_world()

    @asynccontextmanager
    async def dirty(checkout: Checkout) -> AsyncIterator[Workspace]:
        yield Meddling(world, checkout.revision)

    red = a_run(outcomes(BROKEN))
    found = await verify_fix(a_fix(MENDED), mission(red), CHECKOUT, dirty, clock=FixedClock())
    assert found.green
    assert [asked.files["tests/test_math.py"] for asked in world.runs] == [TESTS] * 5


async def test_a_new_test_that_passes_is_no_harm() -> None:
    assert (await verified(after(new=""))).green


async def test_a_second_run_that_disagrees_is_flaky() -> None:
    def run(asked: Asked) -> TestReport:
        again = asked.seed == 1 and not asked.targets
        return a_run(outcomes(BROKEN if again else asked.files[PATH]), targets=asked.targets)

    found = await verified(a_world(run=run))
    assert not found.green
    assert not found.partial
    assert "flaky" in found.reason


async def test_a_green_list_of_tests_with_a_red_command_is_not_green() -> None:
    def run(asked: Asked) -> TestReport:
        report = a_run(outcomes(asked.files[PATH]), targets=asked.targets)
        return (
            report
            if asked.targets
            else report.with_(success=False, exit_code=1, summary="coverage too low")
        )

    found = await verified(a_world(run=run))
    assert not found.green
    assert "coverage too low" in found.reason


async def test_tests_the_red_run_never_reached_are_not_blamed_on_the_fix() -> None:
    before = a_run(outcomes(BROKEN)).with_(raw_output="!!! stopping after 2 failures !!!")
    found = await verified(after(new="ValueError: x"), before=before)
    assert found.newly_failing == ()
    assert found.partial


async def test_a_file_that_could_not_be_collected_is_mended_when_its_tests_pass() -> None:
    before = a_run({"tests/test_math.py": "ImportError: cannot import name 'add'"})
    found = await verified(a_world(), before=before)
    assert not found.newly_failing
    assert found.table[0].before is TestStatus.FAIL
    assert found.green


async def test_nothing_runs_for_a_change_of_a_test() -> None:
    world = a_world()
    found = await verified(
        world, a_fix("", changes=(a_change("tests/test_math.py", "def test_add(): pass\n"),))
    )
    assert not found.green
    assert not world.runs
    assert "protected" in found.reason


async def test_a_tool_may_lay_out_a_test_anew_as_long_as_it_stays_the_same_program() -> None:
    laid_out = (
        "from calc import add, even, sub\n\ndef test_add():\n    assert add(1, 2) == 3  # layout\n"
    )
    changes = (a_change(PATH, MENDED), a_change("tests/test_math.py", laid_out))
    assert (await verified(a_world(), a_fix("", rung=Rung.TOOLS, changes=changes))).green
    assert not (await verified(a_world(), a_fix("", rung=Rung.SEARCH, changes=changes))).green
    other = (changes[0], a_change("tests/test_math.py", laid_out.replace("== 3", "== add(1, 2)")))
    assert not (await verified(a_world(), a_fix("", rung=Rung.TOOLS, changes=other))).green


async def test_a_change_that_changes_nothing_is_refused() -> None:
    found = await verified(a_world(), a_fix(BROKEN))
    assert not found.green
    assert found.edits == ()


async def test_a_criterion_that_nothing_decides_keeps_a_fix_from_being_green() -> None:
    world = a_world()
    context = mission(a_run(outcomes(BROKEN)))
    open_question = context.acceptance_criteria[0].with_(id="AC-9", check="something else")
    context = context.with_(acceptance_criteria=(*context.acceptance_criteria, open_question))
    found = await verify_fix(
        a_fix(MENDED), context, CHECKOUT, world.open_workspace, clock=FixedClock()
    )
    assert not found.green


async def test_what_was_not_verified_is_said() -> None:
    found = await verified(a_world())
    assert found.not_verified == ("step `Upload coverage`: needs a secret",)


async def test_one_failure_is_told_in_the_singular() -> None:
    red = a_run(outcomes(ADDS))
    assert (
        await verified(a_world(), before=red)
    ).reason == "the failure is gone in 4 runs, and nothing else changed"
    assert (
        await verified(a_world(), a_fix(f"{ADDS}# no\n"), before=red)
    ).reason == "the failure is still there"


# --- the second sandbox differs in everything an edit could ask for -----------------------------------

CAREFUL = MENDED.replace("return a + b", "return a + b if CI else a - b")
ENVIRONMENT = "import os\n\nCI = os.environ.get('LANG')\n\n"


def in_both(
    there: dict[str, str] | None = None, bare: dict[str, str] | None = None, **more: Any
) -> World:
    """A world whose changed surroundings answer otherwise: `there` with the change, `bare` without it."""

    def run(asked: Asked) -> TestReport:
        found = outcomes(MENDED if asked.files[PATH] != BROKEN else BROKEN)
        if asked.revision == "base":
            found = outcomes(MENDED)
        if asked.surroundings == CHANGED:
            found |= (
                bare if asked.files[PATH] == BROKEN or asked.revision == "base" else there
            ) or {}
        return a_run(found, targets=asked.targets)

    return a_world(run=run, **more)


LOST = {ADD: "AssertionError: assert -1 == 3"}
ASLEEP = {SUB: "AssertionError: assert 'CI' in environ"}


async def test_the_second_sandbox_is_opened_in_other_surroundings() -> None:
    world = a_world()
    assert (await verified(world)).green
    changed = [(run.seed, run.order) for run in world.runs if run.surroundings == CHANGED]
    assert changed == [(1, "given"), (2, "reversed")]


async def test_a_fix_that_holds_in_one_of_two_surroundings_is_refused_with_that_reason() -> None:
    found = await verified(in_both(LOST))
    assert (found.green, found.partial) == (False, False)
    assert found.reason.startswith(
        f"passes only in one of two different surroundings: `{ADD}` fails where"
    )
    assert found.refusals == (found.reason,)


async def test_a_harm_that_shows_in_the_other_surroundings_only_is_refused_too() -> None:
    found = await verified(in_both(ASLEEP))
    assert found.reason.startswith(f"passes only in one of two different surroundings: `{SUB}`")


async def test_a_test_that_asks_for_its_surroundings_without_the_change_too_costs_no_fix() -> None:
    world = in_both(ASLEEP, bare=ASLEEP)
    found = await verified(world)
    assert found.green
    assert (
        f"`{SUB}`: it passes in the usual surroundings only, without the change too"
        in found.not_verified
    )
    assert [(r.label, r.report.success) for r in found.runs if r.sandbox == 2] == [
        ("full command again", True),
        ("other order", True),
    ]
    assert world.open_now == 0


async def test_a_test_whose_name_holds_its_surroundings_costs_no_fix() -> None:
    def named(asked: Asked) -> TestReport:
        place = "there" if asked.surroundings == CHANGED else "here"
        found = {**outcomes(asked.files[PATH]), f"tests/test_math.py::test_at[{place}]": ""}
        return a_run(found, targets=asked.targets)

    before = named(
        Asked(files={PATH: BROKEN}, revision="head", targets=(), order="given", number=0)
    )
    assert (await verified(a_world(run=named), before=before)).green


async def test_what_the_change_is_to_repair_is_not_excused_by_its_own_failure_without_it() -> None:
    assert (
        "one of two different surroundings"
        in (await verified(in_both({**LOST, **ASLEEP}, bare=ASLEEP))).reason
    )


@pytest.mark.parametrize("asks", [False, True])
async def test_a_test_that_is_skipped_elsewhere_proves_the_change_here_unless_the_change_asks_where_it_is(
    asks: bool,  # noqa: FBT001
) -> None:
    fix = a_fix(f"{ENVIRONMENT}{CAREFUL}" if asks else MENDED)
    found = await verified(in_both({ADD: SKIP}, bare={ADD: SKIP}), fix)
    assert found.green is not asks
    assert any("in the usual surroundings only" in doubt for doubt in found.doubts) is not asks
    assert ("one of two different surroundings" in found.reason) is asks


@pytest.mark.parametrize("bound", [False, True])
async def test_the_base_commit_tells_whether_the_repaired_test_asks_for_its_surroundings(
    bound: bool,  # noqa: FBT001
) -> None:
    """Green on the base in the usual surroundings and red in the others: the change has no part in that."""
    world = in_both(LOST, bare=LOST if bound else None, base=MENDED)
    found = await verified(world)
    assert found.green is bound
    assert bool(found.doubts) is bound


async def test_chance_in_the_second_sandbox_is_not_taken_for_its_surroundings() -> None:
    def once(asked: Asked) -> TestReport:
        unlucky = asked.surroundings == CHANGED and asked.order == "reversed"
        return a_run(outcomes(BROKEN if unlucky else asked.files[PATH]), targets=asked.targets)

    found = await verified(a_world(run=once))
    assert not found.green
    assert "flaky after the patch" in found.reason


async def test_a_command_without_names_that_fails_elsewhere_is_refused() -> None:
    def unnamed(asked: Asked) -> TestReport:
        red = asked.files[PATH] != MENDED or asked.surroundings == CHANGED
        return a_run({"make check": "boom" if red else ""}, runner="command")

    before = unnamed(
        Asked(files={PATH: BROKEN}, revision="head", targets=(), order="given", number=0)
    )
    found = await verified(a_world(run=unnamed, base=None), before=before)
    assert "one of two different surroundings" in found.reason


# --- the second sandbox, and the run without the change ----------------------------------------------


async def test_luck_with_one_seed_is_not_green() -> None:
    def hashed(asked: Asked) -> TestReport:
        lucky = asked.files[PATH] != BROKEN and asked.seed == 0
        return a_run(outcomes(MENDED if lucky else BROKEN), targets=asked.targets)

    assert not (await verified(a_world(run=hashed))).green


async def test_green_without_the_change_is_chance() -> None:
    def chance(asked: Asked) -> TestReport:
        return a_run(outcomes(MENDED), targets=asked.targets)

    found = await verified(a_world(run=chance))
    assert not found.green
    assert found.flaky
    assert "without the change" in found.reason


async def test_one_steady_test_that_passes_without_the_change_is_chance_too() -> None:
    def half(asked: Asked) -> TestReport:
        return a_run(
            outcomes(EVENS if asked.files[PATH] == BROKEN else asked.files[PATH]),
            targets=asked.targets,
        )

    assert (await verified(a_world(run=half))).flaky


async def test_a_test_that_was_known_to_be_shaky_may_pass_without_the_change() -> None:
    def half(asked: Asked) -> TestReport:
        return a_run(
            outcomes(EVENS if asked.files[PATH] == BROKEN else asked.files[PATH]),
            targets=asked.targets,
        )

    red = a_run(outcomes(BROKEN))
    context = mission(red)
    triage = Triage(
        kind=FailureKind.BUG,
        reason="",
        report=red,
        runs=6,
        red_runs=6,
        per_test_reds={ADD: 6, EVEN: 3},
    )
    world = a_world(run=half)
    found = await verify_fix(
        a_fix(MENDED),
        context.with_(triage=triage),
        CHECKOUT,
        world.open_workspace,
        clock=FixedClock(),
    )
    assert found.green


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({"order_dependent": True}, [()]),
        ({"leaves_traces": True}, []),
        ({"kind": FailureKind.LINT}, []),
    ],
)
async def test_the_run_without_the_change_is_one_that_can_tell(
    changes: dict[str, Any], asked: list[Any]
) -> None:
    red = a_run(outcomes(BROKEN))
    triage = Triage(kind=FailureKind.BUG, reason="", report=red, runs=6, red_runs=6).with_(
        **changes
    )
    world = a_world()
    context = mission(red).with_(triage=triage)
    found = await verify_fix(
        a_fix(MENDED), context, CHECKOUT, world.open_workspace, clock=FixedClock()
    )
    assert found.green
    assert [run.targets for run in world.runs if run.files[PATH] == BROKEN] == asked


async def test_a_hang_is_not_waited_for_again() -> None:
    red = a_run(outcomes(BROKEN)).with_(verdict=RunVerdict.TIMEOUT)
    found = await verified(a_world(), before=red)
    assert found.green
    assert found.control is None


async def test_a_second_sandbox_that_fails_to_open_is_the_stages_trouble() -> None:
    world = a_world()
    opened = 0

    @asynccontextmanager
    async def door(checkout: Checkout) -> AsyncIterator[Workspace]:
        nonlocal opened
        opened += 1
        if opened > 1:
            raise SandboxUnavailable("no room")
        async with world.open_workspace(checkout) as workspace:
            yield workspace

    with pytest.raises(SandboxUnavailable):
        await verify_fix(
            a_fix(MENDED), mission(a_run(outcomes(BROKEN))), CHECKOUT, door, clock=FixedClock()
        )
    assert world.open_now == 0


async def test_a_second_sandbox_that_was_begun_in_vain_is_closed() -> None:
    def only_alone(asked: Asked) -> TestReport:
        found = outcomes(asked.files[PATH])
        return a_run(
            found if asked.targets else {**found, SUB: "ValueError: no"}, targets=asked.targets
        )

    world = a_world(run=only_alone)
    found = await verified(world)
    assert not found.green
    assert (world.opened, world.open_now) == (2, 0)


@pytest.mark.parametrize("runner", ["pytest", "diagnostics"])
async def test_a_short_command_runs_in_both_sandboxes_at_once(runner: str) -> None:
    def run(asked: Asked) -> TestReport:
        return a_run(outcomes(asked.files[PATH]), targets=asked.targets, runner=runner)

    second_began = asyncio.Event()

    async def meet(asked: Asked) -> None:
        if asked.surroundings == CHANGED:
            second_began.set()
        elif not asked.targets:
            await second_began.wait()

    with anyio.fail_after(60):
        found = await verified(
            a_world(run=run, meet=meet), before=a_run(outcomes(BROKEN), runner=runner)
        )
    assert found.green


@pytest.mark.parametrize("where", ["first run", "base commit"])
async def test_a_long_command_runs_in_one_sandbox_after_the_other(where: str) -> None:
    def red_later(asked: Asked) -> TestReport:
        found = outcomes(asked.files[PATH])
        return a_run(
            found if asked.targets else {**found, SUB: "ValueError: no"}, targets=asked.targets
        )

    red = a_run(outcomes(BROKEN)).with_(duration_s=61.0 if where == "first run" else 1.0)
    triage = Triage(kind=FailureKind.BUG, reason="", report=red, longest_s=61.0)
    world = a_world(run=red_later)
    context = mission(red).with_(triage=triage if where == "base commit" else None)
    found = await verify_fix(
        a_fix(MENDED), context, CHECKOUT, world.open_workspace, clock=FixedClock()
    )
    assert not found.green
    assert all(run.surroundings != CHANGED for run in world.runs)


async def test_a_command_without_names_is_told_of_in_words_that_count_nothing() -> None:
    def unnamed(asked: Asked) -> TestReport:
        red = asked.files[PATH] != MENDED
        report = a_run({"x": "boom" if red else ""}, runner="command")
        return report.with_(
            outcomes={}, failures=(), failure_count=0, summary="exit status 1" if red else ""
        )

    before = unnamed(
        Asked(files={PATH: BROKEN}, revision="head", targets=(), order="given", number=0)
    )
    world = a_world(run=unnamed)
    assert (await verified(world, before=before)).reason == "the command passes in 2 runs"
    still = await verified(world, a_fix(ADDS), before=before)
    assert (still.green, still.reason) == (False, "the command still fails: exit status 1")


async def test_a_flaky_test_that_happens_to_pass_is_no_part_of_a_fix() -> None:
    red = a_run(outcomes(BROKEN))
    triage = Triage(
        kind=FailureKind.BUG,
        reason="",
        report=red,
        runs=6,
        red_runs=6,
        per_test_reds={ADD: 3, EVEN: 6},
    )

    def lucky(asked: Asked) -> TestReport:
        return a_run({**outcomes(asked.files[PATH]), ADD: ""}, targets=asked.targets)

    context = mission(red).with_(triage=triage)
    world = a_world(run=lucky)
    useless = await verify_fix(
        a_fix(f"{BROKEN}# no\n"), context, CHECKOUT, world.open_workspace, clock=FixedClock()
    )
    assert (useless.green, useless.partial) == (False, False)
    useful = await verify_fix(
        a_fix(MENDED), context, CHECKOUT, a_world().open_workspace, clock=FixedClock()
    )
    assert useful.green
    assert useful.not_verified[0] == f"`{ADD}`: it passes in some runs without the change too"
