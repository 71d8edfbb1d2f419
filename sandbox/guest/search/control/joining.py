"""Join partial fixes of different tests into one candidate."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Set, Tuple

from sandbox.guest.search.candidates.splicing import join_candidates
from sandbox.guest.search.context.budget import SearchBudget
from sandbox.guest.search.context.search_context import SearchContext
from sandbox.guest.search.control.combine import Partial, covers
from sandbox.guest.search.control.scheduler import TrialScheduler
from sandbox.guest.search.lanes.model import FRESH, SWAP, ReadyCandidate
from sandbox.guest.search.lanes.selection import Lanes

LATE = 0.4
"""The share of the time limit after which partial fixes are joined before all candidates are tried.
"""


class Joining:
    """Tries combinations of partial fixes.

    Args:
        context: The search context.
        budget: The budget.
        lanes: Run candidates.
        scheduler: Holds the partial fixes and confirms joint candidates.
    """

    def __init__(
        self, context: SearchContext, budget: SearchBudget, lanes: Lanes, scheduler: TrialScheduler
    ) -> None:
        self._context = context
        self._budget = budget
        self._lanes = lanes
        self._scheduler = scheduler
        self._tried: Set[Tuple[int, ...]] = set()

    def try_early(self) -> None:
        """Try combinations early if no single edit can reach all goals, or if it is late."""
        if self._budget.survivors or not self._covered():
            return
        facts = self._context.facts
        late = self._budget.seconds() > LATE * self._budget.request.time_limit_s
        if late or (
            facts is not None
            and all(
                len(facts.tests_through(u)[0]) < len(self._context.goals)
                for u in self._context.code.units
            )
        ):
            self.all()

    def _covered(self) -> bool:
        return {name for p in self._scheduler.partials for name in p.fixed} >= set(
            self._context.goals
        )

    def all(self) -> None:
        """Try every set of partial fixes that covers all goals, cheapest first."""
        if self._budget.survivors or not self._covered():
            return
        partials = self._scheduler.partials
        for chosen in covers(partials, set(self._context.goals)):
            if self._budget.left() <= 0 or self._budget.is_full:
                return
            key = tuple(sorted(chosen))
            if key not in self._tried:
                self._tried.add(key)
                ready = self._together([partials[i] for i in chosen])
                if ready is not None:
                    self._budget.count(ready.candidate)
                    self._scheduler.confirm(ready)

    def _together(self, partials: Sequence[Partial]) -> Optional[ReadyCandidate]:
        """Return one candidate with all these edits, swapped in if each of them was, or None."""
        if any(p.ready.first for p in partials):
            return None
        candidate = join_candidates([p.ready.candidate for p in partials])
        if candidate is None:
            return None
        if all(p.ready.lane == SWAP for p in partials) and self._lanes.swap is not None:
            swaps = self._swaps(partials)
            if swaps is None:
                return None
            trial = partials[0].ready.trial._replace(candidate=candidate, swaps=swaps)
            return ReadyCandidate(candidate, SWAP, candidate.files(), trial)
        return (
            ReadyCandidate(candidate, FRESH, candidate.files())
            if self._lanes.takes(FRESH)
            else None
        )

    def _swaps(self, partials: Sequence[Partial]) -> Optional[List[Any]]:
        swaps: List[Any] = []
        for unit in dict.fromkeys(p.ready.candidate.unit for p in partials):
            edits = tuple(
                e
                for p in partials
                if p.ready.candidate.unit is unit
                for e in p.ready.candidate.edits
            )
            code = unit.compile(edits) if unit is not None else None
            if unit is None or code is None or self._context.facts is None:
                return None
            swaps += self._context.facts.live.swaps(unit, code)
        return swaps
