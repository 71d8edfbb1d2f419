"""Mutation analysis of the patched lines: would these tests notice another mistake there?"""

from __future__ import annotations

import itertools
import time
from functools import partial
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.branch import branch
from sandbox.guest.search.compare.patched import PatchedFunction, patched_functions
from sandbox.guest.search.execution.screen import Chunk, Trial
from sandbox.guest.search.process.forked import Report, collect
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import PASS, SKIP, Runner
from sandbox.guest.search.session.plans import make_plans
from sandbox.guest.search.source.functions import signature
from sandbox.guest.search.source.scope import CodeScope

MOST = 40
AT_ONCE = 10
MOST_TESTS = 40
MUTATORS = (
    "swap_comparison", "swap_operator", "change_literal", "off_by_one", "negate_condition",
    "boolean_logic", "swap_operands", "augmented_assignment", "slice_index",
)  # fmt: skip
"""Templates for small mistakes. All templates would take long and add no information."""
KillCount = Optional[Tuple[int, int]]


def kill_count(facts: Any, one: Alternative, seconds: float) -> KillCount:
    """Return how many mutants the tests killed and how many were tried, or None.

    Args:
        facts: What is known from the collected tests.
        one: The survivor whose lines are mutated.
        seconds: Timeout.
    """
    deadline = time.monotonic() + seconds
    patched = () if facts.baseline.isolated else patched_functions(facts, one)
    rows = itertools.zip_longest(
        *(mutate_function(facts, function, deadline) for function in patched)
    )
    turns = (trial for row in rows for trial in row if trial is not None)
    trials = list(itertools.islice(turns, MOST))
    if not trials:
        return None
    if not one.swaps:
        return _kills_in_copy(facts, one, trials, deadline)
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


def _kills_in_copy(
    facts: Any, one: Alternative, trials: Sequence[Trial], deadline: float
) -> KillCount:
    """Return the counts for a survivor of several places, applied to a copy of this process.

    Without a mutant, every test has to pass in the copy; else nothing is known. The files are put
    there twice even then, as with a mutant, because a module may not bear to be executed again.
    """
    # A failing test may end before it reaches the second place.
    passing = dict.fromkeys(test for trial in trials for test in trial.passing)
    tests = [*facts.items.failing[:MOST_TESTS], *list(passing)[:MOST_TESTS]]

    def work(_: Limiter, report: Report) -> None:
        one.apply(facts.root)
        killed = 0
        mutants = [Alternative((), trial.candidate.files()) for trial in trials]
        for number, mutant in enumerate([one, *mutants]):
            run = partial(_all_pass, facts, tests, mutant)
            green = branch(run, deadline - time.monotonic()) is True
            if time.monotonic() > deadline or not (number or green):
                return
            killed += not green
            report([killed, number])

    reports = collect(work, deadline - time.monotonic(), facts.screen.bounds)
    # The child ran untrusted code: it may report anything.
    counts = reports[-1] if reports else None
    if not isinstance(counts, list) or [type(count) for count in counts] != [int, int]:
        return None
    killed, tried = counts
    return (killed, tried) if 0 <= killed <= tried <= len(trials) and tried else None


def _all_pass(facts: Any, tests: Sequence[int], mutant: Alternative, limiter: Limiter) -> bool:
    mutant.apply(facts.root)
    runner = Runner(facts.items.all, limiter, make_plans(facts.items.all, tests))
    limits = facts.screen.limits
    return all(runner.run(test, limits.of(test, 1.0)) in (PASS, SKIP) for test in tests)


def mutate_function(facts: Any, patched: PatchedFunction, deadline: float) -> Iterator[Trial]:
    """Yield mutants of some lines of a function, cheap ones first; none after the deadline."""
    if time.monotonic() > deadline:
        return
    unit, twin, lines = patched
    scope = CodeScope(twin.source, twin.node, facts.literals)
    scope.nodes = [node for node in scope.nodes if _stands_on(node, lines)]
    flat = Suspicion({twin.source.path: dict.fromkeys(lines, 1.0)})
    templates = {name: template for name, template in facts.templates.items() if name in MUTATORS}
    made = [c for c in Generator(templates, {}).of_scope(scope, twin, flat) if c.line in lines]
    original = twin.compile(())
    seen: Set[Any] = {signature(original)} if original else set()
    failing, passing = facts.failing_through(unit), facts.all_passing_through(unit)[:MOST_TESTS]
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
        yield Trial(made_ready, swaps, failing, passing)


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
