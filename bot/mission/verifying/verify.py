"""VERIFY: full command in two fresh sandboxes; only this file may call a mission fixed."""

from collections.abc import Collection, Iterator, Sequence

from bot.domain.counted import counted
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Verification, VerifiedRun
from bot.mission.failures.reports import list_failing, map_outcomes
from bot.mission.judging.criteria import Findings, all_critical_passed, judged
from bot.mission.verifying.compare import always_passing, disagree, missing_tests, newly_failing
from bot.mission.verifying.compare import gone as gone_of
from bot.mission.verifying.compare import table as table_of
from bot.mission.verifying.elsewhere import Elsewhere
from bot.mission.verifying.fresh_runs import FreshRuns, Standby, find_shaky, run_fresh
from bot.mission.verifying.fresh_sandbox import Change
from bot.mission.verifying.guard import screen_edits
from bot.mission.verifying.uncovered import uncovered
from bot.ports import Clock, OpenWorkspace, Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import Checkout, RunVerdict, StepKind, TestReport, TestStatus

_TESTS_SHOWN = 5
_WHOLE = frozenset({"full command", "full command again"})
"""Labels of runs of the whole command."""


async def verify_fix(
    candidate: Candidate,
    context: MissionContext,
    checkout: Checkout,
    open_workspace: OpenWorkspace,
    *,
    clock: Clock,
) -> Verification:
    """Prove a candidate, or return the reason for rejecting it.

    Args:
        candidate: Candidate for the failing commit.
        context: `test_results` is the red run; `acceptance_criteria` define FIXED.
        checkout: The failing commit; opened twice, so that nothing of earlier runs is left.
        open_workspace: Opens a workspace.
        clock: Measures the duration.
    """
    started = clock.monotonic()
    async with Standby(open_workspace, checkout) as standby, open_workspace(checkout) as workspace:
        verification = await _verified(candidate, context, workspace, standby)
    return verification.with_(seconds=round(clock.monotonic() - started, 3))


async def _verified(
    candidate: Candidate, context: MissionContext, workspace: Workspace, standby: Standby
) -> Verification:
    """Apply, screen and run the candidate; return the verdict."""
    try:
        screening = await screen_edits(candidate, workspace, context.policy)
    except ChangeRejected as error:
        return Verification(
            green=False,
            reason=f"the change cannot be applied: {error.message}",
            refusals=(error.message,),
        )
    shown = Verification(
        green=False,
        reason="",
        refusals=screening.refusals,
        doubts=(*screening.doubts, *_rival_doubts(candidate)),
        diff=screening.diff,
        edits=screening.edits,
        not_verified=_not_verified(context),
    )
    # Before any run: a refused change must not execute at all.
    if screening.refusals:
        return shown.with_(reason=f"refused: {'; '.join(screening.refusals[:3])}")
    if not screening.edits:
        return shown.with_(reason="the change changes nothing")
    before = context.test_results
    if before is None:
        return shown.with_(reason="there is no red run to compare with")
    change = Change(
        changes=candidate.changes,
        edits=screening.edits,
        asks_for_surroundings=screening.asks_for_surroundings,
    )
    fresh = await run_fresh(workspace, standby, change, context)
    if fresh.unlike:
        return shown.with_(reason="the change does not give the same files twice", runs=fresh.runs)
    unproven = (*_alone(fresh.dependent), *_renamed(fresh.renamed))
    shown = shown.with_(not_verified=(*shown.not_verified, *unproven))
    verdict = _judge(shown, before, fresh, context)
    judged_by_runs = _elsewhere(verdict, fresh.elsewhere)
    if not fresh.flaky:
        return judged_by_runs.with_(control=fresh.control)
    reason = "the failing tests pass without the change too: chance made them green"
    return judged_by_runs.with_(
        green=False, partial=False, flaky=True, reason=reason, control=fresh.control
    )


def _elsewhere(found: Verification, elsewhere: Elsewhere) -> Verification:
    """Return the verdict with the results in other surroundings."""
    if elsewhere.blamed:
        return found.with_(
            green=False, partial=False, reason=elsewhere.reason, refusals=(elsewhere.reason,)
        )
    bound = [
        f"`{name}`: it passes in the usual surroundings only, without the change too"
        for name in elsewhere.bound
    ]
    doubts = [
        f"`{name}` proves the change in the usual surroundings only" for name in elsewhere.unproven
    ]
    return found.with_(
        not_verified=(*found.not_verified, *bound[:_TESTS_SHOWN]),
        doubts=(*found.doubts, *doubts[:_TESTS_SHOWN]),
    )


def _judge(
    shown: Verification, before: TestReport, fresh: FreshRuns, context: MissionContext
) -> Verification:
    """Compare the runs before and after."""
    runs, dependent = fresh.runs, frozenset(fresh.dependent)
    whole = [run.report for run in runs if run.label in _WHOLE]
    later = uncovered(context)
    # Failures of a later command count as known; the first red run still has to be repaired.
    last = later.report if later else before
    was = map_outcomes(last) | map_outcomes(before)
    now = map_outcomes(whole[0]) if whole else map_outcomes(runs[0].report)
    seen = [map_outcomes(report) for report in whole] or [now]
    broken = tuple(name for name in newly_failing(last, runs) if name not in list_failing(was))
    missing = tuple(name for name in missing_tests(last, whole) if name not in fresh.renamed)
    skips = {n for outcomes in seen for n, s in outcomes.items() if s is TestStatus.SKIP}
    skipped = tuple(sorted(n for n in skips if was.get(n, TestStatus.SKIP) is not TestStatus.SKIP))
    # Two fresh sandboxes: a single green run may be chance.
    suite = len(whole) > 1 and all(run.report.success for run in runs)
    # A failure must be gone in every run. Tests that need earlier ones count in whole runs only.
    always_gone = [
        _gone(before, last, run.report) | (dependent if run.label not in _WHOLE else frozenset())
        for run in runs
    ]
    gone = frozenset[str].intersection(*always_gone) if whole else frozenset[str]()
    # Flaky tests turn green by themselves, and repaired ones were gained before.
    gained = gone - find_shaky(context.triage) - (gone_of(before, last) if later else frozenset())
    criteria = judged(
        context.acceptance_criteria,
        Findings(
            # A file that could not be collected has no result of its own afterwards.
            passing=always_passing(runs) | {name for name in gone if "::" not in name},
            suite=suite,
            collected=bool(whole) and not missing and not skipped,
            paths=not shown.refusals,
        ),
    )
    harmless = not (broken or missing or skipped)
    green = suite and harmless and list_failing(was) <= gone and all_critical_passed(criteria)
    # A test that also passes without the change proves nothing.
    partial = (
        not green and harmless and bool(gained) and not disagree(runs) and not whole[0].success
    )
    facts = shown.with_(
        runs=runs,
        not_verified=(*shown.not_verified, *_unseen(context, runs), *_unconfirmed(runs)),
        table=table_of(was, now),
        newly_failing=broken,
        missing=missing,
        newly_skipped=skipped,
        criteria=criteria,
        green=green,
        partial=partial,
    )
    return facts.with_(reason=_reason(facts, len(list_failing(was)), len(gone)))


def _gone(before: TestReport, last: TestReport, after: TestReport) -> frozenset[str]:
    """Return the failures of the first and last red run that a run no longer shows."""
    return gone_of(before, after) | gone_of(last, after)


def _reason(found: Verification, total: int, gone: int) -> str:
    """Return the verdict in one sentence."""
    if found.green:
        return _green_reason(total, len(found.runs))
    if found.newly_failing:
        return f"{_tests(found.newly_failing, 'fails', 'fail')} that did not fail before"
    if found.missing:
        return f"{_tests(found.missing, 'is', 'are')} no longer collected"
    if found.newly_skipped:
        return f"{_tests(found.newly_skipped, 'is', 'are')} skipped that did run before"
    if found.partial and gone < total:
        return f"{gone} of {total} failures are gone, and nothing else changed"
    if disagree(found.runs):
        return "flaky after the patch: the runs do not agree"
    red = [run.report for run in found.runs if not run.report.success]
    return _red_reason(total, gone, red[0] if red else found.runs[-1].report)


def _green_reason(total: int, runs: int) -> str:
    """Return the sentence for a green verdict; a command without named tests has no count."""
    if total == 0:
        return f"the command passes in {counted(runs, 'run')}"
    gone_now = {1: "the failure is gone", 2: "both failures are gone"}.get(
        total, f"all {total} failures are gone"
    )
    return f"{gone_now} in {counted(runs, 'run')}, and nothing else changed"


def _red_reason(total: int, gone: int, last: TestReport) -> str:
    """Return the sentence on the remaining failures."""
    if total == 0:
        return f"the command still fails: {last.summary}"
    if gone == total and last.verdict in {RunVerdict.TAMPERED, RunVerdict.NO_VERDICT}:
        return f"the failures are gone, but the run is not believed: {last.summary}"
    if gone == total and not last.success:
        return f"the failures are gone, but the command still fails: {last.summary}"
    return (
        "the failure is still there"
        if total == 1
        else f"{total - gone} of {total} failures are still there"
    )


def _tests(names: Sequence[str], one: str, many: str) -> str:
    """Return `1 test fails`, `3 tests fail`."""
    return f"1 test {one}" if len(names) == 1 else f"{len(names)} tests {many}"


def _rival_doubts(candidate: Candidate) -> tuple[str, ...]:
    """Return the doubts from other plausible fixes."""
    if candidate.behaviours <= 1:
        return ()
    rivals = f"{candidate.behaviours} plausible fixes behave differently on some input"
    return (f"{rivals}; the tests cannot tell them apart",)


def _unconfirmed(runs: Sequence[VerifiedRun]) -> Iterator[str]:
    """Return a sentence on passing tests that known-answer copies did not confirm."""
    names = dict.fromkeys(name for run in runs for name in run.report.unconfirmed)
    for name in list(names)[:_TESTS_SHOWN]:
        yield (
            f"`{name}`: its file does not define it plainly in Python, so no copy of it was run "
            "that must fail"
        )


def _not_verified(context: MissionContext) -> tuple[str, ...]:
    """Return what these runs do not prove."""
    if context.facts is None:
        return ()
    recipe = context.facts.recipe
    shaky = [
        f"`{name}`: it passes in some runs without the change too"
        for name in sorted(find_shaky(context.triage))
    ]
    dropped = [f"step `{f.step}`: {f.reason}" for f in recipe.fidelity if f.treatment == "dropped"]
    return (*shaky[:_TESTS_SHOWN], *dropped)


def _alone(dependent: Sequence[str]) -> Iterator[str]:
    """Return a sentence on each test that only the whole command can prove."""
    for name in dependent[:_TESTS_SHOWN]:
        yield f"`{name}` alone: it needs tests that run before it, so only whole runs prove it"


def _renamed(names: Collection[str]) -> Iterator[str]:
    """Return a sentence on the tests that cannot be compared by name."""
    if names:
        having = counted(len(names), "test has", plural="tests have")
        yield f"{having} another name in each run, so only their number counts"


def _unseen(context: MissionContext, runs: Sequence[VerifiedRun]) -> tuple[str, ...]:
    """Return the kind of results that no run shows."""
    # The last command of a compound one may run tests, although the first one is a linter.
    if context.facts is None or any(run.report.knows_tests for run in runs):
        return ()
    if context.facts.recipe.kind in {StepKind.LINT, StepKind.FORMAT}:
        return ("the tests: the failing step does not run them",)
    return ("single tests: the command's exit status is all that was seen",)
