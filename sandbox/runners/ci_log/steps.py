"""A job's log in steps, and which of them failed."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sandbox.runners.ci_log.lines import LogLines

_SKEW = timedelta(seconds=2)
MAX_STEPS = 1000
"""A job has fewer; what comes after belongs to the last."""
WEIGHED = 20
"""Of the steps that may be the one, so many of the first and of the last are looked into."""

_GROUP = "##[group]"
_RUN = "##[group]Run "
_HOOK = "##[group]Run '/"
"""What a self-hosted runner runs around every step; it belongs to the step."""
_CONTAINER = frozenset(
    f"##[group]{title}"
    for title in ("Checking docker version", "Starting job container", "Create local container network")
)
_POST = ("Post job cleanup.", "Cleaning up orphan processes", "##[section]Finishing:")
_EXIT = re.compile(
    r"^##\[error\](?:Process completed with exit code (\d{1,9})\."
    r"|The process '.{1,300}' failed with exit code (\d{1,9})"
    r"|.{0,100} failed with exit code (\d{1,9}))"
)
_ENDED = re.compile(r"^##\[end-action id=.{1,300};outcome=failure;conclusion=(\w{1,20})")
_SETUP = "Set up job"
_SETUP_SAYS = ("Current runner version:", "##[section]Starting:", "Requested labels:", "##[group]Runner Image")
_SETUP_LINES = 60
_INITIALIZE = "Initialize containers"
_FINISH = "Complete job"


class Step(NamedTuple):
    """A part of the log that belongs to one command or action."""

    name: str
    """Empty for a step that began before the log does."""
    start: int
    end: int
    """One past its last line."""
    started_at: str = ""
    errors: int = 0
    """Lines the runner marked as errors."""
    exit_code: int | None = None
    forgiven: bool = False
    """It failed and was allowed to."""

    @property
    def failed(self) -> bool:
        """Whether the runner marked an error in it that counts."""
        return self.errors > 0 and not self.forgiven

    @property
    def own(self) -> bool:
        """Whether the workflow asked for it."""
        return self.name not in {_SETUP, _INITIALIZE, _FINISH}


class StepHint(NamedTuple):
    """What GitHub says about the failed step."""

    name: str = ""
    started_at: str = ""
    """`2026-07-30T19:16:42Z`; empty when it is not known."""
    completed_at: str = ""


def split_log(log: LogLines) -> list[Step]:
    """The steps in order."""
    texts = log.texts
    whole = any(text.startswith(_SETUP_SAYS) for text in texts[:_SETUP_LINES])
    starts = [(0, _SETUP if whole else "")]
    marks: list[list[str]] = [[]]
    for index, text in enumerate(texts):
        first = text[:1]
        if first not in {"#", "P", "C"}:
            continue
        name = _begins(text, starts[-1][1]) if len(starts) < MAX_STEPS else ""
        if name and index == 0:
            starts[0] = (0, name)
        elif name:
            starts.append((index, name))
            marks.append([])
        if first == "#" and text.startswith(("##[error]", "##[end-action")):
            marks[-1].append(text)
    ends = [*(start for start, _ in starts[1:]), len(texts)]
    return [
        _marked(Step(name, start, end, _time(log, start, end)), marked)
        for (start, name), end, marked in zip(starts, ends, marks, strict=True)
    ]


def _time(log: LogLines, start: int, end: int) -> str:
    return next((at for at in log.times[start : min(end, start + _SETUP_LINES)] if at), "")


def _begins(text: str, current: str) -> str:
    """The name of the step a line begins; empty when it begins none."""
    if text.startswith(_RUN):
        return "" if text.startswith(_HOOK) else text.removeprefix(_RUN)[:300]
    if text in _CONTAINER and current in {_SETUP, ""}:
        return _INITIALIZE
    if text.startswith(_POST) and current != _FINISH:
        return _FINISH
    return ""


def _marked(step: Step, marks: Sequence[str]) -> Step:
    errors, code, forgiven = 0, None, False
    for text in marks:
        if text.startswith("##[error]"):
            errors += 1
            match = _EXIT.match(text)
            code = int(next(part for part in match.groups() if part)) if match else code
        elif match := _ENDED.match(text):
            errors, forgiven = max(errors, 1), match.group(1) == "success"
    return step._replace(errors=errors, exit_code=code, forgiven=forgiven)


def failed_step(steps: Sequence[Step], hint: StepHint | None, weigh: Callable[[Step], int]) -> Step | None:
    """The step that made the job red.

    Args:
        steps: All of them.
        hint: What GitHub says.
        weigh: How much in a step looks like a failure, to choose among several.

    Returns:
        The step; several in one when GitHub's times span them; None when nothing failed.
    """
    known = hint or StepHint()
    inside = _within(steps, known)
    if inside:
        return inside
    titles = {known.name, known.name.removeprefix("Run ")} - {""}
    named = [step for step in steps if step.name in titles]
    if named:
        return next((step for step in reversed(named) if step.failed), named[-1])
    red = _ends([step for step in steps if step.failed])
    if red:
        # Steps that may fail come before the one that counts, steps that clean up come after: what tells most wins.
        return max(red, key=lambda step: (step.own, weigh(step), step.start))
    weighed = [(weigh(step), step) for step in _ends([step for step in steps if step.own and not step.forgiven])]
    speaking = [(weight, step) for weight, step in weighed if weight]
    if speaking:
        return max(speaking, key=lambda pair: (pair[0], pair[1].start))[1]
    return next((step for step in steps if step.errors), None)


def _ends(steps: list[Step]) -> list[Step]:
    return steps if len(steps) <= 2 * WEIGHED else [*steps[:WEIGHED], *steps[-WEIGHED:]]


def _within(steps: Sequence[Step], hint: StepHint) -> Step | None:
    """What ran between the times GitHub tells, give or take what its clocks differ."""
    begin, end = _moment(hint.started_at, -_SKEW), _moment(hint.completed_at, _SKEW)
    if not begin or not end:
        return None
    during = [step for step in steps if step.own and begin <= step.started_at <= end]
    red = [step for step in during if step.failed]
    if red:
        return red[-1]._replace(name=hint.name or red[-1].name)
    if not during or any(step.failed for step in steps):
        return None
    return during[0]._replace(end=during[-1].end, name=hint.name or during[0].name)


def _moment(stamp: str, shift: timedelta) -> str:
    """`2026-07-30T19:16:42Z`, shifted, in the form the log's times have; empty when it is none."""
    try:
        return (datetime.fromisoformat(stamp[:19]) + shift).isoformat()[:19] if stamp else ""
    except ValueError:
        return ""
