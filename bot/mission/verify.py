"""VERIFY: fresh workspace, full command, nothing else broken; only this file may call a mission fixed."""

from collections.abc import Sequence
from typing import Literal

from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, TestChange, Verification, VerifiedRun
from bot.domain.plan import AcceptanceCriterion
from bot.mission.criteria import Findings, all_critical_passed, judged
from bot.mission.guard import screen_edits
from bot.mission.reports import bounded, failing_of, outcomes_of, targets_of
from bot.mission.signatures import no_verdict, stopped_early
from bot.ports import Clock, OpenWorkspace, Workspace
from sandbox.errors import ChangeRejected
from sandbox.types import Checkout, StepKind, TestOrder, TestReport, TestStatus

_ROWS = 200
"""At most this many tests in the table."""

Label = Literal["failing tests", "full command", "full command again", "other order"]


async def verify_fix(
    candidate: Candidate, context: MissionContext, checkout: Checkout, open_workspace: OpenWorkspace, *, clock: Clock
) -> Verification:
    """Prove a candidate, or find out why it is none.

    Args:
        candidate: Its changes apply to the failing commit.
        context: `test_results` is the red run, `acceptance_criteria` say when it is fixed.
        checkout: The failing commit; opened anew, so nothing an earlier stage left behind counts.
        open_workspace: Opens it.
        clock: Measures how long it took.
    """
    started = clock.monotonic()
    async with open_workspace(checkout) as workspace:
        verification = await _verified(candidate, context, workspace)
    return verification.with_(seconds=round(clock.monotonic() - started, 3))


async def _verified(candidate: Candidate, context: MissionContext, workspace: Workspace) -> Verification:
    """Apply, screen, run."""
    try:
        screening = await screen_edits(candidate, workspace)
    except ChangeRejected as error:
        return Verification(
            green=False, reason=f"the change cannot be applied: {error.message}", refusals=(error.message,)
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
    if screening.refusals:
        return shown.with_(reason=f"refused: {'; '.join(screening.refusals[:3])}")
    if not screening.edits:
        return shown.with_(reason="the change changes nothing")
    before = context.test_results
    if before is None:
        return shown.with_(reason="there is no red run to compare with")
    runs = await _run_all(workspace, before, candidate)
    return _judge(shown, before, runs, context.acceptance_criteria)


async def _run_all(workspace: Workspace, before: TestReport, candidate: Candidate) -> tuple[VerifiedRun, ...]:
    """The failing tests first; the rest only as far as it can still matter."""
    runs: list[VerifiedRun] = []
    untouched = True

    async def run(label: Label, targets: tuple[str, ...] = (), *, backwards: bool = False) -> TestReport:
        nonlocal untouched
        if not untouched:
            # A run can write files, tests among them: each one starts from the failing commit and the change alone.
            await workspace.revert()
            await workspace.apply_changes(candidate.changes)
        untouched = False
        order: TestOrder = "reversed" if backwards else "given"
        report = bounded(await workspace.run_tests(targets=targets, order=order))
        runs.append(VerifiedRun(label=label, report=report))
        return report

    targets = targets_of(before)
    if targets:
        first = await run("failing tests", targets)
        if not first.success and no_verdict(first):
            runs.clear()  # the names cannot be asked for one by one: the whole command decides
            targets = ()
        elif not first.success and not _gone(before, first):
            return tuple(runs)
    full = await run("full command")
    if full.success:
        await run("full command again")
        if targets:
            await run("other order", targets, backwards=True)
    return tuple(runs)


def _judge(
    shown: Verification, before: TestReport, runs: tuple[VerifiedRun, ...], criteria: tuple[AcceptanceCriterion, ...]
) -> Verification:
    """Compare before and after."""
    whole = [r.report for r in runs if r.label in {"full command", "full command again"}]
    was = outcomes_of(before)
    now = outcomes_of(whole[0]) if whole else outcomes_of(runs[0].report)
    seen = [outcomes_of(report) for report in whole] or [now]
    broken = _newly_failing(before, runs)
    missing = _missing(before, whole)
    skips = {n for outcomes in seen for n, s in outcomes.items() if s is TestStatus.SKIP}
    skipped = tuple(sorted(n for n in skips if was.get(n, TestStatus.SKIP) is not TestStatus.SKIP))
    suite = len(whole) > 1 and all(run.report.success for run in runs)
    criteria = judged(
        criteria,
        Findings(
            passing=_always_passing(runs),
            suite=suite,
            collected=bool(whole) and not missing and not skipped,
            paths=not shown.refusals,
        ),
    )
    gone = _gone(before, whole[0]) if whole else frozenset()
    harmless = not (broken or missing or skipped)
    green = suite and harmless and failing_of(was) <= gone and all_critical_passed(criteria)
    partial = not green and harmless and bool(gone) and not _agrees_not(runs) and not whole[0].success
    facts = shown.with_(
        runs=runs,
        table=_table(was, now),
        newly_failing=broken,
        missing=missing,
        newly_skipped=skipped,
        criteria=criteria,
        green=green,
        partial=partial,
    )
    return facts.with_(reason=_reason(facts, before, len(gone)))


def _gone(before: TestReport, after: TestReport) -> frozenset[str]:
    """Failures of the red run that a run shows as gone: passed, or for a linter no longer found."""
    was, now = failing_of(outcomes_of(before)), outcomes_of(after)
    if before.runner == "diagnostics":
        return was - failing_of(now) if after.runner == "diagnostics" or after.success else frozenset()
    if before.runner != "pytest":
        return was if after.success else frozenset()
    passed = {name for name, status in now.items() if status is TestStatus.PASS}
    # A file that could not be collected is a failure without `::`; it is gone when tests of it pass.
    mended = {n for n in was if "::" not in n and n not in now and any(p.startswith(f"{n}::") for p in passed)}
    return (was & passed) | mended


def _newly_failing(before: TestReport, runs: tuple[VerifiedRun, ...]) -> tuple[str, ...]:
    """Tests that fail in some run and did not fail before.

    A test the red run never reached (it stopped early, or its file could not be collected) is not blamed on the change.
    """
    was = outcomes_of(before)
    uncollected = tuple(f"{name}::" for name in failing_of(was) if "::" not in name)
    failing = {name for run in runs for name in failing_of(outcomes_of(run.report))} - failing_of(was)
    if before.runner == "pytest":
        unknown = {n for n in failing if n not in was}
        failing -= (
            unknown if stopped_early(before) else {n for n in unknown if uncollected and n.startswith(uncollected)}
        )
    return tuple(sorted(failing))


def _missing(before: TestReport, whole: list[TestReport]) -> tuple[str, ...]:
    """Tests that were collected before and are not in every run of the whole command now."""
    # Only a red run may have stopped early: what a green one prints about itself proves nothing.
    complete = [report for report in whole if report.success or not stopped_early(report)]
    if before.runner != "pytest":
        return ()
    names = [name for name in before.outcomes if "::" in name]
    return tuple(sorted(name for name in names if any(name not in report.outcomes for report in complete)))


def _always_passing(runs: tuple[VerifiedRun, ...]) -> frozenset[str]:
    """Tests that passed in every run that ran them."""
    seen = {name for run in runs for name in run.report.outcomes}
    return frozenset(
        name
        for name in seen
        if all(r.report.outcomes[name] is TestStatus.PASS for r in runs if name in r.report.outcomes)
    )


def _agrees_not(runs: tuple[VerifiedRun, ...]) -> bool:
    """Whether two runs say different things about one test, or about the whole command."""
    verdicts: dict[str, set[bool]] = {}
    for run in runs:
        for name, status in run.report.outcomes.items():
            verdicts.setdefault(name, set()).add(status in {TestStatus.FAIL, TestStatus.ERROR})
    whole = {run.report.success for run in runs if run.label.startswith("full command")}
    return len(whole) > 1 or any(len(seen) > 1 for seen in verdicts.values())


def _reason(found: Verification, before: TestReport, gone: int) -> str:
    """The verdict in one sentence."""
    total = len(failing_of(outcomes_of(before)))
    if found.green:
        gone_now = "the failure is gone" if total == 1 else f"all {total} failures are gone"
        return f"{gone_now} in {len(found.runs)} runs, and nothing else changed"
    if found.newly_failing:
        return f"{_tests(found.newly_failing, 'fails', 'fail')} that did not fail before"
    if found.missing:
        return f"{_tests(found.missing, 'is', 'are')} no longer collected"
    if found.newly_skipped:
        return f"{_tests(found.newly_skipped, 'is', 'are')} skipped that did run before"
    if found.partial and gone < total:
        return f"{gone} of {total} failures are gone, and nothing else changed"
    if _agrees_not(found.runs):
        return "flaky after the patch: the runs do not agree"
    if gone == total and not found.runs[-1].report.success:
        return f"the failures are gone, but the command still fails: {found.runs[-1].report.summary}"
    return "the failure is still there" if total == 1 else f"{total - gone} of {total} failures are still there"


def _tests(names: Sequence[str], one: str, many: str) -> str:
    """`1 test fails`, `3 tests fail`."""
    return f"1 test {one}" if len(names) == 1 else f"{len(names)} tests {many}"


def _table(was: dict[str, TestStatus], now: dict[str, TestStatus]) -> tuple[TestChange, ...]:
    """Every test that was red, and every one that changed."""
    red = sorted(failing_of(was))
    changed = sorted(n for n in was.keys() | now.keys() if n not in red and was.get(n) is not now.get(n) and n in now)
    rows = [TestChange(name=name, before=was.get(name), after=now.get(name)) for name in [*red, *changed]]
    return tuple(rows[:_ROWS])


def _rival_doubts(candidate: Candidate) -> tuple[str, ...]:
    """Other plausible fixes are a doubt about this one."""
    if candidate.behaviours <= 1:
        return ()
    return (
        f"{candidate.behaviours} plausible fixes behave differently on some input; the tests cannot tell them apart",
    )


def _not_verified(context: MissionContext) -> tuple[str, ...]:
    """What these runs say nothing about."""
    if context.facts is None:
        return ()
    recipe = context.facts.recipe
    dropped = [f"step `{f.step}`: {f.reason}" for f in recipe.fidelity if f.treatment == "dropped"]
    if recipe.kind in {StepKind.LINT, StepKind.FORMAT}:
        dropped.append("the tests: the failing step does not run them")
    return tuple(dropped)
