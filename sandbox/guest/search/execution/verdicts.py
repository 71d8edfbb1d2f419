"""Trials and verdicts: the tests to run, their limits, and how a trial may end."""

from __future__ import annotations

import mmap
import struct
from types import MappingProxyType
from typing import Dict, Mapping, NamedTuple, Sequence, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.session.harness import FAIL, PASS, TIMEOUT
from sandbox.guest.search.source.functions import Swap

DIED, NEAR = "died", "near"
MARKS = {FAIL: 1, TIMEOUT: 2, PASS: 3, NEAR: 4}
"""The byte for each outcome in the memory that a child shares with us."""
_BEAT = struct.Struct("<qq")
HEAD = _BEAT.size
OUTCOMES = {mark: outcome for outcome, mark in MARKS.items()}


class Trial(NamedTuple):
    """A candidate that is ready to run."""

    candidate: CandidatePatch
    swaps: Sequence[Swap]
    failing: Sequence[int]
    """The failing tests that reach the edited function; the others cannot change."""
    passing: Sequence[int]
    hopes: int = 0
    """Number of leading failing tests of which one has to pass; 0 if any test may."""


class TrialVerdict(NamedTuple):
    """The end of a trial: `pass`, `near`, `fail`, `timeout` or `died`; and the tests it fixed."""

    outcome: str
    fixed: Tuple[int, ...] = ()


class CpuLimits(NamedTuple):
    """CPU limits of tests, in seconds."""

    known: Dict[int, float]
    """Measured limits."""
    default: float
    seconds: Mapping[int, float] = MappingProxyType({})
    """CPU seconds of tests before any edit."""
    stretched: float = 1.0
    """Minimum factor on all limits."""

    def is_dear(self, index: int, first: int) -> bool:
        """Return True if a test is much slower than another one.

        It is then not worth a speculative run.
        """
        return self.seconds.get(index, 0.0) > max(0.003, 3 * self.seconds.get(first, 0.0))

    def of(self, index: int, factor: float) -> float:
        """Return the limit of a test, multiplied by a factor."""
        return max(self.known.get(index, self.default), 0.01) * max(factor, self.stretched)


class Board:
    """Verdicts in memory shared with a child: a byte for the outcome and a bit for each fixed test.

    Args:
        trials: The trials of the chunk.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = trials
        self._width = 1 + (max((len(trial.failing) for trial in trials), default=0) + 7) // 8
        self._memory = mmap.mmap(-1, HEAD + self._width * len(trials))

    def begin(self, number: int) -> None:
        """Record the trial that is running, and count a sign of life."""
        self._memory[:HEAD] = _BEAT.pack(number, self.beat() + 1)

    def current(self) -> int:
        """Return the trial that is running."""
        return int(_BEAT.unpack(self._memory[:HEAD])[0])

    def beat(self) -> int:
        """Return a counter that grows while the child is alive."""
        return int(_BEAT.unpack(self._memory[:HEAD])[1])

    def store(self, number: int, verdict: TrialVerdict) -> None:
        """Store a verdict; the outcome byte is last, so that a visible verdict is complete."""
        at, fixed = HEAD + self._width * number, set(verdict.fixed)
        bits = sum(
            1 << place for place, test in enumerate(self._trials[number].failing) if test in fixed
        )
        self._memory[at + 1 : at + self._width] = bits.to_bytes(self._width - 1, "little")
        self._memory[at] = MARKS[verdict.outcome]

    def get(self, number: int) -> TrialVerdict:
        """Return the stored verdict, or `died` if it is missing or invalid."""
        at = HEAD + self._width * number
        outcome = OUTCOMES.get(self._memory[at], DIED)
        bits = int.from_bytes(self._memory[at + 1 : at + self._width], "little")
        fixed = tuple(
            test for place, test in enumerate(self._trials[number].failing) if bits >> place & 1
        )
        if outcome not in (PASS, NEAR):
            return TrialVerdict(outcome)
        return TrialVerdict(outcome, fixed) if fixed else TrialVerdict(DIED)

    def has(self, number: int) -> bool:
        """Return True if a verdict is stored."""
        return self._memory[HEAD + self._width * number] != 0
