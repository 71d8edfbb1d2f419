"""Spectrum-based suspiciousness: how much more failing tests run a line than passing ones do."""

from __future__ import annotations

import math
from typing import Any, Dict, Hashable, Iterable, List, Mapping, Sequence, Set, Tuple

from sandbox.guest.search.locate.observe import Trace

Place = Tuple[str, int]
OCHIAI, DSTAR, TARANTULA = 0.5, 0.25, 0.25
"""Weights of the three formulas.

See Abreu et al. 2007 (Ochiai), Wong et al. 2014 (DStar), Jones and Harrold 2005 (Tarantula).
"""
BY_SUM = 0.5
LAST_RANK = 60
LEAST = 0.02
MOST_PAIRS = 12
"""Maximum number of failing tests that are compared with their nearest passing test."""


class Counts:
    """Number of failing and passing tests that hit each item.

    Args:
        red: The items that each failing test ran.
        green: The items that each passing test ran.
    """

    def __init__(
        self, red: Sequence[Iterable[Hashable]], green: Sequence[Iterable[Hashable]]
    ) -> None:
        self.reds = len(red)
        self.greens = len(green)
        self.red = _count(red)
        self.green = _count(green)

    def score(self, thing: Hashable) -> float:
        """Return the suspiciousness from 0 to 1.

        It is 0 if no failing test runs the item, and 1 if all failing tests and no other do.
        """
        hits, others = self.red.get(thing, 0), self.green.get(thing, 0)
        if not hits:
            return 0.0
        ochiai = hits / math.sqrt(max(1, self.reds) * (hits + others))
        star = hits * hits / max(0.5, others + self.reds - hits)
        # DStar has no upper bound; x / (x + 1) maps it to 0..1.
        failing, passing = hits / max(1, self.reds), others / max(1, self.greens)
        return (
            OCHIAI * ochiai + DSTAR * star / (star + 1) + TARANTULA * failing / (failing + passing)
        )


def _count(runs: Sequence[Iterable[Hashable]]) -> Dict[Any, int]:
    counts: Dict[Any, int] = {}
    for run in runs:
        for thing in run:
            counts[thing] = counts.get(thing, 0) + 1
    return counts


def places(seen: Trace) -> Set[Place]:
    """Return the lines that a test ran."""
    return {(path, line) for path, lines in seen.lines.items() for line in lines}


def beyond_nearest(red: Sequence[Set[Place]], green: Sequence[Set[Place]]) -> Mapping[Place, float]:
    """Return lines that a failing test runs and its most similar passing test does not.

    The value is the share of failing tests. See Renieris and Reiss 2003 (nearest neighbour
    queries).
    """
    counts: Dict[Place, int] = {}
    few = [run for run in red[:MOST_PAIRS] if run]
    for run in few:
        best: List[Set[Place]] = sorted(green, key=lambda other: -_alike(run, other))[:1]
        for place in run - best[0] if best and _alike(run, best[0]) > 0.3 else ():
            counts[place] = counts.get(place, 0) + 1
    return {place: count / len(few) for place, count in counts.items()}


def _alike(one: Set[Place], two: Set[Place]) -> float:
    both = len(one & two)
    return both / max(1, len(one) + len(two) - both)


def scale_scores(totals: Mapping[Place, float]) -> Dict[Place, float]:
    """Map sums to suspiciousness from 0 to 1: half by the sum, half by the rank.

    Args:
        totals: Sums of signs; only positive ones count.
    """
    ranked = sorted(
        ((score, place) for place, score in totals.items() if score > 0),
        key=lambda one: (-one[0], one[1]),
    )
    found: Dict[Place, float] = {}
    at = 0
    while at < len(ranked):
        top, score = ranked[0][0], ranked[at][0]
        end = at
        while end < len(ranked) and ranked[end][0] == score:
            end += 1
        # Ties share their mean rank.
        rank = (at + 1 + end) / 2 if at else 1.0
        share = 1.0 - math.log(rank) / math.log(LAST_RANK)
        for _, place in ranked[at:end]:
            found[place] = max(LEAST, BY_SUM * score / top + (1 - BY_SUM) * max(0.0, share))
        at = end
    return found
