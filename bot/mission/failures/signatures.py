"""Read the environment from a run's output: outages, missing modules, aborted runs. Pure."""

import difflib
import re
import sys
from collections.abc import Collection

from bot.mission.failures.node_signatures import is_own_package, missing_package
from sandbox.types import RunVerdict, TestReport, TestResult

_STRONG = re.compile(
    r"Temporary failure in name resolution|Name or service not known|nodename nor servname"
    r"|getaddrinfo (failed|ENOTFOUND)|EAI_AGAIN|NameResolutionError|Network is unreachable"
    r"|No route to host"
    r"|Could not resolve host|No space left on device|Disk quota exceeded"
    r"|Max retries exceeded with url"
    r""
    r"|(429|500|502|503|504) "
    r"(Server Error|Service Unavailable|Bad Gateway|Gateway Time-?out|Too Many Requests)"
    r"|Could not fetch URL|toomanyrequests|TLS handshake timeout|npm ERR! network|ECONNRESET"
    r"|ETIMEDOUT",
    re.IGNORECASE,
)
"""Messages that code in a checkout never causes by itself."""
_WEAK = re.compile(
    r"Connection ?(refused|reset|timed out|aborted)|ConnectionError|ECONNREFUSED|Read timed out"
    r"|timed out while"
    r"|Remote end closed connection",
    re.IGNORECASE,
)
"""Messages that a bug can also cause (a wrong port). They count only if nearly every test fails."""
NO_NETWORK = re.compile(
    r"Temporary failure in name resolution|Name or service not known|nodename nor servname"
    r"|No address associated with hostname|getaddrinfo (failed|ENOTFOUND)|EAI_AGAIN"
    r"|NameResolutionError"
    r"|Network is unreachable|No route to host|Could not resolve host",
    re.IGNORECASE,
)
"""Messages of a host without a network: any of our sandboxes, and CI in an outage."""
NO_NETWORK_OR_SERVICE = re.compile(f"{NO_NETWORK.pattern}|{_WEAK.pattern}", re.IGNORECASE)
"""Messages of a test that could not connect to a host or to a service beside it."""
_MISSING = re.compile(r"No module named ['\"]?([A-Za-z_][\w.]*)")
_STOPPED_EARLY = re.compile(r"stopping after \d+ failures?|Interrupted: stopping", re.IGNORECASE)
NOT_THERE = frozenset({126, 127})
"""Exit statuses of a shell that finds no such command."""
_WEAK_NEEDS = 2
"""Minimum number of failing tests for a weak signature: a single test proves nothing."""


def outage(report: TestReport, *, share: float) -> str | None:
    """Return the reason why a red run looks like an outage; None if it looks like a bug.

    Args:
        report: A red run.
        share: Minimum share of failing tests for "everything fails".
    """
    if not report.failures:
        return (
            first_match(_STRONG, report.raw_output)
            if report.verdict is RunVerdict.NO_VERDICT
            else None
        )
    # A failed assertion is a verdict on the code, even if it quotes such a message.
    texts = [join_text(f) for f in report.failures if f.error != "AssertionError"]
    if len(texts) < len(report.failures):
        return None
    strong = [first_match(_STRONG, text) for text in texts]
    if all(strong):
        return strong[0]
    any_sign = [first_match(_STRONG, text) or first_match(_WEAK, text) for text in texts]
    failing = len(report.failing) / max(1, len(report.outcomes))
    if failing >= share and len(report.failing) >= _WEAK_NEEDS and all(any_sign):
        return any_sign[0]
    return None


def missing_modules(report: TestReport, files: Collection[str]) -> tuple[str, ...]:
    """Return the modules whose absence explains every failure.

    They are not in the checkout, and their names are no misspelling of one that is.

    Args:
        report: A red run.
        files: Every path of the checkout.
    """
    found = []
    texts = [join_text(f) for f in report.failures] or [report.raw_output]
    for text in texts:
        match = _MISSING.search(text)
        package = missing_package(text)
        if match is None and package is not None and not is_own_package(package, files):
            found.append(package)
            continue
        if match is None or _is_ours(match[1], files) or _looks_mistyped(match[1], files):
            return ()
        found.append(match[1].split(".")[0])
    return tuple(dict.fromkeys(found))


def stopped_early(report: TestReport) -> bool:
    """Return True if a run stopped before it had run every test."""
    return bool(_STOPPED_EARLY.search(report.raw_output)) or report.verdict in {
        RunVerdict.TIMEOUT,
        RunVerdict.OOM,
        RunVerdict.OUTPUT_LIMIT,
    }


def no_verdict(report: TestReport) -> str | None:
    """Return the reason why a red run proves nothing; None if it names its failures."""
    if report.failing or report.verdict in {RunVerdict.PASS, RunVerdict.FAIL}:
        return None
    reasons = {
        RunVerdict.TIMEOUT: (
            "the command did not end within the time limit, and no test could be named that hangs"
        ),
        RunVerdict.OOM: (
            "the command ran out of the sandbox's memory, which `sandbox.memory_bytes` limits"
        ),
        RunVerdict.OUTPUT_LIMIT: "the command printed more than the limit and was stopped",
        RunVerdict.TAMPERED: (
            "the run's records contradict each other: something in the run wrote its own result"
        ),
    }
    return reasons.get(report.verdict) or _why_nothing_ran(report)


def _why_nothing_ran(report: TestReport) -> str:
    """Describe a run without a verdict."""
    if report.exit_code in NOT_THERE:
        return (
            f"the command `{report.target}` does not exist in the environment (exit status "
            f"{report.exit_code})"
        )
    missing = _MISSING.search(report.raw_output)
    if missing:
        return (
            f"the command `{report.target}` needs the module `{missing[1]}`, which is not installed"
        )
    if package := missing_package(report.raw_output):
        return (
            f"the command `{report.target}` needs the package `{package}`, which is not installed"
        )
    if report.knows_tests and report.exit_code in {0, 5}:
        skipped = "; ".join(f"`{f}` skips itself: {w}" for f, w in report.skipped_files.items())
        return f"`{report.target}` collected no test{': ' * bool(skipped)}{skipped[:300]}"
    return f"`{report.target}` gave no verdict: {report.summary or 'no result was recorded'}"


def join_text(failure: TestResult) -> str:
    """Return all text of a failure.

    Args:
        failure: One failing test.
    """
    return "\n".join(
        part
        for part in (failure.error, failure.error_message, failure.traceback, failure.output)
        if part
    )


def first_match(pattern: re.Pattern[str], text: str) -> str | None:
    """Return the text that a signature matched.

    Args:
        pattern: The signature.
        text: The text to search.
    """
    match = pattern.search(text)
    return match[0] if match else None


def _is_ours(module: str, files: Collection[str]) -> bool:
    """Return True if the checkout has a file or folder of the module's name: then it is a bug."""
    top = module.split(".", maxsplit=1)[0]
    return any(
        top in parts[:-1] or parts[-1] in {f"{top}.py", f"{top}.pyx"}
        for parts in (f.split("/") for f in files)
    )


def _looks_mistyped(module: str, files: Collection[str]) -> bool:
    """Return True if the name is close to an existing one: a misspelled import."""
    top = module.split(".", maxsplit=1)[0]
    ours = {part.removesuffix(".py") for f in files for part in f.split("/") if f.endswith(".py")}
    return bool(
        difflib.get_close_matches(top, (ours | sys.stdlib_module_names) - {top}, n=1, cutoff=0.85)
    )
