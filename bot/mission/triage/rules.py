"""Classify the measurements: flake, base red, outage, unbuildable, not reproducible, or a bug.

Pure.
"""

from collections import Counter

from bot.domain.diagnosis import FailureKind, Triage
from bot.domain.policy import Limits
from bot.mission.failures.signatures import no_verdict
from bot.mission.triage.environment import (
    is_same_test,
    lacks_something,
    missing_part,
    why_unbuildable,
)
from bot.mission.triage.infra import by_outage, detect_ci_outage
from bot.mission.triage.rates import interval
from bot.mission.triage.site import list_failures, reds
from bot.mission.triage.skipped import skipped_in_ci
from bot.mission.triage.values import Evidence, OtherCommit, Rerun
from sandbox.types import LogReading, RunVerdict, StepKind, TestReport, WorkspaceFacts

# With fewer runs the interval says next to nothing: 15 to 85 % for two of four.
_WORTH_AN_INTERVAL = 5


def without_a_verdict(red: TestReport, base: OtherCommit, facts: WorkspaceFacts) -> Triage:
    """Classify a red run without names.

    Its environment is incomplete, or the commit broke the command.

    Args:
        red: The first run.
        base: The whole command on the base commit.
        facts: Python and recipe.
    """
    reason = why_unbuildable(red, facts) or "the command gave no verdict"
    found = Triage(kind=FailureKind.NOT_BUILDABLE, reason=reason, report=red, runs=1, red_runs=1)
    green_before = base.checked and base.report is not None and base.report.success
    if not green_before or lacks_something(red, base.files, facts):
        return found
    reason = f"{reason}; on the base commit it passes, so this commit broke it"
    return found.with_(kind=FailureKind.BUG, reason=reason, base_checked=True)


def of_a_green_run(
    first: TestReport, evidence: Evidence, facts: WorkspaceFacts, log: LogReading | None
) -> Triage:
    """Classify a failure that CI saw and the first run did not.

    Args:
        first: The green run.
        evidence: The measurements after it.
        facts: The obstacles of the recipe.
        log: CI's log as read.
    """
    runs = [first, *(run.report for run in evidence.reruns)]
    counted = Triage(kind=FailureKind.NOT_REPRODUCED, reason="", report=first, runs=len(runs))
    if evidence.red is not None:
        return _flaky(counted.with_(report=evidence.red), [*evidence.reruns], evidence)
    if (skipped := skipped_in_ci(first, log)) is not None:
        return counted.with_(kind=FailureKind.NOT_BUILDABLE, reason=skipped)
    merged = evidence.merge.report
    if evidence.merge.checked and merged is not None and not merged.success:
        names = ", ".join(sorted(merged.failing)[:5])
        reason = (
            f"green in {len(runs)} runs on the pull request's own commit, red where it is merged "
            "with its base"
        )
        notes = (f"red in the merge: {names}",) if names else ()
        return counted.with_(kind=FailureKind.MERGE_ONLY, reason=reason, notes=notes, report=merged)
    if (said := detect_ci_outage(log, series=True)) is not None:
        reason = f"{said}; here the command passed in {len(runs)} of {len(runs)} runs"
        return counted.with_(kind=FailureKind.OUTAGE, reason=reason)
    reason = f"the command passed in {len(runs)} of {len(runs)} runs on the failing commit"
    return counted.with_(reason=reason, notes=_not_reproduced(evidence, facts, log))


def of_a_red_run(
    red: TestReport,
    evidence: Evidence,
    facts: WorkspaceFacts,
    *,
    limits: Limits,
    log: LogReading | None,
) -> Triage:
    """Classify the failure by the measurements.

    Args:
        red: The first run.
        evidence: The measurements after it.
        facts: Python and recipe.
        limits: Limits, such as the share of failing tests that is an outage.
        log: CI's log as read.
    """
    counted = _count(red, evidence)
    if (outside := by_outage(red, log, share=limits.outage_share)) is not None:
        return counted.with_(kind=outside[0], reason=outside[1])
    if (missing := missing_part(red, evidence, facts, log)) is not None:
        return counted.with_(kind=FailureKind.NOT_BUILDABLE, reason=missing)
    if (slow := _too_slow(red, evidence)) is not None:
        return counted.with_(kind=FailureKind.NOT_BUILDABLE, reason=slow)
    steady = {name for name, times in counted.per_test_reds.items() if times == counted.runs}
    if not steady:
        reason = f"the same commit was red in {counted.red_runs} of {counted.runs} runs"
        return counted.with_(
            kind=FailureKind.FLAKE, reason=reason, notes=(*counted.notes, *_rate(counted))
        )
    if steady <= set(counted.base_failing):
        who = (
            "the failing test fails"
            if len(steady) == 1
            else f"all {len(steady)} failing tests fail"
        )
        return counted.with_(
            kind=FailureKind.BASE_RED, reason=f"{who} on the base commit in the same way"
        )
    return counted.with_(
        notes=_notes(counted, steady, log), kind=_kind(red, facts), reason=_bug_reason(counted)
    )


def _count(red: TestReport, evidence: Evidence) -> Triage:
    """Return the counts: runs, red runs, per test, base."""
    together = [run for run in evidence.reruns if run.whole]
    apart = [
        run
        for run in evidence.reruns
        if not run.whole and (run.report.failing or not no_verdict(run.report))
    ]
    order, notes = False, [evidence.base.note] if evidence.base.note else []
    if evidence.leaves_traces:
        # Every run in a new sandbox is red; only after another run it is green.
        runs = [run for run in (*apart, *together) if run.fresh]
        notes.append(
            "the failing tests pass where the command ran before: they depend on files outside the "
            "checkout"
        )
    elif together and apart and all(reds(run.report, red) for run in together):
        # They pass alone and fail together, every time: order dependence is a bug, not a flake.
        runs, order = together, True
        notes += _on_order(evidence)
    else:
        runs = [*apart, *together]
    again = [reds(report, red) for report in (red, *(run.report for run in runs))]
    times = Counter(name for found in again for name in found)
    base = evidence.base.report
    measured = (red, *(run.report for run in evidence.reruns), *([base] if base else ()))
    return Triage(
        kind=FailureKind.BUG,
        reason="",
        report=red,
        runs=len(again),
        red_runs=sum(bool(found) for found in again),
        per_test_reds={name: times[name] for name in sorted(list_failures(red))},
        base_failing=_failing_alike(red, base) if base and evidence.base.checked else (),
        base_checked=evidence.base.checked,
        order_dependent=order,
        neighbours=evidence.neighbours if order else (),
        leaves_traces=evidence.leaves_traces,
        longest_s=max(report.duration_s for report in measured),
        notes=tuple(notes),
    )


def _on_order(evidence: Evidence) -> list[str]:
    """Describe the findings on the order."""
    notes = [
        "the failing tests pass when they run alone: they depend on tests that run before them"
    ]
    if evidence.neighbours:
        before, victim = evidence.neighbours
        notes.append(f"order-dependent: `{victim}` fails when `{before}` runs before it")
    if any(run.report.success for run in evidence.shuffled):
        notes.append("in a random order of the tests the command passes")
    return notes


def _flaky(counted: Triage, reruns: list[Rerun], evidence: Evidence) -> Triage:
    """Describe a test that is green and red on one commit."""
    failing = evidence.red.failing if evidence.red else frozenset()
    red_runs = sum(not run.report.success for run in reruns)
    times = Counter(name for run in reruns for name in run.report.failing)
    per_test = {name: times[name] for name in sorted(failing)}
    if red_runs:
        found = counted.with_(kind=FailureKind.FLAKE, red_runs=red_runs, per_test_reds=per_test)
        reason = f"the same commit was red in {red_runs} of {counted.runs} runs"
        return found.with_(reason=reason, notes=_rate(found))
    shuffled = evidence.shuffled
    reds_in_order = sum(not run.report.success for run in shuffled)
    steady = reds_in_order == len(shuffled) > 1
    who = ", ".join(f"`{name}`" for name in sorted(failing)[:3]) or "the command"
    order = (
        "backwards"
        if shuffled[0].order == "reversed"
        else f"in another order (seed {shuffled[0].seed})"
    )
    reason = (
        f"order-dependent: {who} fails when the tests run {order}, and passed in "
        f"{counted.runs} of {counted.runs} runs in the given one"
        if steady
        else f"the same commit was red in {reds_in_order} of {counted.runs + len(shuffled)} runs"
    )
    return counted.with_(
        kind=FailureKind.FLAKE,
        reason=reason,
        order_dependent=steady,
        runs=counted.runs + len(shuffled),
        red_runs=reds_in_order,
        per_test_reds=dict.fromkeys(sorted(failing), reds_in_order),
    )


def _rate(counted: Triage) -> tuple[str, ...]:
    """Describe the failure rate, as far as few runs can show it."""
    if counted.runs < _WORTH_AN_INTERVAL:
        return ()
    low, high = interval(counted.red_runs, counted.runs)
    share = counted.red_runs / counted.runs
    between = f"with 95 % confidence between {low:.0%} and {high:.0%}"
    return (f"it fails in about {share:.0%} of runs ({between})",)


def _not_reproduced(
    evidence: Evidence, facts: WorkspaceFacts, log: LogReading | None
) -> tuple[str, ...]:
    """Return the notes for a reader who saw the failure."""
    notes = []
    if log is not None and log.failing:
        notes.append(f"CI named: {', '.join(sorted(log.failing)[:5])}")
    if evidence.merge.note:
        notes.append(evidence.merge.note)
    elif evidence.merge.checked:
        notes.append("merged with its base branch it passes too")
    if any(run.report.success for run in evidence.shuffled):
        notes.append("in a random order of the tests, and backwards, it passes too")
    return (*notes, *facts.recipe.obstacles[:3])


def _failing_alike(red: TestReport, base: TestReport) -> tuple[str, ...]:
    """Return the tests that also fail on the base commit, with the same class of error."""
    if red.traits.is_findings:
        there = {_without_line(name) for name in base.failing}
        return tuple(sorted(name for name in red.failing if _without_line(name) in there))
    here, before = ({f.name: f.error for f in r.failures} for r in (red, base))
    both = red.failing & base.failing
    if not red.failing and not base.failing and not base.success:
        return (red.target,)
    # Another class of error on the base commit is another failure.
    return tuple(
        sorted(n for n in both if None in {here.get(n), before.get(n)} or here[n] == before[n])
    )


def _without_line(name: str) -> str:
    """Return `path:line:rule` without the line, which moves between commits."""
    path, _, rest = name.partition(":")
    return f"{path}:{rest.rpartition(':')[2]}"


def _too_slow(red: TestReport, evidence: Evidence) -> str | None:
    """Describe a command that is too slow here; None otherwise.

    The time-out then hits another test each time, while a hanging test is always the same.
    """
    if red.verdict is not RunVerdict.TIMEOUT or any(f.error != "Timeout" for f in red.failures):
        return None
    again = [
        run.report
        for run in evidence.reruns
        if run.whole and run.report.verdict is RunVerdict.TIMEOUT
    ]
    if not any(report.failing and not reds(report, red) for report in again):
        return None
    return (
        f"the command does not end within {red.duration_s:.0f} s here: "
        f"{'1 test' if len(red.passing) == 1 else f'{len(red.passing)} tests'} passed by then, and "
        "another test was running each time"
    )


def _kind(red: TestReport, facts: WorkspaceFacts) -> FailureKind:
    """Return the kind: a finding of a linter or formatter, or a bug."""
    lint = facts.recipe.kind in {StepKind.LINT, StepKind.FORMAT} or red.traits.is_findings
    return FailureKind.LINT if lint else FailureKind.BUG


def _notes(counted: Triage, steady: set[str], log: LogReading | None) -> tuple[str, ...]:
    """Return the notes for a reader besides the kind."""
    notes = list(counted.notes)
    shaky = sorted(set(counted.per_test_reds) - steady)
    if shaky:
        notes.append(f"flaky, left out: {', '.join(shaky[:5])}")
    old = sorted(steady & set(counted.base_failing))
    if old:
        notes.append(
            f"{len(old)} of {len(steady)} failing tests were red on the base commit already: "
            f"{', '.join(old[:5])}"
        )
    if (
        log is not None
        and log.failing
        and not any(is_same_test(a, b) for a in log.failing for b in counted.per_test_reds)
    ):
        notes.append(
            f"CI named other failures than fail here: {', '.join(sorted(log.failing)[:5])}"
        )
    if (skipped := skipped_in_ci(counted.report, log)) is not None:
        notes.append(skipped)
    return tuple(notes)


def _bug_reason(counted: Triage) -> str:
    """Return the reason why this is worth a fix."""
    on_base = (
        "green on the base commit" if counted.base_checked else "the base commit was not checked"
    )
    if counted.base_failing:
        on_base = "partly red on the base commit"
    return f"red in {counted.red_runs} of {counted.runs} runs, {on_base}"


__all__ = ["OtherCommit", "of_a_green_run", "of_a_red_run", "without_a_verdict"]
