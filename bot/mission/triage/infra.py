"""Outages: told by CI's own log, or by what nearly every test says; and what only looks like one in a sandbox. Pure."""

import re

from bot.domain.diagnosis import FailureKind
from bot.mission.signatures import NO_NETWORK, first_match, outage, text_of
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
"""A test can do these too: only a green series here makes an outage of them."""
_OUTSIDE = frozenset(
    {LogSignal.NETWORK, LogSignal.REGISTRY, LogSignal.RATE_LIMITED, LogSignal.CREDENTIALS, LogSignal.RUNNER_LOST}
)
"""What keeps a job from fetching something."""
_HOST = re.compile(r"host='([\w.-]{1,100})'|resolve host:? '?([\w.-]{1,100})|https?://([\w.-]{1,100})")
_PLACE = re.compile(r"^(?P<short>[^\s:\"]+\.py):\d+: |File \"(?P<native>[^\"]+)\", line \d+", re.MULTILINE)


def told_by_ci(log: LogReading | None, *, series: bool) -> str | None:
    """Why CI's log speaks of an outage and of nothing else; None when it names failures, or says nothing of it.

    Args:
        log: What the log says.
        series: Whether a series of runs here was green, so that what the code may do itself is ruled out too.
    """
    if log is None or any(first_match(NO_NETWORK, text_of(f)) is None for f in log.failures):
        return None
    signals = [s for s in log.signals if series or s not in _MAY_BE_THE_CODE]
    if not signals and log.failures:
        return f"{_WORDS[LogSignal.NETWORK]}: `{first_match(NO_NETWORK, text_of(log.failures[0]))}`"
    return _said(log, signals[0]) if signals else None


def could_not_fetch(log: LogReading | None) -> str | None:
    """Why CI could not set the job up either, where its log says so.

    Args:
        log: What the log says.
    """
    signals = [s for s in log.signals if s in _OUTSIDE] if log and not log.failures else []
    return _said(log, signals[0]) if log and signals else None


def by_outage(red: TestReport, log: LogReading | None, *, share: float) -> tuple[FailureKind, str] | None:
    """What kind of failure it is when every failing test could not reach something, and why; else None.

    Nothing in the sandbox has a network. A test that asked the system for it and did not get it says nothing about
    an outage in CI, unless CI's own log does.

    Args:
        red: The red run.
        log: What CI's log says.
        share: From which share of failing tests on weak signs count.
    """
    if red.failures and all(_wants_network(failure) for failure in red.failures):
        if (said := told_by_ci(log, series=False)) is not None:
            return FailureKind.OUTAGE, said
        return FailureKind.NOT_BUILDABLE, _needs_network(red)
    sign = outage(red, share=share)
    if sign is None:
        return None
    failing = f"all {len(red.failing)} failing tests" if len(red.failing) > 1 else "the failing test"
    failing = failing if red.failing else "the command"
    return FailureKind.OUTAGE, f"{failing} could not reach something outside: {sign}"


def _said(log: LogReading, signal: LogSignal) -> str:
    line = " ".join(log.signs.get(signal, "").split())[:200]
    return f"{_WORDS[signal]}: `{line}`" if line else _WORDS[signal]


def _wants_network(failure: TestResult) -> bool:
    """Whether a test asked the system for the network, as opposed to saying so itself."""
    if failure.error == "AssertionError" or first_match(NO_NETWORK, text_of(failure)) is None:
        return False
    places = [match["short"] or match["native"] for match in _PLACE.finditer(failure.traceback or "")]
    return not places or not f"/{places[-1]}".endswith(f"/{failure.file}")


def _needs_network(red: TestReport) -> str:
    """Which network, in a sentence."""
    hosts = dict.fromkeys(host for f in red.failures for found in _HOST.findall(text_of(f)) for host in found if host)
    where = f" ({', '.join(f'`{host}`' for host in list(hosts)[:3])})" if hosts else ""
    sign = next(filter(None, (first_match(NO_NETWORK, text_of(f)) for f in red.failures)), "")
    who = "the failing test needs" if len(red.failing) == 1 else f"all {len(red.failing)} failing tests need"
    return f"{who} the network{where}, and the sandbox has none: {sign}"
