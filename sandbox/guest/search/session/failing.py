"""What failing tests and broken imports died of, as data."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from sandbox.guest.search.process.forked import Bounds, Report, collect
from sandbox.guest.search.process.limits import Limiter, TimeUp
from sandbox.guest.search.session.collected import Broken
from sandbox.guest.search.session.failures import Failure, failure_of
from sandbox.guest.search.session.harness import Runner

MOST = 12
"""How many failing tests are asked."""
ASKED_S = 1.0
MOST_CHAIN = 8


def failures_of(
    items: Sequence[Any], failing: Sequence[int], root: str, *, wait_s: float, bounds: Bounds
) -> List[Failure]:
    """Run failing tests once more in a child, each until it raises.

    Args:
        items: All items of the session.
        failing: Which of them.
        root: The checkout.
        wait_s: How long this may take.
        bounds: What the child may use.
    """

    def work(limiter: Limiter, report: Report) -> None:
        runner = Runner(items, limiter)
        for index in failing[:MOST]:
            error = raised(runner, index, ASKED_S)
            if error is not None and not isinstance(error, TimeUp):
                report([index, list(failure_of(error, error.__traceback__, root))])

    return [f for _, f in sorted(_read(collect(work, wait_s, bounds)), key=lambda pair: pair[0])]


def _read(reports: Sequence[Any]) -> Iterator[Tuple[int, Failure]]:
    for report in reports:
        try:
            yield int(report[0]), Failure.from_json(report[1])
        except (TypeError, ValueError, KeyError, IndexError):
            continue


def raised(runner: Runner, index: int, cpu_s: float) -> Optional[BaseException]:
    """What a test raises, in its set-up or in itself."""
    seen: List[BaseException] = []
    item = runner.items[index]

    def around(whole: Callable[[], Any]) -> None:
        try:
            whole()
        except BaseException as error:
            seen.append(error)
            raise
        recorded = getattr(item, "_excinfo", None)  # of an item of unittest, which does not raise
        first: Any = recorded[0] if isinstance(recorded, list) and recorded else recorded
        if isinstance(getattr(first, "value", None), BaseException):
            seen.append(first.value)

    runner.run(index, cpu_s, around)
    return seen[0] if seen else None


def told(root: str) -> Callable[[BaseException], Any]:
    """A function that makes JSON of an exception."""
    return lambda error: list(failure_of(error, error.__traceback__, root))


def failures_of_broken(broken: Sequence[Broken], root: str) -> List[Failure]:
    """The same for what could not be collected."""
    return [failure_of(b.error, b.error.__traceback__, root) for b in broken[:MOST]]


def syntax_errors(broken: Sequence[Broken]) -> List[Tuple[str, int]]:
    """Absolute path and line of every file that did not parse, each once."""
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
