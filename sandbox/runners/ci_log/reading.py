"""Parse a job's log into a redacted LogReading: step, failures, signals and excerpt."""

from collections.abc import Sequence

from sandbox.gate import Needles, clean, prepare_needles
from sandbox.runners.ci_log.choice import StepHint, failed_step, gated_step
from sandbox.runners.ci_log.excerpt import excerpt
from sandbox.runners.ci_log.lines import log_lines
from sandbox.runners.ci_log.signals import find_signals
from sandbox.runners.ci_log.steps import LogStep, split_log
from sandbox.runners.findings import CheckoutPaths, as_results
from sandbox.runners.matchers import EVERY
from sandbox.runners.matchers.engine import match_lines
from sandbox.runners.printed import read_test_lines
from sandbox.runners.printed.error_line import best_error, find_errors, is_exit_mark
from sandbox.types import FAILURES_IN_FULL, LogReading, TestResult

MAX_FAILURES = 200
STEP_HEAD = 1000
STEP_TAIL = 5000
"""Number of lines at the start and end of the failed step that are searched for failures."""
FIELD_CHARACTERS = 2000
MOST_WEIGHT = 9
_GATE_LINES = 3
"""Maximum number of lines of a step that only forwards an earlier failure."""
_MARKS = 500
_WEIGHED = 1500
"""Number of lines of a step that are read to compare it with others."""


def read_log(
    log: str, *, hint: StepHint | None = None, secrets: Sequence[str] | Needles = ()
) -> LogReading:
    """Parse a CI job's log. Linear in its length, bounded in every field, redacted.

    Args:
        log: The raw log; untrusted.
        hint: GitHub's description of the failed step.
        secrets: Values to mask.
    """
    lines = log_lines(log)
    texts = lines.texts
    steps = split_log(lines)
    step = failed_step(steps, hint, lambda step: _weight(step, texts))
    if step is None or not any(text.strip() for text in texts[step.start : step.end]):
        return LogReading()
    own = _own_lines(texts[step.start : step.end])
    headline = texts[step.start].removeprefix("##[group]Run ")
    before = gated_step(steps, step) if _is_gate(own) else None
    earlier = _own_lines(texts[before.start : before.end]) if before else []
    reading = _read_step(step, own, headline if headline != texts[step.start] else "", earlier)
    # The runner's messages about the whole job are outside of every step.
    marks = [text for text in texts if text.startswith("##[error]")][-_MARKS:]
    signs = find_signals(own, marks if step.failed or step.exit_code is None else ())
    return _redact(reading.with_(signals=tuple(signs), signs=signs), secrets)


def _own_lines(lines: list[str]) -> list[str]:
    """Return a step's lines without the heading that repeats its command and variables."""
    if lines and lines[0].startswith("##[group]Run "):
        end = next((index for index, line in enumerate(lines[:2000]) if line == "##[endgroup]"), 0)
        lines = lines[end + 1 :]
    if len(lines) > STEP_HEAD + STEP_TAIL:
        lines = [*lines[:STEP_HEAD], *lines[-STEP_TAIL:]]
    return lines


def _is_gate(lines: Sequence[str]) -> bool:
    """Return True if a step only fails because of an earlier one: it prints no error."""
    printed = [line for line in lines if line.strip() and not is_exit_mark(line)]
    return len(printed) <= _GATE_LINES and not any(plain for _, plain in find_errors(printed))


def _weight(step: LogStep, texts: list[str]) -> int:
    """Return how much of a step looks like a failure, up to a limit."""
    weight = 0
    lines = _own_lines(texts[step.start : step.end])[-_WEIGHED:]
    for index, plain in find_errors(lines):
        weight += 0 if is_exit_mark(lines[index]) else 3 if plain else 1
        if weight >= MOST_WEIGHT:
            break
    return weight


def _read_step(step: LogStep, own: list[str], command: str, earlier: list[str]) -> LogReading:
    """Parse the lines of a step.

    Args:
        step: The failed step.
        own: Its lines.
        command: The first line of its command.
        earlier: Lines of the step it is a gate for. They are shown first, and parsed if the gate
            prints nothing.
    """
    prints = any(line.strip() and not is_exit_mark(line) for line in own)
    lines = own if prints else [*earlier, *own]
    failures = read_test_lines(lines, CheckoutPaths()) or as_results(match_lines(EVERY, lines))
    return LogReading(
        step=step.name or None,
        command=command,
        error=(failures[0].error_message if failures else "") or best_error(lines),
        excerpt=excerpt([*earlier, *own]),
        failures=failures[:MAX_FAILURES],
        failure_count=len(failures),
        exit_code=step.exit_code,
    )


def _redact(reading: LogReading, secrets: Sequence[str] | Needles) -> LogReading:
    needles = secrets if isinstance(secrets, Needles) else prepare_needles(secrets)

    def gate(text: str, cap: int = FIELD_CHARACTERS) -> str:
        return clean(text, cap=cap, secrets=needles)

    def failure(index: int, result: TestResult) -> TestResult:
        full = index < FAILURES_IN_FULL
        return result.with_(
            name=gate(result.name, 400),
            error_message=gate(result.error_message) if result.error_message else None,
            error=gate(result.error, 200) if result.error else None,
            file=gate(result.file, 400) if result.file else None,
            test=gate(result.test, 300) if result.test else None,
            output=gate(result.output) if full else "",
            traceback=gate(result.traceback, 6000) if full and result.traceback else None,
            frames=tuple(
                (gate(file, 400), line, gate(name, 200)) for file, line, name in result.frames
            )
            if full
            else (),
        )

    return reading.with_(
        step=gate(reading.step, 300) if reading.step else None,
        command=gate(reading.command, 300),
        error=gate(reading.error, 500),
        excerpt=gate(reading.excerpt, 16_000),
        failures=tuple(failure(index, result) for index, result in enumerate(reading.failures)),
        signs={signal: gate(line, 500) for signal, line in reading.signs.items()},
    )
