"""The order of trials: best first over all sources.

A source is charged for the time that its candidates have used.
"""

from __future__ import annotations

import heapq
import math
from typing import Callable, List, Optional, Sequence, Tuple, Union

from sandbox.guest.search.candidates.generator import CandidatePatch, Feed, LowerBound
from sandbox.guest.search.lanes.model import NOMINAL_S, ReadyCandidate

PATIENCE = 0.35
"""Priority added to a source's next candidate each time its spent time doubles."""
UNIT_S = 0.5
MOST_SKIPPED = 4000
"""Number of consecutive skipped candidates after which `next` returns.

The caller can then check the time.
"""

Made = Callable[[CandidatePatch], Optional[ReadyCandidate]]


class CandidateQueue:
    """A priority queue of candidates over all sources.

    Args:
        feeds: The sources; each yields its best candidates first.
        made: Prepares a candidate; None if it need not be tried.
    """

    def __init__(self, feeds: Sequence[Feed], made: Made) -> None:
        self._feeds: List[Tuple[Feed, Made]] = []
        self._spent: List[float] = []
        self._heap: List[Tuple[float, int, Union[CandidatePatch, LowerBound]]] = []
        self._held: List[ReadyCandidate] = []
        for feed in feeds:
            self.add(feed, made)

    def add(self, feed: Feed, made: Made) -> None:
        """Add a source, with the function that prepares its candidates."""
        self._feeds.append((feed, made))
        self._spent.append(0.0)
        self._advance(len(self._feeds) - 1)

    def _advance(self, number: int) -> None:
        candidate = next(self._feeds[number][0], None)
        if candidate is not None:
            # Logarithmic, so that a long-running source is slowed down but never starved.
            charge = PATIENCE * math.log2(1 + self._spent[number] / UNIT_S)
            heapq.heappush(self._heap, (candidate.priority + charge, number, candidate))

    def next(self) -> Optional[ReadyCandidate]:
        """Return the next candidate.

        Return None after many skipped ones, or when a source needs a break.
        """
        if self._held:
            return self._held.pop()
        for _ in range(MOST_SKIPPED):
            if not self._heap:
                return None
            _, number, candidate = heapq.heappop(self._heap)
            if isinstance(candidate, LowerBound):
                self._advance(number)
                return None
            ready = self._feeds[number][1](candidate)
            if ready is not None:
                self._spent[number] += NOMINAL_S[ready.lane]
            self._advance(number)
            if ready is not None:
                return ready
        return None

    @property
    def empty(self) -> bool:
        """Return True if no candidate is left."""
        return not self._heap and not self._held

    def chunk(
        self, lane: str, most: Callable[[], int], go_on: Callable[[], bool]
    ) -> List[ReadyCandidate]:
        """Return the next candidates that can run together.

        These are several of `lane`, or one of another lane.

        Args:
            lane: The lane that takes several.
            most: Returns the maximum number.
            go_on: Returns False when the time is up.
        """
        chunk: List[ReadyCandidate] = []
        while len(chunk) < most() and go_on():
            ready = self.next()
            if ready is None:
                if self.empty:
                    break
                continue
            if ready.lane != lane:
                # A candidate of another lane ends the chunk and comes next.
                if chunk:
                    self._held.append(ready)
                    break
                return [ready]
            chunk.append(ready)
        return chunk
