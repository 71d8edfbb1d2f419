"""Partial fixes of different tests, joined into one candidate."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.candidates.splicing import joint
from sandbox.guest.search.context.budget import Course
from sandbox.guest.search.context.situation import Situation
from sandbox.guest.search.control.combine import Partial, covers
from sandbox.guest.search.control.scheduler import Screening
from sandbox.guest.search.lanes.model import FRESH, SWAP, Ready
from sandbox.guest.search.lanes.selection import Lanes

LATE = 0.4
"""Of the time limit: from then on partial fixes are joined before the search is through."""


class Joining:
    """Tries partial fixes together.

    Args:
        situation: What is known.
        course: Bounds.
        lanes: How candidates are run.
        screening: Who knows partial fixes, and confirms.
    """

    def __init__(self, situation: Situation, course: Course, lanes: Lanes, screening: Screening) -> None:
        self._situation = situation
        self._course = course
        self._lanes = lanes
        self._screening = screening
        self._tried: Set[Tuple[int, ...]] = set()

    def early(self) -> None:
        """Before the end only when no single edit can do, or much time has passed."""
        if self._course.survivors or not self._covered():
            return
        ground = self._situation.ground
        late = self._course.seconds() > LATE * self._course.request.time_limit_s
        if late or (
            ground is not None
            and all(len(ground.tests_through(u)[0]) < len(self._situation.goals) for u in self._situation.units)
        ):
            self.all()

    def _covered(self) -> bool:
        return {name for p in self._screening.partials for name in p.fixed} >= set(self._situation.goals)

    def all(self) -> None:
        """Every set that covers all goals, cheap ones first."""
        if self._course.survivors or not self._covered():
            return
        partials = self._screening.partials
        for chosen in covers(partials, set(self._situation.goals)):
            if self._course.left() <= 0 or self._course.survivors >= self._course.request.max_survivors:
                return
            key = tuple(sorted(chosen))
            if key not in self._tried:
                self._tried.add(key)
                ready = self._together([partials[i] for i in chosen])
                if ready is not None:
                    self._course.tried += 1
                    self._screening.confirm(ready)

    def _together(self, partials: Sequence[Partial]) -> Optional[Ready]:
        """All these edits in one candidate; swapped in where each of them was."""
        if any(p.ready.first for p in partials):
            return None
        candidate = joint([p.ready.candidate for p in partials])
        if candidate is None:
            return None
        if all(p.ready.lane == SWAP for p in partials) and self._lanes.swap is not None:
            swaps = self._swaps(partials)
            if swaps is None:
                return None
            trial = partials[0].ready.trial._replace(candidate=candidate, swaps=swaps)
            return Ready(candidate, SWAP, candidate.files(), trial)
        return Ready(candidate, FRESH, candidate.files()) if self._lanes.takes(FRESH) else None

    def _swaps(self, partials: Sequence[Partial]) -> Optional[List[Any]]:
        swaps: List[Any] = []
        for unit in dict.fromkeys(p.ready.candidate.unit for p in partials):
            edits = tuple(e for p in partials if p.ready.candidate.unit is unit for e in p.ready.candidate.edits)
            code = unit.compile(edits) if unit is not None else None
            if unit is None or code is None or self._situation.ground is None:
                return None
            swaps += self._situation.ground.live.swaps(unit, code)
        return swaps
