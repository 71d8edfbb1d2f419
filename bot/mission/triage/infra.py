"""Detect outages by CI's own log or by the errors of nearly every test. Pure."""

import re

from bot.domain.diagnosis import FailureKind
from bot.mission.failures.signatures import NO_NETWORK, first_match, join_text, outage
from sandbox.types import LogReading, LogSignal, TestReport, TestResult

_WORDS = {
    LogSignal.RUNNER_LOST: "CI lost its runner",
    LogSignal.CANCELLED: "the job was cancelled",
    LogSignal.TIMED_OUT: "the job took longer in CI than it may",
    LogSignal.DISK_FULL: "CI's disk was full",
    LogSignal.OUT_OF_MEMORY: "CI ran out of memory",
    LogSignal.RATE_LIMITED: "something outside limited CI's rate",
    LogSignal.NETWORK: "CI had trouble with the network",
    LogSignal.REGISTRY: "an image, a package or an artifact was not where CI looked for it",
    LogSignal.CREDENTIALS: "something outside refused to let CI in",
}
_MAY_BE_THE_CODE = frozenset({LogSignal.TIMED_OUT, LogSignal.OUT_OF_MEMORY})
"""Signals that tests can cause too; they count only with a green series here."""
_OUTSIDE = frozenset(
    {
        LogSignal.NETWORK,
        LogSignal.REGISTRY,
        LogSignal.RATE_LIMITED,
        LogSignal.CREDENTIALS,
        LogSignal.RUNNER_LOST,
    }
)
"""Signals of a job that could not fetch something."""
_HOST = re.compile(
    r"host='([\w.-]{1,100})'|resolve host:? '?([\w.-]{1,100})|https?://([\w.-]{1,100})"
)
_PLACE = re.compile(
    r"^(?P<short>[^\s:\"]+\.py):\d+: |File \"(?P<native>[^\"]+)\", line \d+", re.MULTILINE
)


def detect_ci_outage(log: LogReading | None, *, series: bool) -> str | None:
    """Return the outage that CI's log reports; None if it names failures, or no outage.

    Args:
        log: The log as read.
        series: A series of runs here was green, which rules out the code itself.
    """
    # A failure with another message is one of the code, even if the log shows an outage too.
    if log is None or any(first_match(NO_NETWORK, join_text(f)) is None for f in log.failures):
        return None
    signals = [s for s in log.signals if series or s not in _MAY_BE_THE_CODE]
    if not signals and log.failures:
        return (
            f"{_WORDS[LogSignal.NETWORK]}: `{first_match(NO_NETWORK, join_text(log.failures[0]))}`"
        )
    return _join_messages(log, signals[0]) if signals else None


def could_not_fetch(log: LogReading | None) -> str | None:
    """Return the reason why CI could not set the job up either, if its log has one.

    Args:
        log: The log as read.
    """
    signals = [s for s in log.signals if s in _OUTSIDE] if log and not log.failures else []
    return _join_messages(log, signals[0]) if log and signals else None


def by_outage(
    red: TestReport, log: LogReading | None, *, share: float
) -> tuple[FailureKind, str] | None:
    """Return the kind of failure and its reason if every failure comes from outside; else None.

    No sandbox has a network. A test that failed to connect is no sign of an outage in CI, unless
    CI's own log reports one.

    Args:
        red: The red run.
        log: CI's log as read.
        share: Minimum share of failing tests for weak signs.
    """
    if red.failures and all(_wants_network(failure) for failure in red.failures):
        if (said := detect_ci_outage(log, series=False)) is not None:
            return FailureKind.OUTAGE, said
        return FailureKind.NOT_BUILDABLE, _needs_network(red)
    sign = outage(red, share=share)
    if sign is None:
        return None
    failing = (
        f"all {len(red.failing)} failing tests" if len(red.failing) > 1 else "the failing test"
    )
    failing = failing if red.failing else "the command"
    return FailureKind.OUTAGE, f"{failing} could not reach something outside: {sign}"


def _join_messages(log: LogReading, signal: LogSignal) -> str:
    line = " ".join(log.signs.get(signal, "").split())[:200]
    return f"{_WORDS[signal]}: `{line}`" if line else _WORDS[signal]


def _wants_network(failure: TestResult) -> bool:
    """Return True if the system refused a network to a test, rather than the test reporting it."""
    if failure.error == "AssertionError" or first_match(NO_NETWORK, join_text(failure)) is None:
        return False
    places = [
        match["short"] or match["native"] for match in _PLACE.finditer(failure.traceback or "")
    ]
    # The last frame is where it was raised: in the test file, the test only says so.
    return not places or not f"/{places[-1]}".endswith(f"/{failure.file}")


def _needs_network(red: TestReport) -> str:
    """Describe the network that is needed."""
    hosts = dict.fromkeys(
        host
        for f in red.failures
        for found in _HOST.findall(join_text(f))
        for host in found
        if host
    )
    where = f" ({', '.join(f'`{host}`' for host in list(hosts)[:3])})" if hosts else ""
    sign = next(filter(None, (first_match(NO_NETWORK, join_text(f)) for f in red.failures)), "")
    who = (
        "the failing test needs"
        if len(red.failing) == 1
        else f"all {len(red.failing)} failing tests need"
    )
    return f"{who} the network{where}, and the sandbox has none: {sign}"
