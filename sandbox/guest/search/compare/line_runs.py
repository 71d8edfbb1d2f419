"""Count how often tests run the new lines of a survivor: a line that none runs may be wrong."""

from __future__ import annotations

import dis
import inspect
import os
import sys
import types
from difflib import SequenceMatcher
from typing import Any, Dict, Iterator, List, Set, Tuple

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.patched import equal_ends
from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.threads import trace_threads
from sandbox.guest.search.session.harness import PASS, SKIP, Runner
from sandbox.guest.search.session.plans import make_plans
from sandbox.guest.search.source.functions import code_paths

ENOUGH = 2
"""Number of calls that run a line after which it is no longer counted."""
LARGE = 400_000
"""Maximum product of the line counts of two texts for which the smallest diff is computed."""
SLOWED = 5.0
"""Factor on the time limit of a traced test."""
FOR_ANNOTATIONS = ("<generic parameters", "__annotate__")
"""Prefixes of the names of code that runs only when annotations are read."""
FIELDS = ("new_lines", "unrun", "run_once")
"""Fields of a profile; see `sandbox.types.Profile`."""

FunctionLines = Dict[Tuple[str, types.CodeType], Set[int]]
"""The new lines of each function, by the name of its file and its code."""


def count_line_runs(facts: Any, one: Alternative, wait_s: float) -> Dict[str, int]:
    """Return the counts for a survivor's profile; empty if they are not certain.

    A line counts as not run only if every test that may run it passed in this process. Code that
    tests run in other processes is not seen; without any call of the edited code here, nothing is
    certain.

    Args:
        facts: What is known from the collected tests.
        one: The survivor.
        wait_s: Timeout in seconds.
    """
    # Before Python 3.10 the compiler jumps over lines such as `continue`, which then look not run.
    if facts.baseline.isolated or not hasattr(types.CodeType, "co_lines"):
        return {}

    def work(limiter: Limiter, report: Report) -> None:
        counter = LineCounter(find_new_lines(facts.root, one))
        if not counter.counts:
            return
        one.apply(facts.root)
        if _run_tests(facts, one, counter, limiter) and counter.entered:
            report(counter.summary())

    reports = collect(work, wait_s, facts.screen.bounds)
    return validate_counts(reports[-1] if reports else None)


def validate_counts(reported: Any) -> Dict[str, int]:
    """Return the counts of a child as fields; empty unless they fit: it ran untrusted code."""
    if not isinstance(reported, list) or [type(count) for count in reported] != [int] * 3:
        return {}
    new, unrun, once = reported
    fits = unrun >= 0 and once >= 0 and unrun + once <= new
    return dict(zip(FIELDS, reported)) if fits else {}


def find_new_lines(root: str, one: Alternative) -> FunctionLines:
    """Return the functions of the edited files, each with its new lines that hold code.

    Code outside functions is left out: it runs when a module is imported, with any test.

    Args:
        root: The checkout with the unedited files.
        one: The survivor.
    """
    found: FunctionLines = {}
    for path, data in one.files.items():
        filename = os.path.join(root, path)
        with open(filename, "rb") as file:
            added = added_lines(file.read(), data)
        codes = [code for _, code in one.swaps if os.path.realpath(code.co_filename) == filename]
        if not one.swaps:
            codes = [compile(data, filename, "exec", dont_inherit=True)]
        taken: Set[int] = set()
        for function in (function for code in codes for function in _functions(code)):
            # A comprehension or lambda shares lines with the function around it.
            lines = _lines_of(function) - taken
            taken |= lines
            found.setdefault((function.co_filename, function), lines & added)
    return found


def added_lines(old: bytes, new: bytes) -> Set[int]:
    """Return the numbers of the lines that a diff adds to the old text."""
    before, after = old.split(b"\n"), new.split(b"\n")
    start, end = equal_ends(before, after)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    if len(gone) * len(come) > LARGE:
        return set(range(start + 1, start + 1 + len(come)))
    steps = SequenceMatcher(None, gone, come, autojunk=False).get_opcodes()
    return {
        start + 1 + place
        for step, _, _, low, high in steps
        if step != "equal"
        for place in range(low, high)
    }


def _functions(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of each function, an outer one before those inside it."""
    for _, own in code_paths(code):
        is_function = bool(own.co_flags & inspect.CO_OPTIMIZED)
        if is_function and not own.co_name.startswith(FOR_ANNOTATIONS):
            yield own


def _lines_of(code: types.CodeType) -> Set[int]:
    """Return the lines of a function without its first one, unless that is the only one."""
    lines = {line for _, line in dis.findlinestarts(code) if line}
    return lines - {code.co_firstlineno} or lines


class LineCounter:
    """Counts the calls that run each line, up to `ENOUGH`.

    Args:
        wanted: The lines to count, by function.
    """

    def __init__(self, wanted: FunctionLines) -> None:
        self.counts = {(name, line): 0 for (name, _), lines in wanted.items() for line in lines}
        self.entered = False
        """True once one of the functions was called."""
        self._pending = {function: set(lines) for function, lines in wanted.items()}
        self._files = {name for name, _ in wanted}
        self._known: Dict[int, Any] = {}

    @property
    def is_done(self) -> bool:
        """True if every line was run often enough."""
        return not any(self._pending.values())

    def summary(self) -> List[int]:
        """Return the number of lines, of those that no call ran, and of those that one call ran."""
        counts = list(self.counts.values())
        return [len(counts), counts.count(0), counts.count(1)]

    def on_call(self, frame: Any, _event: str, _argument: Any) -> Any:
        """Trace a call if it may run lines that are counted; see `sys.settrace`."""
        code = frame.f_code
        if code.co_filename not in self._files:
            return None
        if id(code) not in self._known:
            # Hashing code is slow. It is kept alive, so that its id stays unique.
            self._known[id(code)] = (code, self._pending.get((code.co_filename, code)))
        pending = self._known[id(code)][1]
        if pending is None:  # code of the unedited file
            return None
        self.entered = True
        # A generator that continues is still the same call.
        return (frame.f_trace or self._listener(code.co_filename, pending)) if pending else None

    def _listener(self, name: str, pending: Set[int]) -> Any:
        seen: Set[int] = set()

        def on_event(frame: Any, event: str, _argument: Any) -> Any:
            line = frame.f_lineno
            if event == "line" and line in pending and line not in seen:
                seen.add(line)
                self.counts[name, line] += 1
                if self.counts[name, line] >= ENOUGH:
                    pending.discard(line)
                if pending <= seen:
                    # The rest of a long loop then costs nothing.
                    frame.f_trace_lines = False
            return on_event

        return on_event


def _run_tests(facts: Any, one: Alternative, counter: LineCounter, limiter: Limiter) -> bool:
    """Run tests until every line is decided; return False if some line is not."""
    tests = _list_tests(facts, one)
    steady = [test for test in tests if test in facts.baseline.screened]
    runner = Runner(facts.items.all, limiter, make_plans(facts.items.all, steady))
    hook = counter.on_call
    trace_threads(hook)
    try:
        for test in steady:
            if counter.is_done:
                return True
            outcome = runner.run(test, facts.screen.limits.of(test, SLOWED))
            # A test may trace, too.
            if outcome not in (PASS, SKIP) or sys.gettrace() != hook:
                return False
        runner.close()
    finally:
        trace_threads(None)
    return counter.is_done or len(steady) == len(tests)


def _list_tests(facts: Any, one: Alternative) -> List[int]:
    """Return the tests that may run a survivor's lines, likely ones first."""
    failing, passing = facts.items.failing, facts.items.passing
    if not one.swaps or not one.units:
        return [*failing, *passing]
    # A traced test that did not reach the only edited function does not reach it now either.
    reaching = [test for unit in one.units for test in facts.all_passing_through(unit)]
    unknown = [test for test in passing if test not in facts.coverage]
    return list(dict.fromkeys([*failing, *reaching, *unknown]))
