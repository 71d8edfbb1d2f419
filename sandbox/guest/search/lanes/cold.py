"""The cold lane: run each candidate from files on disk in a new process.

It shows what no fork can show, one candidate at a time.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from sandbox.guest.search.execution.screen import NEAR
from sandbox.guest.search.lanes import cold_run
from sandbox.guest.search.lanes.model import ReadyCandidate, TrialOutcome
from sandbox.guest.search.process.limits import running_processes
from sandbox.guest.search.session.collected import SuiteCommand
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT

MORE_PROCESSES = 100
LEAST_S = 10.0
MOST_LOST = 0.2


class ColdLane:
    """Runs the test command on the edited checkout, which is restored after each run.

    Args:
        command: The test command.
        tree: The checkout as the supervisor remembers it.
        goals: Names of the tests that a fix has to turn green.
        passing: Names of the tests that have to keep passing.
        memory_bytes: Memory limit of a process.
    """

    def __init__(
        self,
        command: SuiteCommand,
        tree: Any,
        goals: Sequence[str],
        passing: Sequence[str],
        *,
        memory_bytes: int,
    ) -> None:
        self._command = command
        self._tree = tree
        self._goals = tuple(goals)
        self._passing = tuple(passing)
        self._memory_bytes = memory_bytes
        self._seconds = 60.0
        self._usual: List[str] = []
        """Paths that the unedited tests change."""
        self._cwd = os.getcwd()
        self._guest = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))

    def check_unedited(self, left: Callable[[], float]) -> str:
        """Run the unedited program; return why the lane must not be used, or an empty string."""
        before = time.monotonic()
        outcomes = self._run((), left(), None)
        self._usual = self._tree.restore()
        if outcomes is None:
            return "the suite does not finish there"
        self._seconds = time.monotonic() - before
        if cold_run.reached(outcomes, self._goals):
            return "failing tests pass there"
        passing = [name for name in self._passing if outcomes.get(name) in (PASS, SKIP)]
        if len(self._passing) - len(passing) > max(2, MOST_LOST * len(self._passing)):
            return f"passing tests that fail there: {len(self._passing) - len(passing)}"
        self._passing = tuple(passing)
        return self._changes_others(left) if self._usual else ""

    def _changes_others(self, left: Callable[[], float]) -> str:
        """Return why no edit can be confirmed, or an empty string.

        That is so if the unedited tests change other files in each run.
        """
        self._run((), left(), None)
        others = [path for path in self._tree.restore() if path not in self._usual]
        return (
            f"the unedited tests change other files each time they run, such as {others[0]}"
            if others
            else ""
        )

    def trial(self, ready: ReadyCandidate) -> ColdWork:
        """Prepare a run of the failing tests alone."""
        return ColdWork(self, ready)

    def quick(self, files: Mapping[str, bytes], left: Callable[[], float]) -> TrialOutcome:
        """Run the failing tests on edited files."""
        targets = (
            self._goals
            if all("::" in goal or os.path.isfile(self._place(goal)) for goal in self._goals)
            else ()
        )
        outcomes = self._edit(files, targets, left)
        if outcomes is None:
            return TrialOutcome(TIMEOUT)
        fixed = cold_run.reached(outcomes, self._goals)
        if not fixed:
            return TrialOutcome(FAIL)
        return TrialOutcome(PASS if len(fixed) == len(self._goals) else NEAR, tuple(fixed))

    def confirm(self, files: Mapping[str, bytes], left: Callable[[], float]) -> Tuple[str, ...]:
        """Run the whole command; return the goals reached, or none if a passing test breaks."""
        outcomes = self._edit(files, (), left)
        if outcomes is None or any(
            outcomes.get(name) not in (PASS, SKIP) for name in self._passing
        ):
            return ()
        return tuple(cold_run.reached(outcomes, self._goals))

    def command(
        self, files: Mapping[str, bytes], line: str, wall_s: float
    ) -> cold_run.FinishedCommand:
        """Run a shell command line on edited files."""
        if not self._tree.write(files):
            return cold_run.FinishedCommand(None, b"")
        try:
            return cold_run.run(("/bin/sh", "-c", line), self._cwd, self._bounds(wall_s))
        finally:
            self._tree.restore()

    def _edit(
        self, files: Mapping[str, bytes], targets: Sequence[str], left: Callable[[], float]
    ) -> Optional[Dict[str, str]]:
        if not self._tree.write(files):
            return None
        try:
            outcomes = self._run(targets, left(), None)
        finally:
            changed = self._tree.restore()
        # A candidate that changes other files has failed.
        return outcomes if all(path in files or path in self._usual for path in changed) else None

    def _run(
        self, targets: Sequence[str], left: float, maxfail: Optional[int]
    ) -> Optional[Dict[str, str]]:
        wall = min(max(LEAST_S, 3 * self._seconds), left)
        if wall < 1.0:
            return None
        order = cold_run.test_order(self._command, targets, wall, maxfail)
        argv = cold_run.test_argv(self._command, self._guest)
        ran = cold_run.run(argv, self._cwd, self._bounds(wall), stdin=order, takes=cold_run.RECORDS)
        return None if ran.status is None else cold_run.parse_outcomes(ran.output)

    def _bounds(self, wall_s: float) -> cold_run.CommandLimits:
        running = running_processes()
        most = running + MORE_PROCESSES if running else 0
        # RLIMIT_AS counts all address space, the interpreter's own included.
        return cold_run.CommandLimits(
            wall_s, self._memory_bytes + (1 << 30), most, self._tree.guard
        )

    def _place(self, path: str) -> str:
        return os.path.join(self._command.root, path)


class ColdWork:
    """One trial.

    It runs when its outcome is requested; the caller ensures that nothing runs concurrently.
    """

    def __init__(self, lane: ColdLane, ready: ReadyCandidate) -> None:
        self.ready = [ready]
        self._lane = lane

    def outcomes(self, left: Callable[[], float]) -> List[TrialOutcome]:
        """Run the trial."""
        return [self._lane.quick(self.ready[0].files, left)]

    def end(self) -> None:
        """Do nothing: the trial has not started."""
