"""Trials of many candidates: several at a time, judged in order, promising ones confirmed."""

from __future__ import annotations

import os
from typing import Any, Callable, List, Optional, Sequence

from sandbox.guest.search.agenda import Agenda
from sandbox.guest.search.combine import Partial
from sandbox.guest.search.course import Course
from sandbox.guest.search.harness import FAIL, PASS, TIMEOUT
from sandbox.guest.search.lanes.choice import Lanes
from sandbox.guest.search.lanes.model import NOMINAL_S, SWAP, Outcome, Ready, Work
from sandbox.guest.search.screen import DIED, NEAR
from sandbox.guest.search.survivors import Survivors

MOST_REQUEUED = 400
MOST_PARTIALS = 60
MOST_REJECTED = 600


class Screening:
    """Runs what an agenda gives.

    Args:
        lanes: How candidates are run.
        goals: What a fix has to reach.
        course: Bounds.
        survivors: Where fixes go.
        tree: The checkout, where candidates can write into it; None where they cannot.
    """

    def __init__(
        self, lanes: Lanes, goals: Sequence[str], course: Course, survivors: Survivors, *, tree: Any = None
    ) -> None:
        self._tree = tree
        self._lanes = lanes
        self._goals = set(goals)
        self._course = course
        self._survivors = survivors
        self._workers = max(1, min(course.request.workers, os.cpu_count() or 1))
        self.partials: List[Partial] = []
        self.requeued: List[Ready] = []
        self.rejected: List[Ready] = []
        """The first of those that failed, since somebody looked."""

    def run(self, agenda: Agenda, between: Callable[[], Any] = lambda: None) -> None:
        """Until the agenda is empty.

        Args:
            agenda: What to try.
            between: Called after each chunk.

        Raises:
            Ended: a bound was reached.
        """
        running: List[Work] = []
        try:
            while True:
                while len(running) < self._workers and (work := self._next(agenda)) is not None:
                    running.append(work)
                if not running:
                    return
                work = running.pop(0)
                outcomes = work.outcomes(self._course.left)
                if self._tree is not None and self._tree.restore() and len(work.ready) == 1:
                    outcomes = [Outcome("fail")]
                for ready, outcome in zip(work.ready, outcomes):
                    self._course.count(NOMINAL_S[ready.lane] / NOMINAL_S[SWAP] / 8 if ready.lane != SWAP else 1)
                    self.judge(ready, outcome)
                self._course.tell_progress()
                between()
                self._course.check()
        finally:
            for work in running:
                work.end()

    def _next(self, agenda: Agenda) -> Optional[Work]:
        """The next trials, begun."""
        while self._course.left() > 0:
            chunk = agenda.chunk(SWAP, self._chunk_size, lambda: self._course.left() > 0)
            if not chunk:
                return None
            if self._lanes.takes(chunk[0].lane):
                return self._lanes.start(chunk)
        return None

    def _chunk_size(self) -> int:
        return self._lanes.swap.chunk_size() if self._lanes.swap is not None else 1

    def judge(self, ready: Ready, outcome: Outcome) -> None:
        """What becomes of a candidate after its trial."""
        if outcome.outcome in (TIMEOUT, DIED) and len(self.requeued) < MOST_REQUEUED:
            self.requeued.append(ready)
        if outcome.outcome == FAIL and len(self.rejected) < MOST_REJECTED:
            self.rejected.append(ready)
        if outcome.outcome not in (PASS, NEAR) or self._course.survivors >= self._course.request.max_survivors:
            return
        if outcome.outcome == NEAR and (self._course.survivors or len(self.partials) >= MOST_PARTIALS):
            return
        self._course.passed_screen += outcome.outcome == PASS
        self.confirm(ready)

    def confirm(self, ready: Ready) -> bool:
        """Run the whole suite on a candidate; whether it survives."""
        fixed = self._lanes.confirm(ready, self._course.left)
        if self._tree is not None and self._tree.restore():
            return False
        self._course.confirmed += bool(fixed)
        if self._goals <= set(fixed):
            self._survivors.add(ready)
            return True
        if fixed and len(self.partials) < MOST_PARTIALS:
            self.partials.append(Partial(ready, fixed))
            self._survivors.nearly(ready, fixed)
        return False
