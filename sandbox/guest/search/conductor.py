"""The order of things: know, believe, generate, screen, combine, try again; bounded in time and number."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.agenda import Agenda
from sandbox.guest.search.candidates import Candidate, Suspicion
from sandbox.guest.search.combine import Partial, covers
from sandbox.guest.search.course import Course
from sandbox.guest.search.functions import units_of
from sandbox.guest.search.harness import PASS
from sandbox.guest.search.lanes.choice import Lanes
from sandbox.guest.search.lanes.model import FRESH, SWAP, Ready
from sandbox.guest.search.render import Source
from sandbox.guest.search.screening import Screening
from sandbox.guest.search.situation import Situation
from sandbox.guest.search.sources import SOURCES, Safely
from sandbox.guest.search.splicing import joint
from sandbox.guest.search.survivors import Survivors

STRETCH = 10.0
"""How much more time a candidate gets that ran out of it."""
BEAM = 8
"""How many partial fixes are searched on."""
UNDOING = 0.25
"""Of the time, for finding what of the red diff has to be undone."""
LATE = 0.4
"""Of the time limit: from then on partial fixes are combined before the search is through."""


class Conductor:
    """One search.

    Args:
        situation: What is known.
        course: Its bounds, and where events go.
        lanes: How candidates are run.
        tree: The checkout.
    """

    def __init__(self, situation: Situation, course: Course, lanes: Lanes, tree: Any) -> None:
        self._situation = situation
        self._course = course
        self._lanes = lanes
        self._survivors = Survivors(situation, course)
        self._screening = Screening(
            self._lanes, situation.goals, course, self._survivors, tree=None if tree.guard.guards_tree else tree
        )
        self._combined: Set[Tuple[int, ...]] = set()

    def run(self) -> None:
        """Search.

        Raises:
            Refused: nothing can be searched here.
            Ended: a bound was reached.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._search()
            finally:
                self._survivors.compare()

    def _search(self) -> None:
        feeds = [iter(Safely(name, source, self._situation, self._course.note)) for name, source in SOURCES]
        self._lanes.settle()
        self._tell_started()
        self._undo()
        agenda = Agenda(feeds, self._lanes.ready)
        self._screening.run(agenda, self._combine_early)
        self._combine()
        self._second_chances()
        if not self._course.survivors:
            self._second_edits()

    def _tell_started(self) -> None:
        situation, ground = self._situation, self._situation.ground
        self._course.tell_started({
            "candidates": self._course.request.max_candidates,
            "suspect_lines": ground.located.suspect_lines() if ground else [],
            "baseline_failing": len(situation.goals), "baseline_passing": len(situation.passing),
            "isolated": bool(ground and ground.baseline.isolated),
        })  # fmt: skip

    def _undo(self) -> None:
        """Look whether undoing a part of the red diff helps: that tells where to look, and is a way out if need be."""
        situation = self._situation
        made: Dict[Any, Ready] = {}
        enough = self._course.left() * (1 - UNDOING)

        def helps(candidate: Candidate) -> bool:
            ready = self._lanes.ready(candidate) if self._course.left() > enough else None
            if ready is None or not self._lanes.takes(ready.lane):
                return False
            made[candidate.changes] = ready
            self._course.tried += 1
            return bool(self._lanes.start([ready]).outcomes(self._course.left)[0].outcome == PASS)

        undo = situation.diff.stage(helps)
        found = undo.run() if undo is not None else None
        ready = made.get(found.changes) if found is not None else None
        if undo is None or ready is None:
            return
        situation.undone = True
        situation.diff.confirm(undo, situation.scores)
        if set(situation.goals) <= set(self._lanes.confirm(ready, self._course.left)):
            self._survivors.add(ready, ends=False)

    # --- more than one edit --------------------------------------------------------------------------

    def _combine_early(self) -> None:
        """Before the end only when no single edit can do, or much time has passed."""
        if self._course.survivors or not self._covered():
            return
        ground = self._situation.ground
        late = self._course.seconds() > LATE * self._course.request.time_limit_s
        if late or (
            ground is not None
            and all(len(ground.failing_through(u)) < len(self._situation.goals) for u in self._situation.units)
        ):
            self._combine()

    def _covered(self) -> bool:
        return {name for p in self._screening.partials for name in p.fixed} >= set(self._situation.goals)

    def _combine(self) -> None:
        """Join partial fixes of different tests."""
        if self._course.survivors or not self._covered():
            return
        partials = self._screening.partials
        for chosen in covers(partials, set(self._situation.goals)):
            if self._course.left() <= 0:
                return
            key = tuple(sorted(chosen))
            if key in self._combined:
                continue
            self._combined.add(key)
            ready = self._together([partials[i] for i in chosen])
            if ready is not None:
                self._course.tried += 1
                self._screening.confirm(ready)
            if self._course.survivors >= self._course.request.max_survivors:
                return

    def _together(self, partials: Sequence[Partial]) -> Optional[Ready]:
        """All these edits in one candidate; swapped in where each of them was."""
        if any(p.ready.first for p in partials):
            return None
        candidate = joint([p.ready.candidate for p in partials])
        if candidate is None:
            return None
        if all(p.ready.lane == SWAP for p in partials) and self._lanes.swap is not None:
            swaps: List[Any] = []
            for unit in dict.fromkeys(p.ready.candidate.unit for p in partials):
                edits = tuple(e for p in partials if p.ready.candidate.unit is unit for e in p.ready.candidate.edits)
                code = unit.compile(edits) if unit is not None else None
                if unit is None or code is None or self._situation.ground is None:
                    return None
                swaps += self._situation.ground.live.swaps(unit, code)
            trial = partials[0].ready.trial._replace(candidate=candidate, swaps=swaps)
            return Ready(candidate, SWAP, candidate.files(), trial)
        return Ready(candidate, FRESH, candidate.files()) if self._lanes.takes(FRESH) else None

    def _second_chances(self) -> None:
        """Candidates that ran out of time once more, with ten times as much."""
        waiting, self._screening.requeued = self._screening.requeued, []
        for ready in waiting:
            self._course.check()
            if self._lanes.takes(ready.lane):
                outcome = self._lanes.start([ready], STRETCH).outcomes(self._course.left)[0]
                self._course.tried += 1
                if outcome.outcome in ("pass", "near"):
                    self._lanes.stretch(STRETCH)
                    self._screening.judge(ready, outcome)

    def _second_edits(self) -> None:
        """Search again from the partial fixes that repair most, cheapest first."""
        single = [p for p in self._screening.partials if p.ready.first is None]
        best = sorted(single, key=lambda p: (-len(p.fixed), p.ready.candidate.priority))[:BEAM]
        feeds = [feed for feed in map(self._after, best) if feed is not None]
        for first, feed in feeds:
            self._screening.run(Agenda([feed], self._behind(first)))
            self._course.check()

    def _behind(self, first: Candidate) -> Callable[[Candidate], Optional[Ready]]:
        """Makes candidates ready as second edits."""
        return lambda candidate: self._lanes.ready(candidate.after(first), first)

    def _after(self, partial: Partial) -> Optional[Tuple[Any, Any]]:
        """Candidates in the same function, on top of a first edit."""
        candidate = partial.ready.candidate
        if candidate.unit is None:
            return None
        try:
            source = Source(candidate.source.path, candidate.source.render(candidate.edits))
        except (ValueError, SyntaxError):
            return None
        units = [u for u in units_of(source, candidate.unit.filename) if u.names == candidate.unit.names]
        flat = Suspicion({source.path: {line: 1.0 for u in units for line in range(u.first_line, u.last_line + 1)}})
        literals = self._situation.literals
        return candidate, iter(self._situation.generator.best_first(units[:1], flat, literals))
