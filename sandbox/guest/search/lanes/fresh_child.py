"""A child of the fork server.

It imports the edited checkout, collects what it needs, runs it and reports once.
"""

from __future__ import annotations

import base64
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.failure_detail import Describer
from sandbox.guest.search.process.forked import Report
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.overlay import Overlay
from sandbox.guest.search.session.collected import BrokenFile, Collected, SuiteCommand
from sandbox.guest.search.session.collecting import collect
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Runner

NEAR = "near"
QUICK, WHOLE, SURVEY = "quick", "whole", "survey"
"""The kinds of trials.

QUICK runs failing tests first and stops at a failure, WHOLE runs all known tests in order, and
SURVEY reports all outcomes.
"""
MORE_CHANCES = 2
MOST_BROKEN = 5


class FreshPlan(NamedTuple):
    """The tests to run and their limits."""

    kind: str
    goals: Tuple[str, ...]
    """Failing tests.

    A name without `::` is a file that could not be collected, an empty one the session.
    """
    passing: Tuple[str, ...]
    files: Optional[Tuple[str, ...]]
    """Files to collect; None for all."""
    limits: Mapping[str, float]
    default_s: float
    collect_s: float

    @classmethod
    def read(cls, message: Dict[str, Any]) -> FreshPlan:
        """Parse an order."""
        files = message["files"]
        return cls(
            message["kind"], tuple(message["goals"]), tuple(message["passing"]),
            tuple(files) if files else None, message["limits"], message["default_s"],
            message["collect_s"],
        )  # fmt: skip


def make_work(
    command: SuiteCommand, message: Dict[str, Any], describe: Callable[[BaseException], Any]
) -> Callable[..., None]:
    """Return the work of one child.

    Args:
        command: The test command.
        message: The order, see `FreshPlan`; `edited` holds files in base 64.
        describe: Converts an exception to its report.
    """
    plan = FreshPlan.read(message)
    edited = {path: base64.b64decode(data) for path, data in message["edited"].items()}

    def work(limiter: Limiter, report: Report) -> None:
        overlay = Overlay(command.root, edited)
        # Code of an edited file already runs here, so the edit could not take effect.
        if overlay.imported():
            report({"outcome": "late", "fixed": []})
            return
        overlay.install()

        def inside(collected: Collected) -> None:
            limiter.disarm()
            # Collecting may take longer than any test, so the tests get a new limiter.
            answer = Session(command, plan, collected, Limiter()).run()
            report(
                {
                    **answer,
                    "broken": [[b.name, describe(b.error)] for b in collected.broken[:MOST_BROKEN]],
                }
            )
            os._exit(0)  # closing the session takes longer than the whole trial

        limiter.restore()
        limiter.arm(plan.collect_s)
        broken: Sequence[BrokenFile] = collect(command, inside, plan.files)
        limiter.disarm()
        outcome = TIMEOUT if limiter.exceeded else FAIL
        report(
            {
                "outcome": outcome,
                "fixed": [],
                "broken": [[b.name, describe(b.error)] for b in broken[:MOST_BROKEN]],
            }
        )

    return work


class Session:
    """A collected session with the outcomes of its tests."""

    def __init__(
        self, command: SuiteCommand, plan: FreshPlan, collected: Collected, limiter: Limiter
    ) -> None:
        self._plan = plan
        self._broken = {broken.name for broken in collected.broken}
        self._limiter = limiter
        self.items: List[Any] = list(collected.session.items)
        describer = Describer(command.root)
        describer.rootdir = str(collected.session.config.rootpath)
        self.names = [describer.node_id(item.nodeid) for item in self.items]
        self._numbers: Dict[str, List[int]] = {}
        for index, name in enumerate(self.names):
            self._numbers.setdefault(name, []).append(index)
            # A goal may be a file or a folder; its name then stands for all tests inside.
            for part in {*containing_paths(name), ""} - {name}:
                self._numbers.setdefault(part, []).append(index)
        self._runner = Runner(self.items, limiter)
        self._seen: Dict[int, str] = {}

    def run(self) -> Dict[str, Any]:
        """Run the tests of the plan."""
        answer = {QUICK: self._quick, WHOLE: self._whole, SURVEY: self._survey}[self._plan.kind]()
        self._runner.close()
        return answer

    def _quick(self) -> Dict[str, Any]:
        fixed: List[str] = []
        lost: List[str] = []
        for name in self._plan.goals:
            outcome = self._goal_outcome(name)
            if outcome == PASS:
                fixed.append(name)
                continue
            lost.append(name)
            if not fixed and (outcome == TIMEOUT or len(lost) > MORE_CHANCES):
                return {
                    "outcome": TIMEOUT if outcome == TIMEOUT else FAIL,
                    "fixed": [],
                    "mark": self._mark(),
                }
        if not fixed:
            return {"outcome": FAIL, "fixed": [], "mark": self._mark()}
        for name in self._plan.passing:
            if self._named_outcome(name) not in (PASS, SKIP):
                return {"outcome": FAIL, "fixed": [], "mark": self._mark()}
        return {"outcome": NEAR if lost else PASS, "fixed": fixed, "mark": self._mark()}

    def _whole(self) -> Dict[str, Any]:
        passing = set(self._plan.passing)
        wanted = {i for name in (*self._plan.goals, *passing) for i in self._numbers.get(name, ())}
        for index in sorted(wanted):
            if self._outcome(index) not in (PASS, SKIP) and self.names[index] in passing:
                return {"outcome": FAIL, "fixed": [], "lost": self.names[index]}
        missing = [name for name in self._plan.passing if name not in self._numbers]
        fixed = [name for name in self._plan.goals if self._goal_outcome(name) == PASS]
        if missing:
            return {"outcome": FAIL, "fixed": [], "lost": missing[0]}
        outcome = PASS if len(fixed) == len(self._plan.goals) else NEAR
        return {"outcome": outcome if fixed else FAIL, "fixed": fixed, "lost": ""}

    def _survey(self) -> Dict[str, Any]:
        goals = set(self._plan.goals)
        wanted = sorted(
            {i for name in (*goals, *self._plan.passing) for i in self._numbers.get(name, ())}
        )
        for index in wanted:
            self._outcome(index)
        outcomes = {name: self._goal_outcome(name) for name in self._plan.goals}
        outcomes.update({name: self._named_outcome(name) for name in self._plan.passing})
        return {"outcome": "surveyed", "fixed": [], "outcomes": outcomes}

    def _named_outcome(self, name: str) -> str:
        """Return the outcome of a test by name; of tests with the same name, the worst."""
        found = [self._outcome(index) for index in self._numbers.get(name, ())]
        return next((o for o in found if o not in (PASS, SKIP)), found[0]) if found else FAIL

    def _goal_outcome(self, name: str) -> str:
        """Return the outcome of a goal.

        A file or folder passes if it is collected and a test in it passes.
        """
        if any(name in (broken, "") or name in containing_paths(broken) for broken in self._broken):
            return FAIL
        outcome = self._named_outcome(name)
        if outcome == SKIP and "::" not in name:
            return PASS if any(self._outcome(i) == PASS for i in self._numbers[name]) else SKIP
        return outcome

    def _outcome(self, index: int) -> str:
        if index not in self._seen:
            limit = self._plan.limits.get(self.names[index], self._plan.default_s)
            self._limiter.restore()
            self._seen[index] = self._runner.run(index, limit)
        return self._seen[index]

    def _mark(self) -> List[int]:
        """Return how far the trial came: number of tests collected and passed."""
        return [len(self.items), sum(outcome == PASS for outcome in self._seen.values())]


def containing_paths(name: str) -> List[str]:
    """Return the file of a test and the folders above it."""
    path = name.split("::", maxsplit=1)[0]
    return [path, *(path[:at] for at, letter in enumerate(path) if letter == "/")]


def find_test_files(root: str, names: Sequence[str]) -> Optional[List[str]]:
    """Return the files of these tests, in order; None if any cannot be found by its name."""
    files = list(dict.fromkeys(name.split("::")[0] for name in names))
    return (
        files if all(file and os.path.isfile(os.path.join(root, file)) for file in files) else None
    )
