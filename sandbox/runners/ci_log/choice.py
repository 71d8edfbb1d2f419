"""Select the step that made a job red, from the runner's marks, GitHub's times and the output."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sandbox.runners.ci_log.aftermath import is_aftermath
from sandbox.runners.ci_log.steps import FINISH, SETUP, LogStep

_SKEW = timedelta(seconds=2)
"""GitHub's times are whole seconds, and the first line of a step can be late."""
WEIGHED = 20
"""Number of candidate steps at the start and at the end that are examined."""


class StepHint(NamedTuple):
    """The failed step as GitHub describes it."""

    name: str = ""
    started_at: str = ""
    """`2026-07-30T19:16:42Z`; empty if unknown."""
    completed_at: str = ""


class _Run(NamedTuple):
    """A step with its times in the log, in whole seconds."""

    step: LogStep
    begin: datetime
    end: datetime | None


Weigh = Callable[[LogStep], int]


def failed_step(steps: Sequence[LogStep], hint: StepHint | None, weigh: Weigh) -> LogStep | None:
    """Return the step that made the job red.

    Args:
        steps: All steps.
        hint: GitHub's description of the failed step.
        weigh: Returns how much of a step looks like a failure, to choose if the runner marked none.

    Returns:
        The step, or several merged into one if GitHub's times span them; None if nothing failed.
    """
    known = hint or StepHint()
    # GitHub's times are the best evidence. Names and marks are fallbacks.
    timed = _by_time(steps, known)
    if timed:
        return timed
    titles = _titles(known)
    named = [step for step in steps if step.name in titles]
    if named:
        return next((step for step in named if step.failed), named[-1])
    red = [step for step in steps if step.failed]
    return _first_cause(red) if red else _choose_unmarked(steps, weigh)


def gated_step(steps: Sequence[LogStep], gate: LogStep) -> LogStep | None:
    """Return the nearest step with an error before a gate, which only forwards a failure."""
    before = [
        step
        for step in steps
        if step.end <= gate.start and step.own and step.errors and not is_aftermath(step)
    ]
    return before[-1] if before else None


def _titles(hint: StepHint) -> set[str]:
    """Return the possible headings of a step with that name."""
    return {hint.name, hint.name.removeprefix("Run ")} - {""}


def _first_cause(red: Sequence[LogStep]) -> LogStep:
    """Return the first of the red steps that is not aftermath.

    Only cleanup and unconditional steps run after the first failure. The amount of output is no
    criterion: a dump of old logs prints more than the cause does. A step can print an error and
    succeed; a failing step ends with the error.
    """
    return max(red, key=lambda step: (step.own, not is_aftermath(step), step.stopped, -step.start))


def _choose_unmarked(steps: Sequence[LogStep], weigh: Weigh) -> LogStep | None:
    """Return the step whose output shows a failure although the runner marked none."""
    own = [step for step in steps if step.own and not step.forgiven]
    weighed = [(not is_aftermath(step), weigh(step), step.start, step) for step in _ends(own)]
    speaking = [entry for entry in weighed if entry[1]]
    if speaking:
        return max(speaking)[-1]
    marked = next((step for step in steps if step.errors), None)
    whole = steps[0].name == SETUP and steps[-1].name == FINISH
    if marked or whole or not weighed:
        return marked
    # A log without its beginning or end is a part of one: it stopped at its last real work.
    return max((works, start, step) for works, _, start, step in weighed)[-1]


def _ends(steps: Sequence[LogStep]) -> Sequence[LogStep]:
    return steps if len(steps) <= 2 * WEIGHED else [*steps[:WEIGHED], *steps[-WEIGHED:]]


def _by_time(steps: Sequence[LogStep], hint: StepHint) -> LogStep | None:
    """Return the step that ran between GitHub's times.

    A neighbour only counts if no red step began between them.
    """
    begin, end = _parse_time(hint.started_at), _parse_time(hint.completed_at)
    if begin is None or end is None:
        return None
    near = [
        run for run in _runs(steps) if run.step.own and begin - _SKEW <= run.begin <= end + _SKEW
    ]
    inside = [run.step for run in near if _between(run, begin, end)]
    titles = _titles(hint)
    named = [run.step for run in near if run.step.failed and run.step.name in titles]
    red = named or [step for step in inside if step.failed]
    beside = [(abs(run.begin - begin), run.step.start, run.step) for run in near if run.step.failed]
    if red or beside:
        found = _first_cause(red) if red else min(beside)[-1]
        return found._replace(name=hint.name or found.name)
    during = inside or [run.step for run in near]
    if not during or any(step.failed for step in steps):
        return None
    return during[0]._replace(end=during[-1].end, name=hint.name or during[0].name)


def _runs(steps: Sequence[LogStep]) -> list[_Run]:
    """Return the steps with a known time; each ends when the next begins."""
    timed = [(step, begin) for step in steps if (begin := _parse_time(step.started_at)) is not None]
    ends = [*(begin for _, begin in timed[1:]), None]
    return [_Run(step, begin, end) for (step, begin), end in zip(timed, ends, strict=True)]


def _between(run: _Run, begin: datetime, end: datetime) -> bool:
    """Return True if a step began between GitHub's times, which are truncated to whole seconds.

    A step that begins in the last second is the next one, and one that ends in the first second is
    the previous one, unless everything happened within one second.
    """
    if begin == end:
        return run.begin == begin
    return begin <= run.begin < end and (run.end is None or run.end > begin)


def _parse_time(stamp: str) -> datetime | None:
    """Parse a timestamp to the second; return None if it is malformed."""
    try:
        return datetime.fromisoformat(stamp[:19]) if stamp else None
    except ValueError:
        return None
