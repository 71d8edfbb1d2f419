"""Keep fixtures that outlive a test set up between trials.

This is done only where set-up is slow and keeping it proves safe.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from sandbox.guest.search.session.harness import FAIL, PASS, Runner
from sandbox.guest.search.session.plans import ItemPlan
from sandbox.guest.search.session.state_snapshot import LOST, StateSnapshot
from sandbox.guest.search.source.functions import Swap

WORTH_S = 0.005
"""Minimum duration of a set-up that is worth keeping, in seconds."""
CHECKED_EACH = 32
"""Number of trials after which the unedited tests must end as they did at first."""


class KeptFixtures:
    """The fixtures of a trial's first test, as they were set up before any edit.

    Nothing is kept in these cases: the edited code ran during the set-up, a failing test passed in
    the trial, or the unedited test does not fail twice in the same way. A passing test with the
    same fixtures is the witness: if it fails after some trials, they have changed what is kept.

    Args:
        runner: Runs the tests.
        plans: How each test is run.
        snapshot: The state of the process without any set-up.
        run: Runs one test within its limit.
    """

    def __init__(
        self,
        runner: Runner,
        plans: Dict[int, ItemPlan],
        snapshot: StateSnapshot,
        run: Callable[[int], str],
    ) -> None:
        self._runner = runner
        self._plans = plans
        self._snapshot = snapshot
        self._run = run
        self._clock = time.perf_counter  # tests may replace the clocks in the module
        self._test: Optional[int] = None
        self._own: Optional[StateSnapshot] = None
        self._witness: Optional[int] = None
        self._mark = ""
        self._moves = 0
        self._refused: Set[int] = set()
        self._called: Dict[int, Dict[int, Any]] = {}
        self._movers: Set[int] = set()
        self._unchecked: List[int] = []
        self.doubtful: List[int] = []
        """Trials whose verdict was given before a changed set-up was noticed."""
        self.set_up_s = 0.0
        """Wall time of set-ups and of the runs that check them, in seconds."""
        self.lost = False
        """True if the state of the process could not be restored."""

    @property
    def is_set_up(self) -> bool:
        """True if a set-up is kept now."""
        return self._test is not None

    def holds(self, test: int, swaps: Sequence[Swap], passing: Sequence[int] = ()) -> bool:
        """Return True if everything a test needs is set up.

        The trial begins with this test, changes these functions and runs these passing tests.
        """
        plan = self._plans.get(test)
        if plan is None or not plan.scoped or test in self._refused or self._has_run(test, swaps):
            self.tear_down()
            return False
        if self._test != test:
            self.tear_down()
            self._set_up(test)
            self._choose_witness(test, passing)
        if self._test is not None and self._has_run(test, swaps):
            self.tear_down()
        return self._test is not None

    def note_run(self, test: int) -> None:
        """Record a test that may have needed more fixtures than were set up."""
        if self._test is not None and self._runner.watch.moves != self._moves:
            self._movers.add(test)

    def should_skip(self, test: int) -> bool:
        """Return True if an optional test is skipped, as it would tear down the set-up."""
        return self._test is not None and test in self._movers

    def settle(self, number: int, *, hopeless: bool) -> None:
        """Restore the state after a trial.

        Args:
            number: Its number.
            hopeless: No failing test passed or timed out.
        """
        self._unchecked.append(number)
        # Other fixtures were set up or torn down, so the kept ones cannot be checked any more.
        if self._runner.watch.moves != self._moves:
            if len(self._unchecked) > 1:
                self.doubtful += self._unchecked
            self._unchecked = []
            self.tear_down()
            return
        self._runner.finish()
        sound = self._own is not None and self._own.restore() != LOST
        if not sound or not hopeless:
            self.tear_down()
        elif len(self._unchecked) >= CHECKED_EACH:
            self.check()

    def check(self) -> None:
        """Check that the unedited test still fails, and the witness passes, as before.

        If not, the trials since the last check are doubtful.
        """
        if self._test is None or not self._unchecked:
            return
        if not self._fails_as_before(self._test) or not self._witness_passes():
            self._refused.add(self._test)
            self.doubtful += self._unchecked
            self._unchecked = []
            self.tear_down()
        self._unchecked = []

    def tear_down(self) -> None:
        """Tear down the set-up."""
        if self._test is None:
            return
        self.check()
        self._test = self._own = self._witness = None
        self._unchecked = []
        self._clear()

    def _clear(self) -> None:
        self._runner.close()
        self.lost = self._snapshot.restore() == LOST or self.lost

    def _has_run(self, test: int, swaps: Sequence[Swap]) -> bool:
        called = self._called.get(test, {})
        return any(id(function.__code__) in called for function, _ in swaps)

    def _set_up(self, test: int) -> None:
        watch, began = self._runner.watch, self._clock()
        before, watch.called = watch.wall_s, {}
        outcome = self._run(test)
        self._called[test], watch.called = watch.called, None
        spent = watch.wall_s - before
        self._mark = self._runner.mark
        if outcome == FAIL and spent >= WORTH_S:
            self._runner.finish()
            self._moves = watch.moves
            if self._fails_as_before(test):
                self._test, self._own = test, self._snapshot.now(self._runner.outliving(test))
                self.set_up_s += self._clock() - began
                return
        self._refused.add(test)
        self._clear()

    def _choose_witness(self, test: int, passing: Sequence[int]) -> None:
        """Choose a passing test that uses the kept fixtures and sets up no others."""
        if self._test is None:
            return
        kept = self._runner.list_outliving(test)
        others = (i for i in passing if i not in self._movers)
        self._witness = next((i for i in others if self._runner.list_outliving(i) == kept), None)
        if self._witness is not None and not self._witness_passes():
            # It may have torn down what is kept.
            self._movers.add(self._witness)
            self.tear_down()
            self._set_up(test)

    def _witness_passes(self) -> bool:
        if self._witness is None:
            return True
        outcome = self._run(self._witness)
        self._runner.finish()
        sound = self._own is not None and self._own.restore() != LOST
        return sound and outcome == PASS and self._runner.watch.moves == self._moves

    def _fails_as_before(self, test: int) -> bool:
        outcome = self._run(test)
        self._runner.finish()
        return (outcome, self._runner.mark, self._runner.watch.moves) == (
            FAIL,
            self._mark,
            self._moves,
        )
