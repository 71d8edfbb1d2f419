"""Split a job log into steps, with the command and the runner's marks of each."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from sandbox.runners.ci_log.lines import LogLines

MAX_STEPS = 1000
"""Limit of steps; everything after it belongs to the last one."""
SCRIPT_LINES = 60
"""Number of lines below a heading that are searched for the end of the step's script."""

_LAST_LINES = 20
"""Number of lines at the end of a step that are searched for an error mark."""
_RUN = "##[group]Run "
_HOOK = "##[group]Run '/"
"""Hooks that a self-hosted runner runs around every step belong to the step."""
_CONTAINER = frozenset(
    f"##[group]{title}"
    for title in (
        "Checking docker version",
        "Starting job container",
        "Create local container network",
    )
)
_POST = ("Post job cleanup.", "Cleaning up orphan processes", "##[section]Finishing:")
_EXIT = re.compile(
    r"^##\[error\](?:Process completed with exit code (\d{1,9})\."
    r"|The process '.{1,300}' failed with exit code (\d{1,9})"
    r"|.{0,100} failed with exit code (\d{1,9}))"
)
_ENDED = re.compile(r"^##\[end-action id=.{1,300};outcome=failure;conclusion=(\w{1,20})")
SETUP = "Set up job"
_SETUP_SAYS = (
    "Current runner version:",
    "##[section]Starting:",
    "Requested labels:",
    "##[group]Runner Image",
)
_SETUP_LINES = 60
_INITIALIZE = "Initialize containers"
FINISH = "Complete job"


class LogStep(NamedTuple):
    """A part of the log that belongs to one command or action."""

    name: str
    """Empty for a step that began before the log does."""
    start: int
    end: int
    """One past its last line."""
    started_at: str = ""
    errors: int = 0
    """Number of lines that the runner marked as errors."""
    exit_code: int | None = None
    stopped: bool = False
    """An error mark is its last line."""
    forgiven: bool = False
    """It failed and was allowed to (`continue-on-error`)."""
    script: tuple[str, ...] = ()
    """The lines of its script; empty for an action."""

    @property
    def failed(self) -> bool:
        """Return True if the runner marked an error in it that counts."""
        return self.errors > 0 and not self.forgiven

    @property
    def own(self) -> bool:
        """Return True if the step is part of the workflow, and not one of the runner's own."""
        return self.name not in {SETUP, _INITIALIZE, FINISH}


def split_log(log: LogLines) -> list[LogStep]:
    """Return the steps in order."""
    texts = log.texts
    whole = any(text.startswith(_SETUP_SAYS) for text in texts[:_SETUP_LINES])
    starts = [(0, SETUP if whole else "")]
    marks: list[list[str]] = [[]]
    for index, text in enumerate(texts):
        first = text[:1]
        # Every mark starts with one of these letters; this skips most lines early.
        if first not in {"#", "P", "C"}:
            continue
        name = _step_name(text, starts[-1][1]) if len(starts) < MAX_STEPS else ""
        if name and index == 0:
            starts[0] = (0, name)
        elif name:
            starts.append((index, name))
            marks.append([])
        if first == "#" and text.startswith(("##[error]", "##[end-action")):
            marks[-1].append(text)
    ends = [*(start for start, _ in starts[1:]), len(texts)]
    return [
        _with_marks(_step(log, name, start, end), marked)
        for (start, name), end, marked in zip(starts, ends, marks, strict=True)
    ]


def _step(log: LogLines, name: str, start: int, end: int) -> LogStep:
    """Return a step without its marks."""
    last = next(
        (
            text
            for text in reversed(log.texts[max(start, end - _LAST_LINES) : end])
            if _is_content(text)
        ),
        "",
    )
    stopped = last.startswith("##[error]")
    return LogStep(
        name,
        start,
        end,
        _time(log, start, end),
        stopped=stopped,
        script=_script(log.texts, start, end),
    )


def _is_content(text: str) -> bool:
    """Return False for blank lines and the runner's notes about actions."""
    return bool(text) and not text.startswith(("##[end-action", "##[start-action"))


def _time(log: LogLines, start: int, end: int) -> str:
    return next((at for at in log.times[start : min(end, start + _SETUP_LINES)] if at), "")


def _script(texts: Sequence[str], start: int, end: int) -> tuple[str, ...]:
    """Return the lines of a step's script; empty for an action."""
    if not texts[start].startswith(_RUN):
        return ()
    below = texts[start + 1 : min(end, start + SCRIPT_LINES)]
    for index, text in enumerate(below):
        if text.startswith("##["):
            break
        if text.startswith("shell: "):
            return tuple(below[:index])
    return ()


def _step_name(text: str, current: str) -> str:
    """Return the name of the step that a line begins; empty if it begins none."""
    if text.startswith(_RUN):
        return "" if text.startswith(_HOOK) else text.removeprefix(_RUN)[:300]
    if text in _CONTAINER and current in {SETUP, ""}:
        return _INITIALIZE
    if text.startswith(_POST) and current != FINISH:
        return FINISH
    return ""


def _with_marks(step: LogStep, marks: Sequence[str]) -> LogStep:
    errors, code, forgiven = 0, None, False
    for text in marks:
        if text.startswith("##[error]"):
            errors += 1
            match = _EXIT.match(text)
            code = int(next(part for part in match.groups() if part)) if match else code
        elif match := _ENDED.match(text):
            errors, forgiven = max(errors, 1), match.group(1) == "success"
    return step._replace(errors=errors, exit_code=code, forgiven=forgiven)
