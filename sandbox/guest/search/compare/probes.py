"""Observe the conditions on the patched lines while tests run.

A condition that is always the same is a doubt.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Dict, List, Sequence, Set, Tuple

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.mutants import new_lines
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Items, Runner
from sandbox.guest.search.source.functions import Unit, find_twin
from sandbox.guest.search.source.render import SourceFile, TextEdit

NAME = "__condition_seen__"
MOST_TESTS = 30
ENOUGH = 5
"""Minimum number of evaluations of a condition for a statement about it."""


def condition_doubts(
    one: Alternative, live: Any, items: Items, tests: Sequence[int], *, wait_s: float
) -> List[str]:
    """Return doubts about the conditions on a survivor's changed lines.

    Args:
        one: The survivor.
        live: The live functions.
        items: All tests.
        tests: Indexes of those to run.
        wait_s: Timeout in seconds.
    """
    probed = _probe(one)
    if probed is None or wait_s <= 0.05:
        return []
    unit, twin, code = probed

    def work(limiter: Limiter) -> Any:
        seen: Dict[bool, int] = {True: 0, False: 0}

        def note(value: Any) -> Any:
            seen[bool(value)] += 1
            return value

        setattr(builtins, NAME, note)
        for function, new in live.swaps(twin, code, unit):
            function.__code__ = new
        runner = Runner(items.all, limiter)
        for test in tests[:MOST_TESTS]:
            runner.run(test, 1.0)
        return [seen[True], seen[False]]

    told = branch(work, wait_s)
    return describe_doubts(told[0], told[1]) if told is not None else []


def describe_doubts(holds: int, fails: int) -> List[str]:
    """Return the doubts as text."""
    if holds + fails == 0:
        return ["no test evaluates its condition"]
    if holds + fails < ENOUGH or (holds and fails):
        return []
    return [f"its condition is {'always' if holds else 'never'} true in the tests"]


def _probe(one: Alternative) -> Any:
    """Return the edited function with a probe on every new condition, or None."""
    if len(one.units) != 1 or not one.swaps:
        return None
    unit: Unit = one.units[0]
    data = one.files.get(unit.source.path)
    try:
        source = SourceFile(unit.source.path, data or b"")
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    twin = find_twin(source, unit)
    if twin is None:
        return None
    edits = probe_edits(source, twin.node, new_lines(unit.source.data, source.data))
    code = twin.compile(edits) if edits else None
    return None if code is None else (unit, twin, code)


def probe_edits(source: SourceFile, root: ast.AST, lines: Set[int]) -> Tuple[TextEdit, ...]:
    """Return edits that put a call around every condition on these lines."""
    tests: List[ast.expr] = []
    for node in ast.walk(root):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            tests.append(node.test)
        elif isinstance(node, ast.comprehension):
            tests += node.ifs
    edits: List[TextEdit] = []
    for test in tests:
        # A nested probe would report the same condition twice, so conditions inside others are
        # skipped.
        start, end = source.span(test)
        if (
            test.lineno in lines
            and not any(e.start < end and start < e.end for e in edits)
            and not _names(test)
        ):
            edits += [TextEdit(start, start, f"{NAME}("), TextEdit(end, end, ")")]
    return tuple(edits)


def _names(test: ast.expr) -> bool:
    """Return True if a condition binds or awaits, and so cannot be an argument of a call."""
    return any(
        isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(test)
    )
