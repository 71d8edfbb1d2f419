"""Types that all lanes share: prepared candidates, outcomes and running trials."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch

SWAP, FRESH, COLD = "swap", "fresh", "cold"
NOMINAL_S = {SWAP: 0.002, FRESH: 0.2, COLD: 1.5}
"""Nominal seconds per trial.

Measured times would make the order of candidates differ between runs.
"""


class ReadyCandidate(NamedTuple):
    """A candidate that is ready to run."""

    candidate: CandidatePatch
    lane: str
    files: Dict[str, bytes]
    """The full content of every edited file."""
    trial: Any = None
    """The trial of the swap lane."""
    first: Optional[CandidatePatch] = None
    """The first edit, if `candidate` is a second one."""


class TrialOutcome(NamedTuple):
    """The end of a trial: `pass`, `near`, `fail`, `timeout` or `died`.

    It also has the goals reached, and a measure of progress.
    """

    outcome: str
    fixed: Tuple[str, ...] = ()
    mark: Tuple[int, ...] = ()


class RunningTrials(Protocol):
    """Running trials."""

    ready: List[ReadyCandidate]

    def outcomes(self, left: Callable[[], float]) -> List[TrialOutcome]:
        """Wait for the trials; return their outcomes in order."""

    def end(self) -> None:
        """Stop the trials."""
