"""What all lanes have in common: a candidate made ready, how its trial ended, and trials under way."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Tuple

from sandbox.guest.search.candidates.generator import Candidate

SWAP, FRESH, COLD = "swap", "fresh", "cold"
NOMINAL_S = {SWAP: 0.002, FRESH: 0.2, COLD: 1.5}
"""What a trial costs, for the order of candidates: measured times would make the order differ between runs."""


class Ready(NamedTuple):
    """A candidate that can be run."""

    candidate: Candidate
    lane: str
    files: Dict[str, bytes]
    """Every edited file, whole."""
    trial: Any = None
    """The screen's, in the swap lane."""
    first: Optional[Candidate] = None
    """The first edit, when `candidate` is a second one."""


class Outcome(NamedTuple):
    """How a trial ended: `pass`, `near`, `fail`, `timeout` or `died`; which goals it reached, and how far it came."""

    outcome: str
    fixed: Tuple[str, ...] = ()
    mark: Tuple[int, ...] = ()


class Work(Protocol):
    """Trials under way."""

    ready: List[Ready]

    def outcomes(self, left: Callable[[], float]) -> List[Outcome]:
        """Wait for them; one for each, in order."""

    def end(self) -> None:
        """Nobody wants to know any more."""
