"""Trials: chunks of candidates in forked children, failing tests first, and each survivor confirmed alone."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from sandbox.guest.search.execution.shared.sites import Sites
from sandbox.guest.search.execution.verdicts import DIED, NEAR, Board, Limits, Trial, Verdict
from sandbox.guest.search.execution.worker import MORE_CHANCES, Order, Worker, count_turns
from sandbox.guest.search.process.forked import Bounds, Child, Report, collect, usual_bounds
from sandbox.guest.search.process.limits import GIBIBYTE, Limiter
from sandbox.guest.search.session.baseline import root_of
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.session.leftovers import Leftovers
from sandbox.guest.search.session.plans import mutable_parameters, plans_of
from sandbox.guest.search.session.watch import Watch, watch_of
from sandbox.guest.search.source.functions import Swap

__all__ = ["DIED", "NEAR", "Alone", "Chunk", "Limits", "Screen", "Trial", "Verdict"]

FIRST_CHUNK, MOST_IN_CHUNK = 16, 400
CHUNK_S = 0.08
"""What a chunk should take: long against the cost of a fork, short against the patience of who waits."""
SET_UP_SHARE = 4.0
"""How many times longer than setting up what is kept in it."""
SHARED_CHUNK_S = 0.6
"""The same where executions are shared: the more alternatives of an expression meet, the better."""
COUNTED = 40
"""How many passing tests are asked how often a loop turns."""
COUNT_S = 5.0
LONG_S = 0.0015
"""From which CPU time per trial on sharing may be faster than running."""
RETHINK = 12
"""After how many chunks what seemed slower is tried again."""


class Screen:
    """Runs trials.

    Args:
        items: The tests.
        limits: How long each may take.
        memory_bytes: How far one child may grow.
    """

    def __init__(self, items: Items, limits: Limits, memory_bytes: int = GIBIBYTE) -> None:
        self._items = items
        self.limits = limits
        self.bounds: Bounds = usual_bounds(memory_bytes)
        self._plans = plans_of(items.all, [*items.failing, *items.passing])
        self._leftovers = Leftovers(root_of(items), mutable_parameters(items.all, self._plans))
        self._turns: Dict[int, int] = {}
        self._sites: Dict[int, Sites] = {}
        self.share: Optional[bool] = None
        """Whether alternatives of one expression share executions; None where it is found out what is faster."""
        self._paces: Dict[bool, float] = {}
        self._chunks = 0
        self._killer: Optional[int] = None
        self._pace = 0.0
        self._set_up_s = 0.0
        self._watch = watch_of(items.all[0].config) if items.all else Watch()

    def note_killer(self, index: Optional[int]) -> None:
        """The test that rejected the last candidate goes first."""
        self._killer = index if index is not None else self._killer

    def note_pace(self, seconds: float, cpu_s: float, *, shared: bool) -> None:
        """How long a trial took, on average of a chunk."""
        self._pace = seconds if not self._pace else 0.7 * self._pace + 0.3 * seconds
        self._paces[shared] = 0.6 * self._paces.get(shared, cpu_s) + 0.4 * cpu_s

    def note_set_up(self, seconds: float) -> None:
        """How long it took to set up what is kept from trial to trial; sharing executions keeps nothing."""
        self._set_up_s = seconds
        if seconds:
            self.share = False

    def shares(self) -> bool:
        """Whether the next chunk shares executions: where tests are long and it has not proved slower."""
        if self.share is not None:
            return self.share
        self._chunks += 1
        alone = self._paces.get(False)
        if alone is None or alone < LONG_S:
            return False
        return self._sharing_pays() != (self._chunks % RETHINK == 0)

    def _sharing_pays(self) -> bool:
        alone = self._paces.get(False, 0.0)
        return alone >= LONG_S and self._paces.get(True, 0.0) < alone

    def chunk_size(self) -> int:
        """How many candidates the next chunk should hold."""
        if not self._pace:
            return FIRST_CHUNK
        seconds = max(SHARED_CHUNK_S if self._sharing_pays() else CHUNK_S, SET_UP_SHARE * self._set_up_s)
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
        """What the child of a chunk does, who notes verdicts for the trials of these numbers."""
        self._get_to_know(trials)
        return Worker(self._order(factor, shared=shared, plain=plain), trials, board, numbers).work

    def _order(self, factor: float, *, shared: bool = False, plain: bool = False) -> Order:
        limits = self.limits
        return Order(
            self._items.all, self._plans, limits, factor, self._turns, self._leftovers, self._killer,
            self._sites if shared else None, plain,
        )  # fmt: skip

    @property
    def allowance(self) -> float:
        """CPU seconds for setting up what outlives a test."""
        return self._watch.allowance

    def _get_to_know(self, trials: Sequence[Trial]) -> None:
        """The expressions of functions that were not met before, and how often their loops turn."""
        jobs = []
        for trial in trials:
            unit = trial.candidate.unit
            if unit is None or id(unit) in self._turns:
                continue
            self._turns[id(unit)] = 0
            self._sites[id(unit)] = Sites(unit)  # holds the unit, so that its id stays its own
            if unit.loops and trial.swaps:
                functions = [function for function, _ in trial.swaps]
                swaps = [(f, f.__code__) for f in functions]
                jobs.append((id(unit), unit.guarded((), swaps), [*trial.passing[:COUNTED], *trial.failing[:3]]))
        if jobs:
            for report in collect(count_turns(self._order(1.0), jobs), COUNT_S, self.bounds):
                if isinstance(report, list) and len(report) == 2 and report[0] in self._turns:
                    self._turns[report[0]] = report[1] if isinstance(report[1], int) else 0

    def confirm(self, swaps: Sequence[Swap], wait_s: float) -> List[int]:
        """The failing tests these edits turn green, all by themselves; see Alone."""
        return Alone(self, (), swaps).fixed(wait_s)

    def alone(self, trial: Trial) -> Alone:
        """Start one trial in a fork of its own."""
        return Alone(self, (trial,), trial.swaps)

    def alone_work(self, swaps: Sequence[Swap]) -> Callable[[Limiter, Report], None]:
        """What that child does: every hook of every plugin, and what a test leaves behind counts as well."""
        order = sorted([*self._items.failing, *self._items.passing])
        passing = set(self._items.passing)

        def work(limiter: Limiter, report: Report) -> None:
            runner = Runner(self._items.all, limiter)
            for function, code in swaps:
                function.__code__ = code
            fixed: List[int] = []
            factor = 3.0
            for index, following in zip(order, [*order[1:], None]):
                outcome = runner.run(index, self.limits.of(index, 3.0 if index in passing else factor))
                if outcome == TIMEOUT:
                    factor = 1.0  # the next endless test is told as well in less time
                if runner.leave(following) != PASS and outcome == PASS:
                    outcome = FAIL
                if outcome == PASS and index not in passing:
                    fixed.append(index)
                if outcome not in (PASS, SKIP) and index in passing:
                    return
            report(fixed)

        return work


class Alone:
    """All tests in their original order, in a fresh fork: what a survivor has to pass.

    Args:
        screen: Whose tests.
        trials: The trial this is about, if it is one.
        swaps: The edits.
    """

    def __init__(self, screen: Screen, trials: Sequence[Trial], swaps: Sequence[Swap]) -> None:
        self.trials = trials
        self._child = Child(screen.alone_work(swaps), screen.bounds)

    def fixed(self, wait_s: float) -> List[int]:
        """The failing tests that turn green; empty when anything that passed before does not pass."""
        report = self._child.next(wait_s)
        self._child.end()
        return [i for i in report if isinstance(i, int)] if isinstance(report, list) else []

    def end(self) -> None:
        """Nobody wants to know any more."""
        self._child.end()


class Chunk:
    """Trials under way in one child.

    Args:
        screen: Whose trials.
        trials: At least one.
        factor: How far time limits are stretched.
    """

    def __init__(self, screen: Screen, trials: Sequence[Trial], factor: float) -> None:
        self._screen = screen
        self._factor = factor
        self.trials = trials
        self._board = Board(trials)
        self._shared = len(trials) > 2 and screen.shares()
        self._plain = False
        """A child said it was through and had tried nothing: the next ones neither share nor keep anything."""
        self._child = self._start(range(len(trials)))

    def _start(self, numbers: Sequence[int]) -> Child:
        work = self._screen.chunk_work(
            self.trials, self._factor, self._board, numbers, shared=self._shared, plain=self._plain
        )
        return Child(work, self._screen.bounds)

    def end(self) -> None:
        """Nobody wants to know any more."""
        self._child.end()

    def results(self, seconds_left: Callable[[], float]) -> List[Verdict]:
        """A verdict for each trial, in order; a child that ends before the last is followed by one for the rest.

        Each child brings a verdict, costs a trial its own, or is the last that is not plain.
        """
        died: Set[int] = set()
        waiting = self._waiting(died)
        while True:
            if not self._listen(seconds_left):
                died.add(self._culprit(died))
            elif self._waiting(died) == waiting:
                self._got_nowhere(died)
            waiting = self._waiting(died)
            if not waiting or seconds_left() <= 0:
                break
            self._child = self._start(waiting)
        self._child.end()
        return [self._board.get(number) for number in range(len(self.trials))]

    def _waiting(self, died: Set[int]) -> List[int]:
        return [n for n in range(len(self.trials)) if n not in died and not self._board.has(n)]

    def _got_nowhere(self, died: Set[int]) -> None:
        """After a child that reported and brought no verdict: the unedited tests may have lost it its state."""
        if self._plain:
            died.add(self._culprit(died))
        self._plain, self._shared = True, False

    def _listen(self, seconds_left: Callable[[], float]) -> bool:
        """Hear one child to its end; False when it died on the way."""
        beat, since = self._board.beat(), time.monotonic()
        while seconds_left() > 0:
            patience = self._patience(self.trials[self._current()])
            alive, report = self._child.hear(min(patience, max(0.0, seconds_left())))
            if report is not None:
                self._take(report)
                self._child.end()
                return True
            if not alive or (self._board.beat() == beat and time.monotonic() - since >= patience):
                break
            if self._board.beat() != beat:
                beat, since = self._board.beat(), time.monotonic()
        self._child.end()
        return False

    def _current(self) -> int:
        number = self._board.current()
        return number if 0 <= number < len(self.trials) else 0

    def _culprit(self, died: Set[int]) -> int:
        """Whose turn it was; a child may lie, so that somebody new is always named."""
        number = self._current()
        if number not in died and not self._board.has(number):
            return number
        trials = range(len(self.trials))
        return next((n for n in trials if n not in died and not self._board.has(n)), number)

    def _take(self, report: Any) -> None:
        """Note the last word of a child, which may be anything."""
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
        return 3.0 + 3 * self._screen.allowance + 8 * longest + 0.2 * sum(limits.of(i, self._factor) for i in tests)
