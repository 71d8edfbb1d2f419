"""The swap lane: exchange code objects in forked children of the collected session.

Each child runs many candidates.
"""

from __future__ import annotations

from typing import Any, Callable, Collection, List, Optional, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context.suite_facts import SuiteFacts
from sandbox.guest.search.execution.screen import NEAR, Chunk, Trial, TrialVerdict
from sandbox.guest.search.lanes.model import SWAP, ReadyCandidate, TrialOutcome
from sandbox.guest.search.session.harness import FAIL, PASS


class SwapLane:
    """Runs candidates in one function.

    Args:
        facts: What is known from the collected tests.
    """

    def __init__(self, facts: SuiteFacts) -> None:
        self._facts = facts

    def ready(
        self,
        candidate: CandidatePatch,
        code: Any,
        first: Optional[CandidatePatch],
        already_fixed: Collection[str] = (),
    ) -> Optional[ReadyCandidate]:
        """Return a trial of this candidate, or None if its code does not fit the live functions.

        Tests in `already_fixed` run only after another failing test has passed.
        """
        unit = candidate.unit
        base = (first.unit if first else None) or unit
        if unit is None or base is None or not self._facts.live.takes(unit, code, base):
            return None
        names = self._facts.items.names
        failing, passing = self._facts.tests_through(base)
        red = [i for i in failing if names[i] not in already_fixed]
        trial = Trial(
            candidate,
            self._facts.live.swaps(unit, code, base),
            [*red, *(i for i in failing if names[i] in already_fixed)],
            passing,
            len(red) if already_fixed else 0,
        )
        return ReadyCandidate(candidate, SWAP, {}, trial, first) if trial.failing else None

    def start(self, ready: Sequence[ReadyCandidate], factor: float = 1.0) -> SwapWork:
        """Start a chunk, or a single trial if the tests share state."""
        trials = [r.trial for r in ready]
        if self._facts.baseline.isolated:
            return SwapWork(self._facts, ready, alone=self._facts.screen.alone(trials[0]))
        return SwapWork(self._facts, ready, chunk=Chunk(self._facts.screen, trials, factor))

    def chunk_size(self) -> int:
        """Return the number of candidates for the next chunk."""
        return 1 if self._facts.baseline.isolated else self._facts.screen.chunk_size()

    def confirm(self, swaps: Sequence[Any], left: Callable[[], float]) -> Tuple[str, ...]:
        """Return the goals that these edits reach in a new fork, with all tests in order."""
        wait = min(self._facts.suite_s(), max(0.0, left()))
        return self._names(self._facts.screen.confirm(swaps, wait))

    def _names(self, fixed: Sequence[int]) -> Tuple[str, ...]:
        return names_at(self._facts, fixed)


class SwapWork:
    """A running chunk, or one candidate in its own fork."""

    def __init__(
        self,
        facts: SuiteFacts,
        ready: Sequence[ReadyCandidate],
        *,
        chunk: Any = None,
        alone: Any = None,
    ) -> None:
        self.ready = list(ready)
        self._facts = facts
        self._chunk = chunk
        self._alone = alone

    def outcomes(self, left: Callable[[], float]) -> List[TrialOutcome]:
        """Wait for all trials."""
        if self._alone is not None:
            return [self._lone(self._alone, left)]
        verdicts: List[TrialVerdict] = self._chunk.results(left)
        return [TrialOutcome(v.outcome, names_at(self._facts, v.fixed)) for v in verdicts]

    def _lone(self, alone: Any, left: Callable[[], float]) -> TrialOutcome:
        fixed = alone.fixed(min(self._facts.suite_s(), max(0.0, left())))
        if not fixed:
            return TrialOutcome(FAIL)
        whole = len(fixed) == len(self._facts.items.failing)
        return TrialOutcome(PASS if whole else NEAR, names_at(self._facts, fixed))

    def end(self) -> None:
        """Kill the child."""
        (self._chunk or self._alone).end()


def names_at(facts: SuiteFacts, indexes: Sequence[int]) -> Tuple[str, ...]:
    """Return the names of tests; indexes from a child are untrusted and may be out of range."""
    names = facts.items.names
    return tuple(dict.fromkeys(names[i] for i in indexes if 0 <= i < len(names)))
