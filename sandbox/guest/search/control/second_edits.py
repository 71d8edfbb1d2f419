"""Second edits on top of first ones that fix some tests, or that let a failing test run farther."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Set

from sandbox.guest.search.candidates.generator import CandidatePatch, Suspicion
from sandbox.guest.search.context.budget import SearchBudget
from sandbox.guest.search.context.search_context import SearchContext
from sandbox.guest.search.control.progress import measure_progress
from sandbox.guest.search.control.queue import CandidateQueue
from sandbox.guest.search.control.scheduler import TrialScheduler
from sandbox.guest.search.lanes.model import ReadyCandidate
from sandbox.guest.search.lanes.selection import Lanes
from sandbox.guest.search.source.functions import find_twin
from sandbox.guest.search.source.render import SourceFile

MOST = 8
"""Maximum number of first edits that are extended."""
MOST_FARTHER = 4
"""Maximum number of first edits that only let a test run farther."""
OFTEN = 1500
"""Number of trials after which rejected candidates are measured again."""
LOOKED_AT = 300
"""Maximum number of rejected candidates that are measured, cheapest first."""
LOOKING = 0.1
"""Share of the time left for measuring them."""


class SecondEdits:
    """Adds second edits to the candidate queue.

    Args:
        context: The search context.
        budget: The budget.
        lanes: Run candidates.
        scheduler: Holds partial fixes and rejected candidates.
    """

    def __init__(
        self, context: SearchContext, budget: SearchBudget, lanes: Lanes, scheduler: TrialScheduler
    ) -> None:
        self._context = context
        self._budget = budget
        self._lanes = lanes
        self._scheduler = scheduler
        self._taken: Set[Any] = set()
        self._count = 0
        self._looked = 0

    def grow(self, queue: CandidateQueue, *, at_end: bool = False) -> bool:
        """Extend the partial fixes found since the last call; return True if any source was added.

        Args:
            queue: Receives the second edits.
            at_end: No first edits are left to try.
        """
        if self._budget.survivors:
            return False
        before = self._count
        for partial in self._scheduler.partials:
            self._add(queue, partial.ready, partial.fixed)
        tried = self._budget.tried
        if (at_end or tried - self._looked >= OFTEN) and self._scheduler.rejected:
            self._looked = tried
            for ready in self._find_progress():
                self._add(queue, ready)
        return self._count > before

    def _find_progress(self) -> List[ReadyCandidate]:
        facts = self._context.facts
        rejected = [
            r
            for r in self._scheduler.rejected
            if r.first is None and r.trial is not None and r.trial.failing
        ]
        self._scheduler.rejected = []
        if facts is None or not rejected or self._lanes.swap is None:
            return []
        rejected.sort(key=lambda r: r.candidate.priority)
        wait = max(0.2, LOOKING * self._budget.left())
        found = measure_progress(
            facts.items.all, rejected[:LOOKED_AT], wait_s=wait, bounds=facts.screen.bounds
        )
        return [ready for _, ready in found[:MOST_FARTHER]]

    def _add(
        self, queue: CandidateQueue, ready: ReadyCandidate, already_fixed: Sequence[str] = ()
    ) -> None:
        if self._count >= MOST or ready.first is not None or ready.candidate.changes in self._taken:
            return
        self._taken.add(ready.candidate.changes)
        feed = self._behind(ready.candidate)
        if feed is not None:
            self._count += 1
            first = ready.candidate
            queue.add(feed, lambda candidate: self._lanes.ready(candidate, first, already_fixed))

    def _behind(self, first: CandidatePatch) -> Optional[Iterator[CandidatePatch]]:
        """Return candidates in the same function on top of a first edit, or None."""
        if first.unit is None or first.more:
            return None
        try:
            source = SourceFile(first.source.path, first.source.render(first.edits))
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
        twin = find_twin(source, first.unit)
        if twin is None:
            return None
        # The line scores belong to the unedited text, so all lines count the same.
        flat = Suspicion(
            {source.path: dict.fromkeys(range(twin.first_line, twin.last_line + 1), 1.0)}
        )
        code = self._context.code
        made = code.generator.best_first([twin], flat, code.literals)
        return (candidate.after(first) for candidate in made)
