"""Trials: chunks of candidates in forked children, failing tests first, and each survivor confirmed alone."""

from __future__ import annotations

import gc
import mmap
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.candidates import Candidate
from sandbox.guest.search.forked import Bounds, Child, Report, usual_bounds
from sandbox.guest.search.functions import Swap
from sandbox.guest.search.harness import FAIL, PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.limits import GIBIBYTE, Limiter
from sandbox.guest.search.plans import plans_of

DIED = "died"
NEAR = "near"
CONTAMINATED = "contaminated"
MORE_CHANCES = 2
"""How many further failing tests are tried after the first failure, to notice a partial fix."""
FIRST_CHUNK, MOST_IN_CHUNK = 16, 400
CHUNK_S = 0.08
"""What a chunk should take: long against the cost of a fork, short against the patience of who waits."""
MARKS = {FAIL: 1, TIMEOUT: 2, PASS: 3, NEAR: 4}
"""How a child marks the end of a trial in the memory it shares with us."""
OUTCOMES = {mark: outcome for outcome, mark in MARKS.items()}


class Trial(NamedTuple):
    """A candidate made ready to run."""

    candidate: Candidate
    swaps: Sequence[Swap]
    failing: Sequence[int]
    """The failing tests that reach the edited function; the others cannot change."""
    passing: Sequence[int]


class Verdict(NamedTuple):
    """How one trial ended: `pass` (all its tests), `near`, `fail`, `timeout` or `died`; and which tests it fixed."""

    outcome: str
    fixed: Tuple[int, ...] = ()


class Limits(NamedTuple):
    """CPU seconds a test may take."""

    known: Dict[int, float]
    """Measured limits of passing tests."""
    default: float

    def of(self, index: int, factor: float) -> float:
        """The limit of a test, stretched."""
        return max(self.known.get(index, self.default), 0.02) * factor


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
        self._killer: Optional[int] = None
        self._pace = 0.0
        self._loops = 5000

    def note_killer(self, index: Optional[int]) -> None:
        """The test that rejected the last candidate goes first."""
        self._killer = index if index is not None else self._killer

    def note_pace(self, seconds: float) -> None:
        """How long a trial took, on average of a chunk."""
        self._pace = seconds if not self._pace else 0.7 * self._pace + 0.3 * seconds

    def chunk_size(self) -> int:
        """How many candidates the next chunk should hold."""
        if not self._pace:
            return FIRST_CHUNK
        return max(FIRST_CHUNK, min(MOST_IN_CHUNK, int(CHUNK_S / self._pace)))

    def chunk_work(
        self, trials: Sequence[Trial], factor: float, marks: Any, first: int
    ) -> Callable[[Limiter, Report], None]:
        """What the child does.

        A mark in shared memory per trial; a report of each that fixes something, and a last one that says whether the
        process stayed sane.
        """

        def work(limiter: Limiter, report: Report) -> None:
            started = time.perf_counter()
            gc.disable()
            limiter.guard_loops(int(self._loops * factor))
            runner = Runner(self._items.all, limiter, self._plans)
            killer = self._killer
            for number, trial in enumerate(trials, first):
                olds = [(function, function.__code__) for function, _ in trial.swaps]
                for function, code in _guarded(trial):
                    function.__code__ = code
                verdict, killer = self._try(runner, trial, killer, factor)
                runner.close()
                for function, code in olds:
                    function.__code__ = code
                if verdict.fixed:
                    report([number, verdict.outcome, list(verdict.fixed)])
                marks[number] = MARKS[verdict.outcome]
            pace = (time.perf_counter() - started) / max(1, len(trials))
            control = list(trials[-1].passing[:2]) if trials else []
            sane = all(runner.run(i, self.limits.of(i, 2 * factor)) in (PASS, SKIP) for i in control)
            runner.close()
            report([-1, "sane" if sane else CONTAMINATED, [], killer, pace])

        return work

    def _try(self, runner: Runner, trial: Trial, killer: Optional[int], factor: float) -> Tuple[Verdict, Optional[int]]:
        """Failing tests first, the last killer before all; stop as soon as the candidate is lost."""
        order = _first(killer, trial.failing)
        fixed: List[int] = []
        lost: List[int] = []
        for index in order:
            outcome = runner.run(index, self.limits.of(index, factor))
            if outcome == PASS:
                fixed.append(index)
                continue
            lost.append(index)
            if outcome == TIMEOUT and not fixed:
                return Verdict(TIMEOUT), killer
            if not fixed and len(lost) > MORE_CHANCES:
                return Verdict(FAIL), lost[0]
        if not fixed:
            return Verdict(FAIL), lost[0] if lost else killer
        for index in _first(killer, trial.passing):
            if runner.run(index, self.limits.of(index, factor)) not in (PASS, SKIP):
                return Verdict(FAIL), index
        return Verdict(NEAR if lost else PASS, tuple(fixed)), lost[0] if lost else killer

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
            for index, following in zip(order, [*order[1:], None]):
                outcome = runner.run(index, self.limits.of(index, 3.0))
                if runner.leave(following) != PASS and outcome == PASS:
                    outcome = FAIL
                if outcome == PASS and index not in passing:
                    fixed.append(index)
                if outcome not in (PASS, SKIP) and index in passing:
                    return
            report(fixed)

        return work


def _guarded(trial: Trial) -> Sequence[Swap]:
    unit = trial.candidate.unit
    return unit.guarded(trial.candidate.edits, trial.swaps) if unit is not None else trial.swaps


def _first(killer: Optional[int], tests: Sequence[int]) -> List[int]:
    """The tests, the last killer before all."""
    if killer is None or killer not in tests:
        return list(tests)
    return [killer, *(index for index in tests if index != killer)]


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
        self.sane = True
        self._marks = mmap.mmap(-1, max(1, len(trials)))
        self._fixed: Dict[int, Tuple[int, ...]] = {}
        self._child = self._start(0)

    def _start(self, first: int) -> Child:
        work = self._screen.chunk_work(self.trials[first:], self._factor, self._marks, first)
        return Child(work, self._screen.bounds)

    def end(self) -> None:
        """Nobody wants to know any more."""
        self._child.end()

    def results(self, seconds_left: Callable[[], float]) -> List[Verdict]:
        """A verdict for each trial, in order; a child that dies is followed by one for the rest."""
        died: List[int] = []
        while not self._listen(seconds_left) and seconds_left() > 0:
            done = self._done(died)
            if done >= len(self.trials):
                break
            died.append(done)
            if done + 1 >= len(self.trials):
                break
            self._child = self._start(done + 1)
        self._child.end()
        return [self._verdict(number) for number in range(len(self.trials))]

    def _listen(self, seconds_left: Callable[[], float]) -> bool:
        """Hear one child to its end; False when it died on the way."""
        done, since = self._count(), time.monotonic()
        while seconds_left() > 0:
            patience = self._patience(self.trials[min(self._done(()), len(self.trials) - 1)])
            alive, report = self._child.hear(min(patience, max(0.0, seconds_left())))
            if report is not None:
                if self._take(report):
                    self._child.end()
                    return True
                continue
            if not alive or (self._count() == done and time.monotonic() - since >= patience):
                break
            if self._count() != done:
                done, since = self._count(), time.monotonic()
        self._child.end()
        return False

    def _count(self) -> int:
        """How many trials have ended."""
        return len(self.trials) - self._marks[:].count(0)

    def _take(self, report: Any) -> bool:
        """Note what a child says, which may be anything; whether it was its last word."""
        if not isinstance(report, list) or len(report) < 3 or not isinstance(report[0], int):
            return False
        number, word, fixed = report[:3]
        if number >= 0:
            if isinstance(fixed, list):
                self._fixed[number] = tuple(index for index in fixed if isinstance(index, int))
            return False
        self.sane = word != CONTAMINATED
        killer, pace = (*report[3:5], None, None)[:2]
        self._screen.note_killer(killer if isinstance(killer, int) else None)
        if isinstance(pace, (int, float)) and 0 <= pace < 1e6:
            self._screen.note_pace(float(pace))
        return True

    def _done(self, died: Sequence[int]) -> int:
        """The first trial without a mark that nobody died on."""
        return next((n for n in range(len(self.trials)) if not self._marks[n] and n not in died), len(self.trials))

    def _verdict(self, number: int) -> Verdict:
        outcome = OUTCOMES.get(self._marks[number], DIED)
        if outcome in (PASS, NEAR):
            fixed = self._fixed.get(number, ())
            return Verdict(outcome, fixed) if fixed else Verdict(DIED)
        return Verdict(outcome)

    def _patience(self, trial: Trial) -> float:
        limits = self._screen.limits
        tests = [*trial.failing[: MORE_CHANCES + 1], *trial.passing]
        longest = max((limits.of(i, self._factor) for i in tests), default=1.0)
        return 3.0 + 8 * longest + 0.2 * sum(limits.of(i, self._factor) for i in tests)
