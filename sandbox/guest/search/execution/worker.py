"""The child's part of a chunk: candidate after candidate in one process, each on ground as clean as it was found."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.execution.shared.chooser import Chooser
from sandbox.guest.search.execution.shared.outcomes import Outcomes, Separate, Sharing, serve
from sandbox.guest.search.execution.shared.sites import Sites
from sandbox.guest.search.execution.standing import Standing
from sandbox.guest.search.execution.verdicts import NEAR, Board, Limits, Trial, Verdict
from sandbox.guest.search.process.forked import Report
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.threads import has_children
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Runner
from sandbox.guest.search.session.leftovers import LOST, SAME, Leftovers
from sandbox.guest.search.session.plans import Plan
from sandbox.guest.search.source.functions import Swap

LEFT_CHILDREN = 9
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
    """The passing test that rejected the last candidate goes first."""
    sites: Optional[Dict[int, Sites]]
    """The expressions of units, by their ids, when alternatives may share executions."""
    plain: bool = False
    """Each trial runs for itself, nothing is kept from one to the next, and after each it is looked what it left."""


class Worker:
    """Runs trials in this process.

    Args:
        order: What to keep to.
        trials: What to run.
        board: Where verdicts are noted.
        numbers: Which of them.
    """

    def __init__(self, order: Order, trials: Sequence[Trial], board: Board, numbers: Sequence[int]) -> None:
        self._order = order
        self._trials = trials
        self._board = board
        self._numbers = numbers
        self._killer = order.killer
        self._lost = self._promising = False
        self._every = 1 if order.plain else order.leftovers.every

    def work(self, limiter: Limiter, report: Report) -> None:
        """A verdict on the board for each trial, and one report at the end.

        Where the process is lost before any trial ran for itself there may be none; with a plain order there is one.
        """
        wall, cpu = time.perf_counter, time.process_time  # tests may put others into the module
        began, spent = wall(), cpu()
        gc.disable()
        self._limiter = limiter
        self._runner = Runner(self._order.items, limiter, self._order.plans)
        self._standing = Standing(self._runner, self._order.plans, self._order.leftovers, self._run)
        clean = self._share(self._numbers) if self._order.sites is not None else True
        waiting = [n for n in self._numbers if not self._board.has(n)]
        if clean and not self._order.plain:
            waiting = self._on_what_stands(waiting)
        while waiting and clean and not self._standing.lost:
            held, waiting = waiting[: self._every], waiting[self._every :]
            clean = self._by_themselves(held)
            limiter.restore()
        count = max(1, len(self._numbers) - len(waiting))
        set_up_s = self._standing.set_up_s
        report([self._killer, (wall() - began - set_up_s) / count, (cpu() - spent) / count, set_up_s])

    # --- what outlives tests is kept ---------------------------------------------------------------

    def _on_what_stands(self, numbers: Sequence[int]) -> List[int]:
        """Run those trials for which something may be kept; the others."""
        standing, others = self._standing, []
        for number in numbers:
            trial = self._trials[number]
            self._board.begin(number)
            if standing.lost or not standing.holds(trial.failing[0], trial.swaps):
                others.append(number)
                continue
            self._promising = False
            verdict = self._one(number)
            self._board.put(number, verdict)
            standing.settle(number, hopeless=verdict.outcome == FAIL and not self._promising)
            self._limiter.restore()
        standing.fall()
        return sorted([*others, *standing.doubtful])

    # --- one execution for each --------------------------------------------------------------------

    def _by_themselves(self, numbers: Sequence[int]) -> bool:
        """Run these, and say whether the process is as it was."""
        verdicts = {number: self._one(number) for number in numbers}
        state = self._order.leftovers.put_back()
        if state != SAME and len(numbers) > 1:
            # Somebody left something behind; once more, and from now on look after each.
            self._every = 1
            verdicts = {}
            for number in numbers:
                verdicts[number] = self._one(number)
                state = self._order.leftovers.put_back()
                if state == LOST:
                    break
        for number, verdict in verdicts.items():
            self._board.put(number, verdict)
        return state != LOST

    def _one(self, number: int) -> Verdict:
        trial = self._trials[number]
        unit = trial.candidate.unit
        self._board.begin(number)
        self._guard(trial)
        swaps = unit.guarded(trial.candidate.edits, trial.swaps) if unit is not None else trial.swaps
        with Swapped(swaps):
            verdict = self._judged(trial, self._run)
            if not self._standing.stands:
                self._runner.close()
        if verdict.outcome == TIMEOUT and has_children():
            os._exit(LEFT_CHILDREN)  # they would take the time of all that follow; our group is killed
        return verdict

    def _guard(self, trial: Trial) -> None:
        turns = max(LEAST_TURNS, MORE_TURNS * self._order.turns.get(id(trial.candidate.unit), 0))
        self._limiter.guard_loops(int(turns * self._order.factor))

    # --- shared ------------------------------------------------------------------------------------

    def _share(self, waiting: Sequence[int]) -> bool:
        """Verdicts of all that can share executions; whether the process is as it was."""
        chooser = Chooser()
        serve(chooser)
        sharing = Sharing(self._order.sites or {})
        for group in sharing.groups([self._trials[n] for n in waiting]):
            numbers = [waiting[place] for place in group.trials]
            run = functools.partial(self._shared_run, numbers, group.swaps)
            outcomes = Outcomes(len(numbers), chooser, run)
            verdicts: Dict[int, Verdict] = {}
            for place, number in enumerate(numbers):
                with contextlib.suppress(Separate):
                    verdicts[number] = self._judged(self._trials[number], functools.partial(outcomes.of, place))
            state = self._order.leftovers.put_back()
            if state == SAME or self._every == 1:
                for number, verdict in verdicts.items():
                    self._board.put(number, verdict)
            if state == LOST or self._lost:
                return False
        return True

    def _shared_run(self, numbers: Sequence[int], swaps: Sequence[Swap], leader: int, test: int) -> Tuple[str, bool]:
        number = numbers[leader]
        self._board.begin(number)
        self._guard(self._trials[number])
        with Swapped(swaps):
            outcome = self._run(test)
            turned = self._limiter.turned_out
            self._runner.close()
        if self._every == 1 and self._order.leftovers.put_back() == LOST:
            self._lost = True
        return outcome, turned

    # --- judging -----------------------------------------------------------------------------------

    def _judged(self, trial: Trial, run: Callable[[int], str]) -> Verdict:
        """Failing tests first, then the others with the last killer before all; stop as soon as the candidate is lost.

        What is told does not depend on what ran before: the order of failing tests is always the same.
        """
        fixed: List[int] = []
        lost: List[int] = []
        for place, index in enumerate(trial.failing):
            if lost and not fixed and self._is_hopeless(trial, place):
                break
            if lost and not fixed and self._standing.spares(index):
                continue
            outcome = run(index)
            if outcome == PASS:
                fixed.append(index)
                continue
            lost.append(index)
            if outcome == TIMEOUT and not fixed:
                return Verdict(TIMEOUT)
            if not fixed and len(lost) > MORE_CHANCES:
                break
        if not fixed:
            return Verdict(FAIL)
        for index in _first(self._killer, trial.passing):
            outcome = run(index)
            if outcome not in (PASS, SKIP):
                self._killer = index
                return Verdict(TIMEOUT if outcome == TIMEOUT else FAIL)
        return Verdict(NEAR if lost else PASS, tuple(fixed))

    def _is_hopeless(self, trial: Trial, place: int) -> bool:
        """Whether no further failing test is worth a run when none has passed yet."""
        dear = self._order.limits.is_dear(trial.failing[place], trial.failing[0])
        return dear or 0 < trial.hopes <= place

    def _run(self, index: int) -> str:
        outcome = self._runner.run(index, self._order.limits.of(index, self._order.factor))
        self._promising = self._promising or outcome == PASS
        self._standing.ran(index)
        return outcome


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
