"""Observe the conditions on the patched lines while tests run.

A condition that is always the same is a doubt.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.patched import patched_functions
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Runner
from sandbox.guest.search.source.functions import Swap
from sandbox.guest.search.source.render import SourceFile, TextEdit

NAME = "__condition_seen__"
MOST_TESTS = 30
ENOUGH = 5
"""Minimum number of evaluations of a condition for a statement about it."""


def condition_doubts(
    one: Alternative, facts: Any, tests: Sequence[int], *, wait_s: float
) -> List[str]:
    """Return doubts about the conditions on a survivor's changed lines.

    Args:
        one: The survivor.
        facts: What is known from the collected tests.
        tests: Indexes of those to run.
        wait_s: Timeout in seconds.
    """
    probed = _probe(facts, one) if wait_s > 0.05 else None
    if probed is None:
        return []

    def work(limiter: Limiter) -> Any:
        seen: Dict[bool, int] = {True: 0, False: 0}

        def note(value: Any) -> Any:
            seen[bool(value)] += 1
            return value

        setattr(builtins, NAME, note)
        probed.apply(facts.root)
        runner = Runner(facts.items.all, limiter)
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


def _probe(facts: Any, one: Alternative) -> Optional[Alternative]:
    """Return a survivor with a probe on every new condition; None if it has no such condition."""
    swaps: List[Swap] = []
    edits: Dict[SourceFile, List[TextEdit]] = {}
    for unit, twin, lines in patched_functions(facts, one):
        found = probe_edits(twin.source, twin.node, lines)
        code = twin.compile(found) if found else None
        if code is not None:
            swaps += facts.live.swaps(twin, code, unit)
            edits.setdefault(twin.source, []).extend(found)
    if one.swaps:
        return one._replace(swaps=tuple(swaps)) if swaps else None
    files = {source.path: source.render(tuple(found)) for source, found in edits.items()}
    return one._replace(files={**one.files, **files}) if files else None


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
