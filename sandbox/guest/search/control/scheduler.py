"""Trials of many candidates: several at a time, judged in order, promising ones confirmed."""

from __future__ import annotations

import heapq
import math
import os
import time
from typing import Any, Callable, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.context.budget import Course
from sandbox.guest.search.control.combine import Partial
from sandbox.guest.search.control.queue import Agenda
from sandbox.guest.search.control.survivors import Survivors
from sandbox.guest.search.execution.screen import DIED, NEAR
from sandbox.guest.search.lanes.model import COLD, NOMINAL_S, SWAP, Outcome, Ready, Work
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.session.harness import FAIL, PASS, TIMEOUT

MOST_REQUEUED = 400
MOST_PARTIALS = 60
MOST_REJECTED = 600
MOST_WAITING = 200
"""How many near misses wait to be confirmed."""
STEP, GROWTH = 200, 0.25
"""After how many trials of the swap lane it is looked what came of them, at first; and of those that were made."""
LOOKED, LOOKING, OVERHEAD = 300, 0.5, 30
"""How many tests may run to confirm near misses: in any case, and for each trial; what a process of its own counts."""
LOOKING_S, LOOKING_SHARE = 1.0, 0.2
"""What that may take at most, where tests are slow: seconds, and of the time the search has had."""


class Screening:
    """Runs what an agenda gives.

    Args:
        lanes: How candidates are run.
        goals: What a fix has to reach.
        course: Bounds.
        survivors: Where fixes go.
        tests: How many tests a near miss is confirmed with.
        tree: The checkout, where candidates can write into it; None where they cannot.
    """

    def __init__(
        self, lanes: Lanes, goals: Sequence[str], course: Course, survivors: Survivors, *, tests: int, tree: Any = None
    ) -> None:
        self._tree = tree
        self._usual: Optional[Set[str]] = None
        """What the unedited tests change when they run again; None until somebody wants to know."""
        self._tests = tests
        self._lanes = lanes
        self._goals = set(goals)
        self._course = course
        self._survivors = survivors
        # Whoever runs while the checkout is put back by hand loses what it wrote, and others are blamed for it.
        self._workers = max(1, min(course.request.workers, os.cpu_count() or 1)) if tree is None else 1
        self._running: List[Work] = []
        self.partials: List[Partial] = []
        self.requeued: List[Ready] = []
        self.rejected: List[Ready] = []
        """The first of those that failed, since somebody looked."""
        self._waiting: List[Tuple[int, int, Partial]] = []
        """Near misses that are not confirmed yet, those that mend most first."""
        self._looked = 0
        self._looked_s = 0.0
        self._begun = 0.0
        """The trials that were begun, long ones weighing more."""
        self._pause = self._following()

    def run(self, agenda: Agenda, between: Callable[[], Any] = lambda: None) -> None:
        """Until the agenda is empty.

        What is found is looked at when all of so many trials are judged, not when it comes: that would add to the
        agenda sooner or later, as fast as the machine is.

        Args:
            agenda: What to try.
            between: Called at each pause.

        Raises:
            Ended: a bound was reached.
        """
        running = self._running
        if self._tree is not None:
            self._tree.restore()  # what was tried before is no fault of the first candidate
        try:
            while True:
                while len(running) < self._workers and (work := self._next(agenda)) is not None:
                    running.append(work)
                if running:
                    self._finish(running.pop(0))
                    if not running and self._begun >= self._pause:
                        continue  # what the last ones brought is looked at before a bound ends it
                elif self._begun >= self._pause:
                    self._pause = self._following()
                    self._look(self._may_look)
                    between()
                else:
                    self._look(lambda: self._course.left() > 0)
                    self._course.check()
                    return
                self._course.tell_progress()
                self._course.check()
        finally:
            for work in running:
                work.end()
            running.clear()

    def _following(self) -> float:
        """When the next pause is made: at the last candidate at the latest."""
        most = self._course.request.max_candidates
        following = self._begun + max(STEP, GROWTH * self._begun)
        return min(following, most) if self._begun < most else following

    def _finish(self, work: Work) -> None:
        """Wait for trials and judge them."""
        if work.ready[0].lane == COLD:
            self._hear_others()
        outcomes = work.outcomes(self._course.left)
        if self._wrote() and len(work.ready) == 1:
            outcomes = [Outcome("fail")]
        for ready, outcome in zip(work.ready, outcomes):
            self._course.count(_weight(ready))
            self.judge(ready, outcome)

    def _hear_others(self) -> None:
        """Wait for all that run meanwhile, to be judged when it is their turn: files are about to be edited on disk."""
        left = self._course.left
        self._running[:] = [w if w.ready[0].lane == COLD else Heard(w.ready, w.outcomes(left)) for w in self._running]

    def _wrote(self) -> bool:
        """Put the checkout back where that is done by hand; whether what ran changed more than the unedited tests."""
        changed = set(self._tree.restore()) if self._tree is not None else set()
        if changed and self._usual is None:
            self._usual = self._changed_again()
        return bool(changed - (self._usual or set()))

    def _changed_again(self) -> Set[str]:
        """What the unedited tests change that they did not change when they ran first."""
        lane = self._lanes.swap or self._lanes.fresh
        if lane is not None:
            self._hear_others()
            nothing: Any = {}
            lane.confirm(nothing, self._course.left)
        changed = sorted(self._tree.restore())
        if changed:
            self._course.note(
                f"the unedited tests change other files when they run again, such as {changed[0]}: "
                "where these are new each time, no fix can be confirmed"
            )
        return set(changed)

    def _next(self, agenda: Agenda) -> Optional[Work]:
        """The next trials, begun; none where there is a pause to be made."""
        while self._course.left() > 0 and self._begun < self._pause:
            chunk = agenda.chunk(SWAP, self._chunk_size, lambda: self._course.left() > 0)
            if not chunk:
                return None
            if self._lanes.takes(chunk[0].lane):
                self._begun += sum(map(_weight, chunk))
                return self._start(chunk)
        return None

    def _start(self, chunk: Sequence[Ready]) -> Work:
        try:
            return self._lanes.start(chunk)
        except BlockingIOError:
            # One of those under way holds every process there may be, and only we end it.
            while self._running:
                self._finish(self._running.pop(0))
            return self._lanes.start(chunk)

    def _chunk_size(self) -> int:
        size = self._lanes.swap.chunk_size() if self._lanes.swap is not None else 1
        return max(1, min(size, math.ceil(self._pause - self._begun)))

    def judge(self, ready: Ready, outcome: Outcome) -> None:
        """What becomes of a candidate after its trial."""
        if outcome.outcome in (TIMEOUT, DIED) and len(self.requeued) < MOST_REQUEUED:
            self.requeued.append(ready)
        if outcome.outcome == FAIL and len(self.rejected) < MOST_REJECTED:
            self.rejected.append(ready)
        if outcome.outcome not in (PASS, NEAR) or self._course.survivors >= self._course.request.max_survivors:
            return
        if outcome.outcome == PASS:
            self._course.passed_screen += 1
            self.confirm(ready)
        elif len(self._waiting) < MOST_WAITING:
            near = Partial(ready, outcome.fixed)
            heapq.heappush(self._waiting, (-len(near.fixed), self._course.tried, near))

    def _may_look(self) -> bool:
        """By what both count: a clock would look at others each time, and only ends what takes too long."""
        slow = self._looked_s >= LOOKING_S + LOOKING_SHARE * self._course.seconds()
        return not slow and self._course.left() > 0 and self._looked < LOOKED + LOOKING * self._begun

    def _look(self, go_on: Callable[[], bool]) -> None:
        """Run the whole suite on near misses: what breaks nothing may be half of a fix."""
        while self._waiting and not self._course.survivors and len(self.partials) < MOST_PARTIALS and go_on():
            began = time.monotonic()
            self.confirm(heapq.heappop(self._waiting)[2].ready)
            self._looked_s += time.monotonic() - began
            self._looked += self._tests + OVERHEAD

    def confirm(self, ready: Ready) -> bool:
        """Run the whole suite on a candidate, and nothing beside it; whether it survives."""
        self._hear_others()
        fixed = self._lanes.confirm(ready, self._course.left)
        if self._wrote():
            return False
        self._course.confirmed += bool(fixed)
        if self._goals <= set(fixed):
            self._survivors.add(ready)
            return True
        if fixed and len(self.partials) < MOST_PARTIALS:
            self.partials.append(Partial(ready, fixed))
            self._survivors.nearly(ready, fixed)
        return False


class Heard:
    """Trials that are over and wait for their turn to be judged.

    Args:
        ready: The candidates.
        outcomes: How they ended.
    """

    def __init__(self, ready: List[Ready], outcomes: List[Outcome]) -> None:
        self.ready = ready
        self._outcomes = outcomes

    def outcomes(self, _left: Callable[[], float]) -> List[Outcome]:
        """They are known."""
        return self._outcomes

    def end(self) -> None:
        """They have ended."""


def _weight(ready: Ready) -> float:
    """What a trial counts beside one of the swap lane."""
    return 1.0 if ready.lane == SWAP else NOMINAL_S[ready.lane] / NOMINAL_S[SWAP] / 8
