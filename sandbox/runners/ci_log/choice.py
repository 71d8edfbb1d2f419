"""The choice of the step that made a job red, from the runner's marks, GitHub's times, and what each step says."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sandbox.runners.ci_log.aftermath import is_aftermath
from sandbox.runners.ci_log.steps import FINISH, SETUP, Step

_SKEW = timedelta(seconds=2)
"""GitHub's times are whole seconds, and a step's first line can be written late."""
WEIGHED = 20
"""Of the steps that may be the one, so many of the first and of the last are looked into."""


class StepHint(NamedTuple):
    """The failed step as GitHub describes it."""

    name: str = ""
    started_at: str = ""
    """`2026-07-30T19:16:42Z`; empty when it is not known."""
    completed_at: str = ""


class _Run(NamedTuple):
    """A step with its times in the log, in whole seconds."""

    step: Step
    begin: datetime
    end: datetime | None


Weigh = Callable[[Step], int]


def failed_step(steps: Sequence[Step], hint: StepHint | None, weigh: Weigh) -> Step | None:
    """Return the step that made the job red.

    Args:
        steps: All of them.
        hint: GitHub's description of the failed step.
        weigh: How much in a step looks like a failure, to choose where the runner marked none.

    Returns:
        The step; several in one when GitHub's times span them; None when nothing failed.
    """
    known = hint or StepHint()
    timed = _by_time(steps, known)
    if timed:
        return timed
    titles = _titles(known)
    named = [step for step in steps if step.name in titles]
    if named:
        return next((step for step in named if step.failed), named[-1])
    red = [step for step in steps if step.failed]
    return _first_cause(red) if red else _unmarked(steps, weigh)


def gated_step(steps: Sequence[Step], gate: Step) -> Step | None:
    """Return the nearest step with an error before one that only passes its failure on: it was allowed to fail."""
    before = [step for step in steps if step.end <= gate.start and step.own and step.errors and not is_aftermath(step)]
    return before[-1] if before else None


def _titles(hint: StepHint) -> set[str]:
    """Return the headlines that a step of that name may have."""
    return {hint.name, hint.name.removeprefix("Run ")} - {""}


def _first_cause(red: Sequence[Step]) -> Step:
    """Return the first of the red steps that is not aftermath.

    After the first failure only clean-up and steps that always run are left. What a step says is not compared: a dump
    of old logs says more than the cause does. A step can print an error and go well; one that fails ends with it.
    """
    return max(red, key=lambda step: (step.own, not is_aftermath(step), step.stopped, -step.start))


def _unmarked(steps: Sequence[Step], weigh: Weigh) -> Step | None:
    """Return the step that speaks of a failure though the runner marked none."""
    own = [step for step in steps if step.own and not step.forgiven]
    weighed = [(not is_aftermath(step), weigh(step), step.start, step) for step in _ends(own)]
    speaking = [entry for entry in weighed if entry[1]]
    if speaking:
        return max(speaking)[-1]
    marked = next((step for step in steps if step.errors), None)
    whole = steps[0].name == SETUP and steps[-1].name == FINISH
    if marked or whole or not weighed:
        return marked
    # A log that lacks its beginning or its end is a part of one: the last work in it is where it stopped.
    return max((works, start, step) for works, _, start, step in weighed)[-1]


def _ends(steps: Sequence[Step]) -> Sequence[Step]:
    return steps if len(steps) <= 2 * WEIGHED else [*steps[:WEIGHED], *steps[-WEIGHED:]]


def _by_time(steps: Sequence[Step], hint: StepHint) -> Step | None:
    """Return the step that ran between GitHub's times; a neighbour only when no red step began between them."""
    begin, end = _moment(hint.started_at), _moment(hint.completed_at)
    if begin is None or end is None:
        return None
    near = [run for run in _runs(steps) if run.step.own and begin - _SKEW <= run.begin <= end + _SKEW]
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


def _runs(steps: Sequence[Step]) -> list[_Run]:
    """Return the steps whose time is known; each ends when the next begins."""
    timed = [(step, begin) for step in steps if (begin := _moment(step.started_at)) is not None]
    ends = [*(begin for _, begin in timed[1:]), None]
    return [_Run(step, begin, end) for (step, begin), end in zip(timed, ends, strict=True)]


def _between(run: _Run, begin: datetime, end: datetime) -> bool:
    """Return whether a step began between GitHub's times, which are cut to whole seconds.

    What begins in the second of the end is the next step, and what ends in the second of the beginning the one before,
    unless all of it happened in that second.
    """
    if begin == end:
        return run.begin == begin
    return begin <= run.begin < end and (run.end is None or run.end > begin)


def _moment(stamp: str) -> datetime | None:
    """Return the time of a stamp to the second; None when it is none."""
    try:
        return datetime.fromisoformat(stamp[:19]) if stamp else None
    except ValueError:
        return None
