"""The exceptions of failing tests and broken imports, as data."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from sandbox.guest.search.process.forked import Bounds, Report, collect
from sandbox.guest.search.process.limits import Limiter, TimeLimitExceeded
from sandbox.guest.search.session.collected import BrokenFile
from sandbox.guest.search.session.failures import FailureRecord, describe_exception
from sandbox.guest.search.session.harness import Runner

MOST = 12
"""Maximum number of failing tests that are run."""
ASKED_S = 1.0
MOST_CHAIN = 8


def collect_failures(
    items: Sequence[Any], failing: Sequence[int], root: str, *, wait_s: float, bounds: Bounds
) -> List[FailureRecord]:
    """Run failing tests again in a child and record their exceptions.

    Args:
        items: All items of the session.
        failing: Indexes of the failing tests.
        root: The checkout.
        wait_s: Timeout in seconds.
        bounds: Resource limits of the child.
    """

    def work(limiter: Limiter, report: Report) -> None:
        runner = Runner(items, limiter)
        for index in failing[:MOST]:
            error = catch_error(runner, index, ASKED_S)
            if error is not None and not isinstance(error, TimeLimitExceeded):
                report([index, list(describe_exception(error, error.__traceback__, root))])

    return [f for _, f in sorted(_read(collect(work, wait_s, bounds)), key=lambda pair: pair[0])]


def _read(reports: Sequence[Any]) -> Iterator[Tuple[int, FailureRecord]]:
    for report in reports:
        try:
            yield int(report[0]), FailureRecord.from_json(report[1])
        except (TypeError, ValueError, KeyError, IndexError):
            continue


def catch_error(runner: Runner, index: int, cpu_s: float) -> Optional[BaseException]:
    """Return the exception of a test, from its set-up or its call."""
    seen: List[BaseException] = []
    item = runner.items[index]

    def around(whole: Callable[[], Any]) -> None:
        try:
            whole()
        except BaseException as error:
            seen.append(error)
            raise
        # an item of unittest records its error and does not raise it
        recorded = getattr(item, "_excinfo", None)
        first: Any = recorded[0] if isinstance(recorded, list) and recorded else recorded
        if isinstance(getattr(first, "value", None), BaseException):
            seen.append(first.value)

    runner.run(index, cpu_s, around)
    return seen[0] if seen else None


def make_describer(root: str) -> Callable[[BaseException], Any]:
    """Return a function that converts an exception to JSON data."""
    return lambda error: list(describe_exception(error, error.__traceback__, root))


def describe_broken(broken: Sequence[BrokenFile], root: str) -> List[FailureRecord]:
    """Return the failures of files that could not be collected."""
    return [describe_exception(b.error, b.error.__traceback__, root) for b in broken[:MOST]]


def syntax_errors(broken: Sequence[BrokenFile]) -> List[Tuple[str, int]]:
    """Return the absolute path and line of every file that did not parse, each once."""
    found: List[Tuple[str, int]] = []
    for one in broken:
        error: Optional[BaseException] = one.error
        for _ in range(MOST_CHAIN):
            if isinstance(error, SyntaxError) and isinstance(error.filename, str):
                found.append((error.filename, int(error.lineno or 1)))
            if error is None:
                break
            error = error.__cause__ or error.__context__
    return list({path: (path, line) for path, line in reversed(found)}.values())[::-1]
