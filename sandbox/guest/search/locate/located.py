"""Localisation from the traced tests to scores, and everything else that was seen on the way."""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile, Modules, read_files
from sandbox.guest.search.locate.observe import Observations, Observed, observe
from sandbox.guest.search.locate.said import Said
from sandbox.guest.search.locate.score import Evidence, Scorer
from sandbox.guest.search.session.baseline import Baseline, Coverage, Reach, literals_of, merge_hints, names_in
from sandbox.guest.search.source.functions import Unit

MOST_TESTS = 20
"""Failing tests that are asked what they name."""
CHANGED_REASON = "changed since the check was green"


class Located(NamedTuple):
    """Where to look, and why."""

    coverage: Coverage
    """Traced test to path to lines, of the functions that some failing test calls."""
    scores: Dict[str, Dict[int, float]]
    """Path to line to score, in functions and outside them."""
    reasons: Dict[str, Dict[int, str]]
    files: Dict[str, CodeFile]
    """Every file that may be concerned."""
    observed: Observed
    said: Dict[int, Said]
    """How the failing tests failed."""
    units: Tuple[Unit, ...] = ()
    """The functions that failing tests run."""
    collected: FrozenSet[Tuple[str, int]] = frozenset()
    """Lines that ran for the failing tests when these were collected."""

    def runs_when_collected(self, unit: Unit) -> bool:
        """Whether a function ran for the failing tests when these were collected."""
        return any((unit.source.path, n) in self.collected for n in range(unit.first_line, unit.last_line + 1))

    def suspect_lines(self, most: int = 20) -> List[Dict[str, Any]]:
        """The most suspect lines, as the host is told."""
        ranked = sorted((-score, path, line) for path, lines in self.scores.items() for line, score in lines.items())
        return [
            {"file": path, "line": line, "score": round(-score, 3), "reason": self.reasons[path].get(line, "")[:200]}
            for score, path, line in ranked[:most]
        ]

    def compared_values(self) -> Tuple[List[float], List[str]]:
        """Numbers and short texts that the failing assertions compared."""
        values = [v for i in sorted(self.said) for pair in self.said[i].pairs for v in pair]
        numbers = [v for v in values if type(v) in (int, float)]
        texts = [v for v in values if type(v) is str and 0 < len(v) <= 40]
        return list(dict.fromkeys(numbers))[:20], list(dict.fromkeys(texts))[:20]


def locate(
    baseline: Baseline,
    reach: Reach,
    *,
    suspects: Sequence[Mapping[str, Any]] = (),
    red_hunks: Sequence[Mapping[str, Any]] = (),
    wait_s: float,
) -> Located:
    """Trace, read and score.

    Args:
        baseline: The reproduced suite.
        reach: Which files may be edited.
        suspects: What the host suspects.
        red_hunks: The diff that turned the check red.
        wait_s: How long tracing may take.
    """
    observations = observe(baseline, reach, wait_s)
    evidence = gather(baseline, reach, observations, suspects=suspects, red_hunks=red_hunks)
    scorer = Scorer(evidence)
    scores, reasons = scorer.result()
    said = {i: seen.said for i, seen in observations.tests.items() if seen.said}
    coverage = {i: seen.lines for i, seen in observations.tests.items()}
    files, units = dict(evidence.files), tuple(scorer.units)
    return Located(coverage, scores, reasons, files, observations.observed, said, units, observations.collected)


def gather(
    baseline: Baseline,
    reach: Reach,
    observations: Observations,
    *,
    suspects: Sequence[Mapping[str, Any]],
    red_hunks: Sequence[Mapping[str, Any]],
) -> Evidence:
    """Everything the scores are made from."""
    items = baseline.items
    failing = [i for i in items.failing if i in observations.tests]
    hit = {path for i in failing for path in observations.tests[i].lines}
    hit.update(path for i in failing for path, _ in observations.tests[i].functions)
    said = [seen.said for i in failing if (seen := observations.tests[i]).said]
    hit.update(path for one in said for frames in one.frames for path, _, _ in frames)
    hit.update(path for path, _ in observations.collected)
    hit.update(files_named(items.all, failing, reach))
    known = {*imported_here(reach), *hit}
    literals = literals_of(items.all, failing)[1]
    plain = [s for s in suspects if s.get("reason") != CHANGED_REASON]
    return Evidence(
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


def files_named(items: Sequence[Any], failing: Sequence[int], reach: Reach) -> Set[str]:
    """Files of the checkout that hold what failing tests name: nothing but attributes of a class may be of use."""
    found: Set[str] = set()
    for index in failing[:MOST_TESTS]:
        space = getattr(getattr(items[index], "function", None), "__globals__", {})
        for name in sorted(names_in(items, [index]) & set(space)):
            file = getattr(_module_of(space[name]), "__file__", None)
            path = reach.relative(os.path.realpath(file)) if isinstance(file, str) and file.endswith(".py") else None
            found.update([path] if path is not None else [])
    return found


def _module_of(value: Any) -> Any:
    """A module itself; of a class, a function or an object the module it comes from."""
    if type(value) is types.ModuleType:
        return value
    if type(value) is types.FunctionType:
        return sys.modules.get(str(value.__module__))
    kind = value if isinstance(value, type) else type(value)
    return sys.modules.get(str(type.__getattribute__(kind, "__module__")))


def imported_here(reach: Reach) -> List[str]:
    """Files of the checkout that this process has imported and that may be edited."""
    names = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    paths = (reach.relative(os.path.realpath(n)) for n in names if isinstance(n, str) and n.endswith(".py"))
    return sorted({path for path in paths if path is not None})


def changed_lines(suspects: Iterable[Mapping[str, Any]], hunks: Iterable[Mapping[str, Any]]) -> Dict[str, Set[int]]:
    """Lines of the red diff; where lines only went, those around the gap."""
    changed: Dict[str, Set[int]] = {}
    for suspect in suspects:
        if suspect.get("reason") == CHANGED_REASON:
            changed.setdefault(str(suspect["file"]), set()).add(int(suspect["line"]))
    for hunk in hunks:
        first, count = int(hunk["line"]), int(hunk["lines"])
        lines = range(first, first + count) if count else range(max(1, first - 1), first + 1)
        changed.setdefault(str(hunk["path"]), set()).update(lines)
    return changed
