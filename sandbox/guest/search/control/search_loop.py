"""The order of things: know, believe, generate, screen, combine, try again; bounded in time and number."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.candidates.sources import SOURCES, Safely
from sandbox.guest.search.context.budget import Course
from sandbox.guest.search.context.situation import Situation
from sandbox.guest.search.control.joining import Joining
from sandbox.guest.search.control.queue import Agenda
from sandbox.guest.search.control.scheduler import Screening
from sandbox.guest.search.control.second_edits import Beam
from sandbox.guest.search.control.survivors import Survivors
from sandbox.guest.search.lanes.model import Ready
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.session.harness import PASS

STRETCH = 10.0
"""How much more time a candidate gets that ran out of it."""
UNDOING = 0.35
"""Of the time, for finding what of the red diff has to be undone."""
HALF, AGAIN = 0.5, 0.1
"""Of the time limit: when candidates that ran out of time are tried again before the end, and for how long."""


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
            self._lanes,
            situation.goals,
            course,
            self._survivors,
            tests=len(situation.goals) + len(situation.passing),
            tree=None if tree.guard.guards_tree else tree,
        )
        self._joining = Joining(situation, course, lanes, self._screening)
        self._beam = Beam(situation, course, lanes, self._screening)
        self._asked = frozenset(situation.request.sources)
        self._again = False

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
        asked = [(name, source) for name, source in SOURCES if name in self._asked]
        feeds = [iter(Safely(name, source, self._situation, self._course.note)) for name, source in asked]
        self._lanes.settle()
        self._tell_started()
        if "reverts" in self._asked:
            self._undo()
        agenda = Agenda(feeds, self._lanes.ready)
        self._screening.run(agenda, lambda: self._between(agenda))
        self._joining.all()
        self._second_chances()
        agenda.add(iter(self._lanes.deferred), self._lanes.ready_deferred)
        self._screening.run(agenda, lambda: self._between(agenda))
        while self._grow(agenda, at_end=True):
            self._screening.run(agenda, lambda: self._between(agenda))
            self._joining.all()

    def _between(self, agenda: Agenda) -> None:
        """After so many trials."""
        self._joining.early()
        self._grow(agenda)
        limit = self._course.request.time_limit_s
        if not self._again and not self._course.survivors and self._course.seconds() > HALF * limit:
            self._again = True
            least = self._course.left() - AGAIN * limit
            self._second_chances(lambda: self._course.left() > least)

    def _grow(self, agenda: Agenda, *, at_end: bool = False) -> bool:
        """Second edits are templates' as well."""
        return "functions" in self._asked and self._beam.grow(agenda, at_end=at_end)

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

    # --- what is left at the end ----------------------------------------------------------------------

    def _second_chances(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Candidates that ran out of time once more, with ten times as much."""
        waiting, self._screening.requeued = self._screening.requeued, []
        for ready in waiting:
            self._course.check()
            if not go_on():
                self._screening.requeued.append(ready)
            elif self._lanes.takes(ready.lane):
                outcome = self._lanes.start([ready], STRETCH).outcomes(self._course.left)[0]
                self._course.tried += 1
                if outcome.outcome in ("pass", "near"):
                    self._lanes.stretch(STRETCH)
                    self._screening.judge(ready, outcome)
