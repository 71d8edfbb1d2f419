"""What a search stands on: the reproduced baseline, where to look, what may be tried there."""

from __future__ import annotations

import gc
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Tuple

from sandbox.guest.search.candidates.generator import Candidate, Generator, Suspicion
from sandbox.guest.search.execution.screen import NEAR, Chunk, Limits, Screen, Trial
from sandbox.guest.search.locate import locate
from sandbox.guest.search.locate.observe import order_of
from sandbox.guest.search.process.warm import warm
from sandbox.guest.search.session import baseline as base
from sandbox.guest.search.session.harness import PASS, Items, find_items
from sandbox.guest.search.session.watch import watch_of
from sandbox.guest.search.source.functions import LiveFunctions, Unit
from sandbox.guest.search.source.render import Edit
from sandbox.guest.search.source.scope import SeenLiterals

MOST_UNITS = 80
MOST_PASSING = 30
"""How many passing tests a candidate meets in its chunk; a survivor meets all of them."""
HELD_OUT_EACH = 3
"""One of so many passing tests is met by survivors only."""
BASELINE_SHARE, TRACING_SHARE = 0.22, 0.18
"""Of the time limit: most of it is for candidates."""
WARMING_SHARE = 0.12
NO_OP_SHARE = 0.15
"""What finding out that the unedited program is still broken may take at the most."""
SLOW = 0.9
"""So many passing tests are quicker than the one by whose time a failing test is bounded."""


class Request(NamedTuple):
    """The host's request; see `sandbox.types.SearchRequest`."""

    failing: Tuple[str, ...]
    passing: Tuple[str, ...]
    suspects: Tuple[Dict[str, Any], ...]
    template_shifts: Dict[str, float]
    protected: Tuple[str, ...]
    max_candidates: int
    max_survivors: int
    time_limit_s: float
    test_cpu_s: float
    root: str
    """Absolute path of the checkout; paths and test names are told relative to it."""
    red_hunks: Tuple[Dict[str, Any], ...] = ()
    """What stood there while the check was green; see `sandbox.types.RedHunk`."""
    held_out: Tuple[str, ...] = ()
    seed: int = 0
    workers: int = 2
    memory_bytes: int = 1 << 30
    lanes: Tuple[str, ...] = ("swap", "fresh", "cold")
    compare_inputs: int = 200
    given: Tuple[Dict[str, Any], ...] = ()
    """What others thought of; see `sandbox.types.GivenChange`."""
    sources: Tuple[str, ...] = ()
    """Which sources of candidates are asked."""

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> Request:
        """From what the host sent."""
        return cls(
            tuple(sent["failing"]),
            tuple(sent.get("passing", ())),
            tuple(sent.get("suspects", ())),
            dict(sent.get("template_shifts", {})),
            tuple(sent.get("protected", ())),
            int(sent.get("max_candidates", 100_000)),
            int(sent.get("max_survivors", 8)),
            float(sent.get("time_limit_s", 60.0)),
            float(sent.get("test_cpu_s", 2.0)),
            str(sent.get("root") or os.getcwd()),
            tuple(sent.get("red_hunks", ())),
            tuple(sent.get("held_out", ())),
            int(sent.get("seed", 0)),
            int(sent.get("workers", 2)),
            int(sent.get("memory_bytes", 1 << 30)),
            tuple(sent.get("lanes", ("swap", "fresh", "cold"))),
            int(sent.get("compare_inputs", 200)),
            tuple(sent.get("given", ())),
            tuple(sent.get("sources", ())),
        )


class Refused(Exception):
    """The search cannot work on this; the message says why."""


class Ground:
    """Everything known before the first candidate.

    Args:
        session: pytest's, with everything collected.
        request: What to do.
        templates: Template modules by name.
        left: Seconds until the search has to end.
        guard_for: Asked once the suite has run: what children that run candidates have to put on.

    Raises:
        Refused: nothing can be searched here.
    """

    def __init__(
        self,
        session: Any,
        request: Request,
        templates: Mapping[str, Any],
        left: Callable[[], float],
        *,
        guard_for: Callable[[], Any] = lambda: None,
    ) -> None:
        self.compare_inputs = request.compare_inputs
        self.seed = request.seed
        self.protected = request.protected
        self.root = os.path.realpath(request.root)
        items = find_items(session, self.root, request.failing, (*request.passing, *request.held_out))
        if not items.failing:
            raise Refused("none of the failing tests can be collected here")
        held_out = set(request.held_out)
        self.held_out = [i for i in items.passing if items.names[i] in held_out]
        """Passing tests that no candidate meets."""
        items = items._replace(passing=[i for i in items.passing if items.names[i] not in held_out])
        self._through: Dict[int, Tuple[Unit, List[int], List[int]]] = {}
        self.live = LiveFunctions()
        gc.collect()
        gc.freeze()  # forked children then copy fewer pages
        most = request.time_limit_s
        self.baseline = base.reproduce(items, request.test_cpu_s, min(BASELINE_SHARE * most, left()), order_of)
        warm(self.baseline.imported, self.root, min(WARMING_SHARE * most, left()))
        gc.freeze()
        watch_of(session.config).allowance = 0.2 + 4 * max(self.baseline.set_up_s.values(), default=0.0)
        self.items: Items = self.baseline.items
        if not self.items.failing:
            raise Refused("none of the failing tests fails here")
        reach = base.Reach(self.root, request.protected)
        self.located = locate(
            self.baseline,
            reach,
            suspects=request.suspects,
            red_hunks=request.red_hunks,
            wait_s=min(TRACING_SHARE * most, left()),
        )
        self.coverage = self.located.coverage
        self.scores = self.located.scores
        self.suspicion = Suspicion(self.scores)
        self.units = self._units()
        seen = base.literals_of(self.items.all, self.items.failing)
        compared = self.located.compared_values()
        self.literals = SeenLiterals(
            tuple(dict.fromkeys([*seen.numbers, *compared[0]])),
            tuple(dict.fromkeys([*seen.strings, *compared[1]])),
            tuple(seen.exceptions),
            tuple(seen.messages),
            tuple(seen.words),
        )
        self.templates = templates
        self.generator = Generator(templates, request.template_shifts)
        self.screen = Screen(self.items, self._limits(request.test_cpu_s), request.memory_bytes)
        self.screen.bounds = self.screen.bounds._replace(guard=guard_for())
        self.rejects_no_op = self._rejects_no_op(no_later_than(left, NO_OP_SHARE * most))

    def tests_through(self, unit: Unit) -> Tuple[List[int], List[int]]:
        """Failing and passing tests that a candidate meets; worked out once for each function."""
        if id(unit) not in self._through:
            self._through[id(unit)] = (unit, self.failing_through(unit), self.passing_through(unit))
        return self._through[id(unit)][1:]

    def failing_through(self, unit: Unit) -> List[int]:
        """Quick ones first; a test that hung too early to be traced may reach anything."""
        reached = [
            i for i in self.items.failing if self._is_screened(i) and (i not in self.coverage or self._reaches(i, unit))
        ]
        return sorted(reached, key=lambda i: (self.baseline.pace(i), i))

    def passing_through(self, unit: Unit) -> List[int]:
        """A bounded number of traced tests that reach a function, quick ones first; some are kept for confirming.

        How many candidates pass these and then fail the others tells what green is worth here.
        """
        traced = [i for i in self.all_passing_through(unit) if self._is_screened(i)]
        kept_back = set(sorted(traced)[HELD_OUT_EACH - 1 :: HELD_OUT_EACH])
        return [i for i in traced if i not in kept_back][:MOST_PASSING]

    def _is_screened(self, test: int) -> bool:
        """Whether a test says in the screen what it says in its place among all tests."""
        return self.baseline.isolated or test in self.baseline.screened

    def all_passing_through(self, unit: Unit) -> List[int]:
        """All traced tests that reach a function, quick ones first."""
        traced = [i for i in self.items.passing if i in self.coverage and self._reaches(i, unit)]
        return sorted(traced, key=lambda i: (self.baseline.pace(i), i))

    def _reaches(self, test: int, unit: Unit) -> bool:
        lines = self.coverage.get(test, {}).get(unit.source.path, ())
        return any(unit.first_line <= line <= unit.last_line for line in lines)

    def suite_s(self) -> float:
        """How long the whole suite may take, once."""
        usual = 3 * sum(self.screen.limits.of(i, 1.0) for i in self.items.failing)
        return 3.0 + usual + 3 * self.baseline.whole_s() + 10 * sum(self.baseline.set_up_s.values())

    def _units(self) -> List[Unit]:
        units = [unit for unit in self.located.units if self.suspicion.of_unit(unit) > 0]
        units.sort(key=lambda u: (-self.suspicion.of_unit(u), u.source.path, u.first_line))
        return units[:MOST_UNITS]

    def _limits(self, most: float) -> Limits:
        known = {i: min(0.01 + 10 * s, most * 3) for i, s in self.baseline.seconds.items()}
        slow = sorted(self.baseline.seconds[i] for i in self.items.passing if i in self.baseline.seconds)
        # Not the slowest: it would let every endless candidate take as long. Who runs out of time gets more later.
        usual = min(0.01 + 5 * (slow[int(SLOW * (len(slow) - 1))] if slow else 0.0), most)
        # A failing test may take longer once it is mended than it took to fail.
        known.update({i: min(max(usual, known[i]), most) for i in self.items.failing if i in known})
        return Limits(known, usual, self.baseline.seconds)

    def _rejects_no_op(self, left: Callable[[], float]) -> bool:
        """Whether the harness finds the unedited program as broken as it is."""
        unit = next((unit for unit in self.units if self.live.has(unit)), None)
        if unit is None:
            return False
        nothing = Candidate("nothing", 0.0, 1.0, unit.first_line, unit.source, unit, (Edit(0, 0, ""),))
        trial = Trial(nothing, self.live.swaps(unit, unit.originals[()]), self.items.failing, ())
        return Chunk(self.screen, [trial], 1.0).results(left)[0].outcome not in (PASS, NEAR)


def no_later_than(left: Callable[[], float], most_s: float) -> Callable[[], float]:
    """The seconds left of something that has so many from now on, and no more than are left of all."""
    end = time.monotonic() + most_s
    return lambda: min(left(), end - time.monotonic())
