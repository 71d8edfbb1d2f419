"""Trials and verdicts: what is run, what bounds it, and how it may end."""

from __future__ import annotations

import mmap
import struct
from types import MappingProxyType
from typing import Dict, Mapping, NamedTuple, Sequence, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.session.harness import FAIL, PASS, TIMEOUT
from sandbox.guest.search.source.functions import Swap

DIED, NEAR = "died", "near"
MARKS = {FAIL: 1, TIMEOUT: 2, PASS: 3, NEAR: 4}
"""How a child marks the end of a trial in the memory it shares with us."""
_BEAT = struct.Struct("<qq")
HEAD = _BEAT.size
OUTCOMES = {mark: outcome for outcome, mark in MARKS.items()}


class Trial(NamedTuple):
    """A candidate made ready to run."""

    candidate: Candidate
    swaps: Sequence[Swap]
    failing: Sequence[int]
    """The failing tests that reach the edited function; the others cannot change."""
    passing: Sequence[int]
    hopes: int = 0
    """So many of the failing tests come first because one of them has to pass; 0 when any may."""


class Verdict(NamedTuple):
    """How one trial ended: `pass` (all its tests), `near`, `fail`, `timeout` or `died`; and which tests it fixed."""

    outcome: str
    fixed: Tuple[int, ...] = ()


class Limits(NamedTuple):
    """CPU seconds a test may take."""

    known: Dict[int, float]
    """Measured limits of passing tests."""
    default: float
    seconds: Mapping[int, float] = MappingProxyType({})
    """What tests took before any edit."""
    stretched: float = 1.0
    """How far all of them are stretched at least."""

    def is_dear(self, index: int, first: int) -> bool:
        """Whether a test takes so much longer than another that it is not run on the mere chance."""
        return self.seconds.get(index, 0.0) > max(0.003, 3 * self.seconds.get(first, 0.0))

    def of(self, index: int, factor: float) -> float:
        """The limit of a test, stretched."""
        return max(self.known.get(index, self.default), 0.01) * max(factor, self.stretched)


class Board:
    """Verdicts in memory that a child shares with us: a byte for the outcome, and a bit for each test it fixed.

    Args:
        trials: Whose verdicts.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self._trials = trials
        self._width = 1 + (max((len(trial.failing) for trial in trials), default=0) + 7) // 8
        self._memory = mmap.mmap(-1, HEAD + self._width * len(trials))

    def begin(self, number: int) -> None:
        """Note whose turn it is, and that something happens."""
        self._memory[:HEAD] = _BEAT.pack(number, self.beat() + 1)

    def current(self) -> int:
        """Whose turn it is."""
        return int(_BEAT.unpack(self._memory[:HEAD])[0])

    def beat(self) -> int:
        """Grows as long as something happens."""
        return int(_BEAT.unpack(self._memory[:HEAD])[1])

    def put(self, number: int, verdict: Verdict) -> None:
        """Note a verdict; the outcome last, so that what is there is whole."""
        at, fixed = HEAD + self._width * number, set(verdict.fixed)
        bits = sum(1 << place for place, test in enumerate(self._trials[number].failing) if test in fixed)
        self._memory[at + 1 : at + self._width] = bits.to_bytes(self._width - 1, "little")
        self._memory[at] = MARKS[verdict.outcome]

    def get(self, number: int) -> Verdict:
        """The verdict that was noted; `died` when there is none that makes sense."""
        at = HEAD + self._width * number
        outcome = OUTCOMES.get(self._memory[at], DIED)
        bits = int.from_bytes(self._memory[at + 1 : at + self._width], "little")
        fixed = tuple(test for place, test in enumerate(self._trials[number].failing) if bits >> place & 1)
        if outcome not in (PASS, NEAR):
            return Verdict(outcome)
        return Verdict(outcome, fixed) if fixed else Verdict(DIED)

    def has(self, number: int) -> bool:
        """Whether there is one."""
        return self._memory[HEAD + self._width * number] != 0
