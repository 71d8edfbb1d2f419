"""A job's log in steps: where each begins, what it ran, and what the runner marked in it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from sandbox.runners.ci_log.lines import LogLines

MAX_STEPS = 1000
"""A job has fewer; what comes after belongs to the last."""
SCRIPT_LINES = 60
"""Lines below a headline that are searched for the end of the step's script."""

_LAST_LINES = 20
"""Lines at the end of a step that are searched for its last word."""
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
SETUP = "Set up job"
_SETUP_SAYS = ("Current runner version:", "##[section]Starting:", "Requested labels:", "##[group]Runner Image")
_SETUP_LINES = 60
_INITIALIZE = "Initialize containers"
FINISH = "Complete job"


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
    stopped: bool = False
    """An error mark is the last line of it."""
    forgiven: bool = False
    """It failed and was allowed to."""
    script: tuple[str, ...] = ()
    """The lines that the runner was asked to run; empty for an action."""

    @property
    def failed(self) -> bool:
        """Return whether the runner marked an error in it that counts."""
        return self.errors > 0 and not self.forgiven

    @property
    def own(self) -> bool:
        """Return whether the workflow asked for it."""
        return self.name not in {SETUP, _INITIALIZE, FINISH}


def split_log(log: LogLines) -> list[Step]:
    """The steps in order."""
    texts = log.texts
    whole = any(text.startswith(_SETUP_SAYS) for text in texts[:_SETUP_LINES])
    starts = [(0, SETUP if whole else "")]
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
        _marked(_step(log, name, start, end), marked)
        for (start, name), end, marked in zip(starts, ends, marks, strict=True)
    ]


def _step(log: LogLines, name: str, start: int, end: int) -> Step:
    """Return a step without its marks."""
    last = next((text for text in reversed(log.texts[max(start, end - _LAST_LINES) : end]) if _counts(text)), "")
    stopped = last.startswith("##[error]")
    return Step(name, start, end, _time(log, start, end), stopped=stopped, script=_script(log.texts, start, end))


def _counts(text: str) -> bool:
    """Return whether a line is more than a blank or the runner's note about an action."""
    return bool(text) and not text.startswith(("##[end-action", "##[start-action"))


def _time(log: LogLines, start: int, end: int) -> str:
    return next((at for at in log.times[start : min(end, start + _SETUP_LINES)] if at), "")


def _script(texts: Sequence[str], start: int, end: int) -> tuple[str, ...]:
    """Return the lines between a headline and the runner's line about the shell; an action has inputs instead."""
    if not texts[start].startswith(_RUN):
        return ()
    below = texts[start + 1 : min(end, start + SCRIPT_LINES)]
    for index, text in enumerate(below):
        if text.startswith("##["):
            break
        if text.startswith("shell: "):
            return tuple(below[:index])
    return ()


def _begins(text: str, current: str) -> str:
    """The name of the step a line begins; empty when it begins none."""
    if text.startswith(_RUN):
        return "" if text.startswith(_HOOK) else text.removeprefix(_RUN)[:300]
    if text in _CONTAINER and current in {SETUP, ""}:
        return _INITIALIZE
    if text.startswith(_POST) and current != FINISH:
        return FINISH
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
