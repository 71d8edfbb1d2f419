"""The facts from the collected tests: baseline, fault localization and units to edit."""

from __future__ import annotations

import gc
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch, Generator, Suspicion
from sandbox.guest.search.execution.screen import NEAR, Chunk, CpuLimits, Screen, Trial
from sandbox.guest.search.locate import Located, locate
from sandbox.guest.search.locate.observe import select_tests
from sandbox.guest.search.process.limits import slowdown
from sandbox.guest.search.process.preload import import_test_modules
from sandbox.guest.search.session import baseline as base
from sandbox.guest.search.session.harness import PASS, Items, find_items
from sandbox.guest.search.session.own_imports import import_own_modules
from sandbox.guest.search.session.watch import get_watch
from sandbox.guest.search.source.functions import LiveFunctions, Unit
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import SeenLiterals

MOST_UNITS = 80
MOST_PASSING = 30
"""Maximum number of passing tests in a candidate's first trial; survivors run all of them."""
HELD_OUT_EACH = 3
"""Every third passing test is reserved for confirming survivors."""
BASELINE_SHARE, TRACING_SHARE = 0.22, 0.18
"""Shares of the time limit for the baseline and for tracing; most of the rest is for candidates."""
WARMING_SHARE = 0.12
NO_OP_SHARE = 0.15
"""Maximum share of the time limit for confirming that the unedited program fails."""
SLOW = 0.9
"""Quantile of the passing tests' durations that bounds a test of unknown duration."""


class SearchJob(NamedTuple):
    """The host's request; see `sandbox.types.SearchRequest`."""

    failing: Tuple[str, ...]
    passing: Tuple[str, ...]
    suspects: Tuple[Dict[str, Any], ...]
    template_shifts: Dict[str, float]
    protected: Tuple[str, ...]
    max_candidates: int
    max_survivors: int
    """Number of survivors after which the search ends if one of their behaviours is ahead."""
    most_survivors: int
    """Number after which it ends in any case."""
    time_limit_s: float
    test_cpu_s: float
    root: str
    """Absolute path of the checkout. Paths and test names are relative to it."""
    red_hunks: Tuple[Dict[str, Any], ...] = ()
    """Hunks of the diff that turned the check red; see `sandbox.types.RedHunk`."""
    held_out: Tuple[str, ...] = ()
    seed: int = 0
    workers: int = 2
    memory_bytes: int = 1 << 30
    lanes: Tuple[str, ...] = ("swap", "fresh", "cold")
    compare_inputs: int = 200
    given: Tuple[Dict[str, Any], ...] = ()
    """Changes suggested from outside; see `sandbox.types.GivenChange`."""
    sources: Tuple[str, ...] = ()
    """Names of the candidate sources to use."""
    known: Tuple[Dict[str, Any], ...] = ()
    """Behaviours to recognize; see `sandbox.types.KnownBehaviour`."""
    given_may_end: bool = False
    """The search ends after the given changes if one of them is sound and clearly ahead."""

    @classmethod
    def read(cls, sent: Mapping[str, Any]) -> SearchJob:
        """Parse the host's request."""
        return cls(
            tuple(sent["failing"]),
            tuple(sent.get("passing", ())),
            tuple(sent.get("suspects", ())),
            dict(sent.get("template_shifts", {})),
            tuple(sent.get("protected", ())),
            int(sent.get("max_candidates", 100_000)),
            int(sent.get("max_survivors", 8)),
            max(int(sent.get("most_survivors", 0)), int(sent.get("max_survivors", 8))),
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
            tuple(sent.get("known", ())),
            bool(sent.get("given_may_end", False)),
        )


class SearchRefused(Exception):
    """The search cannot handle this; the message gives the reason."""


class SuiteFacts(NamedTuple):
    """Everything known from the collected tests before the first candidate."""

    request: SearchJob
    root: str
    """Real path of the checkout."""
    baseline: base.SuiteBaseline
    held_out: List[int]
    """Passing tests that no candidate runs."""
    located: Located
    suspicion: Suspicion
    units: List[Unit]
    """The functions to edit, most suspicious first."""
    literals: SeenLiterals
    live: LiveFunctions
    templates: Mapping[str, Any]
    """Template modules by name."""
    generator: Generator
    screen: Screen
    rejects_no_op: bool
    """True if a candidate that changes nothing fails its trial."""
    trial_tests: Dict[int, Tuple[Unit, List[int], List[int]]]
    """Cache of `tests_through`, by the id of the function."""

    @property
    def items(self) -> Items:
        """Return the tests; the failing ones fail here too."""
        return self.baseline.items

    @property
    def coverage(self) -> Mapping[int, Mapping[str, Any]]:
        """Return the lines that each traced test runs, by path."""
        return self.located.coverage

    @property
    def scores(self) -> Dict[str, Dict[int, float]]:
        """Return the suspiciousness of each line, by path."""
        return self.located.scores

    def tests_through(self, unit: Unit) -> Tuple[List[int], List[int]]:
        """Return the failing and passing tests of a candidate's trial, cached per function."""
        if id(unit) not in self.trial_tests:
            found = (unit, self.failing_through(unit), self.passing_through(unit))
            self.trial_tests[id(unit)] = found
        return self.trial_tests[id(unit)][1:]

    def failing_through(self, unit: Unit) -> List[int]:
        """Return the failing tests that reach a function, quickest first.

        A test that hung too early to be traced may reach anything.
        """
        reached = [
            i
            for i in self.items.failing
            if self._is_screened(i) and (i not in self.coverage or self._reaches(i, unit))
        ]
        return sorted(reached, key=lambda i: (self.baseline.pace(i), i))

    def passing_through(self, unit: Unit) -> List[int]:
        """Return a bounded number of traced passing tests that reach a function, quickest first.

        Some are reserved for confirmation: the share of candidates that fail there measures how
        reliable green is.
        """
        traced = [i for i in self.all_passing_through(unit) if self._is_screened(i)]
        # By index and not by speed, so that the choice does not depend on measured times.
        kept_back = set(sorted(traced)[HELD_OUT_EACH - 1 :: HELD_OUT_EACH])
        return [i for i in traced if i not in kept_back][:MOST_PASSING]

    def _is_screened(self, test: int) -> bool:
        """Return True if a test has the same outcome in a trial as in the whole suite."""
        return self.baseline.isolated or test in self.baseline.screened

    def all_passing_through(self, unit: Unit) -> List[int]:
        """Return all traced passing tests that reach a function, quickest first."""
        traced = [i for i in self.items.passing if i in self.coverage and self._reaches(i, unit)]
        return sorted(traced, key=lambda i: (self.baseline.pace(i), i))

    def _reaches(self, test: int, unit: Unit) -> bool:
        lines = self.coverage.get(test, {}).get(unit.source.path, ())
        return any(unit.first_line <= line <= unit.last_line for line in lines)

    def suite_s(self) -> float:
        """Return the timeout for one run of the whole suite, in seconds."""
        usual = 3 * sum(self.screen.limits.of(i, 1.0) for i in self.items.failing)
        suite = 3 * self.baseline.whole_s() + 10 * sum(self.baseline.set_up_s.values())
        return (3.0 + usual + suite) * slowdown()


def measure_suite(
    session: Any,
    request: SearchJob,
    templates: Mapping[str, Any],
    left: Callable[[], float],
    *,
    guard_for: Callable[[], Any] = lambda: None,
) -> SuiteFacts:
    """Run the unedited tests, locate the fault, and prepare trials.

    Args:
        session: The pytest session, with all items collected.
        request: The search request.
        templates: Template modules by name.
        left: Returns the seconds left.
        guard_for: Returns the guard for children that run candidates; called once the suite has
            run.

    Raises:
        SearchRefused: Nothing can be searched here.
    """
    root = os.path.realpath(request.root)
    items, held_out = _select_items(session, root, request)
    # Before the freeze: the garbage collector does not list frozen objects.
    live = LiveFunctions()
    baseline = _reproduce(items, root, request, live, left=left)
    most = request.time_limit_s
    located = locate(
        baseline,
        base.EditablePaths(root, request.protected),
        suspects=request.suspects,
        red_hunks=request.red_hunks,
        wait_s=min(TRACING_SHARE * most, left()),
    )
    suspicion = Suspicion(located.scores)
    units = _rank_units(located, suspicion)
    limits = _limit_tests(baseline, request.test_cpu_s)
    screen = Screen(baseline.items, limits, request.memory_bytes)
    screen.bounds = screen.bounds._replace(guard=guard_for())
    nothing = _change_nothing(units, live, baseline.items.failing)
    return SuiteFacts(
        request=request,
        root=root,
        baseline=baseline,
        held_out=held_out,
        located=located,
        suspicion=suspicion,
        units=units,
        literals=_collect_literals(baseline.items, located),
        live=live,
        templates=templates,
        generator=Generator(templates, request.template_shifts),
        screen=screen,
        rejects_no_op=nothing is not None and _fails(screen, nothing, left, most),
        trial_tests={},
    )


def _rank_units(located: Located, suspicion: Suspicion) -> List[Unit]:
    units = [unit for unit in located.units if suspicion.of_unit(unit) > 0]
    units.sort(key=lambda u: (-suspicion.of_unit(u), u.source.path, u.first_line))
    return units[:MOST_UNITS]


def _limit_tests(baseline: base.SuiteBaseline, most: float) -> CpuLimits:
    """Return how long each test may take in a trial, from its time in the baseline."""
    items = baseline.items
    known = {i: min(0.01 + 10 * s, most * 3) for i, s in baseline.seconds.items()}
    slow = sorted(baseline.seconds[i] for i in items.passing if i in baseline.seconds)
    # Not the slowest test: every endless candidate would then take as long. Timeouts are
    # retried later.
    usual = min(0.01 + 5 * (slow[int(SLOW * (len(slow) - 1))] if slow else 0.0), most)
    # A failing test may take longer once it is fixed than it took to fail.
    known.update({i: min(max(usual, known[i]), most) for i in items.failing if i in known})
    return CpuLimits(known, usual, baseline.seconds)


def _change_nothing(
    units: List[Unit], live: LiveFunctions, failing: Sequence[int]
) -> Optional[Trial]:
    """Return the trial of a candidate that changes nothing, or None without a function for it."""
    unit = next((unit for unit in units if live.has(unit)), None)
    if unit is None:
        return None
    nothing = CandidatePatch(
        "nothing", 0.0, 1.0, unit.first_line, unit.source, unit, (TextEdit(0, 0, ""),)
    )
    return Trial(nothing, live.swaps(unit, unit.originals[()]), failing, ())


def _fails(screen: Screen, trial: Trial, left: Callable[[], float], most_s: float) -> bool:
    result = Chunk(screen, [trial], 1.0).results(limit_clock(left, NO_OP_SHARE * most_s))[0]
    return result.outcome not in (PASS, NEAR)


def _select_items(session: Any, root: str, request: SearchJob) -> Tuple[Items, List[int]]:
    """Return the items without held-out tests, and the held-out ones."""
    items = find_items(session, root, request.failing, (*request.passing, *request.held_out))
    if not items.failing:
        raise SearchRefused("none of the failing tests can be collected here")
    names = set(request.held_out)
    held_out = [i for i in items.passing if items.names[i] in names]
    passing = [i for i in items.passing if items.names[i] not in names]
    return items._replace(passing=passing), held_out


def _reproduce(
    items: Items,
    root: str,
    request: SearchJob,
    live: LiveFunctions,
    *,
    left: Callable[[], float],
) -> base.SuiteBaseline:
    """Run the unedited tests, import what they import, and freeze the heap for forks."""
    gc.collect()
    gc.freeze()  # forked children then copy fewer pages
    most = request.time_limit_s
    baseline = base.reproduce(
        items, request.test_cpu_s, min(BASELINE_SHARE * most, left()), select_tests
    )
    import_test_modules(baseline.imported, root, min(WARMING_SHARE * most, left()))
    import_own_modules(
        baseline, request.test_cpu_s, min(WARMING_SHARE * most, left()), select_tests
    )
    live.add_new()
    gc.freeze()
    longest_set_up = max(baseline.set_up_s.values(), default=0.0)
    get_watch(items.all[0].config).allowance = 0.2 + 4 * longest_set_up
    if not baseline.items.failing:
        raise SearchRefused("none of the failing tests fails here")
    return baseline


def _collect_literals(items: Items, located: Located) -> SeenLiterals:
    """Return the literals of the failing tests and the values that they compared."""
    seen = base.collect_literals(items.all, items.failing)
    numbers, texts = located.compared_values()
    return SeenLiterals(
        tuple(dict.fromkeys([*seen.numbers, *numbers])),
        tuple(dict.fromkeys([*seen.strings, *texts])),
        tuple(seen.exceptions),
        tuple(seen.messages),
        tuple(seen.words),
    )


def limit_clock(left: Callable[[], float], most_s: float) -> Callable[[], float]:
    """Return a clock that is limited to `most_s` from now, and by `left`."""
    end = time.monotonic() + most_s
    return lambda: min(left(), end - time.monotonic())
