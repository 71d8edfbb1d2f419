"""Second edits: searched on top of first ones that mend something, or that let a failing test come farther."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Set

from sandbox.guest.search.candidates.generator import Candidate, Suspicion
from sandbox.guest.search.context.budget import Course
from sandbox.guest.search.context.situation import Situation
from sandbox.guest.search.control.progress import farther
from sandbox.guest.search.control.queue import Agenda
from sandbox.guest.search.control.scheduler import Screening
from sandbox.guest.search.lanes.model import Ready
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.source.functions import twin_in
from sandbox.guest.search.source.render import Source

MOST = 8
"""How many first edits are searched on."""
MOST_FARTHER = 4
"""How many of them only come farther."""
OFTEN = 1500
"""After how many trials it is looked whose tests come farther."""
LOOKED_AT = 300
"""How many rejected candidates are asked, cheapest first."""
LOOKING = 0.1
"""Of the time that is left."""


class Beam:
    """Adds second edits to an agenda.

    Args:
        situation: What is known.
        course: Bounds.
        lanes: How candidates are run.
        screening: Who knows partial fixes and rejected candidates.
    """

    def __init__(self, situation: Situation, course: Course, lanes: Lanes, screening: Screening) -> None:
        self._situation = situation
        self._course = course
        self._lanes = lanes
        self._screening = screening
        self._taken: Set[Any] = set()
        self._count = 0
        self._looked = 0

    def grow(self, agenda: Agenda, *, at_end: bool = False) -> bool:
        """Begin to search on what has been found since the last time; whether anything was added.

        Args:
            agenda: Gets the second edits.
            at_end: No first edits are left to try.
        """
        if self._course.survivors:
            return False
        before = self._count
        for partial in self._screening.partials:
            self._add(agenda, partial.ready, partial.fixed)
        tried = self._course.tried
        if (at_end or tried - self._looked >= OFTEN) and self._screening.rejected:
            self._looked = tried
            for ready in self._farther():
                self._add(agenda, ready)
        return self._count > before

    def _farther(self) -> List[Ready]:
        ground = self._situation.ground
        rejected = [r for r in self._screening.rejected if r.first is None and r.trial is not None and r.trial.failing]
        self._screening.rejected = []
        if ground is None or not rejected or self._lanes.swap is None:
            return []
        rejected.sort(key=lambda r: r.candidate.priority)
        wait = max(0.2, LOOKING * self._course.left())
        found = farther(ground.items.all, rejected[:LOOKED_AT], wait_s=wait, bounds=ground.screen.bounds)
        return [ready for _, ready in found[:MOST_FARTHER]]

    def _add(self, agenda: Agenda, ready: Ready, mended: Sequence[str] = ()) -> None:
        if self._count >= MOST or ready.first is not None or ready.candidate.changes in self._taken:
            return
        self._taken.add(ready.candidate.changes)
        feed = self._behind(ready.candidate)
        if feed is not None:
            self._count += 1
            first = ready.candidate
            agenda.add(feed, lambda candidate: self._lanes.ready(candidate, first, mended))

    def _behind(self, first: Candidate) -> Optional[Iterator[Candidate]]:
        """Candidates in the same function, on top of a first edit."""
        if first.unit is None or first.more:
            return None
        try:
            source = Source(first.source.path, first.source.render(first.edits))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        twin = twin_in(source, first.unit)
        if twin is None:
            return None
        flat = Suspicion({source.path: dict.fromkeys(range(twin.first_line, twin.last_line + 1), 1.0)})
        made = self._situation.generator.best_first([twin], flat, self._situation.literals)
        return (candidate.after(first) for candidate in made)
