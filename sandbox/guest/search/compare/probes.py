"""What the conditions of the patched lines are while the tests run: one that is always the same is a doubt."""

from __future__ import annotations

import ast
import builtins
from typing import Any, Dict, List, Sequence, Set, Tuple

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.mutants import new_lines
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Items, Runner
from sandbox.guest.search.source.functions import Unit, twin_in
from sandbox.guest.search.source.render import Edit, Source

NAME = "__condition_seen__"
MOST_TESTS = 30
ENOUGH = 5
"""A condition that was met less often says nothing."""


def condition_doubts(one: Alternative, live: Any, items: Items, tests: Sequence[int], *, wait_s: float) -> List[str]:
    """Doubts about the conditions on the lines that a survivor changes.

    Args:
        one: The survivor.
        live: The live functions.
        items: All tests.
        tests: Those to run.
        wait_s: How long that may take.
    """
    probed = _probed(one)
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
    return doubts_of(told[0], told[1]) if told is not None else []


def doubts_of(holds: int, fails: int) -> List[str]:
    """In words."""
    if holds + fails == 0:
        return ["no test comes to its condition"]
    if holds + fails < ENOUGH or (holds and fails):
        return []
    return [f"its condition {'always' if holds else 'never'} holds in the tests"]


def _probed(one: Alternative) -> Any:
    """The edited function with every condition on new lines told to `note`; None where there is none."""
    if len(one.units) != 1 or not one.swaps:
        return None
    unit: Unit = one.units[0]
    data = one.files.get(unit.source.path)
    try:
        source = Source(unit.source.path, data or b"")
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    twin = twin_in(source, unit)
    if twin is None:
        return None
    edits = probe_edits(source, twin.node, new_lines(unit.source.data, source.data))
    code = twin.compile(edits) if edits else None
    return None if code is None else (unit, twin, code)


def probe_edits(source: Source, root: ast.AST, lines: Set[int]) -> Tuple[Edit, ...]:
    """A call around every condition that begins on one of these lines."""
    tests: List[ast.expr] = []
    for node in ast.walk(root):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            tests.append(node.test)
        elif isinstance(node, ast.comprehension):
            tests += node.ifs
    edits: List[Edit] = []
    for test in tests:
        # Calls inside calls would only tell the same twice; a condition inside another is rare enough to leave out.
        start, end = source.span(test)
        if test.lineno in lines and not any(e.start < end and start < e.end for e in edits) and not _names(test):
            edits += [Edit(start, start, f"{NAME}("), Edit(end, end, ")")]
    return tuple(edits)


def _names(test: ast.expr) -> bool:
    """Whether it binds or awaits: such a condition cannot always stand in a call."""
    return any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(test))
