"""Fault localization from traced tests to scores, with all other observations."""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile, Modules, read_files
from sandbox.guest.search.locate.failure_report import FailureReport
from sandbox.guest.search.locate.observe import Observations, ObservedValues, observe
from sandbox.guest.search.locate.score import FaultEvidence, Scorer
from sandbox.guest.search.process.peek import is_a, peek
from sandbox.guest.search.session.baseline import (
    Coverage,
    EditablePaths,
    SuiteBaseline,
    collect_literals,
    merge_hints,
    names_in,
)
from sandbox.guest.search.source.functions import Unit

MOST_TESTS = 20
"""Maximum number of failing tests whose names are looked up."""
CHANGED_REASON = "changed since the check was green"


class Located(NamedTuple):
    """The result of fault localization."""

    coverage: Coverage
    """Lines by traced test and path, in functions that some failing test calls."""
    scores: Dict[str, Dict[int, float]]
    """Score by path and line, in functions and outside them."""
    reasons: Dict[str, Dict[int, str]]
    files: Dict[str, CodeFile]
    """Every file that may be involved."""
    observed: ObservedValues
    said: Dict[int, FailureReport]
    """The failure of each failing test."""
    units: Tuple[Unit, ...] = ()
    """The functions that failing tests run."""
    collected: FrozenSet[Tuple[str, int]] = frozenset()
    """Lines that ran during collection on behalf of the failing tests."""

    def runs_when_collected(self, unit: Unit) -> bool:
        """Return True if a function ran during the collection of the failing tests."""
        return any(
            (unit.source.path, n) in self.collected
            for n in range(unit.first_line, unit.last_line + 1)
        )

    def suspect_lines(self, most: int = 20) -> List[Dict[str, Any]]:
        """Return the most suspicious lines for the host."""
        ranked = sorted(
            (-score, path, line)
            for path, lines in self.scores.items()
            for line, score in lines.items()
        )
        return [
            {
                "file": path,
                "line": line,
                "score": round(-score, 3),
                "reason": self.reasons[path].get(line, "")[:200],
            }
            for score, path, line in ranked[:most]
        ]

    def compared_values(self) -> Tuple[List[float], List[str]]:
        """Return the numbers and short texts that failing assertions compared."""
        values = [v for i in sorted(self.said) for pair in self.said[i].pairs for v in pair]
        numbers = [v for v in values if type(v) in (int, float)]
        texts = [v for v in values if type(v) is str and 0 < len(v) <= 40]
        return list(dict.fromkeys(numbers))[:20], list(dict.fromkeys(texts))[:20]


def locate(
    baseline: SuiteBaseline,
    reach: EditablePaths,
    *,
    suspects: Sequence[Mapping[str, Any]] = (),
    red_hunks: Sequence[Mapping[str, Any]] = (),
    wait_s: float,
) -> Located:
    """Trace the tests and score the lines.

    Args:
        baseline: The reproduced suite.
        reach: Decides which files may be edited.
        suspects: Suspicious lines from the host.
        red_hunks: The diff that turned the check red.
        wait_s: Timeout for tracing, in seconds.
    """
    observations = observe(baseline, reach, wait_s)
    evidence = gather_evidence(
        baseline, reach, observations, suspects=suspects, red_hunks=red_hunks
    )
    scorer = Scorer(evidence)
    scores, reasons = scorer.result()
    said = {i: seen.said for i, seen in observations.tests.items() if seen.said}
    coverage = {i: seen.lines for i, seen in observations.tests.items()}
    files, units = dict(evidence.files), tuple(scorer.units)
    return Located(
        coverage, scores, reasons, files, observations.observed, said, units, observations.collected
    )


def gather_evidence(
    baseline: SuiteBaseline,
    reach: EditablePaths,
    observations: Observations,
    *,
    suspects: Sequence[Mapping[str, Any]],
    red_hunks: Sequence[Mapping[str, Any]],
) -> FaultEvidence:
    """Return all evidence for the scores."""
    items = baseline.items
    failing = [i for i in items.failing if i in observations.tests]
    hit = {path for i in failing for path in observations.tests[i].lines}
    hit.update(path for i in failing for path, _ in observations.tests[i].functions)
    said = [seen.said for i in failing if (seen := observations.tests[i]).said]
    hit.update(path for one in said for frames in one.frames for path, _, _ in frames)
    hit.update(path for path, _ in observations.collected)
    hit.update(files_named(items.all, failing, reach))
    known = {*imported_here(reach), *hit}
    literals = collect_literals(items.all, failing)[1]
    plain = [s for s in suspects if s.get("reason") != CHANGED_REASON]
    return FaultEvidence(
        tests=observations.tests,
        failing=failing,
        names=items.names,
        mentioned=names_in(items.all, failing),
        literals=literals,
        files=read_files(reach.root, hit, known),
        modules=Modules(known),
        changed=changed_lines(suspects, red_hunks),
        hints=merge_hints(plain),
        used=observations.observed.failing_values(),
        once=observations.once,
        collected=observations.collected,
    )


def files_named(items: Sequence[Any], failing: Sequence[int], reach: EditablePaths) -> Set[str]:
    """Return the files of the checkout that failing tests name."""
    found: Set[str] = set()
    for index in failing[:MOST_TESTS]:
        space = getattr(getattr(items[index], "function", None), "__globals__", {})
        for name in sorted(names_in(items, [index]) & set(space)):
            file = peek(_find_module(space[name]), "__file__")
            path = (
                reach.relative(os.path.realpath(file))
                if isinstance(file, str) and file.endswith(".py")
                else None
            )
            found.update([path] if path is not None else [])
    return found


def _find_module(value: Any) -> Any:
    """Return the module of a value: itself, or the module of its class or function."""
    if type(value) is types.ModuleType:
        return value
    if type(value) is types.FunctionType:
        return sys.modules.get(str(value.__module__))
    kind = value if is_a(value, type) else type(value)
    return sys.modules.get(str(type.__getattribute__(kind, "__module__")))


def imported_here(reach: EditablePaths) -> List[str]:
    """Return the editable files of the checkout that this process has imported."""
    names = [peek(module, "__file__") for module in list(sys.modules.values())]
    paths = (
        reach.relative(os.path.realpath(n))
        for n in names
        if isinstance(n, str) and n.endswith(".py")
    )
    return sorted({path for path in paths if path is not None})


def changed_lines(
    suspects: Iterable[Mapping[str, Any]], hunks: Iterable[Mapping[str, Any]]
) -> Dict[str, Set[int]]:
    """Return the lines of the red diff; around a deletion, the lines next to it."""
    changed: Dict[str, Set[int]] = {}
    for suspect in suspects:
        if suspect.get("reason") == CHANGED_REASON:
            changed.setdefault(str(suspect["file"]), set()).add(int(suspect["line"]))
    for hunk in hunks:
        first, count = int(hunk["line"]), int(hunk["lines"])
        lines = range(first, first + count) if count else range(max(1, first - 1), first + 1)
        changed.setdefault(str(hunk["path"]), set()).update(lines)
    return changed
