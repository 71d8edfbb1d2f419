"""The swap lane: code objects exchanged in forked children of the collected session, many candidates in each."""

from __future__ import annotations

from typing import Any, Callable, Collection, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.context.ground import Ground
from sandbox.guest.search.execution.screen import NEAR, Chunk, Trial, Verdict
from sandbox.guest.search.lanes.model import SWAP, Outcome, Ready
from sandbox.guest.search.session.harness import FAIL, PASS


class SwapLane:
    """Runs candidates of one function.

    Args:
        ground: What the search stands on.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def ready(
        self, candidate: Candidate, code: Any, first: Optional[Candidate], mended: Collection[str] = ()
    ) -> Optional[Ready]:
        """A trial of this candidate, or None when its code cannot be put into the live functions.

        What is mended already is asked only when something more is.
        """
        unit = candidate.unit
        base = (first.unit if first else None) or unit
        if unit is None or base is None or not self._ground.live.takes(unit, code, base):
            return None
        names = self._ground.items.names
        failing, passing = self._ground.tests_through(base)
        red = [i for i in failing if names[i] not in mended]
        trial = Trial(
            candidate,
            self._ground.live.swaps(unit, code, base),
            [*red, *(i for i in failing if names[i] in mended)],
            passing,
            len(red) if mended else 0,
        )
        return Ready(candidate, SWAP, {}, trial, first) if trial.failing else None

    def start(self, ready: Sequence[Ready], factor: float = 1.0) -> SwapWork:
        """Begin a chunk; alone when tests share state."""
        trials = [r.trial for r in ready]
        if self._ground.baseline.isolated:
            return SwapWork(self._ground, ready, alone=self._ground.screen.alone(trials[0]))
        return SwapWork(self._ground, ready, chunk=Chunk(self._ground.screen, trials, factor))

    def chunk_size(self) -> int:
        """How many candidates the next chunk should hold."""
        return 1 if self._ground.baseline.isolated else self._ground.screen.chunk_size()

    def confirm(self, swaps: Sequence[Any], left: Callable[[], float]) -> Tuple[str, ...]:
        """The goals reached by these edits alone in a fork of their own, in the original order."""
        wait = min(self._ground.suite_s(), max(0.0, left()))
        return self._names(self._ground.screen.confirm(swaps, wait))

    def _names(self, fixed: Sequence[int]) -> Tuple[str, ...]:
        return names_of(self._ground, fixed)


class SwapWork:
    """A chunk, or one candidate in a fork of its own."""

    def __init__(self, ground: Ground, ready: Sequence[Ready], *, chunk: Any = None, alone: Any = None) -> None:
        self.ready = list(ready)
        self._ground = ground
        self._chunk = chunk
        self._alone = alone

    def outcomes(self, left: Callable[[], float]) -> List[Outcome]:
        """Wait for all of them."""
        if self._alone is not None:
            return [self._lone(self._alone, left)]
        verdicts: List[Verdict] = self._chunk.results(left)
        return [Outcome(v.outcome, names_of(self._ground, v.fixed)) for v in verdicts]

    def _lone(self, alone: Any, left: Callable[[], float]) -> Outcome:
        fixed = alone.fixed(min(self._ground.suite_s(), max(0.0, left())))
        if not fixed:
            return Outcome(FAIL)
        whole = len(fixed) == len(self._ground.items.failing)
        return Outcome(PASS if whole else NEAR, names_of(self._ground, fixed))

    def end(self) -> None:
        """Kill it."""
        (self._chunk or self._alone).end()


def names_of(ground: Ground, indexes: Sequence[int]) -> Tuple[str, ...]:
    """Names of tests; a child that ran candidates may have told any number."""
    names = ground.items.names
    return tuple(dict.fromkeys(names[i] for i in indexes if 0 <= i < len(names)))
