"""The child's part of a chunk: one candidate after another in one process.

Each starts from the same clean state.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.execution.kept_fixtures import KeptFixtures
from sandbox.guest.search.execution.shared.chooser import Chooser
from sandbox.guest.search.execution.shared.outcomes import Outcomes, Separate, Sharing, serve
from sandbox.guest.search.execution.shared.sites import Sites
from sandbox.guest.search.execution.verdicts import NEAR, Board, CpuLimits, Trial, TrialVerdict
from sandbox.guest.search.process.forked import Report
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.threads import has_children
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Runner
from sandbox.guest.search.session.plans import ItemPlan
from sandbox.guest.search.session.state_snapshot import LOST, SAME, StateSnapshot
from sandbox.guest.search.source.functions import Swap

LEFT_CHILDREN = 9
MORE_CHANCES = 2
"""Failing tests that still run after the first failure, so that partial fixes are noticed."""
LEAST_TURNS = 1000
"""Minimum limit on loop iterations of a function in one test."""
MORE_TURNS = 20
"""Factor on the iterations before the edit, for that limit."""


class Order(NamedTuple):
    """The instructions for a child."""

    items: Sequence[Any]
    plans: Dict[int, ItemPlan]
    limits: CpuLimits
    factor: float
    """Factor on the time limits."""
    turns: Dict[int, int]
    """Maximum loop iterations per unit id before any edit."""
    snapshot: StateSnapshot
    killer: Optional[int]
    """The passing test that rejected the last candidate; it runs first."""
    sites: Optional[Dict[int, Sites]]
    """The expressions of units by their ids, if alternatives may share executions."""
    plain: bool = False
    """Run each trial by itself, keep no set-up, and check the state after each trial."""


class Worker:
    """Runs trials in this process.

    Args:
        order: The instructions.
        trials: All trials of the chunk.
        board: Receives verdicts.
        numbers: Indexes of the trials to run.
    """

    def __init__(
        self, order: Order, trials: Sequence[Trial], board: Board, numbers: Sequence[int]
    ) -> None:
        self._order = order
        self._trials = trials
        self._board = board
        self._numbers = numbers
        self._killer = order.killer
        self._lost = self._promising = False
        self._every = 1 if order.plain else order.snapshot.every

    def work(self, limiter: Limiter, report: Report) -> None:
        """Put a verdict for each trial on the board; report once at the end.

        There may be no verdict if the state is lost before any trial ran alone. A plain order gives
        at least one.
        """
        # tests may replace the clocks in the module
        wall, cpu = time.perf_counter, time.process_time
        began, spent = wall(), cpu()
        gc.disable()
        self._limiter = limiter
        self._runner = Runner(self._order.items, limiter, self._order.plans)
        self._fixtures = KeptFixtures(
            self._runner, self._order.plans, self._order.snapshot, self._run
        )
        clean = self._share(self._numbers) if self._order.sites is not None else True
        waiting = [n for n in self._numbers if not self._board.has(n)]
        if clean and not self._order.plain:
            waiting = self._with_kept_fixtures(waiting)
        while waiting and clean and not self._fixtures.lost:
            held, waiting = waiting[: self._every], waiting[self._every :]
            clean = self._run_separately(held)
            limiter.restore()
        count = max(1, len(self._numbers) - len(waiting))
        set_up_s = self._fixtures.set_up_s
        report(
            [self._killer, (wall() - began - set_up_s) / count, (cpu() - spent) / count, set_up_s]
        )

    # --- kept set-up -----------------------------------------------------------------------------

    def _with_kept_fixtures(self, numbers: Sequence[int]) -> List[int]:
        """Run the trials for which a set-up can be kept; return the others."""
        fixtures, others = self._fixtures, []
        for number in numbers:
            trial = self._trials[number]
            self._board.begin(number)
            if fixtures.lost or not fixtures.holds(trial.failing[0], trial.swaps, trial.passing):
                others.append(number)
                continue
            self._promising = False
            verdict = self._run_trial(number)
            self._board.store(number, verdict)
            fixtures.settle(number, hopeless=verdict.outcome == FAIL and not self._promising)
            self._limiter.restore()
        fixtures.tear_down()
        return sorted([*others, *fixtures.doubtful])

    # --- one execution per trial -----------------------------------------------------------------

    def _run_separately(self, numbers: Sequence[int]) -> bool:
        """Run these trials; return False if the state of the process is lost."""
        verdicts = {number: self._run_trial(number) for number in numbers}
        state = self._order.snapshot.restore()
        if state != SAME and len(numbers) > 1:
            # A trial left changes behind. Run all again, and check the state after each from now
            # on.
            self._every = 1
            verdicts = {}
            for number in numbers:
                verdicts[number] = self._run_trial(number)
                state = self._order.snapshot.restore()
                if state == LOST:
                    break
        for number, verdict in verdicts.items():
            self._board.store(number, verdict)
        return state != LOST

    def _run_trial(self, number: int) -> TrialVerdict:
        trial = self._trials[number]
        unit = trial.candidate.unit
        self._board.begin(number)
        self._guard(trial)
        swaps = (
            unit.guarded(trial.candidate.edits, trial.swaps) if unit is not None else trial.swaps
        )
        with Swapped(swaps):
            verdict = self._judge(trial, self._run)
            if not self._fixtures.is_set_up:
                self._runner.close()
        if verdict.outcome == TIMEOUT and has_children():
            os._exit(
                LEFT_CHILDREN
            )  # they would take CPU time from all later trials; our group is killed
        return verdict

    def _guard(self, trial: Trial) -> None:
        turns = max(LEAST_TURNS, MORE_TURNS * self._order.turns.get(id(trial.candidate.unit), 0))
        self._limiter.guard_loops(int(turns * self._order.factor))

    # --- shared execution ------------------------------------------------------------------------

    def _share(self, waiting: Sequence[int]) -> bool:
        """Put the verdicts of trials that share executions; return False if the state is lost."""
        chooser = Chooser()
        serve(chooser)
        sharing = Sharing(self._order.sites or {})
        for group in sharing.groups([self._trials[n] for n in waiting]):
            numbers = [waiting[place] for place in group.trials]
            run = functools.partial(self._shared_run, numbers, group.swaps)
            outcomes = Outcomes(len(numbers), chooser, run)
            verdicts: Dict[int, TrialVerdict] = {}
            for place, number in enumerate(numbers):
                with contextlib.suppress(Separate):
                    verdicts[number] = self._judge(
                        self._trials[number], functools.partial(outcomes.of, place)
                    )
            state = self._order.snapshot.restore()
            if state == SAME or self._every == 1:
                for number, verdict in verdicts.items():
                    self._board.store(number, verdict)
            if state == LOST or self._lost:
                return False
        return True

    def _shared_run(
        self, numbers: Sequence[int], swaps: Sequence[Swap], leader: int, test: int
    ) -> Tuple[str, bool]:
        number = numbers[leader]
        self._board.begin(number)
        self._guard(self._trials[number])
        with Swapped(swaps):
            outcome = self._run(test)
            turned = self._limiter.turned_out
            self._runner.close()
        if self._every == 1 and self._order.snapshot.restore() == LOST:
            self._lost = True
        return outcome, turned

    # --- judging ---------------------------------------------------------------------------------

    def _judge(self, trial: Trial, run: Callable[[int], str]) -> TrialVerdict:
        """Return the verdict of a trial.

        Failing tests run first, then passing ones, with the last killer first. It stops when the
        candidate is lost. The verdict does not depend on earlier trials: failing tests always run
        in the same order.
        """
        fixed: List[int] = []
        lost: List[int] = []
        late = False
        for place, index in enumerate(trial.failing):
            if lost and not fixed and self._is_hopeless(trial, place):
                break
            if lost and not fixed and self._fixtures.should_skip(index):
                continue
            outcome = run(index)
            if outcome == PASS:
                fixed.append(index)
                continue
            lost.append(index)
            if outcome == TIMEOUT and not fixed:
                return TrialVerdict(TIMEOUT)
            late = late or (outcome == TIMEOUT and not self._limiter.turned_out)
            if not fixed and len(lost) > MORE_CHANCES:
                break
        if not fixed:
            return TrialVerdict(FAIL)
        broken = self._break(trial.passing, run)
        if broken is not None:
            return TrialVerdict(broken)
        if late and self._order.factor == 1.0:
            # With more time it may pass: on a busy machine, the clock of any test may run out.
            return TrialVerdict(TIMEOUT)
        return TrialVerdict(NEAR if lost else PASS, tuple(fixed))

    def _break(self, passing: Sequence[int], run: Callable[[int], str]) -> Optional[str]:
        """Return the verdict that the first broken passing test causes, or None if all pass."""
        for index in _first(self._killer, passing):
            outcome = run(index)
            if outcome not in (PASS, SKIP):
                self._killer = index
                return TIMEOUT if outcome == TIMEOUT else FAIL
        return None

    def _is_hopeless(self, trial: Trial, place: int) -> bool:
        """Return True if no further failing test is worth a run while none has passed."""
        dear = self._order.limits.is_dear(trial.failing[place], trial.failing[0])
        return dear or 0 < trial.hopes <= place

    def _run(self, index: int) -> str:
        outcome = self._runner.run(index, self._order.limits.of(index, self._order.factor))
        self._promising = self._promising or outcome == PASS
        self._fixtures.note_run(index)
        return outcome


class Swapped:
    """Context manager that swaps the code of functions.

    Args:
        swaps: Functions and their new code.
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
    """Return the tests with the last killer first."""
    if killer is None or killer not in tests:
        return tests
    return [killer, *(index for index in tests if index != killer)]


def count_turns(
    order: Order, jobs: Sequence[Tuple[int, Sequence[Swap], Sequence[int]]]
) -> Callable[..., None]:
    """Return the work of a child that counts loop iterations of units before any edit.

    Args:
        order: The instructions.
        jobs: For each unit, its id, its functions with guarded code, and tests that reach it.
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
