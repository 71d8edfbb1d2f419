"""The child's part of a chunk: candidate after candidate in one process, each on ground as clean as it was found."""

from __future__ import annotations

import gc
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.forked import Report
from sandbox.guest.search.functions import Swap
from sandbox.guest.search.harness import FAIL, PASS, SKIP, TIMEOUT, Runner
from sandbox.guest.search.leftovers import LOST, SAME, Leftovers
from sandbox.guest.search.limits import Limiter
from sandbox.guest.search.plans import Plan
from sandbox.guest.search.verdicts import NEAR, Board, Limits, Trial, Verdict

MORE_CHANCES = 2
"""How many further failing tests are tried after the first failure, to notice a partial fix."""
LEAST_TURNS = 1000
"""How often the loops of a function may turn in one test at the least."""
MORE_TURNS = 20
"""How many times more often they may turn than before the edit."""


class Order(NamedTuple):
    """What a child needs to know."""

    items: Sequence[Any]
    plans: Dict[int, Plan]
    limits: Limits
    factor: float
    """How far limits are stretched."""
    turns: Dict[int, int]
    """How often the loops of a unit (by its id) turn at the most, before any edit."""
    leftovers: Leftovers
    killer: Optional[int]
    """The test that rejected the last candidate goes first."""


class Worker:
    """Runs trials in this process.

    Args:
        order: What to keep to.
        trials: What to run.
        board: Where verdicts are noted.
        first: The number of the first trial on the board.
    """

    def __init__(self, order: Order, trials: Sequence[Trial], board: Board, first: int) -> None:
        self._order = order
        self._trials = trials
        self._board = board
        self._first = first
        self._killer = order.killer

    def work(self, limiter: Limiter, report: Report) -> None:
        """A verdict on the board for each trial, and one report at the end."""
        began = time.perf_counter()
        gc.disable()
        self._limiter = limiter
        self._runner = Runner(self._order.items, limiter, self._order.plans)
        leftovers = self._order.leftovers
        done, clean = 0, True
        while done < len(self._trials) and clean:
            held = min(leftovers.every, len(self._trials) - done)
            verdicts = [self._one(trial) for trial in self._trials[done : done + held]]
            state = leftovers.put_back()
            if state != SAME and held > 1:
                # Somebody left something behind; once more, and look after each.
                verdicts = []
                for trial in self._trials[done : done + held]:
                    verdicts.append(self._one(trial))
                    state = leftovers.put_back()
                    if state == LOST:
                        break
            for number, verdict in enumerate(verdicts, self._first + done):
                self._board.put(number, verdict)
            done += len(verdicts)
            clean = state != LOST
            limiter.restore()
        report([self._killer, (time.perf_counter() - began) / max(1, done)])

    def _one(self, trial: Trial) -> Verdict:
        unit, order = trial.candidate.unit, self._order
        swaps = unit.guarded(trial.candidate.edits, trial.swaps) if unit is not None else trial.swaps
        turns = max(LEAST_TURNS, MORE_TURNS * order.turns.get(id(unit), 0))
        self._limiter.guard_loops(int(turns * order.factor))
        with Swapped(swaps):
            verdict = self._try(trial)
            self._runner.close()
        return verdict

    def _try(self, trial: Trial) -> Verdict:
        """Failing tests first, the last killer before all; stop as soon as the candidate is lost."""
        fixed: List[int] = []
        lost: List[int] = []
        for index in _first(self._killer, trial.failing):
            outcome = self._run(index)
            if outcome == PASS:
                fixed.append(index)
                continue
            lost.append(index)
            if outcome == TIMEOUT and not fixed:
                return Verdict(TIMEOUT)
            if not fixed and len(lost) > MORE_CHANCES:
                break
        if lost:
            self._killer = lost[0]
        if not fixed:
            return Verdict(FAIL)
        for index in _first(self._killer, trial.passing):
            outcome = self._run(index)
            if outcome not in (PASS, SKIP):
                self._killer = index
                return Verdict(TIMEOUT if outcome == TIMEOUT else FAIL)
        return Verdict(NEAR if lost else PASS, tuple(fixed))

    def _run(self, index: int) -> str:
        return self._runner.run(index, self._order.limits.of(index, self._order.factor))


class Swapped:
    """Functions with other code inside a `with`.

    Args:
        swaps: Which function gets which code.
    """

    def __init__(self, swaps: Sequence[Swap]) -> None:
        self._swaps = swaps
        self._olds: List[Swap] = []

    def __enter__(self) -> None:
        self._olds = [(function, function.__code__) for function, _ in self._swaps]
        for function, code in self._swaps:
            function.__code__ = code

    def __exit__(self, *_error: object) -> None:
        for function, code in self._olds:
            function.__code__ = code


def _first(killer: Optional[int], tests: Sequence[int]) -> Sequence[int]:
    """The tests, the last killer before all."""
    if killer is None or killer not in tests:
        return tests
    return [killer, *(index for index in tests if index != killer)]


def count_turns(order: Order, jobs: Sequence[Tuple[int, Sequence[Swap], Sequence[int]]]) -> Callable[..., None]:
    """What a child does to learn how often the loops of units turn before any edit.

    Args:
        order: What to keep to.
        jobs: The number of a unit, its functions with guarded code, tests that reach it.
    """

    def work(limiter: Limiter, report: Report) -> None:
        runner = Runner(order.items, limiter, order.plans)
        for unit, swaps, tests in jobs:
            limiter.guard_loops(1 << 60)
            most = 0
            with Swapped(swaps):
                for index in tests:
                    if runner.run(index, order.limits.of(index, 2.0)) == PASS:
                        most = max(most, limiter.turned)
                runner.close()
            report([unit, most])

    return work
