"""The search loop: generate candidates, screen them, combine partial fixes, retry.

It is bounded in time and in number of trials.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, Optional

from sandbox.guest.search.candidates.generator import CandidatePatch, Feed
from sandbox.guest.search.candidates.sources import SOURCES, GuardedFeed
from sandbox.guest.search.context.budget import LimitReached, SearchBudget
from sandbox.guest.search.context.search_context import SearchContext
from sandbox.guest.search.control.joining import Joining
from sandbox.guest.search.control.queue import CandidateQueue
from sandbox.guest.search.control.scheduler import TrialScheduler
from sandbox.guest.search.control.second_edits import SecondEdits
from sandbox.guest.search.control.survivors import Survivors
from sandbox.guest.search.lanes.model import ReadyCandidate
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.session.harness import PASS

STRETCH = 10.0
"""Factor by which the time of a timed-out candidate is extended."""
UNDOING = 0.35
"""Share of the time left for finding the part of the red diff that has to be undone."""
HALF, AGAIN = 0.5, 0.1
"""Shares of the time limit: when timed-out candidates are retried without survivors; for how long.
"""


class SearchLoop:
    """Runs one search.

    Args:
        context: The search context.
        budget: The budget; also receives events.
        lanes: Run candidates.
        tree: The checkout.
    """

    def __init__(
        self, context: SearchContext, budget: SearchBudget, lanes: Lanes, tree: Any
    ) -> None:
        self._context = context
        self._budget = budget
        self._lanes = lanes
        self._survivors = Survivors(context, budget)
        self._scheduler = TrialScheduler(
            self._lanes,
            context.goals,
            budget,
            self._survivors,
            tests=len(context.goals) + len(context.passing),
            tree=None if tree.guard.guards_tree else tree,
        )
        self._joining = Joining(context, budget, lanes, self._scheduler)
        self._second_edits = SecondEdits(context, budget, lanes, self._scheduler)
        self._asked = frozenset(context.request.sources)
        self._again = False
        self._last: Optional[ReadyCandidate] = None
        """A revert of what the failing tests came with: reported after all other fixes, one of
        which may have the same text.
        """

    def run(self) -> None:
        """Run the search.

        Raises:
            SearchRefused: nothing can be searched here.
            LimitReached: a bound was reached.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._search()
            finally:
                self._budget.charge()
                if self._last is not None:
                    self._survivors.add(self._last, ends=False)
                self._survivors.compare()

    def _search(self) -> None:
        feeds = {
            name: iter(GuardedFeed(name, source, self._context, self._budget.note))
            for name, source in SOURCES
            if name in self._asked
        }
        self._lanes.settle()
        self._emit_started()
        if self._budget.request.given_may_end and "given" in feeds:
            self._try_given(feeds.pop("given"))
        if "reverts" in self._asked:
            self._try_reverts()
        queue = CandidateQueue(list(feeds.values()), self._lanes.ready)
        self._scheduler.run(queue, lambda: self._at_pause(queue))
        self._joining.all()
        self._retry_timeouts()
        queue.add(iter(self._lanes.deferred), self._lanes.ready_deferred)
        self._scheduler.run(queue, lambda: self._at_pause(queue))
        while self._grow(queue, at_end=True):
            self._scheduler.run(queue, lambda: self._at_pause(queue))
            self._joining.all()

    def _try_given(self, feed: Feed) -> None:
        """Try the given changes alone.

        Raises:
            LimitReached: One of them is good enough to end the search.
        """
        self._scheduler.run(CandidateQueue([feed], self._lanes.ready))
        if self._survivors.suffice():
            raise LimitReached("enough")

    def _at_pause(self, queue: CandidateQueue) -> None:
        """Combine, extend and retry candidates at a pause."""
        self._joining.try_early()
        self._grow(queue)
        limit = self._budget.request.time_limit_s
        late = self._budget.seconds() > HALF * limit
        # With a survivor the search soon ends: on a busy machine the better fix may have timed out.
        if not self._again and (self._budget.survivors or late):
            self._again = True
            least = self._budget.left() - AGAIN * limit
            self._retry_timeouts(lambda: self._budget.left() > least)

    def _grow(self, queue: CandidateQueue, *, at_end: bool = False) -> bool:
        """Add second edits, which come from the same templates as first ones."""
        return "functions" in self._asked and self._second_edits.grow(queue, at_end=at_end)

    def _emit_started(self) -> None:
        context, facts = self._context, self._context.facts
        self._budget.emit_started({
            "candidates": self._budget.request.max_candidates,
            "suspect_lines": facts.located.suspect_lines() if facts else [],
            "baseline_failing": len(context.goals), "baseline_passing": len(context.passing),
            "isolated": bool(facts and facts.baseline.isolated),
        })  # fmt: skip

    def _try_reverts(self) -> None:
        """Test whether undoing a part of the red diff helps.

        This shows where to look, and is a fix of last resort.
        """
        context = self._context
        made: Dict[Any, ReadyCandidate] = {}
        enough = self._budget.left() * (1 - UNDOING)

        def helps(candidate: CandidatePatch) -> bool:
            candidate = candidate._replace(origin="reverts")
            ready = self._lanes.ready(candidate) if self._budget.left() > enough else None
            if ready is None or not self._lanes.takes(ready.lane):
                return False
            made[candidate.changes] = ready
            self._budget.count(candidate)
            return bool(self._lanes.start([ready]).outcomes(self._budget.left)[0].outcome == PASS)

        undo = context.diff.stage(helps)
        found = undo.run() if undo is not None else None
        ready = made.get(found.changes) if found is not None else None
        if undo is None or ready is None:
            return
        context.diff.confirm(undo, context.code.scores)
        if set(context.goals) <= set(self._lanes.confirm(ready, self._budget.left)):
            if context.diff.changed_tests:
                context.refuse_flaky_goals()  # at the end there may be no time for it
                self._last = ready
            else:
                self._survivors.add(ready, ends=False)

    # --- retries ---------------------------------------------------------------------------------

    def _retry_timeouts(self, go_on: Callable[[], bool] = lambda: True) -> None:
        """Retry timed-out and unconfirmed candidates with ten times as much time."""
        waiting, self._scheduler.requeued = self._scheduler.requeued, []
        for ready in waiting:
            self._budget.check()
            if not go_on():
                self._scheduler.requeued.append(ready)
            elif self._lanes.takes(ready.lane):
                outcome = self._lanes.start([ready], STRETCH).outcomes(self._budget.left)[0]
                self._budget.count(ready.candidate)
                if outcome.outcome in ("pass", "near"):
                    # A slow candidate passed, so other slow ones may be right as well.
                    self._lanes.stretch(STRETCH)
                    self._scheduler.judge(ready, outcome)
