"""Triage on worlds in memory: what CI saw, order, traces, merges, hangs, missing parts, and the second look."""

import asyncio
import time
from typing import Any

import anyio
import pytest

from bot.domain.diagnosis import FailureKind
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import Limits
from bot.domain.request import Depth
from sandbox.errors import ImportRejected, SandboxDied, SandboxUnavailable, SetupFailed
from sandbox.types import (
    Checkout,
    GitSource,
    LogReading,
    LogSignal,
    Recipe,
    RunVerdict,
    TestReport,
    TestResult,
    TestStatus,
)
from tests.builders import facts
from tests.fakes.scripted_workspace import Asked, World, a_run, nothing_ran
from tests.unit.bot.mission.world import (
    ADD,
    ADDS,
    BROKEN,
    CHECKOUT,
    EVEN,
    MENDED,
    PATH,
    Stage,
    a_world,
    honest,
    outcomes,
)

pytestmark = pytest.mark.anyio
A, B, C = "t.py::test_a", "t.py::test_b", "t.py::test_c"
RED = "AssertionError: assert 1 == 2"
NO_NAMES = "gaierror: [Errno -3] Temporary failure in name resolution"


def a_log(*signals: LogSignal, failing: tuple[TestResult, ...] = (), **changes: Any) -> LogReading:
    signs = {signal: f"the line of {signal.value}" for signal in signals}
    return LogReading(
        signals=signals, signs=signs, failures=failing, failure_count=len(failing), **changes
    )


def failed(name: str, message: str = "assert 1 == 2", error: str = "AssertionError") -> TestResult:
    return TestResult(name=name, status=TestStatus.FAIL, error=error, error_message=message)


def kind_of(context: MissionContext) -> FailureKind | None:
    return context.triage.kind if context.triage else None


def notes_of(context: MissionContext) -> str:
    return "\n".join(context.triage.notes) if context.triage else ""


def one_file(run: Any, **changes: Any) -> World:
    """A world of three tests whose files do not matter."""
    files = {PATH: "x = 1\n", "t.py": ""}
    return World(**{"files": files, "base": files, "run": run, **changes})


# --- state, seeds, order -----------------------------------------------------------------------------


async def test_every_rerun_starts_from_the_commit_and_has_a_seed_of_its_own() -> None:
    world = a_world(ADDS)
    await Stage(world=world).play()
    head = [run for run in world.runs[:7] if run.revision == "head"]
    assert [run.seed for run in head] == [0, 1, 2, 3, 4, 5]
    assert {run.files[PATH] for run in head} == {ADDS}


async def test_a_slow_test_runs_again_three_times_and_no_more() -> None:
    def slow(asked: Asked) -> TestReport:
        return honest(asked).with_(duration_s=200.0)

    context = await Stage(world=a_world(ADDS, base=None, run=slow)).play()
    assert context.triage is not None
    assert context.triage.runs == 4


async def test_a_test_that_needs_another_one_before_it_is_named_with_its_neighbour() -> None:
    names = [f"t.py::test_{n:02d}" for n in range(20)]

    def polluted(asked: Asked) -> TestReport:
        if asked.revision == "base":
            return a_run(dict.fromkeys(names, ""))
        order = list(asked.targets or names)
        if asked.order == "random":
            order.reverse()
        bad = (
            names[7] in order
            and names[15] in order
            and order.index(names[7]) < order.index(names[15])
        )
        return a_run({n: RED if bad and n == names[15] else "" for n in order})

    context = await Stage(world=one_file(polluted)).play()
    assert kind_of(context) is FailureKind.BUG
    assert context.triage is not None
    assert context.triage.order_dependent
    assert context.triage.neighbours == (names[7], names[15])
    assert "order-dependent: `t.py::test_15` fails when `t.py::test_07` runs before it" in notes_of(
        context
    )
    assert "in a random order of the tests the command passes" in notes_of(context)


async def test_a_slow_suite_is_called_order_dependent_and_no_neighbour_is_looked_for_without_end() -> (
    None
):
    names = [f"t.py::test_{n:03d}" for n in range(300)]

    def polluted(asked: Asked) -> TestReport:
        order = list(asked.targets or names)
        bad = names[7] in order and names[250] in order
        report = a_run({n: RED if bad and n == names[250] else "" for n in order})
        return report.with_(duration_s=0.3 * len(order))

    world = one_file(polluted, base=None)
    context = await Stage(world=world, limits=Limits(triage_wall_s=400.0, iterations=0)).play()
    assert context.triage is not None
    assert context.triage.order_dependent
    assert context.triage.neighbours == ()
    assert sum(0.3 * len(run.targets or names) for run in world.runs) < 1000


async def test_what_fails_only_together_is_looked_for_together_on_the_base_too() -> None:
    def together(asked: Asked) -> TestReport:
        return a_run(
            {A: "", B: RED if not asked.targets or A in asked.targets else ""},
            targets=asked.targets,
        )

    context = await Stage(world=one_file(together)).play()
    assert context.outcome is Outcome.BASE_RED


async def test_a_test_that_passes_where_something_ran_before_is_a_bug_and_no_flake() -> None:
    def leaves(asked: Asked) -> TestReport:
        first_in_this_sandbox = fresh.pop("now", False) if asked.revision == "head" else False
        return a_run({A: RED if first_in_this_sandbox else "", B: ""}, targets=asked.targets)

    fresh: dict[str, bool] = {}
    world = one_file(leaves, base=None)

    def marked(checkout: Checkout) -> Any:
        fresh["now"] = True
        return world.open_workspace(checkout)

    context = await Stage(world=world, door=marked).play()
    assert kind_of(context) is FailureKind.BUG
    assert "files outside the checkout" in notes_of(context)
    assert context.triage is not None
    assert context.triage.leaves_traces


async def test_red_only_in_a_random_order_is_named_so() -> None:
    def shuffled(asked: Asked) -> TestReport:
        return a_run({A: "", B: RED if asked.order == "random" else ""}, targets=asked.targets)

    context = await Stage(world=one_file(shuffled)).play()
    assert context.outcome is Outcome.FLAKY
    assert context.reason.startswith(
        f"order-dependent: `{B}` fails when the tests run in another order"
    )
    assert context.triage is not None
    assert context.triage.order_dependent


async def test_red_only_backwards_is_named_so() -> None:
    def backwards(asked: Asked) -> TestReport:
        return a_run({A: "", B: RED if asked.order == "reversed" else ""}, targets=asked.targets)

    context = await Stage(world=one_file(backwards)).play()
    assert context.outcome is Outcome.FLAKY
    assert "fails when the tests run backwards, and passed in 10 of 10 runs" in context.reason


async def test_red_once_in_a_random_order_and_not_again_is_chance() -> None:
    seen: list[str] = []

    def once(asked: Asked) -> TestReport:
        seen.append(asked.order)
        return a_run(
            {B: RED if asked.order == "random" and seen.count("random") == 1 else ""},
            targets=asked.targets,
        )

    context = await Stage(world=one_file(once)).play()
    assert context.outcome is Outcome.FLAKY
    assert "red in 1 of 13 runs" in context.reason


async def test_a_runner_that_takes_no_order_is_not_said_to_be_green_in_another_one() -> None:
    def green(asked: Asked) -> TestReport:
        return a_run({A: "", B: ""}, targets=asked.targets).with_(runner="node:test")

    world = one_file(green)
    context = await Stage(world=world).play()
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert {run.order for run in world.runs} == {"given"}
    assert "order" not in notes_of(context)

    def together(asked: Asked) -> TestReport:
        if asked.revision == "base":
            return green(asked)
        bad = not asked.targets or asked.targets == (A, B)
        found = a_run({A: "", B: RED if bad else ""}, targets=asked.targets)
        return found.with_(runner="node:test")

    world = one_file(together)
    context = await Stage(world=world).play()
    assert {run.order for run in world.runs} == {"given"}
    assert context.triage is not None
    assert context.triage.neighbours == (A, B)
    assert "in a random order" not in notes_of(context)


# --- what CI saw -------------------------------------------------------------------------------------


async def test_a_slow_command_runs_again_with_the_tests_that_ci_named() -> None:
    def slow(asked: Asked) -> TestReport:
        return a_run({A: "", B: "", C: ""}, targets=asked.targets).with_(
            duration_s=1.0 if asked.targets else 20.0
        )

    world = one_file(slow)
    context = await Stage(world=world).play(
        ci_log=a_log(failing=(failed(B), failed("gone.py::test_x")))
    )
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert [run.targets for run in world.runs[1:10]] == [(B,)] * 9
    assert "CI named: gone.py::test_x, t.py::test_b" in notes_of(context)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("could not import 'redis': No module named 'redis'", "for want of the module `redis`"),
        ("needs a server", "(needs a server)"),
    ],
)
async def test_what_ci_ran_and_what_skips_itself_here_cannot_be_reproduced(
    reason: str, said: str
) -> None:
    def skips(asked: Asked) -> TestReport:
        run = a_run({A: ""}, targets=asked.targets)
        return run.with_(skipped_files={"sub/test_db.py": reason})

    log = a_log(failing=(failed("test_db.py::test_x"),))
    context = await Stage(world=one_file(skips)).play(ci_log=log)
    assert context.outcome is Outcome.ENV_UNBUILDABLE
    assert f"`sub/test_db.py` skips itself here {said}" in context.reason
    other = a_log(failing=(failed(A),))
    assert (await Stage(world=one_file(skips)).play(ci_log=other)).outcome is Outcome.NOT_REPRODUCED


async def test_a_flake_that_only_ci_saw_is_found_in_the_reruns() -> None:
    def seldom(asked: Asked) -> TestReport:
        return a_run({B: RED if asked.number == 6 else ""}, targets=asked.targets)

    context = await Stage(world=one_file(seldom)).play()
    assert context.outcome is Outcome.FLAKY
    assert "red in 1 of 10 runs" in context.reason
    assert "95 % confidence" in notes_of(context)


@pytest.mark.parametrize(
    "signal",
    [
        LogSignal.RUNNER_LOST,
        LogSignal.CANCELLED,
        LogSignal.DISK_FULL,
        LogSignal.RATE_LIMITED,
        LogSignal.NETWORK,
        LogSignal.REGISTRY,
        LogSignal.CREDENTIALS,
    ],
)
async def test_a_green_run_and_a_sign_of_an_outage_in_ci_need_no_series(signal: LogSignal) -> None:
    world = a_world(MENDED)
    context = await Stage(world=world).play(ci_log=a_log(signal))
    assert context.outcome is Outcome.INFRA
    assert f"the line of {signal.value}" in context.reason
    assert len(world.runs) == 1


@pytest.mark.parametrize("signal", [LogSignal.TIMED_OUT, LogSignal.OUT_OF_MEMORY])
async def test_what_the_code_may_do_itself_is_an_outage_after_a_green_series_only(
    signal: LogSignal,
) -> None:
    world = a_world(MENDED)
    context = await Stage(world=world).play(ci_log=a_log(signal))
    assert context.outcome is Outcome.INFRA
    assert len([run for run in world.runs if run.order == "given"]) == 10

    def seldom(asked: Asked) -> TestReport:
        return a_run({B: RED if asked.number == 3 else ""}, targets=asked.targets)

    assert (await Stage(world=one_file(seldom)).play(ci_log=a_log(signal))).outcome is Outcome.FLAKY


async def test_named_failures_in_ci_are_no_outage_whatever_else_its_log_says() -> None:
    log = a_log(LogSignal.NETWORK, failing=(failed(ADD),))
    assert (await Stage(world=a_world(MENDED)).play(ci_log=log)).outcome is Outcome.NOT_REPRODUCED


async def test_a_bug_is_a_bug_although_ci_lost_its_runner() -> None:
    assert (
        await Stage(world=a_world(ADDS)).play(ci_log=a_log(LogSignal.RUNNER_LOST))
    ).outcome is Outcome.FIXED


async def test_other_failures_than_ci_named_are_told() -> None:
    context = await Stage(world=a_world(ADDS)).play(ci_log=a_log(failing=(failed("x.py::test_x"),)))
    assert "CI named other failures than fail here: x.py::test_x" in notes_of(context)
    alike = await Stage(world=a_world(ADDS)).play(
        ci_log=a_log(failing=(failed("test_math.py::test_even"),))
    )
    assert "CI named" not in notes_of(alike)


async def test_what_cannot_be_set_up_here_nor_in_ci_is_an_outage() -> None:
    world = a_world(
        trouble=lambda use: (
            SetupFailed("could not install", log="503") if use == "head:facts" else None
        )
    )
    context = await Stage(world=world).play(ci_log=a_log(LogSignal.REGISTRY))
    assert context.outcome is Outcome.INFRA
    assert "could not install" in context.advice
    assert (
        await Stage(world=world).play(ci_log=a_log(failing=(failed(ADD),)))
    ).outcome is Outcome.ENV_UNBUILDABLE


# --- the network, which the sandbox has not --------------------------------------------------------------


def asking(traceback: str, message: str = NO_NAMES) -> Any:
    """Every test asks for the network; the traceback says who raised."""

    def run(asked: Asked) -> TestReport:
        report = a_run({A: message}, targets=asked.targets)
        return report.with_(failures=tuple(f.with_(traceback=traceback) for f in report.failures))

    return run


FROM_LIBRARY = (
    "t.py:4: \n    urlopen('http://data.example/x')\n/usr/lib/python3.11/socket.py:962: gaierror"
)
FROM_TEST = "    raise gaierror(-3, 'Temporary failure in name resolution')\nt.py:4: gaierror"


async def test_a_test_that_asks_for_the_network_cannot_be_rebuilt() -> None:
    context = await Stage(world=one_file(asking(FROM_LIBRARY))).play()
    assert context.outcome is Outcome.ENV_UNBUILDABLE
    assert "`data.example`" in context.reason
    assert "the sandbox has none" in context.reason


async def test_the_same_is_an_outage_when_ci_could_not_reach_it_either() -> None:
    log = a_log(failing=(failed(A, "Temporary failure in name resolution", "gaierror"),))
    context = await Stage(world=one_file(asking(FROM_LIBRARY))).play(ci_log=log)
    assert context.outcome is Outcome.INFRA
    other = a_log(failing=(failed(A),))
    assert (
        await Stage(world=one_file(asking(FROM_LIBRARY))).play(ci_log=other)
    ).outcome is Outcome.ENV_UNBUILDABLE


async def test_a_test_that_says_itself_that_the_network_is_down_tells_of_an_outage() -> None:
    assert (await Stage(world=one_file(asking(FROM_TEST))).play()).outcome is Outcome.INFRA


# --- the merge ------------------------------------------------------------------------------------------


MERGED = CHECKOUT.with_(source=CHECKOUT.source.with_(merge_sha="c" * 40))


def merging(run: Any) -> Stage:
    """A green head, and a merge whose runs are answered by a function."""
    world = a_world(MENDED)
    merge = World(files=world.files, run=run)

    def door(checkout: Checkout) -> Any:
        merged = isinstance(checkout.source, GitSource) and checkout.source.sha == "c" * 40
        return (merge if merged else world).open_workspace(checkout)

    return Stage(world=world, door=door)


async def test_green_alone_and_red_in_the_merge_asks_a_human() -> None:
    broken = {ADD: RED, EVEN: ""}
    context = await merging(lambda asked: a_run(broken, targets=asked.targets)).play(
        checkout=MERGED
    )
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert "red where it is merged with its base" in context.reason
    assert context.question is not None
    assert ADD in notes_of(context)


async def test_green_in_the_merge_too_is_not_reproduced() -> None:
    context = await merging(lambda asked: a_run({ADD: ""})).play(checkout=MERGED)
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert "merged with its base branch it passes too" in notes_of(context)


async def test_a_merge_that_is_red_once_only_proves_nothing() -> None:
    reports = iter([a_run({ADD: RED}), a_run({ADD: ""})])
    context = await merging(lambda asked: next(reports)).play(checkout=MERGED)
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert "in some runs only" in notes_of(context)


async def test_a_merge_that_cannot_be_fetched_is_a_note() -> None:
    def gone(asked: Asked) -> TestReport:
        raise ImportRejected("no such commit")

    context = await merging(gone).play(checkout=MERGED)
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert "no such commit" in notes_of(context)


# --- hangs ----------------------------------------------------------------------------------------------


def hanging(name: str, *others: str) -> TestReport:
    """A run that was cut off while a test was running."""
    report = a_run({name: "Timeout: did not end within 6 s", **dict.fromkeys(others, "")})
    return report.with_(verdict=RunVerdict.TIMEOUT, duration_s=6.0)


async def test_a_test_that_hangs_on_both_commits_is_base_red() -> None:
    context = await Stage(world=one_file(lambda asked: hanging(A))).play()
    assert context.outcome is Outcome.BASE_RED


async def test_a_test_that_hangs_sometimes_is_flaky() -> None:
    def sometimes(asked: Asked) -> TestReport:
        return hanging(A) if asked.number % 3 == 1 else a_run({A: ""})

    assert (await Stage(world=one_file(sometimes, base=None)).play()).outcome is Outcome.FLAKY


async def test_a_hang_is_not_waited_for_longer_than_it_needs() -> None:
    def long(asked: Asked) -> TestReport:
        return hanging(A).with_(duration_s=600.0)

    world = one_file(long, base=None)
    context = await Stage(world=world).play()
    assert context.triage is not None
    assert context.triage.runs == 2


async def test_a_command_that_is_cut_off_at_another_test_each_time_is_too_slow() -> None:
    def slow(asked: Asked) -> TestReport:
        return (
            a_run(dict.fromkeys(asked.targets, ""))
            if asked.targets
            else hanging(A if asked.number == 1 else B, C)
        )

    context = await Stage(world=one_file(slow, base=None)).play()
    assert context.outcome is Outcome.ENV_UNBUILDABLE
    assert "does not end within 6 s" in context.reason


async def test_a_command_that_is_cut_off_once_only_is_flaky() -> None:
    def once(asked: Asked) -> TestReport:
        return hanging(A, C) if asked.number == 1 else a_run({A: "", C: ""}, targets=asked.targets)

    assert (await Stage(world=one_file(once, base=None)).play()).outcome is Outcome.FLAKY


@pytest.mark.parametrize("times", [1, 2])
async def test_a_run_that_a_limit_ends_before_it_names_a_test_is_made_once_more(times: int) -> None:
    def stalls(asked: Asked) -> TestReport:
        stalled = 4 <= asked.number < 4 + times
        return (
            nothing_ran("").with_(verdict=RunVerdict.TIMEOUT) if stalled else a_run({A: "", B: ""})
        )

    world = one_file(stalls)
    context = await Stage(world=world).play()
    assert context.outcome is (Outcome.NOT_REPRODUCED if times == 1 else Outcome.FLAKY)
    assert world.runs[3].seed == world.runs[4].seed


# --- a command that cannot even begin ---------------------------------------------------------------


def only_on_base(report: TestReport) -> World:
    """Green on the base commit; on the failing one the command proves nothing."""
    return one_file(lambda asked: a_run({A: ""}) if asked.revision == "base" else report)


async def test_a_command_that_this_commit_broke_is_a_bug() -> None:
    broken = nothing_ran(
        "ImportError while loading conftest: cannot import name 'clock' from 'shop'"
    )
    context = await Stage(world=only_on_base(broken)).play()
    assert kind_of(context) is FailureKind.BUG
    assert context.outcome is Outcome.NO_FIX
    assert context.triage is not None
    assert "this commit broke it" in context.triage.reason


@pytest.mark.parametrize(
    "report",
    [
        nothing_ran("ModuleNotFoundError: No module named 'frobnicator'"),
        nothing_ran("error: unrecognized arguments: --cov"),
        nothing_ran("sh: tox: not found", exit_code=127),
        nothing_ran("", verdict=RunVerdict.TAMPERED),
        nothing_ran("", verdict=RunVerdict.OOM),
    ],
)
async def test_a_command_that_lacks_something_here_is_not_blamed_on_the_commit(
    report: TestReport,
) -> None:
    assert (await Stage(world=only_on_base(report)).play()).outcome is Outcome.ENV_UNBUILDABLE


async def test_a_module_that_the_commit_took_away_is_its_own_doing() -> None:
    world = only_on_base(nothing_ran("ModuleNotFoundError: No module named 'gadgets'"))
    world.base = {**world.files, "gadgets.py": ""}
    assert kind_of(await Stage(world=world).play()) is FailureKind.BUG


async def test_a_command_that_cannot_begin_on_both_commits_is_not_rebuilt() -> None:
    world = one_file(lambda asked: nothing_ran("boom"))
    assert (await Stage(world=world).play()).outcome is Outcome.ENV_UNBUILDABLE


# --- the second look -------------------------------------------------------------------------------------


async def test_a_failure_that_nothing_mends_is_looked_at_again() -> None:
    def late(asked: Asked) -> TestReport:
        return a_run({A: RED if asked.number < 8 else "", B: ""}, targets=asked.targets)

    context = await Stage(world=one_file(late, base=None), fixers=()).play()
    assert context.outcome is Outcome.FLAKY
    assert "red in 7 of 10 runs" in context.reason


async def test_a_failure_that_stays_stays_without_a_fix() -> None:
    context = await Stage(
        world=one_file(lambda asked: a_run({A: RED}), base=None), fixers=()
    ).play()
    assert context.outcome is Outcome.NO_FIX


async def test_a_second_look_at_names_that_cannot_be_asked_for_is_no_sign_of_chance() -> None:
    def only_whole(asked: Asked) -> TestReport:
        # The names are known again until triage is over, and then no more.
        if asked.targets and asked.number > 6:
            return nothing_ran("no such test")
        return a_run({A: RED, B: ""}, targets=asked.targets)

    context = await Stage(world=one_file(only_whole, base=None), fixers=()).play()
    assert context.outcome is Outcome.NO_FIX


async def test_a_second_look_that_names_nothing_ends_at_once() -> None:
    world = one_file(
        lambda asked: a_run({A: RED, B: ""}) if asked.number <= 6 else nothing_ran("boom"),
        base=None,
    )
    context = await Stage(world=world, fixers=()).play()
    assert context.outcome is Outcome.NO_FIX
    assert len(world.runs) == 8


# --- trouble ---------------------------------------------------------------------------------------------


async def test_a_second_sandbox_that_cannot_be_had_is_replaced_by_a_tree_put_back() -> None:
    def every_other(asked: Asked) -> TestReport:
        return a_run(outcomes(BROKEN if asked.number % 2 else MENDED), targets=asked.targets)

    world = a_world(base=None, run=every_other)

    def once(checkout: Checkout) -> Any:
        if world.opened:
            raise SandboxUnavailable("no room")
        return world.open_workspace(checkout)

    context = await Stage(world=world, door=once).play()
    assert context.outcome is Outcome.FLAKY
    assert context.triage is not None
    assert context.triage.runs == 10


async def test_the_limits_decide_how_often() -> None:
    world = a_world(ADDS, base=None)
    context = await Stage(world=world, limits=Limits(reruns=7)).play()
    assert context.triage is not None
    assert context.triage.runs == 8
    green = await Stage(world=a_world(MENDED), limits=Limits(reruns=3, reruns_most=4)).play()
    assert green.triage is not None
    assert green.triage.runs == 4


async def test_what_the_job_cannot_have_here_goes_into_the_note_of_what_is_not_reproduced() -> None:
    recipe = Recipe(command="pytest", obstacles=("needs the service db, no service is started",))
    context = await Stage(world=a_world(MENDED, facts=facts(recipe=recipe))).play()
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert "needs the service db" in notes_of(context)


async def test_thousands_of_failing_tests_are_counted_in_moments() -> None:
    names = [f"t.py::test_{n}" for n in range(5000)]
    world = one_file(lambda _: a_run(dict.fromkeys(names, RED)), base=None)
    started = time.perf_counter()
    context = await Stage(world=world, limits=Limits(iterations=0)).play()
    assert context.triage is not None
    assert set(context.triage.per_test_reds.values()) == {6}
    assert time.perf_counter() - started < 20


# --- the base commit beside the first run ------------------------------------------------------------

FINDING = TestResult(
    name="calc.py:2:F821",
    status=TestStatus.FAIL,
    file="calc.py",
    line=2,
    error="F821",
    error_message="undefined name",
)


def findings_of(asked: Asked) -> TestReport:
    """A linter that finds something on the failing commit only, and takes a minute on the base."""
    if asked.revision == "base":
        return a_run({A: ""}).with_(duration_s=60.0)
    report = a_run({FINDING.name: "F821: undefined name"}, runner="diagnostics")
    return report.with_(failures=(FINDING,))


async def test_where_ci_named_findings_the_base_commit_runs_beside_the_first_run() -> None:
    base_began = asyncio.Event()

    async def meet(asked: Asked) -> None:
        if asked.revision == "base":
            base_began.set()
        await base_began.wait()

    world = one_file(findings_of, meet=meet)
    with anyio.fail_after(60):
        context = await Stage(world=world).play(
            ci_log=a_log(failing=(FINDING,)), depth=Depth.REPRODUCE
        )
    assert [run.targets for run in world.runs if run.revision == "base"] == [()]
    assert context.triage is not None
    assert (context.triage.base_checked, context.triage.longest_s) == (True, 60.0)


async def test_where_a_test_fails_instead_of_the_findings_the_base_runs_only_its_file() -> None:
    def red(asked: Asked) -> TestReport:
        return a_run({A: "" if asked.revision == "base" else RED}, targets=asked.targets)

    world = one_file(red)
    await Stage(world=world).play(ci_log=a_log(failing=(FINDING,)), depth=Depth.REPRODUCE)
    assert [run.targets for run in world.runs if run.revision == "base"][-1] == ("t.py",)


async def test_a_base_commit_that_was_lost_beside_the_first_run_is_run_again() -> None:
    lost = iter([SandboxDied("gone")])
    world = one_file(
        findings_of, trouble=lambda what: next(lost, None) if what == "base:run_tests" else None
    )
    context = await Stage(world=world).play(ci_log=a_log(failing=(FINDING,)), depth=Depth.REPRODUCE)
    assert context.triage is not None
    assert context.triage.base_checked
