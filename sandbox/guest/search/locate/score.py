"""Combine all signs to a score and a reason for every suspicious line."""

from __future__ import annotations

import ast
from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import SIMPLE, CodeFile, Modules, names_read
from sandbox.guest.search.locate.failures import Failures
from sandbox.guest.search.locate.flow import backward_slice
from sandbox.guest.search.locate.observe import Trace
from sandbox.guest.search.locate.outside import Outside, Scores, bound_names
from sandbox.guest.search.locate.signs import call_score, constant, file_likeness, likeness, touches
from sandbox.guest.search.locate.spectrum import Counts, Place, beyond_nearest, places, scale_scores
from sandbox.guest.search.locate.weights import WEIGHTS
from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.scope import FunctionNode

NOT_IN_ALL = 0.6
"""Factor for a line that some failing test does not run."""
GENERAL = 0.3
"""Weight of a name in the failing test if every test calls that function."""
FADING = 0.75
"""Factor per step back from the failure."""
LONG_TABLE = 5
"""Minimum number of lines of a statement whose entries are scored separately."""
UNUSED = 0.6
"""Factor for an entry that no failing run uses, if other entries are used."""


class FaultEvidence(NamedTuple):
    """The evidence for the scores."""

    tests: Mapping[int, Trace]
    failing: Sequence[int]
    names: Sequence[str]
    """Node ids of all tests."""
    mentioned: Set[str]
    """Names in the code of the failing tests."""
    literals: Sequence[str]
    """Short texts in the failing tests."""
    files: Mapping[str, CodeFile]
    modules: Modules
    changed: Mapping[str, Set[int]]
    """Lines of the red diff."""
    hints: Mapping[str, Mapping[int, float]]
    """Other suspicious lines from the host, with scores."""
    used: Sequence[Any] = ()
    """Small values that names had in failing runs."""
    once: FrozenSet[Place] = frozenset()
    """Lines that run once per process; passing tests that do not run them are no evidence."""
    collected: FrozenSet[Place] = frozenset()
    """Lines that ran during the collection of the failing tests."""


class Scorer:
    """Scores lines.

    Args:
        evidence: The evidence.
        weights: The weight of each sign.
    """

    def __init__(
        self, evidence: FaultEvidence, weights: Optional[Mapping[str, float]] = None
    ) -> None:
        self._e = evidence
        self._w = dict(WEIGHTS, **(weights or {}))
        self._total: Dict[Place, float] = {}
        self._why: Dict[Place, Tuple[float, str]] = {}
        self._red = [evidence.tests[i] for i in evidence.failing if i in evidence.tests]
        failing = set(evidence.failing)
        self._green = [seen for i, seen in sorted(evidence.tests.items()) if i not in failing]
        self._hit = {place for seen in self._red for place in places(seen)}
        self._ran = self._hit | evidence.collected
        """Lines that ran in failing tests or during their collection."""
        self._units = self._units_hit()
        self._home = {
            (unit.source.path, line): (unit.source.path, unit.first_line)
            for unit in self._units
            for line in range(unit.first_line, unit.last_line + 1)
        }
        """Maps lines of the functions that failing tests run to the function's first line."""

    def result(self) -> Tuple[Dict[str, Dict[int, float]], Dict[str, Dict[int, str]]]:
        """Return the score from 0 to 1 and the strongest reason, by path and line."""
        self._spectrum()
        self._recent()
        self._functions()
        said = [seen.said for seen in self._red if seen.said]
        for sign in Failures(said, self._e.files, self._units, self._ran).signs():
            self._add(*sign)
        self._diff()
        self._slices()
        told = self._score_outside()
        self._not_in_all()
        self._whole_statements()
        self._add_outside(told)
        scores: Dict[str, Dict[int, float]] = {}
        reasons: Dict[str, Dict[int, str]] = {}
        for (path, line), score in sorted(scale_scores(self._total).items()):
            scores.setdefault(path, {})[line] = score
            reasons.setdefault(path, {})[line] = self._why.get((path, line), (0.0, ""))[1]
        return scores, reasons

    def _add(self, place: Place, sign: str, share: float, reason: str) -> None:
        gain = self._w[sign] * share
        if gain <= 0:
            return
        self._total[place] = self._total.get(place, 0.0) + gain
        if gain > self._why.get(place, (0.0, ""))[0]:
            self._why[place] = (gain, reason)

    # --- coverage -------------------------------------------------------------------------------

    def _spectrum(self) -> None:
        once = self._e.once
        red, green = (
            [places(seen) for seen in self._red],
            [places(seen) | once for seen in self._green],
        )
        counts = Counts(red, green)
        beyond = beyond_nearest(red, green)
        for place in sorted(self._hit):
            share = counts.score(place)
            hits, others = counts.red[place], counts.green.get(place, 0)
            self._add(place, "spectrum", share, f"run by tests: {hits} failing, {others} passing")
            self._add(
                place, "near_miss", beyond.get(place, 0.0), "not run by the nearest passing test"
            )
        for place in sorted(self._ran - self._hit):
            self._add(place, "collected", 1.0, "ran during the collection of the failing tests")

    def _recent(self) -> None:
        """Score lines that ran in the last steps of a test."""
        told = [
            seen
            for seen in self._red
            if len({age for ages in seen.recent.values() for age in ages.values()}) > 1
        ]
        for seen in told:
            for path, ages in seen.recent.items():
                for line, age in ages.items():
                    if (path, line) in self._hit:
                        self._add(
                            (path, line),
                            "recent",
                            FADING**age / len(told),
                            "run by the last steps of the test",
                        )

    def _not_in_all(self) -> None:
        """Reduce lines that some failing test does not run: mostly one fault fails all of them."""
        runs = [ran for seen in self._red if (ran := places(seen))]
        every = set.intersection(*runs) | self._e.once if runs else set()
        for place in self._hit - every if every else ():
            if place in self._total:
                self._total[place] *= NOT_IN_ALL

    # --- functions ------------------------------------------------------------------------------

    @property
    def units(self) -> List[Unit]:
        """The functions that failing tests run, and those that create what these read."""
        made: Dict[int, Unit] = {id(unit): unit for unit in self._units}
        for path, line in sorted(self._total):
            file = self._e.files.get(path)
            unit = file.unit_at(line) if file and (path, line) not in self._hit else None
            if unit is not None:
                made.setdefault(id(unit), unit)
        return list(made.values())

    def _units_hit(self) -> List[Unit]:
        lines: Dict[str, List[int]] = {}
        for path, line in sorted(self._ran):
            lines.setdefault(path, []).append(line)
        found: Dict[int, Unit] = {}
        for path, numbers in lines.items():
            file = self._e.files.get(path)
            for line in numbers if file else ():
                unit = file.unit_at(line) if file else None
                if unit is not None:
                    found.setdefault(id(unit), unit)
        return list(found.values())

    def _lines(self, unit: Unit) -> List[Place]:
        path = unit.source.path
        return [
            (path, line)
            for line in range(unit.first_line, unit.last_line + 1)
            if (path, line) in self._ran
        ]

    def _functions(self) -> None:
        counts = Counts(
            [self._called(seen) for seen in self._red], [self._called(seen) for seen in self._green]
        )
        tests = sorted({self._e.names[i] for i in self._e.failing})[:20]
        asserted = {name for seen in self._red if seen.said for name in seen.said.called}
        for unit in self._units:
            key = (unit.source.path, unit.first_line)
            special = GENERAL + (1 - GENERAL) * counts.score(key)
            signs = (
                (
                    "function",
                    counts.score(key),
                    f"{unit.qualified_name} is run mostly by failing tests",
                ),
                (
                    "alone",
                    float(key not in counts.green),
                    f"only failing tests call {unit.qualified_name}",
                ),
                (
                    "depth",
                    special / self._depth(unit),
                    f"{unit.qualified_name} is close to the failing test",
                ),
                (
                    "asserted",
                    special * call_score(unit, asserted),
                    f"the failing statement calls {unit.qualified_name}",
                ),
                (
                    "mentioned",
                    special * call_score(unit, self._e.mentioned),
                    f"the failing test calls {unit.qualified_name}",
                ),
                (
                    "alike",
                    special * likeness(unit, tests),
                    f"the failing test is named like {unit.qualified_name}",
                ),
                (
                    "alike_file",
                    file_likeness(unit, tests),
                    "the failing test's file is named like this one",
                ),
            )
            for place in self._lines(unit):
                for sign, share, reason in signs:
                    self._add(place, sign, share, reason)

    def _called(self, seen: Trace) -> Set[Place]:
        """Return the outermost functions, by first line, that a test calls."""
        return {self._home[key] for key in seen.functions if key in self._home}

    def _depth(self, unit: Unit) -> int:
        path = unit.source.path
        lines = range(unit.first_line, unit.last_line + 1)
        depths = [
            s.functions[path, n][0] for s in self._red for n in lines if (path, n) in s.functions
        ]
        return max(1, min(depths, default=20))

    # --- the diff that turned the check red -----------------------------------------------------

    def _diff(self) -> None:
        near = self._near_changes()
        for place in sorted(self._hit):
            if place[1] in self._e.changed.get(place[0], ()):
                self._add(place, "changed", 1.0, "changed since the check was green")
            self._add(
                place,
                "hint",
                self._e.hints.get(place[0], {}).get(place[1], 0.0),
                "suspected before the search",
            )
        for unit in self._units:
            touched = touches(self._e.changed, unit)
            share = 1.0 if touched else near.get((unit.source.path, unit.first_line), 0.0)
            sign = "changed_function" if touched else "changed_near"
            reason = (
                f"{unit.qualified_name} was changed"
                if touched
                else f"{unit.qualified_name} is related to a change"
            )
            for place in self._lines(unit):
                self._add(place, sign, share, reason)

    def _near_changes(self) -> Dict[Place, float]:
        """Return weighted functions that call or are called by a change, or read its names."""
        if not self._e.changed:
            return {}
        touched = {
            (u.source.path, u.first_line) for u in self._units if touches(self._e.changed, u)
        }
        near: Dict[Place, float] = {}
        for seen in self._red:
            for key, (_, caller) in seen.functions.items():
                one, two = self._home.get(key), self._home.get(caller) if caller else None
                for home, other in ((one, two), (two, one)):
                    if home and other in touched:
                        near[home] = 1.0
        bound = self._bound_by_changes()
        for unit in self._units if bound else ():
            if bound & {name.lstrip(".") for name in names_read(unit.node)}:
                near.setdefault((unit.source.path, unit.first_line), 0.8)
        return near

    def _bound_by_changes(self) -> Set[str]:
        """Return the names that changed statements outside functions bind."""
        names: Set[str] = set()
        for path, file in self._e.files.items():
            lines = self._e.changed.get(path, ())
            for piece in file.pieces if lines else ():
                if any(line in lines for line in piece.lines) and not isinstance(
                    piece.statement, FunctionNode
                ):
                    names.update(name.lstrip(".") for name in bound_names(piece))
        return names

    # --- tie-breakers ---------------------------------------------------------------------------

    def _slices(self) -> None:
        exits: Dict[str, Set[int]] = {}
        for seen in self._red:
            for path, lines in seen.exits.items():
                exits.setdefault(path, set()).update(lines)
        for unit in self._units:
            path = unit.source.path
            ends = [
                n for n in sorted(exits.get(path, ())) if unit.first_line <= n <= unit.last_line
            ]
            for line in backward_slice(unit.node, ends):
                if (path, line) in self._hit:
                    self._add((path, line), "slice", 1.0, "the value returned depends on it")
        for path, line in sorted(self._ran):
            file = self._e.files.get(path)
            count = sum(isinstance(n, ast.expr) for n in file.on(line)) if file else 0
            self._add((path, line), "rich", min(1.0, count / 12), "")

    def _whole_statements(self) -> None:
        """Score continuation lines like their statement, because tracers may not report them."""
        for unit in self._units:
            path = unit.source.path
            for node in ast.walk(unit.node):
                last = getattr(node, "end_lineno", 0) or 0
                if isinstance(node, SIMPLE) and last > node.lineno:
                    known = [(path, n) for n in range(node.lineno, last + 1)]
                    best = max(known, key=lambda place: self._total.get(place, 0.0))
                    for place in known if best in self._total else ():
                        if place not in self._total:
                            self._total[place] = self._total[best] * 0.98
                            self._why[place] = self._why.get(best, (0.0, ""))

    # --- outside functions ----------------------------------------------------------------------

    def _score_outside(self) -> Scores:
        """Return scores outside functions, inherited from the lines that read them."""
        inside = [
            (u, max((self._total.get(p, 0.0) for p in self._lines(u)), default=0.0))
            for u in self._units
        ]
        inside.sort(key=lambda pair: -pair[1])
        return Outside(self._e.files, self._e.modules).scores(inside, self._total)

    def _add_outside(self, told: Scores) -> None:
        read_by_changed = self._w["changed"]
        for place, (score, reason) in sorted(told.items()):
            bonus = self._total.pop(place, 0.0) if place not in self._ran else 0.0
            if place[1] in self._e.changed.get(place[0], ()):
                bonus += read_by_changed
                reason = "changed since the check was green"
            if place not in self._ran and score + bonus > 0:
                self._total[place] = score + bonus
                self._why[place] = (score + bonus, reason)
        self._tables()
        frames = {(p, n) for s in self._red if s.said for one in s.said.frames for p, n, _ in one}
        known = {*self._ran, *told, *frames}
        for place in [p for p in self._total if p not in known and self._is_outside(p)]:
            del self._total[place]

    def _tables(self) -> None:
        """Reduce the entries of a long table that no failing run is seen to use."""
        used = {
            (type(v), v)
            for v in [*self._e.used, *self._e.literals]
            if v not in ("", None, True, False)
        }
        used = {(kind, v) for kind, v in used if kind is str or (kind is int and not -1 <= v <= 2)}
        for path, file in self._e.files.items():
            for piece in file.pieces:
                lines = [
                    n
                    for n in piece.lines
                    if (path, n) in self._total and (path, n) not in self._hit
                ]
                if len(lines) < LONG_TABLE:
                    continue
                here = [n for n in lines if any(constant(node) in used for node in file.on(n))]
                if not here or 2 * len(here) > len(lines):
                    continue
                for line in lines:
                    self._total[path, line] *= 1.0 if line in here else UNUSED

    def _is_outside(self, place: Place) -> bool:
        file = self._e.files.get(place[0])
        return file is None or file.unit_at(place[1]) is None
