"""The order in which candidates are tried: best first over all sources, each paying for the time it has had."""

from __future__ import annotations

import heapq
import math
from typing import Callable, List, Optional, Sequence, Tuple, Union

from sandbox.guest.search.candidates.generator import Candidate, Feed, Later
from sandbox.guest.search.lanes.model import NOMINAL_S, Ready

PATIENCE = 0.35
"""What doubling the time a source has had costs its next candidate."""
UNIT_S = 0.5
MOST_SKIPPED = 4000
"""How many candidates in a row may be no news before somebody looks at the clock."""

Made = Callable[[Candidate], Optional[Ready]]


class Agenda:
    """Gives candidates, made ready, in order.

    Args:
        feeds: The sources, best first each.
        made: Makes a candidate ready; None when it need not be tried.
    """

    def __init__(self, feeds: Sequence[Feed], made: Made) -> None:
        self._feeds: List[Tuple[Feed, Made]] = []
        self._spent: List[float] = []
        self._heap: List[Tuple[float, int, Union[Candidate, Later]]] = []
        self._held: List[Ready] = []
        for feed in feeds:
            self.add(feed, made)

    def add(self, feed: Feed, made: Made) -> None:
        """One more source, with what makes its candidates ready."""
        self._feeds.append((feed, made))
        self._spent.append(0.0)
        self._advance(len(self._feeds) - 1)

    def _advance(self, number: int) -> None:
        candidate = next(self._feeds[number][0], None)
        if candidate is not None:
            charge = PATIENCE * math.log2(1 + self._spent[number] / UNIT_S)
            heapq.heappush(self._heap, (candidate.priority + charge, number, candidate))

    def next(self) -> Optional[Ready]:
        """The next candidate to try; None when nothing came of a good many, or a source has worked for its next one."""
        if self._held:
            return self._held.pop()
        for _ in range(MOST_SKIPPED):
            if not self._heap:
                return None
            _, number, candidate = heapq.heappop(self._heap)
            if isinstance(candidate, Later):
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
        """Whether nothing is left."""
        return not self._heap and not self._held

    def chunk(self, lane: str, most: Callable[[], int], go_on: Callable[[], bool]) -> List[Ready]:
        """The next candidates that can run together: several of one lane, or one of another.

        Args:
            lane: The lane that takes several.
            most: How many.
            go_on: Asked now and then whether there is time.
        """
        chunk: List[Ready] = []
        while len(chunk) < most() and go_on():
            ready = self.next()
            if ready is None:
                if self.empty:
                    break
                continue
            if ready.lane != lane:
                if chunk:
                    self._held.append(ready)
                    break
                return [ready]
            chunk.append(ready)
        return chunk
