"""The mission loop on a world in memory: every outcome, resumption, cancellation."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from pydantic import BaseModel
from typing_extensions import override

from bot.domain.diagnosis import FailureKind
from bot.domain.lesson import Correction
from bot.domain.mission import MissionContext, MissionState, Outcome
from bot.domain.patch import Candidate, Rival, Rung, RungNote
from bot.domain.policy import Limits, PolicyLimits, RepositoryPolicy
from bot.domain.verdict import Route
from bot.errors import StoreError, Superseded
from bot.lessons.calibration import confidence_by_rules
from bot.mission.loop import run_mission
from bot.ports import Workspace
from bot.publish.terminal import report_text
from bot.queue.memory import MemoryCheckpoint
from sandbox.errors import (
    ImportRejected,
    SandboxDied,
    SandboxError,
    SandboxUnavailable,
    SetupFailed,
)
from sandbox.types import Checkout, RunVerdict, StepKind, TestReport, TestStatus
from tests.builders import a_change, a_lint_recipe, a_recalled_lesson, a_request, facts
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_fixer import KnownLessons, ScriptedFixer
from tests.fakes.scripted_workspace import SKIP, Asked, World, a_run, nothing_ran
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
    Killed,
    Recording,
    Stage,
    a_fix,
    a_world,
    honest,
    outcomes,
)

pytestmark = pytest.mark.anyio
Value = TypeVar("Value", bound=BaseModel)


def always(*proposals: Candidate | RungNote) -> ScriptedFixer:
    """A fixer that proposes the same whatever the files are."""
    return ScriptedFixer(lambda _files, _context: proposals)


# --- command lines of several commands ---------------------------------------------------------


def in_order(asked: Asked) -> TestReport:
    """`ruff check . && pytest`: the tests run when the linter is content."""
    source = asked.files[PATH]
    if "import os" in source and not asked.targets:
        return a_run({f"{PATH}:1:F401": "F401: unused"}, runner="diagnostics").with_(
            ended_at="ruff check ."
        )
    return a_run(outcomes(source), targets=asked.targets).with_(steps=2)


def linted_then_mended(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
    """Takes the import away, then mends one bug."""
    source = files[PATH]
    if "import os" in source:
        return [a_fix(source.replace("import os\n", ""), id="lint")]
    if "return a + b" not in source:
        return [a_fix(source.replace("a - b", "a + b", 1), id="bug")]
    return [RungNote(reason="nothing left to mend")]


def linted_then_titled(
    files: dict[str, str], context: MissionContext
) -> list[Candidate | RungNote]:
    """Names what it proposes."""
    titles = {"lint": "take the import away", "bug": "add what was taken"}
    return [
        one.with_(title=titles[one.id]) if isinstance(one, Candidate) else one
        for one in linted_then_mended(files, context)
    ]


async def test_what_the_repair_of_one_command_uncovers_is_repaired_next() -> None:
    world = a_world(f"import os\n{EVENS}", base=None, run=in_order)
    context = await Stage(world=world, fixers=(ScriptedFixer(linted_then_mended),)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    first, second = (iteration.verification for iteration in context.iterations)
    assert first is not None
    assert second is not None
    assert (first.partial, first.newly_failing) == (True, ())
    changed = {change.name: (change.before, change.after) for change in second.table}
    assert changed[ADD] == (TestStatus.FAIL, TestStatus.PASS)
    assert second.control is not None, (
        "the uncovered tests are run once without the change that mends them"
    )
    assert second.control.failing == {ADD}
    assert [edit.content.decode() for edit in second.edits] == [MENDED]


async def test_what_stands_on_a_part_that_is_not_believed_is_a_question() -> None:
    def proposals(files: dict[str, str], context: MissionContext) -> list[Candidate | RungNote]:
        found = linted_then_mended(files, context)
        first = "import os" in files[PATH]
        return [
            one.with_(confident=not first) if isinstance(one, Candidate) else one for one in found
        ]

    world = a_world(f"import os\n{EVENS}", base=None, run=in_order)
    context = await Stage(world=world, fixers=(ScriptedFixer(proposals),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN, context.reason
    first, second = (iteration.candidate for iteration in context.iterations)
    assert first is not None
    assert second is not None
    assert (first.confident, second.confident) == (False, False)


async def test_a_report_on_several_commands_names_every_change_and_denies_no_test() -> None:
    as_lint = facts(recipe=a_lint_recipe(), base_sha=None)
    world = a_world(f"import os\n{EVENS}", base=None, run=in_order, facts=as_lint)
    context = await Stage(world=world, fixers=(ScriptedFixer(linted_then_titled),)).play()
    text = report_text(context)
    assert "Change\n  take the import away\n  add what was taken (rung" in text
    assert "the failing step does not run them" not in text


async def test_what_is_uncovered_and_not_repaired_leaves_a_partial_fix() -> None:
    world = a_world(f"import os\n{BROKEN}", base=None, run=in_order)
    context = await Stage(world=world, fixers=(ScriptedFixer(linted_then_mended),)).play()
    assert context.outcome is Outcome.PARTIAL, context.reason
    assert context.fix is not None
    assert "-import os" in context.fix[1].diff


async def test_a_change_that_breaks_what_was_uncovered_is_no_progress() -> None:
    def breaking(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
        source = files[PATH]
        if "import os" in source:
            return [a_fix(source.replace("import os\n", ""), id="lint")]
        return [a_fix(source.replace("a - b", "a + b"), id="breaks sub")]

    world = a_world(f"import os\n{EVENS}", base=None, run=in_order)
    context = await Stage(world=world, fixers=(ScriptedFixer(breaking),)).play()
    assert context.outcome is Outcome.PARTIAL, context.reason
    assert context.fix is not None
    assert [edit.content.decode() for edit in context.fix[1].edits] == [EVENS]
    refused = context.iterations[1].verification
    assert refused is not None
    assert (refused.partial, refused.newly_failing) == (False, (SUB,))


async def test_tests_that_are_uncovered_by_chance_are_not_called_fixed() -> None:
    def chancy(asked: Asked) -> TestReport:
        source = asked.files[PATH]
        if "import os" in source and not asked.targets:
            return in_order(asked)
        lucky = asked.targets and "return a + b" not in source
        return a_run({ADD: ""} if lucky else outcomes(source), targets=asked.targets).with_(steps=2)

    world = a_world(f"import os\n{EVENS}", base=None, run=chancy)
    context = await Stage(world=world, fixers=(ScriptedFixer(linted_then_mended),)).play()
    assert context.outcome is Outcome.FLAKY, context.reason


# --- fixed ----------------------------------------------------------------------------------------


async def test_two_bugs_are_mended_in_two_iterations() -> None:
    context = await Stage().play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.state is MissionState.COMPLETED
    assert len(context.iterations) == 2
    assert context.iterations[0].verification is not None
    assert context.iterations[0].verification.partial
    assert context.fix is not None
    candidate, verification = context.fix
    assert [edit.content.decode() for edit in verification.edits] == [MENDED]
    assert len(candidate.changes) == 1
    assert verification.diff.startswith(f"diff --git a/{PATH}")
    assert all(criterion.passed for criterion in context.acceptance_criteria)
    assert [run.label for run in verification.runs] == [
        "failing tests",
        "full command",
        "full command again",
        "other order",
    ]


async def test_one_bug_is_mended_in_one_iteration() -> None:
    context = await Stage(world=a_world(ADDS)).play()
    assert context.outcome is Outcome.FIXED
    assert len(context.iterations) == 1
    assert context.iterations[0].confidence is not None
    assert context.iterations[0].confidence.action is Route.EXECUTE
    assert context.triage is not None
    assert (context.triage.runs, context.triage.red_runs, context.triage.base_checked) == (
        6,
        6,
        True,
    )


async def test_the_second_iteration_sees_the_partly_mended_tree_only() -> None:
    stage = Stage()
    await stage.play()
    seen = [context.test_results for context in stage.fixers[0].contexts]
    assert [sorted(report.failing) for report in seen if report] == [[ADD, EVEN], [EVEN]]


async def test_the_red_run_that_everything_is_compared_with_stays_the_first() -> None:
    context = await Stage().play()
    assert context.test_results is not None
    assert context.test_results.failing == {ADD, EVEN}


async def test_a_wrong_candidate_is_refused_and_the_next_one_tried() -> None:
    wrong = a_fix(BROKEN.replace("a - b", "b - a"))
    context = await Stage(fixers=(always(wrong, a_fix(MENDED)),)).play()
    assert context.outcome is Outcome.FIXED
    assert len(context.iterations) == 1


async def test_candidates_beyond_the_third_wait_for_the_next_iteration_without_another_climb() -> (
    None
):
    # Each breaks something else, so the failure is never quite the same again.
    wrong = [a_fix(f"{BROKEN}# {n}\n", id=f"w-{n}") for n in range(3)]
    fixer = always(*wrong, a_fix(MENDED))
    context = await Stage(fixers=(fixer,)).play()
    assert context.outcome is Outcome.FIXED
    assert len(context.iterations) == 2
    assert len(fixer.budgets) == 1


async def test_a_lint_finding_is_repaired_by_the_tools() -> None:
    def lint(asked: Asked) -> TestReport:
        found = (
            {"calc.py:1:F401": "F401: unused import"} if "import os" in asked.files[PATH] else {}
        )
        return a_run(found, runner="diagnostics").with_(
            success=not found,
            exit_code=int(bool(found)),
            verdict=RunVerdict.FAIL if found else RunVerdict.PASS,
        )

    world = World(
        files={PATH: f"import os\n{MENDED}"},
        run=lint,
        facts=facts(recipe=a_lint_recipe(), base_sha=None),
    )
    fixer = ScriptedFixer(
        lambda _f, _c: [a_fix(MENDED, rung=Rung.TOOLS, fixer="ruff")], rung=Rung.TOOLS
    )
    context = await Stage(world=world, fixers=(fixer,)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.iterations[0].next_action is not None
    assert context.iterations[0].next_action.worker_call is not None
    assert context.iterations[0].next_action.worker_call.worker_type == "tools"
    assert context.triage is not None
    assert context.triage.kind is FailureKind.LINT


async def test_lessons_of_earlier_missions_are_recalled_under_the_repository() -> None:
    stage = Stage(recall=KnownLessons(a_recalled_lesson()))
    context = await stage.play()
    assert context.lessons == (a_recalled_lesson(),)
    assert {asked[0] for asked in stage.recall.asked} == {"42"}
    assert context.diagnosis is not None
    assert context.diagnosis.lessons


async def test_a_broken_lesson_store_makes_forgetful_and_nothing_else() -> None:
    class Broken(KnownLessons):
        @override
        async def recall(self, **_: Any) -> Any:
            raise StoreError("the disk is full")

    assert (await Stage(recall=Broken()).play()).outcome is Outcome.FIXED


# --- the other outcomes ---------------------------------------------------------------------------


async def test_a_part_that_stays_broken_is_partial() -> None:
    fixer = ScriptedFixer(
        lambda files, _: (
            [a_fix(files[PATH].replace("a - b", "a + b", 1))] if "a + b" not in files[PATH] else []
        )
    )
    context = await Stage(fixers=(fixer,)).play()
    assert context.outcome is Outcome.PARTIAL
    assert "1 of 2 failures are gone" in context.reason
    assert context.fix is not None
    assert [c.passed for c in context.acceptance_criteria if c.check in {ADD, EVEN}] == [
        True,
        False,
    ]


async def test_a_ladder_without_candidates_names_what_was_tried() -> None:
    context = await Stage(
        fixers=(always(RungNote(reason="no template applies", candidates_tried=17)),)
    ).play()
    assert context.outcome is Outcome.NO_FIX
    assert "17 candidates tried" in context.reason
    assert "no template applies" in context.reason


async def test_no_rung_that_applies_ends_without_a_climb() -> None:
    stage = Stage(policy=RepositoryPolicy(rungs=(0,)))
    context = await stage.play()
    assert context.outcome is Outcome.NO_FIX
    assert "no rung" in context.reason
    assert not stage.fixers[0].budgets


async def test_the_same_failure_after_patches_in_two_iterations_ends_the_mission() -> None:
    wrong = [a_fix(f"{BROKEN}# {n}\n", id=f"w-{n}") for n in range(9)]
    context = await Stage(fixers=(always(*wrong),)).play()
    assert context.outcome is Outcome.NO_FIX
    assert len(context.iterations) == 2
    assert "same failure" in context.reason


async def test_a_refused_candidate_is_not_tried_again() -> None:
    stage = Stage(fixers=(always(*[a_fix(f"{BROKEN}# same\n")] * 5),))
    context = await stage.play()
    assert context.outcome is Outcome.NO_FIX
    assert len(context.iterations) == 1
    assert context.iterations[0].attempt is not None
    assert len(context.iterations[0].attempt.candidates) == 1


@pytest.mark.parametrize(
    "change",
    [
        a_change("tests/test_math.py", "def test_add():\n    pass\n"),
        a_change(".github/workflows/ci.yml", "on: push\n"),
        a_change("conftest.py", "collect_ignore = ['tests']\n"),
        a_change(PATH, "import os\nos._exit(0)\n"),
        a_change("../outside.py", "x\n"),
        a_change("absent.py", "x\n"),
    ],
)
async def test_a_tampering_candidate_is_refused_before_anything_runs(change: Any) -> None:
    world = a_world()
    world.files.update({"conftest.py": "", ".github/workflows/ci.yml": "on: pull_request\n"})
    stage = Stage(world=world, fixers=(always(a_fix("x", changes=(change,))),))
    context = await stage.play()
    assert context.outcome is Outcome.NO_FIX
    assert context.iterations[0].verification is not None
    assert context.iterations[0].verification.refusals
    assert not context.iterations[0].verification.runs


async def test_green_ten_times_is_not_reproduced() -> None:
    context = await Stage(world=a_world(MENDED)).play()
    assert context.outcome is Outcome.NOT_REPRODUCED
    assert not context.iterations
    assert context.triage is not None
    assert (context.triage.runs, context.triage.red_runs) == (10, 0)


async def test_mixed_results_on_one_commit_are_flaky_with_k_of_n() -> None:
    def every_other(asked: Asked) -> TestReport:
        source = BROKEN if asked.number % 2 else MENDED
        return a_run(outcomes(source), targets=asked.targets)

    stage = Stage(world=a_world(base=None, run=every_other))
    context = await stage.play()
    assert context.outcome is Outcome.FLAKY
    assert context.triage is not None
    assert (context.triage.red_runs, context.triage.runs) == (5, 10)
    assert "5 of 10" in context.reason


async def test_green_first_and_red_then_is_flaky() -> None:
    def late(asked: Asked) -> TestReport:
        return a_run(outcomes(MENDED if asked.number == 1 else BROKEN), targets=asked.targets)

    context = await Stage(world=a_world(base=None, run=late)).play()
    assert context.outcome is Outcome.FLAKY
    assert context.triage is not None
    assert (context.triage.red_runs, context.triage.runs) == (9, 10)


async def test_tests_that_pass_alone_and_fail_together_are_no_flake() -> None:
    def together(asked: Asked) -> TestReport:
        alone = (
            bool(asked.targets) and "a - b" in asked.files[PATH].split("def even", maxsplit=1)[0]
        )
        return a_run(outcomes(MENDED if alone else asked.files[PATH]), targets=asked.targets)

    context = await Stage(world=a_world(base=None, run=together)).play()
    assert context.triage is not None
    assert context.triage.kind is FailureKind.BUG
    assert any("depend on tests that run before" in note for note in context.triage.notes)


async def test_a_steady_failure_that_is_green_without_the_change_ends_as_flaky_without_a_fix() -> (
    None
):
    def lucky(asked: Asked) -> TestReport:
        # Red in the first run and all reruns; from then on green, whatever is changed.
        return a_run(outcomes(ADDS if asked.number <= 6 else MENDED), targets=asked.targets)

    context = await Stage(
        world=a_world(ADDS, base=None, run=lucky), fixers=(always(a_fix(f"{ADDS}# 1\n")),)
    ).play()
    assert context.outcome is Outcome.FLAKY
    assert context.fix is None
    assert "red in 6 of 7 runs" in context.reason
    assert context.triage is not None
    assert context.triage.kind is FailureKind.FLAKE


async def test_a_test_that_fails_by_chance_again_with_all_the_others_is_still_a_flake() -> None:
    # Whole runs are the first and the seventh (red) and the eighth (green); in between the test passes alone.
    def chance(asked: Asked) -> TestReport:
        return a_run(outcomes(ADDS if asked.number in {1, 7} else MENDED), targets=asked.targets)

    context = await Stage(world=a_world(ADDS, base=None, run=chance)).play()
    assert context.outcome is Outcome.FLAKY
    assert context.triage is not None
    assert (context.triage.red_runs, context.triage.runs) == (2, 8)


async def test_tests_that_cannot_be_asked_for_by_name_are_measured_with_the_whole_command() -> None:
    def whole_only(asked: Asked) -> TestReport:
        return nothing_ran("ERROR: not found") if asked.targets else honest(asked)

    context = await Stage(world=a_world(ADDS, base=None, run=whole_only)).play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.triage is not None
    assert (context.triage.red_runs, context.triage.runs) == (6, 6)
    assert context.fix is not None
    assert [run.label for run in context.fix[1].runs] == ["full command", "full command again"]


async def test_a_file_that_is_collected_alone_but_not_with_the_others_is_no_flake() -> None:
    def clash(asked: Asked) -> TestReport:
        mismatch = {"tests/test_math.py": "CollectError: import file mismatch"}
        return a_run(
            outcomes(asked.files[PATH]) if asked.targets else mismatch, targets=asked.targets
        )

    context = await Stage(world=a_world(base=None, run=clash)).play()
    assert context.triage is not None
    assert context.triage.kind is FailureKind.BUG


async def test_a_steady_failure_beside_a_flaky_one_is_still_a_bug() -> None:
    def shaky(asked: Asked) -> TestReport:
        said = {
            **outcomes(asked.files[PATH]),
            "tests/t.py::test_net": "OSError: x" if asked.number == 1 else "",
        }
        return a_run(said, targets=asked.targets)

    context = await Stage(world=a_world(EVENS, base=None, run=shaky)).play()
    assert context.outcome is Outcome.FIXED
    assert context.triage is not None
    assert any("flaky, left out: tests/t.py::test_net" in note for note in context.triage.notes)


async def test_red_on_the_base_commit_too_is_base_red() -> None:
    context = await Stage(world=a_world(base=BROKEN)).play()
    assert context.outcome is Outcome.BASE_RED
    assert context.triage is not None
    assert context.triage.base_failing == (ADD, EVEN)


async def test_red_on_the_base_commit_for_another_reason_is_not_base_red() -> None:
    def other(asked: Asked) -> TestReport:
        said = outcomes(asked.files[PATH])
        if asked.revision == "base":
            said |= {
                ADD: "ImportError: cannot import name 'add'",
                EVEN: "ImportError: cannot import name 'even'",
            }
        return a_run(said, targets=asked.targets)

    assert (await Stage(world=a_world(run=other)).play()).outcome is Outcome.FIXED


async def test_partly_red_on_base_goes_on_for_the_rest_and_says_so() -> None:
    adds = ScriptedFixer(lambda files, _: [a_fix(ADDS)] if files[PATH] == BROKEN else [])
    context = await Stage(world=a_world(base=ADDS), fixers=(adds,)).play()
    assert context.outcome is Outcome.PARTIAL
    assert context.triage is not None
    assert context.triage.base_failing == (EVEN,)
    assert any("red on the base commit already" in note for note in context.triage.notes)
    first = adds.contexts[0].test_results
    assert first is not None
    assert first.failing == {ADD}


async def test_what_was_red_on_base_is_mended_last_if_it_can_be() -> None:
    context = await Stage(world=a_world(base=ADDS)).play()
    assert context.outcome is Outcome.FIXED


async def test_tests_that_are_new_are_not_base_red() -> None:
    world = a_world()
    world.base = {PATH: BROKEN}
    context = await Stage(world=world).play()
    assert context.outcome is Outcome.FIXED
    assert context.triage is not None
    assert context.triage.base_checked
    assert any("do not exist on the base commit" in note for note in context.triage.notes)


async def test_without_a_base_commit_triage_says_so() -> None:
    context = await Stage(world=a_world(base=None)).play()
    assert context.outcome is Outcome.FIXED
    assert context.triage is not None
    assert not context.triage.base_checked
    assert any("no base commit is known" in note for note in context.triage.notes)


async def test_a_base_commit_that_cannot_be_built_is_a_note() -> None:
    world = a_world(
        trouble=lambda use: SetupFailed("no such package") if use == "base:run_tests" else None
    )
    context = await Stage(world=world).play()
    assert context.outcome is Outcome.FIXED
    assert context.triage is not None
    assert any("no such package" in note for note in context.triage.notes)


async def test_everything_failing_with_an_outage_signature_is_infra() -> None:
    def down(asked: Asked) -> TestReport:
        said = "ConnectionError: HTTPConnectionPool(host='db'): Connection refused"
        return a_run(dict.fromkeys((ADD, EVEN, SUB), said), targets=asked.targets)

    context = await Stage(world=a_world(run=down)).play()
    assert context.outcome is Outcome.INFRA
    assert "Connection" in context.reason


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (nothing_ran("no tests ran", exit_code=5), "collected no test"),
        (nothing_ran("sh: pytst: not found", exit_code=127), "does not exist"),
        (nothing_ran("No module named pytest", exit_code=1), "needs the module `pytest`"),
        (nothing_ran("", verdict=RunVerdict.TIMEOUT), "time limit"),
        (nothing_ran("", verdict=RunVerdict.OOM), "memory"),
        (nothing_ran("", verdict=RunVerdict.OUTPUT_LIMIT), "printed more"),
        (nothing_ran("", verdict=RunVerdict.TAMPERED), "contradict"),
    ],
)
async def test_runs_without_a_verdict_mean_the_environment_is_not_rebuilt(
    report: TestReport, words: str
) -> None:
    context = await Stage(world=a_world(run=lambda _: report)).play()
    assert context.outcome is Outcome.ENV_UNBUILDABLE
    assert words in context.reason


async def test_a_missing_dependency_means_the_environment_is_not_rebuilt() -> None:
    said = "ModuleNotFoundError: No module named 'frobnicator'"
    world = a_world(
        base=None, run=lambda asked: a_run({"tests/test_math.py": said}, targets=asked.targets)
    )
    context = await Stage(world=world).play()
    assert context.outcome is Outcome.ENV_UNBUILDABLE
    assert "`frobnicator`" in context.reason


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (SetupFailed("pip gave up", "pin it", log="last line"), Outcome.ENV_UNBUILDABLE),
        (ImportRejected("the clone failed"), Outcome.ENV_UNBUILDABLE),
        (SandboxUnavailable("Docker is not running", "start Docker"), Outcome.ERROR),
        (SandboxDied("the container went away"), Outcome.ERROR),
    ],
)
async def test_trouble_of_the_sandbox_is_an_outcome(error: SandboxError, outcome: Outcome) -> None:
    world = a_world(trouble=lambda use: error if use == "head:facts" else None)
    context = await Stage(world=world).play()
    assert context.outcome is outcome
    assert context.reason == error.message
    assert error.advice in context.advice
    assert (context.error_reference is not None) is (outcome is Outcome.ERROR)
    assert (context.state is MissionState.FAILED) is (outcome is Outcome.ERROR)


async def test_trouble_when_the_workspace_opens_is_an_outcome_too() -> None:
    stage = Stage()

    def refuse(_: Any) -> Any:
        raise SandboxUnavailable("Docker is not running")

    ports = stage.ports
    context = await run_mission(
        a_request(),
        stage.policy,
        CHECKOUT,
        type(ports)(**{**vars(ports), "open_workspace": refuse}),
    )
    assert context.outcome is Outcome.ERROR


async def test_a_sandbox_that_dies_in_the_middle_keeps_what_is_known() -> None:
    world = a_world(
        trouble=lambda use: SandboxDied("gone") if use == "head:apply_changes" else None
    )
    context = await Stage(world=world).play()
    assert context.outcome is Outcome.ERROR
    assert context.diagnosis is not None


async def test_ground_that_moves_is_stale() -> None:
    class Moved(KnownLessons):
        pass

    def moved(_files: Any, _context: Any) -> Any:
        raise Superseded("the branch moved")

    assert (
        await Stage(fixers=(ScriptedFixer(moved),), recall=Moved()).play()
    ).outcome is Outcome.STALE


async def test_iterations_that_run_out_are_budget() -> None:
    def never_quite(asked: Asked) -> TestReport:
        # Every patch trades one failure for another, so no fingerprint comes twice.
        mark = asked.files[PATH].count("#")
        said = {
            ADD: "",
            **{f"tests/t.py::t{n}": "" for n in range(50)},
            f"tests/t.py::t{mark}": "ValueError: no",
        }
        return a_run(said, targets=asked.targets)

    wrong = [a_fix(f"{BROKEN}{'#' * n}\n", id=f"w-{n}") for n in range(1, 9)]
    stage = Stage(
        world=a_world(base=None, run=never_quite),
        fixers=(always(*wrong),),
        limits=Limits(iterations=2),
    )
    context = await stage.play()
    assert context.outcome is Outcome.BUDGET
    assert len(context.iterations) == 2
    assert "2 iterations" in context.reason


async def test_time_that_triage_has_spent_is_budget() -> None:
    context = await Stage(clock=FixedClock(step=0.5), limits=Limits(mission_wall_s=0.1)).play()
    assert context.outcome is Outcome.BUDGET
    assert not context.iterations


async def test_after_five_iterations_a_part_is_shown_as_partial() -> None:
    def seven_bugs(asked: Asked) -> TestReport:
        mended = asked.files[PATH].count("#")
        said = {f"tests/t.py::t{n}": "" if n < mended else "ValueError: no" for n in range(7)}
        return a_run(said, targets=asked.targets)

    mends_one = ScriptedFixer(lambda files, _: [a_fix(files[PATH] + "#\n")])
    context = await Stage(world=a_world(base=None, run=seven_bugs), fixers=(mends_one,)).play()
    assert context.outcome is Outcome.PARTIAL
    assert len(context.iterations) == 5
    assert "5 of 7" in context.reason


async def test_time_that_runs_out_is_budget() -> None:
    clock = FixedClock()

    def slow(files: dict[str, str], _: MissionContext) -> list[Candidate]:
        clock.advance(2000.0)
        return [a_fix(f"{BROKEN}# {n}\n", id=f"w-{n}") for n in range(9)]

    context = await Stage(
        clock=clock, fixers=(ScriptedFixer(slow),), limits=Limits(time_limit=5000.0)
    ).play()
    assert context.outcome is Outcome.BUDGET
    assert "1800 s" in context.reason
    assert context.seconds >= 2000.0


async def test_candidates_in_files_that_the_policy_keeps_from_us_are_not_tried() -> None:
    stage = Stage(policy=RepositoryPolicy(paths_protected=("calc.py",)))
    context = await stage.play()
    assert context.outcome is Outcome.NO_FIX
    assert "the policy protects `calc.py`" in context.reason
    assert all(iteration.verification is None for iteration in context.iterations)


async def test_the_policy_may_give_a_mission_less_time_and_never_more() -> None:
    for asked, given in ((60.0, 60.0), (9_000.0, 1_800.0), (None, 1_800.0)):
        stage = Stage(policy=RepositoryPolicy(limits=PolicyLimits(seconds_per_mission=asked)))
        assert (await stage.play()).budget.seconds == given


async def test_a_climb_gets_what_is_left() -> None:
    stage = Stage(policy=RepositoryPolicy(time_limit=30.0))
    await stage.play()
    assert stage.fixers[0].budgets[0].time_limit_s == pytest.approx(30.0, abs=0.5)
    asked = Stage()
    await asked.play(time_limit_s=7.0)
    assert asked.fixers[0].budgets[0].time_limit_s == pytest.approx(7.0, abs=0.5)


async def test_rivals_that_cannot_be_ranked_are_a_question() -> None:
    rival = Rival(
        template="t",
        path=PATH,
        line=2,
        description="abs(a) + b",
        distinguishing_input="add(-1, 2): 1 or 3",
    )
    fix = a_fix(MENDED, behaviours=2, rivals=(rival,), score=0.3)
    context = await Stage(fixers=(always(fix),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert context.question is not None
    assert "add(-1, 2): 1 or 3" in context.question


async def test_a_fix_its_own_fixer_does_not_believe_is_a_question_and_no_pull_request() -> None:
    rival = Rival(
        template="t",
        path=PATH,
        line=2,
        description="abs(a) + b",
        distinguishing_input="add(-1, 2)",
        results=("1", "3"),
    )
    fix = a_fix(MENDED, behaviours=2, rivals=(rival,), score=0.7, confident=False)
    context = await Stage(fixers=(always(fix),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert context.question is not None
    assert "add(-1, 2), where the first gives 1 and the second 3" in context.question


async def test_a_lone_fix_that_is_not_believed_is_asked_about_too() -> None:
    context = await Stage(fixers=(always(a_fix(MENDED, score=0.3, confident=False)),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert context.question is not None
    assert context.question.startswith("Is this what is meant")
    assert "0.30" not in context.reason, "how sure we are is one number, and it is told once"
    assert confidence_by_rules(context).value == 0.3
    assert [choice.verified for choice in context.choices] == [True]


async def test_a_fix_that_outcomes_here_speak_against_is_a_question() -> None:
    fix = a_fix(MENDED, score=0.7)
    trusting = await Stage(fixers=(always(fix),)).play()
    assert trusting.outcome is Outcome.FIXED
    bad_experience = KnownLessons(correction=Correction(shift=-1.0, outcomes=12))
    context = await Stage(fixers=(always(fix),), recall=bad_experience).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert "after 12 earlier fixes here it is right with a probability of 0.46" in context.reason
    chosen = fix.with_(ranked=False)
    known = await Stage(fixers=(always(chosen),), recall=bad_experience).play()
    assert known.outcome is Outcome.FIXED, "a person chose it, or it repaired this failure before"


async def test_without_an_outcome_no_certain_fix_becomes_a_question() -> None:
    completed = a_fix(MENDED, score=0.7, rung=Rung.MODEL)
    context = await Stage(fixers=(always(completed),)).play()
    assert context.outcome is Outcome.FIXED


async def test_the_choices_of_a_question_are_diffs_against_the_failing_commit() -> None:
    other = MENDED.replace("a + b", "abs(a) + b")
    lost = Rival(template="t", path=PATH, line=2, description="a later one", candidate_id="c-none")
    told = lost.with_(description="abs(a) + b", candidate_id="c-2")
    told = told.with_(distinguishing_input="add(-1, 2)", results=("1", "3"))
    rivals = (lost, told)
    best = a_fix(MENDED, id="c-1", behaviours=3, rivals=rivals, score=0.7, confident=False)
    twin = a_fix(f"{MENDED}# the same behaviour\n", id="c-3", confident=False)
    last = a_fix(other, id="c-2", confident=False)
    context = await Stage(fixers=(always(best, twin, last),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    first, second = context.choices
    assert (first.verified, second.verified) == (True, False)
    assert (second.differs_on, second.results) == ("add(-1, 2)", ("1", "3"))
    assert "-    return a - b\n+    return a + b\n" in first.diff
    assert "-    return a - b\n+    return abs(a) + b\n" in second.diff
    assert [edit.content.decode() for edit in second.edits] == [other]


async def test_a_rung_that_has_to_ask_ends_the_mission_with_its_question() -> None:
    note = RungNote(reason="nothing found", question="Add `PyYAML` to requirements.txt?")
    context = await Stage(fixers=(always(note),)).play()
    assert context.outcome is Outcome.NEEDS_HUMAN
    assert context.question == "Add `PyYAML` to requirements.txt?"


async def test_rivals_of_lower_rank_are_a_doubt_only() -> None:
    context = await Stage(fixers=(always(a_fix(MENDED, behaviours=2, score=0.8)),)).play()
    assert context.outcome is Outcome.FIXED
    assert context.fix is not None
    assert any("behave differently" in doubt for doubt in context.fix[1].doubts)


async def test_too_little_knowledge_is_a_question_to_a_human() -> None:
    def opaque(asked: Asked) -> TestReport:
        report = a_run({f"t{n}": ": x" for n in range(12)}, targets=asked.targets)
        return report.with_(failures=(), failure_count=12)

    world = World(
        files={"readme": ""},
        run=opaque,
        facts=facts(recipe=a_lint_recipe(kind=StepKind.OTHER), base_sha=None),
    )
    context = await Stage(world=world).play()
    assert context.outcome is Outcome.NEEDS_HUMAN, context.reason
    assert context.question is not None
    assert context.question.endswith(".") or "?" in context.question


async def test_a_plan_that_is_not_good_enough_is_refined_once() -> None:
    def opaque(_: Asked) -> TestReport:
        report = a_run({"make check": ": x"}, runner="command")
        return report.with_(
            failures=(
                report.failures[0].with_(error=None, error_message=None, frames=(), file=None),
            )
        )

    world = World(files={"readme": ""}, run=opaque, facts=facts(base_sha=None))
    checkpoint = Recording()
    context = await Stage(world=world, checkpoint=checkpoint).play()
    assert context.outcome is Outcome.NO_FIX
    assert context.iterations[0].replanned
    assert context.iterations[0].plan is not None
    assert context.iterations[0].plan.refined
    assert [name for name in checkpoint.ran if name != "triage-again"][-5:] == [
        "iteration-1/replan",
        "iteration-1/critique-again",
        "iteration-1/evaluate-again",
        "iteration-1/confidence-again",
        "iteration-1/decide",
    ]


async def test_after_the_patch_the_runs_do_not_agree() -> None:
    def shaky(asked: Asked) -> TestReport:
        said = outcomes(asked.files[PATH])
        if asked.files[PATH] == MENDED and asked.order == "reversed":
            said[ADD] = "AssertionError: assert 4 == 3"
        return a_run(said, targets=asked.targets)

    context = await Stage(world=a_world(run=shaky), fixers=(always(a_fix(MENDED)),)).play()
    assert context.outcome is Outcome.NO_FIX
    assert "flaky after the patch" in context.reason


# --- resumption, cancellation, values ---------------------------------------------------------------


async def test_a_killed_mission_resumes_after_every_step_and_repeats_none() -> None:
    undisturbed = Recording()
    expected = await Stage(checkpoint=undisturbed, clock=FixedClock(step=0.25)).play()
    assert expected.outcome is Outcome.FIXED
    assert len(undisturbed.ran) == len(set(undisturbed.ran))
    for name in undisturbed.ran:
        checkpoint = Recording()
        checkpoint.dies_after = name
        with pytest.raises(Killed):
            await Stage(checkpoint=checkpoint, clock=FixedClock(step=0.25)).play()
        checkpoint.dies_after = None
        resumed = await Stage(checkpoint=checkpoint, clock=FixedClock(step=0.25)).play()
        assert checkpoint.ran == undisturbed.ran, f"killed after {name}"
        assert resumed == expected, f"killed after {name}"


async def test_a_finished_mission_replays_without_a_sandbox() -> None:
    checkpoint = Recording()
    expected = await Stage(checkpoint=checkpoint).play()
    world = a_world(trouble=lambda use: SandboxDied(f"nothing may run, but {use} did"))
    assert await Stage(checkpoint=checkpoint, world=world).play() == expected


async def test_a_replay_opens_no_workspace_and_tells_nobody_again() -> None:
    checkpoint = Recording()
    first, again = Told(), Told()
    await Stage(checkpoint=checkpoint, progress=first).play()
    world = a_world()
    await Stage(checkpoint=checkpoint, progress=again, world=world).play()
    assert first.stages[:2] == ["triage", "analyze"]
    assert again.stages == []
    assert world.opened == 0


class Told:
    """Hears the stages."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        self.stages.append(name)


async def test_a_workspace_that_cannot_be_closed_does_not_undo_the_outcome() -> None:
    stage = Stage(world=a_world(ADDS))

    @asynccontextmanager
    async def sticky(checkout: Checkout) -> AsyncIterator[Workspace]:
        async with stage.world.open_workspace(checkout) as workspace:
            yield workspace
        raise SandboxDied("the container does not go away")

    def first_one(checkout: Checkout) -> AbstractAsyncContextManager[Workspace]:
        return sticky(checkout) if stage.world.opened == 0 else stage.world.open_workspace(checkout)

    ports = replace(stage.ports, open_workspace=first_one)
    context = await run_mission(a_request(), stage.policy, CHECKOUT, ports)
    assert context.outcome is Outcome.FIXED


async def test_step_names_are_stable() -> None:
    checkpoint = Recording()
    await Stage(world=a_world(ADDS), checkpoint=checkpoint).play()
    assert checkpoint.ran == [
        "start",
        "reproduce",
        "triage-evidence",
        "iteration-1/analyze",
        "iteration-1/plan",
        "iteration-1/critique",
        "iteration-1/evaluate",
        "iteration-1/confidence",
        "iteration-1/decide",
        "iteration-1/fix",
        "iteration-1/verify-1",
    ]


async def test_a_mission_serialises_to_json_and_back() -> None:
    context = await Stage().play()
    assert type(context).model_validate_json(context.model_dump_json()) == context


async def test_cancellation_escapes_and_closes_every_workspace() -> None:
    reached = asyncio.Event()

    class Waiting(MemoryCheckpoint):
        @override
        async def step(
            self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
        ) -> Value:
            async def slowly() -> Value:
                value = await call()
                reached.set()
                await asyncio.sleep(60)
                return value

            return await super().step(name, returns, slowly if name == "triage-evidence" else call)

    stage = Stage(checkpoint=Waiting())
    task = asyncio.create_task(run_mission(a_request(), stage.policy, CHECKOUT, stage.ports))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stage.world.open_now == 0


async def test_cancellation_in_the_middle_of_two_sandboxes_closes_both() -> None:
    world = a_world()
    task: list[asyncio.Task[MissionContext]] = []

    def cancels(asked: Asked) -> TestReport:
        if asked.number == 3:
            task[0].cancel()
        return honest(asked)

    world.run = cancels
    stage = Stage(world=world)
    task.append(asyncio.create_task(run_mission(a_request(), stage.policy, CHECKOUT, stage.ports)))
    with pytest.raises(asyncio.CancelledError):
        await task[0]
    assert world.open_now == 0


async def test_a_file_that_could_not_be_collected_can_be_fixed() -> None:
    def collected(asked: Asked) -> TestReport:
        if asked.files[PATH] == MENDED:
            return a_run(outcomes(MENDED), targets=asked.targets)
        return a_run(
            {"tests/test_math.py": "ImportError: cannot import name 'add'"}, targets=asked.targets
        )

    stage = Stage(world=a_world(run=collected), fixers=(ScriptedFixer(lambda *_: [a_fix(MENDED)]),))
    context = await stage.play()
    assert (context.outcome, context.reason) == (
        Outcome.FIXED,
        "the failure is gone in 4 runs, and nothing else changed",
    )


@pytest.mark.parametrize("said", [SKIP, None])
async def test_a_failing_test_that_only_disappears_in_another_order_is_not_fixed(
    said: str | None,
) -> None:
    def shy(asked: Asked) -> TestReport:
        found = outcomes(asked.files[PATH])
        if asked.files[PATH] == MENDED and asked.order == "reversed":
            found |= {ADD: said} if said else {}
            if said is None:
                del found[ADD]
        return a_run(found, targets=asked.targets)

    context = await Stage(
        world=a_world(run=shy), fixers=(ScriptedFixer(lambda *_: [a_fix(MENDED)]),)
    ).play()
    assert context.outcome is Outcome.NO_FIX
    assert "1 of 2 failures are still there" in context.reason


# --- states -----------------------------------------------------------------------------------------


class Watching:
    """Remembers the state that each stage of a mission shows."""

    def __init__(self) -> None:
        self.states: dict[str, MissionState] = {}

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        self.states[name] = context.state


async def test_a_mission_goes_through_the_states_that_there_are() -> None:
    watching = Watching()
    fixed = await Stage(progress=watching).play()
    planning = dict.fromkeys(
        ("analyze", "plan", "critique", "evaluate", "confidence", "decide"), MissionState.PLANNING
    )
    assert watching.states == {
        "triage": MissionState.PENDING,
        **planning,
        "fix": MissionState.RUNNING,
        "verify": MissionState.VALIDATING,
    }
    asking = await Stage(fixers=(always(RungNote(reason="none", question="Add it?")),)).play()
    cancelled = fixed.ended(Outcome.CANCELLED, "a person said so")
    broken = fixed.ended(Outcome.ERROR, "the sandbox is away")
    ends = [context.state for context in (fixed, asking, cancelled, broken)]
    assert ends == ["COMPLETED", "WAITING_FOR_HUMAN", "CANCELLED", "FAILED"]
    assert {*watching.states.values(), *ends} == set(MissionState), "no state is left over"
