"""Schedule trials: several at a time, judged in order; promising candidates are confirmed."""

from __future__ import annotations

import heapq
import math
import os
import time
from typing import Any, Callable, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.context.budget import SearchBudget
from sandbox.guest.search.control.combine import Partial
from sandbox.guest.search.control.queue import CandidateQueue
from sandbox.guest.search.control.survivors import Survivors
from sandbox.guest.search.execution.screen import DIED, NEAR
from sandbox.guest.search.lanes.model import (
    COLD,
    NOMINAL_S,
    SWAP,
    ReadyCandidate,
    RunningTrials,
    TrialOutcome,
)
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.session.harness import FAIL, PASS, TIMEOUT

MOST_REQUEUED = 400
MOST_PARTIALS = 60
MOST_REJECTED = 600
MOST_WAITING = 200
"""Maximum number of near misses that wait for confirmation."""
STEP, GROWTH = 200, 0.25
"""Trials between two reviews: at least `STEP`, and `GROWTH` times the trials so far."""
LOOKED, LOOKING, OVERHEAD = 300, 0.5, 30
"""Test runs for confirming near misses: `LOOKED` in any case and `LOOKING` per trial.

A process counts as `OVERHEAD` runs.
"""
LOOKING_S, LOOKING_SHARE = 1.0, 0.2
"""Time limit of these confirmations: seconds, plus a share of the elapsed time.

It matters when tests are slow.
"""


class TrialScheduler:
    """Runs the candidates of a queue and judges them.

    Args:
        lanes: Run candidates.
        goals: Names of the tests that a fix has to turn green.
        budget: The budget.
        survivors: Receives fixes.
        tests: Number of tests that confirm a near miss.
        tree: The checkout, if candidates can write to it; else None.
    """

    def __init__(
        self,
        lanes: Lanes,
        goals: Sequence[str],
        budget: SearchBudget,
        survivors: Survivors,
        *,
        tests: int,
        tree: Any = None,
    ) -> None:
        self._tree = tree
        self._usual: Optional[Set[str]] = None
        """Paths that the unedited tests change in a second run; None until it is measured."""
        self._tests = tests
        self._lanes = lanes
        self._goals = set(goals)
        self._budget = budget
        self._survivors = survivors
        # With a writable checkout only one trial runs at a time. Restoring the files would
        # delete what a concurrent trial wrote, and another one would be blamed for its changes.
        self._workers = (
            max(1, min(budget.request.workers, os.cpu_count() or 1)) if tree is None else 1
        )
        self._running: List[RunningTrials] = []
        self.partials: List[Partial] = []
        self.requeued: List[ReadyCandidate] = []
        self.rejected: List[ReadyCandidate] = []
        """Failed candidates since the last review, up to `MOST_REJECTED`."""
        self._waiting: List[Tuple[int, int, Partial]] = []
        """Near misses that are not confirmed yet, those that fix most tests first."""
        self._looked = 0
        self._looked_s = 0.0
        self._begun = 0.0
        """Weight of the trials that were started; slow lanes weigh more."""
        self._pause = self._next_pause()
        self._may_hurry = True
        """False after a survivor has brought a pause forward."""

    def run(self, queue: CandidateQueue, between: Callable[[], Any] = lambda: None) -> None:
        """Run trials until the queue is empty.

        Near misses are reviewed after fixed numbers of trials, not as soon as they appear.
        The order of candidates then does not depend on the speed of the machine.

        Args:
            queue: The candidate queue.
            between: Called at each pause.

        Raises:
            LimitReached: a bound was reached.
        """
        running = self._running
        if self._tree is not None:
            self._tree.restore()  # changes from before must not be blamed on the first candidate
        try:
            while True:
                while len(running) < self._workers and (work := self._next(queue)) is not None:
                    running.append(work)
                if running:
                    self._finish(running.pop(0))
                    if not running and self._begun >= self._pause:
                        # review the results of the last trials before a limit ends the search
                        continue
                elif self._begun >= self._pause:
                    self._pause = self._next_pause()
                    self._review_near_misses(self._may_review)
                    between()
                else:
                    self._review_near_misses(lambda: self._budget.left() > 0)
                    self._budget.check()
                    return
                self._budget.emit_progress()
                self._budget.check()
        finally:
            for work in running:
                work.end()
            running.clear()

    def _next_pause(self) -> float:
        """Return the trial count at the next pause: at most that of the last candidate."""
        most = self._budget.request.max_candidates
        following = self._begun + max(STEP, GROWTH * self._begun)
        return min(following, most) if self._begun < most else following

    def _finish(self, work: RunningTrials) -> None:
        """Wait for trials and judge them."""
        if work.ready[0].lane == COLD:
            self._finish_others()
        outcomes = work.outcomes(self._budget.left)
        if self._changed_files() and len(work.ready) == 1:
            outcomes = [TrialOutcome("fail")]
        for ready, outcome in zip(work.ready, outcomes):
            self._budget.count(ready.candidate, _weight(ready))
            self.judge(ready, outcome)
        self._budget.charge()

    def _finish_others(self) -> None:
        """Wait for all concurrent trials before files are edited on disk.

        They are judged in their turn.
        """
        left = self._budget.left
        self._running[:] = [
            w if w.ready[0].lane == COLD else FinishedTrials(w.ready, w.outcomes(left))
            for w in self._running
        ]

    def _changed_files(self) -> bool:
        """Restore a writable checkout.

        Return True if the trial changed more than the unedited tests do.
        """
        changed = set(self._tree.restore()) if self._tree is not None else set()
        if changed and self._usual is None:
            self._usual = self._changed_again()
        return bool(changed - (self._usual or set()))

    def _changed_again(self) -> Set[str]:
        """Return the paths that the unedited tests change in a second run but not in the first."""
        lane = self._lanes.swap or self._lanes.fresh
        if lane is not None:
            self._finish_others()
            nothing: Any = {}
            lane.confirm(nothing, self._budget.left)
        changed = sorted(self._tree.restore())
        if changed:
            self._budget.note(
                f"the unedited tests change other files when they run again, such as {changed[0]}: "
                "where these are new each time, no fix can be confirmed"
            )
        return set(changed)

    def _next(self, queue: CandidateQueue) -> Optional[RunningTrials]:
        """Start the next trials; return None at a pause."""
        while self._budget.left() > 0 and self._begun < self._pause:
            chunk = queue.chunk(SWAP, self._chunk_size, lambda: self._budget.left() > 0)
            if not chunk:
                return None
            if self._lanes.takes(chunk[0].lane):
                self._begun += sum(map(_weight, chunk))
                return self._start(chunk)
        return None

    def _start(self, chunk: Sequence[ReadyCandidate]) -> RunningTrials:
        try:
            return self._lanes.start(chunk)
        except BlockingIOError:
            # A running trial holds all process slots, and only we can end it.
            while self._running:
                self._finish(self._running.pop(0))
            return self._lanes.start(chunk)

    def _chunk_size(self) -> int:
        size = self._lanes.swap.chunk_size() if self._lanes.swap is not None else 1
        return max(1, min(size, math.ceil(self._pause - self._begun)))

    def judge(self, ready: ReadyCandidate, outcome: TrialOutcome) -> None:
        """Decide what happens to a candidate after its trial."""
        if outcome.outcome in (TIMEOUT, DIED) and len(self.requeued) < MOST_REQUEUED:
            self.requeued.append(ready)
        if outcome.outcome == FAIL and len(self.rejected) < MOST_REJECTED:
            self.rejected.append(ready)
        if outcome.outcome not in (PASS, NEAR) or self._budget.is_full:
            return
        if outcome.outcome == PASS:
            self._budget.passed_screen += 1
            if not self.confirm(ready) and len(self.requeued) < MOST_REQUEUED:
                # On a busy machine the confirmation may have timed out.
                self.requeued.insert(0, ready)
        elif len(self._waiting) < MOST_WAITING:
            near = Partial(ready, outcome.fixed)
            heapq.heappush(self._waiting, (-len(near.fixed), self._budget.tried, near))

    def _may_review(self) -> bool:
        """Return True if another near miss may be confirmed.

        Trials and tests are counted, so that the result is reproducible; the clock only ends
        reviews that take too long.
        """
        slow = self._looked_s >= LOOKING_S + LOOKING_SHARE * self._budget.seconds()
        return (
            not slow and self._budget.left() > 0 and self._looked < LOOKED + LOOKING * self._begun
        )

    def _review_near_misses(self, go_on: Callable[[], bool]) -> None:
        """Run the whole suite on near misses: an edit that breaks nothing may be half of a fix."""
        while (
            self._waiting
            and not self._budget.survivors
            and len(self.partials) < MOST_PARTIALS
            and go_on()
        ):
            began = time.monotonic()
            self.confirm(heapq.heappop(self._waiting)[2].ready)
            self._looked_s += time.monotonic() - began
            self._looked += self._tests + OVERHEAD

    def confirm(self, ready: ReadyCandidate) -> bool:
        """Run the whole suite on a candidate alone; return True if it survives."""
        self._finish_others()
        fixed = self._lanes.confirm(ready, self._budget.left)
        if self._changed_files():
            return False
        self._budget.confirmed += bool(fixed)
        if self._goals <= set(fixed):
            self._survivors.add(ready)
            if self.requeued and self._may_hurry:
                # Retry them while there is time. They are retried once, and a pause waits for all
                # running trials.
                self._may_hurry = False
                self._pause = min(self._pause, self._begun)
            return True
        if fixed and len(self.partials) < MOST_PARTIALS:
            self.partials.append(Partial(ready, fixed))
            self._survivors.add_near_miss(ready, fixed)
        return False


class FinishedTrials:
    """Finished trials that wait to be judged.

    Args:
        ready: The candidates.
        outcomes: Their outcomes.
    """

    def __init__(self, ready: List[ReadyCandidate], outcomes: List[TrialOutcome]) -> None:
        self.ready = ready
        self._outcomes = outcomes

    def outcomes(self, _left: Callable[[], float]) -> List[TrialOutcome]:
        """Return the known outcomes."""
        return self._outcomes

    def end(self) -> None:
        """Do nothing: the trials have ended."""


def _weight(ready: ReadyCandidate) -> float:
    """Return the weight of a trial relative to one of the swap lane."""
    return 1.0 if ready.lane == SWAP else NOMINAL_S[ready.lane] / NOMINAL_S[SWAP] / 8
