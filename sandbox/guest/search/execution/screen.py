"""The screen: chunks of candidates in forked children, failing tests first.

Each survivor is confirmed alone.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from sandbox.guest.search.execution.shared.sites import Sites
from sandbox.guest.search.execution.verdicts import (
    DIED,
    NEAR,
    Board,
    CpuLimits,
    Trial,
    TrialVerdict,
)
from sandbox.guest.search.execution.worker import MORE_CHANCES, Order, Worker, count_turns
from sandbox.guest.search.process.forked import Bounds, Child, Report, collect, usual_bounds
from sandbox.guest.search.process.limits import GIBIBYTE, MOST_SLOWED_TRIAL, Limiter, slowdown
from sandbox.guest.search.session.baseline import session_root
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.session.plans import make_plans, mutable_parameters
from sandbox.guest.search.session.state_snapshot import StateSnapshot
from sandbox.guest.search.session.watch import FixtureWatch, get_watch
from sandbox.guest.search.source.functions import Swap

__all__ = ["DIED", "NEAR", "Alone", "Chunk", "CpuLimits", "Screen", "Trial", "TrialVerdict"]

FIRST_CHUNK, MOST_IN_CHUNK = 16, 400
CHUNK_S = 0.08
"""Target duration of a chunk on an idle machine, in seconds.

It is much longer than a fork, but short for the user.
"""
SET_UP_SHARE = 8.0
"""Minimum duration of a chunk, as a multiple of the set-up that it keeps."""
SHARED_CHUNK_S = 0.6
"""Target with shared execution, in seconds: larger chunks share more alternatives per expression.
"""
COUNTED = 40
"""Number of passing tests that count the iterations of loops."""
COUNT_S = 5.0
LONG_S = 0.0015
"""CPU seconds per trial from which shared execution may be faster."""
RETHINK = 12
"""Number of chunks after which the slower mode is measured again."""


class Screen:
    """Runs trials.

    Args:
        items: The tests.
        limits: Time limits per test.
        memory_bytes: Memory limit of a child.
    """

    def __init__(self, items: Items, limits: CpuLimits, memory_bytes: int = GIBIBYTE) -> None:
        self._items = items
        self.limits = limits
        self.bounds: Bounds = usual_bounds(memory_bytes)
        self._plans = make_plans(items.all, [*items.failing, *items.passing])
        self._snapshot = StateSnapshot(
            session_root(items), mutable_parameters(items.all, self._plans)
        )
        self._turns: Dict[int, int] = {}
        self._sites: Dict[int, Sites] = {}
        self.share: Optional[bool] = None
        """True if alternatives of an expression share executions; None to choose the faster mode.
        """
        self._paces: Dict[bool, float] = {}
        self._chunks = 0
        self._killer: Optional[int] = None
        self._pace = 0.0
        self._set_up_s = 0.0
        self._watch = get_watch(items.all[0].config) if items.all else FixtureWatch()

    def note_killer(self, index: Optional[int]) -> None:
        """Run the test that rejected the last candidate first."""
        self._killer = index if index is not None else self._killer

    def note_pace(self, seconds: float, cpu_s: float, *, shared: bool) -> None:
        """Record the mean duration of a trial in a chunk."""
        # Exponential smoothing, because trials of other functions take other times.
        self._pace = seconds if not self._pace else 0.7 * self._pace + 0.3 * seconds
        self._paces[shared] = 0.6 * self._paces.get(shared, cpu_s) + 0.4 * cpu_s

    def note_set_up(self, seconds: float) -> None:
        """Record the set-up time that trials share. Shared execution cannot keep a set-up."""
        self._set_up_s = seconds
        if seconds:
            self.share = False

    def shares(self) -> bool:
        """Return True if the next chunk shares executions.

        That is so if tests are long and sharing has not been slower.
        """
        if self.share is not None:
            return self.share
        self._chunks += 1
        alone = self._paces.get(False)
        if alone is None or alone < LONG_S:
            return False
        # Now and then the slower mode is measured again.
        return self._sharing_pays() != (self._chunks % RETHINK == 0)

    def _sharing_pays(self) -> bool:
        alone = self._paces.get(False, 0.0)
        return alone >= LONG_S and self._paces.get(True, 0.0) < alone

    def chunk_size(self, slowed: Optional[float] = None) -> int:
        """Return the number of candidates for the next chunk.

        Args:
            slowed: Factor by which the machine's load slows trials; None measures it.
        """
        if not self._pace:
            return FIRST_CHUNK
        usual = SHARED_CHUNK_S if self._sharing_pays() else CHUNK_S
        # Paces are wall time. Without the factor, a busy machine would get the shortest chunks,
        # and a new child for each costs processor time.
        seconds = max(usual * (slowed or slowdown()), SET_UP_SHARE * self._set_up_s)
        return max(FIRST_CHUNK, min(MOST_IN_CHUNK, int(seconds / self._pace)))

    def chunk_work(
        self,
        trials: Sequence[Trial],
        factor: float,
        board: Board,
        numbers: Sequence[int],
        *,
        shared: bool,
        plain: bool = False,
    ) -> Callable[[Limiter, Report], None]:
        """Return the work of a chunk's child.

        The child records verdicts for the trials of these numbers.
        """
        self._prepare_units(trials)
        return Worker(self._order(factor, shared=shared, plain=plain), trials, board, numbers).work

    def _order(self, factor: float, *, shared: bool = False, plain: bool = False) -> Order:
        limits = self.limits
        return Order(
            self._items.all, self._plans, limits, factor, self._turns, self._snapshot,
            self._killer, self._sites if shared else None, plain,
        )  # fmt: skip

    @property
    def allowance(self) -> float:
        """CPU seconds for setting up fixtures that outlive a test."""
        return self._watch.allowance

    def _prepare_units(self, trials: Sequence[Trial]) -> None:
        """Record the expressions of new functions and count the iterations of their loops."""
        jobs = []
        for trial in trials:
            unit = trial.candidate.unit
            if unit is None or id(unit) in self._turns:
                continue
            self._turns[id(unit)] = 0
            self._sites[id(unit)] = Sites(unit)  # holds the unit, so that its id stays unique
            if unit.loops and trial.swaps:
                functions = [function for function, _ in trial.swaps]
                swaps = [(f, f.__code__) for f in functions]
                jobs.append(
                    (
                        id(unit),
                        unit.guarded((), swaps),
                        [*trial.passing[:COUNTED], *trial.failing[:3]],
                    )
                )
        if jobs:
            for report in collect(count_turns(self._order(1.0), jobs), COUNT_S, self.bounds):
                if isinstance(report, list) and len(report) == 2 and report[0] in self._turns:
                    self._turns[report[0]] = report[1] if isinstance(report[1], int) else 0

    def confirm(self, swaps: Sequence[Swap], wait_s: float) -> List[int]:
        """Return the failing tests that these edits turn green in an own fork; see `Alone`."""
        return Alone(self, (), swaps).fixed(wait_s)

    def alone(self, trial: Trial) -> Alone:
        """Start one trial in a fork of its own."""
        return Alone(self, (trial,), trial.swaps)

    def alone_work(self, swaps: Sequence[Swap]) -> Callable[[Limiter, Report], None]:
        """Return the work of a single trial's child.

        Every plugin hook runs, and teardown failures count.
        """
        order = sorted([*self._items.failing, *self._items.passing])
        passing = set(self._items.passing)

        def work(limiter: Limiter, report: Report) -> None:
            runner = Runner(self._items.all, limiter)
            for function, code in swaps:
                function.__code__ = code
            fixed: List[int] = []
            factor = 3.0
            for index, following in zip(order, [*order[1:], None]):
                outcome = runner.run(
                    index, self.limits.of(index, 3.0 if index in passing else factor)
                )
                if outcome == TIMEOUT:
                    factor = 1.0  # less time for the next endless test
                if runner.leave(following) != PASS and outcome == PASS:
                    outcome = FAIL
                if outcome == PASS and index not in passing:
                    fixed.append(index)
                if outcome not in (PASS, SKIP) and index in passing:
                    return
            report(fixed)

        return work


class Alone:
    """A confirmation: all tests in their original order in a new fork.

    Args:
        screen: The screen.
        trials: The trial that is confirmed, if any.
        swaps: The edits.
    """

    def __init__(self, screen: Screen, trials: Sequence[Trial], swaps: Sequence[Swap]) -> None:
        self.trials = trials
        self._child = Child(screen.alone_work(swaps), screen.bounds)

    def fixed(self, wait_s: float) -> List[int]:
        """Return the failing tests that turn green, or none if a passing test breaks."""
        report = self._child.next(wait_s)
        self._child.end()
        return [i for i in report if isinstance(i, int)] if isinstance(report, list) else []

    def end(self) -> None:
        """Kill the child."""
        self._child.end()


class Chunk:
    """Trials that run in one child.

    Args:
        screen: The screen.
        trials: At least one trial.
        factor: Factor on the time limits.
    """

    def __init__(self, screen: Screen, trials: Sequence[Trial], factor: float) -> None:
        self._screen = screen
        self._factor = factor
        self.trials = trials
        self._board = Board(trials)
        self._shared = len(trials) > 2 and screen.shares()
        self._plain = False
        """True after a child finished without a verdict.

        Later children neither share executions nor keep a set-up.
        """
        self._child = self._start(range(len(trials)))

    def _start(self, numbers: Sequence[int]) -> Child:
        # A fast child may have verdicts before anyone listens to it.
        self._asked = list(numbers)
        work = self._screen.chunk_work(
            self.trials, self._factor, self._board, numbers, shared=self._shared, plain=self._plain
        )
        return Child(work, self._screen.bounds)

    def end(self) -> None:
        """Kill the child."""
        self._child.end()

    def results(self, seconds_left: Callable[[], float]) -> List[TrialVerdict]:
        """Return a verdict for each trial, in order.

        A child that ends early is followed by one for the remaining trials. This terminates: each
        child brings a verdict, is charged to a trial, or is the last that is not plain.
        """
        died: Set[int] = set()
        while True:
            if not self._listen(seconds_left):
                died.add(self._find_culprit(died))
            elif self._waiting(died) == self._asked:
                self._handle_no_verdict(died)
            waiting = self._waiting(died)
            if not waiting or seconds_left() <= 0:
                break
            self._child = self._start(waiting)
        self._child.end()
        return [self._board.get(number) for number in range(len(self.trials))]

    def _waiting(self, died: Set[int]) -> List[int]:
        return [n for n in range(len(self.trials)) if n not in died and not self._board.has(n)]

    def _handle_no_verdict(self, died: Set[int]) -> None:
        """Handle a child without a verdict: the unedited tests may have destroyed its state."""
        if self._plain:
            died.add(self._find_culprit(died))
        self._plain, self._shared = True, False

    def _listen(self, seconds_left: Callable[[], float]) -> bool:
        """Read the messages of one child; return False if it died."""
        beat, since = self._board.beat(), time.monotonic()
        while seconds_left() > 0:
            patience = self._patience(self.trials[self._current()])
            alive, report = self._child.hear(min(patience, max(0.0, seconds_left())))
            if report is not None:
                self._record_report(report)
                self._child.end()
                return True
            if not alive or (self._board.beat() == beat and time.monotonic() - since >= patience):
                break
            # Each new trial restarts the patience.
            if self._board.beat() != beat:
                beat, since = self._board.beat(), time.monotonic()
        self._child.end()
        return False

    def _current(self) -> int:
        number = self._board.current()
        return number if 0 <= number < len(self.trials) else 0

    def _find_culprit(self, died: Set[int]) -> int:
        """Return the trial that was running.

        A child may lie, so a trial without verdict is always named.
        """
        number = self._current()
        if number not in died and not self._board.has(number):
            return number
        trials = range(len(self.trials))
        return next((n for n in trials if n not in died and not self._board.has(n)), number)

    def _record_report(self, report: Any) -> None:
        """Record the final report of a child, which may contain anything."""
        if not isinstance(report, list) or len(report) != 4:
            return
        self._screen.note_killer(report[0] if isinstance(report[0], int) else None)
        if all(isinstance(pace, (int, float)) and 0 <= pace < 1e6 for pace in report[1:]):
            self._screen.note_pace(float(report[1]), float(report[2]), shared=self._shared)
            self._screen.note_set_up(float(report[3]))

    def _patience(self, trial: Trial) -> float:
        limits = self._screen.limits
        tests = [*trial.failing[: MORE_CHANCES + 1], *trial.passing]
        longest = max((limits.of(i, self._factor) for i in tests), default=1.0)
        every = sum(limits.of(i, self._factor) for i in tests)
        patience = 3.0 + 3 * self._screen.allowance + 8 * longest + 0.2 * every
        return patience * slowdown(MOST_SLOWED_TRIAL)
