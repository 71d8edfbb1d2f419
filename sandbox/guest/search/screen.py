"""Trials: chunks of candidates in forked children, failing tests first, and each survivor confirmed alone."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.candidates import Candidate
from sandbox.guest.search.forked import Child, Report
from sandbox.guest.search.functions import Swap
from sandbox.guest.search.harness import PASS, SKIP, TIMEOUT, Items, Runner
from sandbox.guest.search.limits import Limiter

DIED = "died"
NEAR = "near"
CONTAMINATED = "contaminated"
MORE_CHANCES = 2
"""How many further failing tests are tried after the first failure, to notice a partial fix."""


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
    """

    def __init__(self, items: Items, limits: Limits) -> None:
        self._items = items
        self.limits = limits
        self._killer: Optional[int] = None

    def note_killer(self, index: Optional[int]) -> None:
        """The test that rejected the last candidate goes first."""
        self._killer = index if index is not None else self._killer

    def chunk_work(self, trials: Sequence[Trial], factor: float) -> Callable[[Limiter, Report], None]:
        """What the child does: one report per candidate, and a last one that says whether the process stayed sane."""

        def work(limiter: Limiter, report: Report) -> None:
            runner = Runner(self._items.all, limiter)
            killer = self._killer
            for trial in trials:
                olds = [(function, function.__code__) for function, _ in trial.swaps]
                for function, code in trial.swaps:
                    function.__code__ = code
                verdict, killer = self._try(runner, trial, killer, factor)
                runner.close()
                for function, code in olds:
                    function.__code__ = code
                report([verdict.outcome, list(verdict.fixed), killer])
            control = list(trials[-1].passing[:2]) if trials else []
            sane = all(runner.run(i, self.limits.of(i, 2 * factor)) in (PASS, SKIP) for i in control)
            runner.close()
            report([CONTAMINATED if not sane else "sane", [], killer])

        return work

    def _try(self, runner: Runner, trial: Trial, killer: Optional[int], factor: float) -> Tuple[Verdict, Optional[int]]:
        """Failing tests first, the last killer before all; stop as soon as the candidate is lost."""
        order = list(trial.failing)
        if killer in order:
            order.remove(killer)
            order.insert(0, killer)
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
                return Verdict("fail"), lost[0]
        if not fixed:
            return Verdict("fail"), lost[0] if lost else killer
        passing = list(trial.passing)
        if killer in passing:
            passing.remove(killer)
            passing.insert(0, killer)
        for index in passing:
            if runner.run(index, self.limits.of(index, factor)) not in (PASS, SKIP):
                return Verdict("fail"), index
        return Verdict(NEAR if lost else PASS, tuple(fixed)), lost[0] if lost else killer

    def confirm(self, swaps: Sequence[Swap], wait_s: float) -> List[int]:
        """The failing tests these edits turn green, all by themselves; see Alone."""
        return Alone(self, (), swaps).fixed(wait_s)

    def alone(self, trial: Trial) -> Alone:
        """Start one trial in a fork of its own."""
        return Alone(self, (trial,), trial.swaps)

    def alone_work(self, swaps: Sequence[Swap]) -> Callable[[Limiter, Report], None]:
        """What that child does."""
        order = sorted([*self._items.failing, *self._items.passing])
        passing = set(self._items.passing)

        def work(limiter: Limiter, report: Report) -> None:
            runner = Runner(self._items.all, limiter)
            for function, code in swaps:
                function.__code__ = code
            fixed: List[int] = []
            for index in order:
                outcome = runner.run(index, self.limits.of(index, 3.0))
                if outcome == PASS and index not in passing:
                    fixed.append(index)
                if outcome not in (PASS, SKIP) and index in passing:
                    return
            runner.close()
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
        self._child = Child(screen.alone_work(swaps))

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
        self._child = Child(screen.chunk_work(trials, factor))

    def end(self) -> None:
        """Nobody wants to know any more."""
        self._child.end()

    def results(self, seconds_left: Callable[[], float]) -> List[Verdict]:
        """A verdict for each trial, in order; a child that dies is followed by one for the rest."""
        verdicts: List[Verdict] = []
        while len(verdicts) < len(self.trials) and seconds_left() > 0:
            trial = self.trials[len(verdicts)]
            report = self._child.next(min(self._patience(trial), max(0.0, seconds_left())))
            if report is None:
                self._child.end()
                verdicts.append(Verdict(DIED))
                rest = self.trials[len(verdicts) :]
                if rest and seconds_left() > 0:
                    self._child = Child(self._screen.chunk_work(rest, self._factor))
                continue
            outcome, fixed, killer = _checked(report)
            self._screen.note_killer(killer)
            verdicts.append(Verdict(outcome, fixed))
        last = self._child.next(min(2.0, max(0.0, seconds_left())))
        self.sane = not (isinstance(last, list) and last[:1] == [CONTAMINATED])
        self._child.end()
        return [*verdicts, *(Verdict(DIED) for _ in self.trials[len(verdicts) :])]

    def _patience(self, trial: Trial) -> float:
        limits = self._screen.limits
        tests = [*trial.failing[: MORE_CHANCES + 1], *trial.passing]
        longest = max((limits.of(i, self._factor) for i in tests), default=1.0)
        return 3.0 + 8 * longest + 0.2 * sum(limits.of(i, self._factor) for i in tests)


def _checked(report: Any) -> Tuple[str, Tuple[int, ...], Optional[int]]:
    """A child that ran candidates may say anything."""
    if not isinstance(report, list) or len(report) != 3:
        return DIED, (), None
    outcome, fixed, killer = report
    if outcome not in (PASS, NEAR, "fail", TIMEOUT) or not isinstance(fixed, list):
        return DIED, (), None
    numbers = tuple(index for index in fixed if isinstance(index, int))
    return outcome, numbers, killer if isinstance(killer, int) else None
