"""Survivors and near misses: report them to the host and pass them to the comparison."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.doubts import doubts_about
from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.oracles import (
    DOUBT,
    TestOracles,
    changes_oracle,
    may_change_oracle,
    read_oracles,
    read_test_files,
)
from sandbox.guest.search.candidates.splicing import Changes, changes_on_disk
from sandbox.guest.search.compare import Alternative, compare
from sandbox.guest.search.compare.lost_oracle import loses_oracle
from sandbox.guest.search.context.budget import SearchBudget
from sandbox.guest.search.context.search_context import SearchContext
from sandbox.guest.search.lanes.model import ReadyCandidate
from sandbox.guest.search.process.limits import slowdown

MOST_NEAR_MISSES = 10
DOUBTED = 4
"""Factor by which the grace period is longer while every survivor has doubts."""
LONGEST_GRACE_S = 12.0
SETTLING_S, SETTLING = 4.0, 0.1
"""Maximum seconds, and share of the time left, for deciding whether one survivor is ahead."""
UNHURRIED = 0.18
"""Share of its time in which a comparison ends if nothing was cut short: recording gets 0.19."""
BREAKING_S, BREAKING = 2.0, 0.15
"""Seconds on an idle machine for breaking the product under one survivor, and the share of the time
limit for all of them."""
CHEAPER = 0.6
"""Difference in cost by which a behaviour is ahead of the next one."""
Sign = Tuple[bool, float, str]


class Survivors:
    """The survivors of a search.

    Args:
        context: The search context.
        budget: The budget; receives the events.
    """

    def __init__(self, context: SearchContext, budget: SearchBudget) -> None:
        self._context = context
        self._budget = budget
        self._found: List[Alternative] = []
        self._oracles: Optional[TestOracles] = None
        self._breaking_left = BREAKING * context.request.time_limit_s
        self._signs: List[Sign] = []
        """Of each survivor: whether there are doubts, cost, template."""
        budget.is_settled = self.is_settled
        self._texts: List[Any] = []
        self._undone: List[Any] = []
        self._near_misses = 0
        self._compared: Tuple[int, Optional[Dict[str, Any]]] = (0, None)
        """The last whole comparison, and the number of its survivors."""
        self._sound = False
        """True once a survivor without doubts was found."""

    def add(self, ready: ReadyCandidate, *, ends: bool = True) -> None:
        """Report a survivor, unless an earlier one has the same text.

        Args:
            ready: The survivor.
            ends: The search may end because of it.

        Raises:
            SearchRefused: The failing tests sometimes pass without any change.
        """
        if not self._found:
            # With a flaky test any candidate could become a survivor.
            self._context.refuse_flaky_goals()
        candidate = ready.candidate
        changes = changes_on_disk(candidate, ready.first)
        files = {source.path: source.render(edits) for source, edits in changes}
        if files in self._texts or (candidate.is_revert and files in self._undone):
            return
        (self._undone if candidate.is_revert else self._texts).append(files)
        budget = self._budget
        whole = candidate._replace(source=changes[0][0], edits=changes[0][1], more=changes[1:])
        swaps: Tuple[Any, ...] = tuple(ready.trial.swaps) if ready.trial is not None else ()
        units = [c.unit for c in (ready.first, candidate) if c is not None and c.unit is not None]
        found = Alternative(swaps, files, tuple(units[:1]))
        doubts = doubts_about(whole, self._context.code.literals)
        if self._weakens_tests(whole, found):
            doubts.append(DOUBT)
        budget.emit({
            "kind": "survivor", "template": candidate.template, "origin": candidate.origin,
            "path": changes[0][0].path,
            "line": candidate.line, "cost": candidate.cost, "suspicion": candidate.suspicion,
            "edits": serialize_edits(changes), "lane": ready.lane,
            "description": candidate.description[:300], "tried": budget.tried,
            "seconds": budget.seconds(), "warnings": doubts,
        })  # fmt: skip
        self._found.append(found)
        self._signs.append((bool(doubts), candidate.cost, candidate.template))
        if not ends:
            return
        budget.survivors += 1
        # Search a little longer: the number of different fixes matters, and the first may not be
        # the best.
        grace = min(max(0.7, 0.6 * budget.seconds()), LONGEST_GRACE_S)
        if not doubts and not self._sound:
            self._sound = True
            budget.start_grace_period(grace)
        elif budget.survivors == 1:
            budget.start_grace_period(DOUBTED * grace)

    def _weakens_tests(self, whole: CandidatePatch, found: Alternative) -> bool:
        """Return True if the tests may pass because they check less.

        Args:
            whole: The survivor.
            found: The same, as it is applied.
        """
        if self._oracles is None:
            names = (*self._context.goals, *self._context.passing)
            self._oracles = read_oracles(read_test_files(self._context.root, names))
        if changes_oracle(whole, self._oracles):
            return True
        facts = self._context.facts
        if facts is None or not may_change_oracle(whole, self._oracles):
            return False
        started = time.monotonic()
        seconds = min(BREAKING_S * slowdown(), self._breaking_left, self._budget.total_left())
        try:
            lost = seconds <= 0 or loses_oracle(facts, found, seconds)
        except OSError:  # running trials hold all process slots
            lost = True
        self._breaking_left -= time.monotonic() - started
        return lost

    def add_near_miss(self, ready: ReadyCandidate, fixed: Sequence[str]) -> None:
        """Report a candidate that fixes some failing tests and breaks none."""
        if self._near_misses >= MOST_NEAR_MISSES:
            return
        self._near_misses += 1
        changes = changes_on_disk(ready.candidate, ready.first)
        self._budget.emit({
            "kind": "near_miss", "template": ready.candidate.template, "path": changes[0][0].path,
            "line": ready.candidate.line, "edits": serialize_edits(changes), "fixed": list(fixed),
            "description": ready.candidate.description[:300],
        })  # fmt: skip

    def suffice(self) -> bool:
        """Return True if a survivor has no doubts, and one behaviour is ahead."""
        return self._sound and (len(self._found) == 1 or self.is_settled())

    def is_settled(self) -> bool:
        """Compare the survivors so far; return True if one behaviour is ahead."""
        if self._context.facts is None:
            return True
        seconds = min(SETTLING_S, SETTLING * self._budget.total_left())
        started = time.monotonic()
        try:
            event = compare(self._context.facts, self._found, seconds)
        except OSError:
            # Running trials hold all process slots.
            return True
        if time.monotonic() - started < UNHURRIED * seconds:
            self._compared = (len(self._found), event)
        # Without inputs nothing was observed, and more survivors would not be told apart either.
        return not event or not event["inputs"] or is_ahead(event["clusters"], self._signs)

    def compare(self) -> None:
        """Compare all survivors, once, at the end."""
        if not self._found or self._context.facts is None:
            return
        number, event = self._compared
        if event is None or number != len(self._found):
            event = compare(self._context.facts, self._found, self._budget.total_left())
        if event:
            event.update(
                passed_screen=self._budget.passed_screen, passed_held_out=self._budget.confirmed
            )
            self._budget.emit(event)


def is_ahead(clusters: Sequence[int], signs: Sequence[Sign]) -> bool:
    """Return True if one behaviour is clearly more likely than every other.

    It is alone, or much cheaper than the next without doubts, or reached by more ways than all
    others together.

    Args:
        clusters: The behaviour of each survivor.
        signs: Doubts, cost and template of each.
    """
    rows: Dict[int, List[Sign]] = {}
    for cluster, sign in zip(clusters, signs):
        rows.setdefault(cluster, []).append(sign)
    ranked = sorted(min(row[:2] for row in found) for found in rows.values())
    if len(ranked) < 2 or ranked[1][0] > ranked[0][0]:
        return True
    ways = sorted(len({template for _, _, template in found}) for found in rows.values())
    return ranked[1][1] - ranked[0][1] >= CHEAPER or ways[-1] > max(1, sum(ways[:-1]))


def serialize_edits(changes: Changes) -> List[Dict[str, Any]]:
    """Return edits in the form that the host reads."""
    return [
        {"path": source.path, "start": edit.start, "end": edit.end, "text": edit.text}
        for source, edits in changes
        for edit in edits
    ]
