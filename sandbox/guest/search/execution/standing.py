"""Fixtures that outlive a test stay set up from one candidate to the next, where that is dear and proves to be safe."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from sandbox.guest.search.session.harness import FAIL, Runner
from sandbox.guest.search.session.leftovers import LOST, Leftovers
from sandbox.guest.search.session.plans import Plan
from sandbox.guest.search.source.functions import Swap

WORTH_S = 0.005
"""What setting up has to take before it is worth keeping."""
CHECKED_EACH = 16
"""After so many trials the unedited test has to fail as it did at first."""


class Standing:
    """What the first test of a trial needs, as it was set up before any edit.

    Nothing is kept for a trial whose edited code ran while it was set up, after a trial in which a failing test passed,
    and for a test that does not fail twice in the same way with it.

    Args:
        runner: Whose tests.
        plans: How they are run.
        leftovers: The state of the process with nothing set up.
        run: Runs one test within its limit.
    """

    def __init__(self, runner: Runner, plans: Dict[int, Plan], leftovers: Leftovers, run: Callable[[int], str]) -> None:
        self._runner = runner
        self._plans = plans
        self._leftovers = leftovers
        self._run = run
        self._test: Optional[int] = None
        self._own: Optional[Leftovers] = None
        self._mark = ""
        self._moves = 0
        self._refused: Set[int] = set()
        self._called: Dict[int, Dict[int, Any]] = {}
        self._movers: Set[int] = set()
        self._unchecked: List[int] = []
        self.doubtful: List[int] = []
        """Trials that were told before it was noticed that what stood had changed."""
        self.set_up_s = 0.0
        """Wall time of setting up, here."""
        self.lost = False
        """The process is no longer as it was."""

    @property
    def stands(self) -> bool:
        """Whether something is kept now."""
        return self._test is not None

    def holds(self, test: int, swaps: Sequence[Swap]) -> bool:
        """Whether all that a test needs stands, for a trial that begins with it and changes these functions."""
        plan = self._plans.get(test)
        if plan is None or not plan.scoped or test in self._refused or self._has_run(test, swaps):
            self.fall()
            return False
        if self._test != test:
            self.fall()
            self._stand(test)
        if self._test is not None and self._has_run(test, swaps):
            self.fall()
        return self._test is not None

    def ran(self, test: int) -> None:
        """A test ran, and may have needed something that did not stand."""
        if self._test is not None and self._runner.watch.moves != self._moves:
            self._movers.add(test)

    def spares(self, test: int) -> bool:
        """Whether a test is better not run on the mere chance: what stands would fall."""
        return self._test is not None and test in self._movers

    def settle(self, number: int, *, hopeless: bool) -> None:
        """After a trial.

        Args:
            number: Its number.
            hopeless: No failing test passed, and none ran out of time.
        """
        self._unchecked.append(number)
        if self._runner.watch.moves != self._moves:
            self._unchecked = []
            self.fall()
            return
        self._runner.finish()
        sound = self._own is not None and self._own.put_back() != LOST
        if not sound or not hopeless:
            self.fall()
        elif len(self._unchecked) >= CHECKED_EACH:
            self.check()

    def check(self) -> None:
        """Whether the unedited test still fails as it did; if not, what was told since the last look is in doubt."""
        if self._test is None or not self._unchecked:
            return
        if not self._fails_as_before(self._test):
            self._refused.add(self._test)
            self.doubtful += self._unchecked
            self._unchecked = []
            self.fall()
        self._unchecked = []

    def fall(self) -> None:
        """Tear down what stands."""
        if self._test is None:
            return
        self.check()
        self._test = self._own = None
        self._unchecked = []
        self._clear()

    def _clear(self) -> None:
        self._runner.close()
        self.lost = self._leftovers.put_back() == LOST or self.lost

    def _has_run(self, test: int, swaps: Sequence[Swap]) -> bool:
        called = self._called.get(test, {})
        return any(id(function.__code__) in called for function, _ in swaps)

    def _stand(self, test: int) -> None:
        watch = self._runner.watch
        before, watch.called = watch.wall_s, {}
        outcome = self._run(test)
        self._called[test], watch.called = watch.called, None
        spent = watch.wall_s - before
        self._mark = self._runner.mark
        if outcome == FAIL and spent >= WORTH_S:
            self._runner.finish()
            self._moves = watch.moves
            if self._fails_as_before(test):
                self._test, self._own = test, self._leftovers.now(self._runner.outliving(test))
                self.set_up_s += spent
                return
        self._refused.add(test)
        self._clear()

    def _fails_as_before(self, test: int) -> bool:
        outcome = self._run(test)
        self._runner.finish()
        return (outcome, self._runner.mark, self._runner.watch.moves) == (FAIL, self._mark, self._moves)
