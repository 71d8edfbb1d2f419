"""Mutation analysis of the patched lines: would these tests notice another mistake there?"""

from __future__ import annotations

import itertools
import time
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.execution.screen import Chunk, Trial
from sandbox.guest.search.session.harness import PASS
from sandbox.guest.search.source.functions import Unit, find_twin, signature
from sandbox.guest.search.source.render import SourceFile
from sandbox.guest.search.source.scope import CodeScope

MOST = 40
AT_ONCE = 10
MOST_TESTS = 40
MUTATORS = (
    "swap_comparison", "swap_operator", "change_literal", "off_by_one", "negate_condition",
    "boolean_logic", "swap_operands", "augmented_assignment", "slice_index",
)  # fmt: skip
"""Templates for small mistakes. All templates would take long and add no information."""
LONGEST_SCOPE = 400
"""Maximum number of lines of a function that is mutated; a longer one takes too long."""


def kill_count(facts: Any, one: Alternative, seconds: float) -> Optional[Tuple[int, int]]:
    """Return how many mutants the tests killed and how many were tried, or None.

    Args:
        facts: What is known from the collected tests.
        one: The survivor whose lines are mutated.
        seconds: Timeout.
    """
    deadline = time.monotonic() + seconds
    patched = _patch(one)
    if patched is None or facts.baseline.isolated:
        return None
    unit, twin, lines = patched
    trials = _trials(facts, unit, twin, lines)
    killed = tried = 0
    for start in range(0, len(trials), AT_ONCE):
        if time.monotonic() > deadline:
            break
        chunk = trials[start : start + AT_ONCE]
        verdicts = Chunk(facts.screen, chunk, 1.0).results(lambda: deadline - time.monotonic())
        if time.monotonic() > deadline:
            break
        tried += len(chunk)
        killed += sum(verdict.outcome != PASS for verdict in verdicts)
    return (killed, tried) if tried else None


def _patch(one: Alternative) -> Optional[Tuple[Unit, Unit, Set[int]]]:
    """Return the function before and after the edit, and the numbers of its new lines."""
    if len(one.units) != 1 or not one.swaps:
        return None
    unit = one.units[0]
    data = one.files.get(unit.source.path)
    if data is None:
        return None
    try:
        source = SourceFile(unit.source.path, data)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    twin = find_twin(source, unit)
    if twin is None or twin.last_line - twin.first_line > LONGEST_SCOPE:
        return None
    return unit, twin, new_lines(unit.source.data, data)


def new_lines(old: bytes, new: bytes) -> Set[int]:
    """Return the numbers of new lines; around a deletion, the lines next to it."""
    before, after = old.split(b"\n"), new.split(b"\n")
    most = min(len(before), len(after))
    start = next((i for i in range(most) if before[i] != after[i]), most)
    end = next((i for i in range(most - start) if before[-1 - i] != after[-1 - i]), most - start)
    found = set(range(start + 1, len(after) - end + 1))
    return found or {max(1, start), start + 1}


def _trials(facts: Any, unit: Unit, twin: Unit, lines: Set[int]) -> List[Trial]:
    scope = CodeScope(twin.source, twin.node, facts.literals)
    scope.nodes = [node for node in scope.nodes if _stands_on(node, lines)]
    flat = Suspicion({twin.source.path: dict.fromkeys(lines, 1.0)})
    templates = {name: template for name, template in facts.templates.items() if name in MUTATORS}
    made = [c for c in Generator(templates, {}).of_scope(scope, twin, flat) if c.line in lines]
    original = twin.compile(())
    seen: Set[Any] = {signature(original)} if original else set()
    failing, passing = facts.failing_through(unit), facts.all_passing_through(unit)[:MOST_TESTS]
    trials: List[Trial] = []
    for candidate in interleave(made):
        code = twin.compile(candidate.edits)
        key = None if code is None else signature(code)
        if code is None or key in seen:
            continue
        seen.add(key)
        swaps = facts.live.swaps(twin, code, unit)
        # No unit: otherwise the screen would count its loop iterations again, which can take
        # seconds.
        made_ready = candidate._replace(unit=None)
        trials.append(Trial(made_ready, swaps, failing, passing))
        if len(trials) >= MOST:
            break
    return trials


def _stands_on(node: Any, lines: Set[int]) -> bool:
    first = getattr(node, "lineno", None)
    return first is not None and first in lines


def interleave(candidates: Sequence[CandidatePatch]) -> List[CandidatePatch]:
    """Return the candidates of all templates in turn, cheap ones first."""
    rows: Dict[str, List[CandidatePatch]] = {}
    for candidate in sorted(candidates, key=lambda c: (c.cost, c.edits)):
        rows.setdefault(candidate.template, []).append(candidate)
    turns = itertools.zip_longest(*rows.values())
    return [candidate for turn in turns for candidate in turn if candidate is not None]
