"""Trace the failing tests and a sample of the passing ones in a forked child."""

from __future__ import annotations

from contextlib import suppress
from typing import (
    Any,
    Callable,
    Dict,
    FrozenSet,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from sandbox.guest.search.locate.collection import STATEMENT_S, collect_calls
from sandbox.guest.search.locate.failure_report import FailureReport, describe_failure, is_test
from sandbox.guest.search.locate.tracers import FunctionKey, TracedFunction, Tracer, make_tracer
from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter, TimeLimitExceeded
from sandbox.guest.search.session.baseline import EditablePaths, SuiteBaseline
from sandbox.guest.search.session.harness import Runner

MOST_RED, MOST_GREEN, MOST_HUNG = 60, 60, 3
"""Maximum numbers of failing, passing and hanging tests that are traced."""
SIBLINGS, NEIGHBOURS = 16, 30
"""Maximum numbers of passing tests: other cases of a failing test, and tests in its file."""
MOST_AGAIN = 4
"""Maximum number of failing tests that run again, to find lines that run once per process."""
HUNG_S = 0.1
TRACED, AT_LEAST = 4.0, 3
"""Assumed slowdown by tracing, and minimum number of traced tests."""
DEAR_SET_UP = 40
"""Set-ups that outlive tests are traced only if the time allows this many repetitions."""
NAMES, TYPES, VALUES = 40, 4, 5
"""Maximum per function: names, types of each, values of each."""


Noted = Tuple[List[str], List[str], List[Any], List[Any]]
"""Of one name: types in failing and passing runs, small values in failing and passing runs."""


class Trace(NamedTuple):
    """The trace of one test."""

    lines: Dict[str, Set[int]]
    """Lines by path, in functions that some failing test calls."""
    functions: Dict[FunctionKey, Tuple[int, Optional[FunctionKey]]]
    """The called functions of the checkout, with depth and first caller."""
    exits: Dict[str, Set[int]]
    """Lines on which functions returned."""
    said: Optional[FailureReport]
    """Its failure, if it failed."""
    recent: Mapping[str, Mapping[int, int]] = {}
    """Age by path and line, in steps: 0 for the last step of the test that ran any line."""


class ObservedValues:
    """Types and small values of names in the traced functions.

    Args:
        recorded: The record per function and name.
    """

    def __init__(self, recorded: Dict[FunctionKey, Dict[str, Noted]]) -> None:
        self._recorded = recorded

    def types(self, path: str, first: int, last: int) -> Dict[str, Tuple[str, ...]]:
        """Return the types of each name in the functions between two lines; failing runs first."""
        names = self._names(path, first, last)
        return {
            name: tuple(dict.fromkeys([*red, *green])) for name, (red, green, _, _) in names.items()
        }

    def values(self, path: str, first: int, last: int) -> Dict[str, Tuple[Any, ...]]:
        """Return the small values (numbers, short texts, None) of each name."""
        names = self._names(path, first, last)
        return {name: (*red, *green) for name, (_, _, red, green) in names.items() if red or green}

    def failing_values(self) -> List[Any]:
        """Return the small values of names in failing runs, in any function, each once."""
        found: Dict[Tuple[str, Any], Any] = {}
        for names in self._recorded.values():
            for noted in names.values():
                found.update({(type(value).__name__, value): value for value in noted[2]})
        return list(found.values())

    def _names(self, path: str, first: int, last: int) -> Dict[str, Noted]:
        found: Dict[str, Noted] = {}
        for (where, line), names in self._recorded.items():
            if where == path and first <= line <= last:
                for name, noted in names.items():
                    found.setdefault(name, noted)
        return found


class Observations(NamedTuple):
    """Results of all traced tests."""

    tests: Dict[int, Trace]
    observed: ObservedValues
    once: FrozenSet[Tuple[str, int]] = frozenset()
    """Lines that a failing test ran only the first time: set-up that runs once per process."""
    collected: FrozenSet[Tuple[str, int]] = frozenset()
    """Lines that ran during imports, for objects that the failing tests use."""


def observe(baseline: SuiteBaseline, reach: EditablePaths, wait_s: float) -> Observations:
    """Trace the tests within a timeout, failing tests first."""
    return read(raw_observations(baseline, reach, wait_s))


def raw_observations(baseline: SuiteBaseline, reach: EditablePaths, wait_s: float) -> List[Any]:
    """Return the child's reports."""
    order = select_tests(baseline, wait_s)
    red = set(baseline.items.failing)

    def work(limiter: Limiter, report: Report) -> None:
        runner = Runner(baseline.items.all, limiter)
        runner.watch.allowance *= TRACED
        runner.watch.unseen = (
            DEAR_SET_UP * sum(baseline.set_up_s.get(i, 0.0) for i in order) > wait_s
        )
        notes: Dict[FunctionKey, Dict[str, Any]] = {}
        state = {"red": True}
        tracer = make_tracer(
            reach.relative,
            lambda entry, frame: _note(notes, entry, frame, red=state["red"]),
            lambda name: is_test(name, reach.relative, reach.root),
        )
        for index in order:
            state["red"] = index in red
            told = _TestTracer(
                tracer, reach, baseline.items.all[index], red=index in red or baseline.isolated
            )
            outcome = runner.run(index, _limit(baseline, index, red), told.around)
            of_failing = [told.said, tracer.recent()] if index in red else [None, {}]
            report(["test", index, outcome, *_entries(tracer.called()), *of_failing])
        for index in (
            []
            if baseline.isolated
            else [i for i in order if i in red and i not in baseline.hung][:MOST_AGAIN]
        ):
            told = _TestTracer(tracer, reach, baseline.items.all[index], red=True)
            runner.run(index, _limit(baseline, index, red), told.around)
            report(["again", index, _entries(tracer.called())[1]])
        for call in collect_calls([baseline.items.all[i] for i in baseline.items.failing]):
            limiter.arm(STATEMENT_S)
            with suppress(
                BaseException
            ):  # repository code; the events before the error were recorded
                tracer.run(call, red=True)
            limiter.disarm()
            report(["collected", _entries(tracer.called())[1]])
        report(["names", [[list(key), names] for key, names in notes.items()]])

    return collect(work, wait_s)


def read(reports: Sequence[Any]) -> Observations:
    """Parse the child's reports."""
    tests: Dict[int, Trace] = {}
    names: Dict[FunctionKey, Any] = {}
    once: Set[Tuple[str, int]] = set()
    collected: Set[Tuple[str, int]] = set()
    for told in reports:
        if told[0] == "names":
            names = {(key[0], key[1]): {n: tuple(v) for n, v in of.items()} for key, of in told[1]}
        elif told[0] == "again":
            before, now = tests[told[1]].lines, told[2]
            once.update(
                (path, line)
                for path, lines in before.items()
                for line in lines.difference(now.get(path, ()))
            )
        elif told[0] == "collected":
            collected.update((path, line) for path, lines in told[1].items() for line in lines)
        else:
            tests[told[1]] = _parse_trace(told)
    return Observations(tests, ObservedValues(names), frozenset(once), frozenset(collected))


def _limit(baseline: SuiteBaseline, index: int, red: Set[int]) -> float:
    if index in baseline.hung:
        return HUNG_S
    usual = baseline.seconds.get(index, 1.0)
    return min(0.15 + 6 * usual, 6.0 if index in red else 1.0)


def select_tests(baseline: SuiteBaseline, wait_s: float = 60.0) -> List[int]:
    """Return the tests to trace: failing ones, then passing ones most similar to a failing one.

    Args:
        baseline: The reproduced suite.
        wait_s: Timeout for all tests; at most half of it is for failing tests.
    """
    hung = sorted(baseline.hung)[:MOST_HUNG]
    failing = [i for i in baseline.items.failing if i not in baseline.hung][:MOST_RED]
    failing = _affordable(failing, baseline, 0.5 * wait_s)
    passing = _affordable(_sample(baseline, failing or hung), baseline, 0.4 * wait_s)
    # A test that hangs goes last, so that its leftovers affect no other test.
    return sorted([*failing, *passing, *hung]) if baseline.isolated else [*failing, *passing, *hung]


def _affordable(tests: Sequence[int], baseline: SuiteBaseline, budget_s: float) -> List[int]:
    """Return the first of these tests that fit into a time limit, and at least a few."""
    chosen: List[int] = []
    spent = 0.0
    for index in tests:
        spent += TRACED * baseline.seconds.get(index, 1.0)
        if spent > budget_s and len(chosen) >= AT_LEAST:
            break
        chosen.append(index)
    return chosen


def _sample(baseline: SuiteBaseline, failing: Sequence[int]) -> List[int]:
    names = baseline.items.names
    shapes = dict.fromkeys(names[i].partition("[")[0] for i in failing)
    files = dict.fromkeys(names[i].partition("::")[0] for i in failing)
    quick = [i for i in baseline.items.passing if baseline.seconds.get(i, 9.9) < 0.5]
    siblings = _near(failing, [i for i in quick if names[i].partition("[")[0] in shapes])[:SIBLINGS]
    taken = set(siblings)
    close = _near(
        failing, [i for i in quick if i not in taken and names[i].partition("::")[0] in files]
    )[:NEIGHBOURS]
    taken.update(close)
    others = [i for i in quick if i not in taken]
    room = MOST_GREEN - len(taken)
    step = max(1, len(others) // max(1, room))
    return [*siblings, *close, *others[::step][:room]]


def _near(failing: Sequence[int], tests: Sequence[int]) -> List[int]:
    """Return tests sorted by their distance from a failing one."""
    # A bound on the quadratic comparison.
    few = list(failing)[:20]
    return sorted(tests, key=lambda i: (min((abs(i - f) for f in few), default=0), i))


class _TestTracer:
    """Traces one call and reads its failure.

    Args:
        tracer: Records the events.
        reach: Decides which files count.
        item: The test.
        red: Record lines of all functions that it calls.
    """

    def __init__(self, tracer: Tracer, reach: EditablePaths, item: Any, *, red: bool) -> None:
        self._tracer = tracer
        self._reach = reach
        self._item = item
        self._red = red
        self.said: Optional[FailureReport] = None

    def around(self, call: Callable[[], Any]) -> Any:
        """Trace one call."""
        try:
            value = self._tracer.run(call, red=self._red)
        except BaseException as error:
            self._read(error)
            raise
        # An item of unittest stores its failure and does not raise it.
        for info in list(getattr(self._item, "_excinfo", None) or ())[:1]:
            self._read(getattr(info, "value", None))
        return value

    def _read(self, error: Any) -> None:
        if not self._red or not isinstance(error, BaseException):
            return
        for evaluate in (False, True):
            try:
                self.said = describe_failure(
                    error, self._tracer.editable_path, self._reach.root, evaluate=evaluate
                )
            except TimeLimitExceeded:
                return
            except Exception:  # the exception is the repository's own object
                return


def _entries(
    entries: Sequence[TracedFunction],
) -> Tuple[List[Any], Dict[str, List[int]], Dict[str, List[int]]]:
    functions: List[Any] = []
    lines: Dict[str, Set[int]] = {}
    exits: Dict[str, Set[int]] = {}
    for entry in entries:
        functions.append([entry.path, entry.code.co_firstlineno, entry.depth, entry.caller])
        if entry.lines:
            lines.setdefault(entry.path, set()).update(entry.lines)
            exits.setdefault(entry.path, set()).update(entry.exits)
    return (
        functions,
        {p: sorted(n) for p, n in lines.items()},
        {p: sorted(n) for p, n in exits.items()},
    )


def _parse_trace(told: Sequence[Any]) -> Trace:
    _, _, _, functions, lines, exits, said, recent = told
    called = {(p, first): (depth, (c[0], c[1]) if c else None) for p, first, depth, c in functions}
    return Trace(
        {path: set(numbers) for path, numbers in lines.items()},
        called,
        {path: set(numbers) for path, numbers in exits.items()},
        FailureReport.from_json(said) if said else None,
        {path: {int(line): age for line, age in ages.items()} for path, ages in recent.items()},
    )


def _note(
    notes: Dict[FunctionKey, Dict[str, Any]], entry: TracedFunction, frame: Any, *, red: bool
) -> None:
    """Record the types and small values of a frame's names."""
    names = notes.setdefault(entry.key, {})
    for name, value in list(frame.f_locals.items())[:NAMES]:
        if name not in names and len(names) >= NAMES:
            continue
        kinds, values = names.setdefault(name, ([], [], [], []))[not red :: 2]
        kind = _type_name(type(value))
        if kind not in kinds and len(kinds) < TYPES:
            kinds.append(kind)
        if _small(value) and len(values) < VALUES and not any(_same(value, old) for old in values):
            values.append(value)


def _type_name(kind: type) -> str:
    return str(type.__getattribute__(kind, "__name__"))[:60]


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _small(value: Any) -> bool:
    if value is None or type(value) is bool:
        return True
    return (type(value) is int and abs(value) < 1_000_000) or (
        type(value) is str and len(value) <= 40
    )
