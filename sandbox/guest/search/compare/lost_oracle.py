"""Break the product under a survivor: a suite that stays green has lost its test oracle.

The survivor is applied in a copy of the process. There one function after the other gets wrong
results, and the failing tests, which pass with the survivor, have to notice it.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import time
from functools import partial
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.mutants import mutate_function
from sandbox.guest.search.compare.patched import PatchedFunction
from sandbox.guest.search.execution.screen import Trial
from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import PASS, SKIP, Runner
from sandbox.guest.search.session.plans import make_plans
from sandbox.guest.search.source.functions import Unit, list_units, nearest_twin
from sandbox.guest.search.source.render import SourceFile, TextEdit

MOST_BROKEN = 40
"""Maximum number of mistakes that are tried."""
MOST_FUNCTIONS, MOST_TESTS = 12, 20
CHECK_FAILURES = ("AssertionError", "Failed")
"""Types of failures that a check raises. Others may come from code that got the wrong result."""
COARSE = ("negate_condition",)
"""Mutators that make False of a result: checks that look at little else notice them."""
WRONG_NAME = "__metaagent_wrong__"
"""Name of `wrong` among the builtins of the child, so that every module finds it."""
NOTICED, GREEN, OTHER = "noticed", "green", "other"


def loses_oracle(facts: Any, one: Alternative, seconds: float) -> bool:
    """Return True unless a failing test still checks what the product does.

    Args:
        facts: What is known from the collected tests.
        one: The survivor.
        seconds: Timeout.
    """
    deadline = time.monotonic() + seconds
    functions = _product_functions(facts, one)

    def work(_: Limiter, report: Report) -> None:
        setattr(builtins, WRONG_NAME, wrong)
        one.apply(facts.root)
        unbroken = partial(_outcome, facts, facts.items.failing[:MOST_TESTS], None)
        if branch(unbroken, deadline - time.monotonic()) != GREEN:
            return
        rows = [_mistakes(facts, function, deadline) for function in functions]
        turns = (trial for row in itertools.zip_longest(*rows) for trial in row if trial)
        for trial in itertools.islice(turns, MOST_BROKEN):
            broken = partial(_outcome, facts, trial.failing[:MOST_TESTS], _applied(one, trial))
            noticed = branch(broken, deadline - time.monotonic()) == NOTICED
            if noticed or time.monotonic() > deadline:
                report(noticed)
                return

    # The child ran untrusted code: it may report anything.
    reports = collect(work, seconds, facts.screen.bounds)
    return not reports or reports[-1] is not True


def _product_functions(facts: Any, one: Alternative) -> List[PatchedFunction]:
    """Return the functions that failing tests run and the survivor does not edit.

    Without any, the edited functions are all that these tests can check.
    """
    twins: Dict[str, Sequence[Unit]] = {}
    edited: List[PatchedFunction] = []
    others: List[PatchedFunction] = []
    for unit in sorted(facts.located.units, key=lambda unit: -facts.suspicion.of_unit(unit)):
        path = unit.source.path
        if len(others) >= MOST_FUNCTIONS or not facts.failing_through(unit):
            continue
        if path not in twins:
            twins[path] = _edited_units(one, unit)
        twin = nearest_twin(twins[path], unit) if twins[path] else unit
        if twin is not None:
            lines = set(range(twin.first_line, twin.last_line + 1))
            is_same = twin.source.text(twin.node) == unit.source.text(unit.node)
            (others if is_same else edited).append(PatchedFunction(unit, twin, lines))
    return others or edited


def _edited_units(one: Alternative, unit: Unit) -> Sequence[Unit]:
    """Return the functions of a unit's file after the survivor's edit; none if it has no edit."""
    data = one.files.get(unit.source.path)
    if data is None:
        return ()
    try:
        return list_units(SourceFile(unit.source.path, data), unit.filename)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ()


def _mistakes(facts: Any, patched: PatchedFunction, deadline: float) -> Iterator[Trial]:
    """Yield mistakes in a function: a wrong result or no effect first, then mutants."""
    unit, twin, _ = patched
    edits = _wrong_results(twin) or _nothing(twin)
    code = twin.compile(edits)
    swaps = facts.live.swaps(twin, code, unit) if code is not None else []
    if swaps:
        line, source = twin.first_line, twin.source
        candidate = CandidatePatch("mistake", 0.0, 1.0, line, source, None, edits)
        yield Trial(candidate, swaps, facts.failing_through(unit), ())
    for mutant in mutate_function(facts, patched, deadline):
        if mutant.candidate.template not in COARSE:
            yield mutant


def _wrong_results(unit: Unit) -> Tuple[TextEdit, ...]:
    """Return edits that change every result of a function."""
    edits: List[TextEdit] = []
    for node in ast.walk(unit.node):
        value = node.value if isinstance(node, (ast.Return, ast.Yield)) else None
        # A `yield` inside a result is changed alone.
        if value is not None and not any(isinstance(n, ast.Yield) for n in ast.walk(value)):
            start, end = unit.source.span(value)
            edits += [TextEdit(start, start, f" {WRONG_NAME}(("), TextEdit(end, end, "))")]
    return tuple(edits)


def _nothing(unit: Unit) -> Tuple[TextEdit, ...]:
    """Return the edit that empties a function."""
    first, last = unit.node.body[0], unit.node.body[-1]
    start = unit.source.offset(first.lineno, first.col_offset)
    return (TextEdit(start, unit.source.span(last)[1], "pass"),)


def wrong(value: Any) -> Any:
    """Return another value of the same type if it is a plain one, else None."""
    kind = type(value)
    if kind is bool:
        return not value
    if kind in (int, float):
        return value + 1
    if kind is str:
        return value + "x"
    if kind in (list, tuple):
        return kind([*value, None])
    if kind is dict:
        return {**value, None: None}
    if kind in (set, frozenset):
        return kind([*value, None])
    if value is None:
        return 1
    return value if callable(value) else None


def _applied(one: Alternative, trial: Trial) -> Alternative:
    """Return a mistake as something to apply where the survivor was applied."""
    if one.swaps:
        return Alternative(tuple(trial.swaps), {})
    return Alternative((), trial.candidate.files())


def _outcome(
    facts: Any, tests: Sequence[int], mistake: Optional[Alternative], limiter: Limiter
) -> str:
    """Return whether a check fails in these tests, all pass, or something else happens."""
    if mistake is not None:
        mistake.apply(facts.root)
    runner = Runner(facts.items.all, limiter, make_plans(facts.items.all, tests))
    green = True
    for test in tests:
        outcome = runner.run(test, facts.screen.limits.of(test, 3.0))
        if outcome not in (PASS, SKIP):
            if runner.mark.split(" ")[0] in CHECK_FAILURES:
                return NOTICED
            green = False
            runner.mark = ""
    return GREEN if green else OTHER
