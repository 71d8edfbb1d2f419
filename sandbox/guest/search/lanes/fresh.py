"""The fresh lane: each trial is a fork from before the collection.

It imports the edited source.
"""

from __future__ import annotations

import base64
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.lanes.fresh_child import QUICK, SURVEY, WHOLE, find_test_files
from sandbox.guest.search.lanes.model import ReadyCandidate, TrialOutcome
from sandbox.guest.search.process.limits import MOST_SLOWED, MOST_SLOWED_TRIAL, slowdown
from sandbox.guest.search.process.link import PipeLink
from sandbox.guest.search.session.harness import PASS, SKIP

OUTCOMES = ("pass", "near", "fail", "timeout", "died", "late", "surveyed")
HUNG_S = 0.1
MOST_NARROW = 60
"""Up to this number of tests, only single files are collected."""
MOST_FILES = 2
"""Maximum number of failing tests' files that a trial collects; survivors run all of them."""
MOST_LOST = 0.2
"""Maximum share of the passing tests that may fail in this lane without an edit."""


class Suite(NamedTuple):
    """The tests of this lane and their limits."""

    root: str
    goals: Tuple[str, ...]
    passing: Tuple[str, ...]
    limits: Mapping[str, float]
    """CPU seconds per test."""
    default_s: float
    collect_s: float
    """Maximum CPU seconds for collecting everything."""
    guards_tree: bool = True
    """True if children cannot write to the checkout."""
    hung: Tuple[str, ...] = ()
    """Goals that timed out. Without an edit, a short run shows it again."""
    narrow: bool = True
    """True if a trial may collect only the files it needs."""
    set_up_s: float = 0.0
    """CPU seconds for setting up all fixtures that outlive a test."""


def few_goals(root: str, goals: Sequence[str]) -> Tuple[str, ...]:
    """Return the goals in the smallest files if the goals are spread over many.

    A fix of all goals fixes these too.
    """
    files = find_test_files(root, goals)
    if files is None or len(files) <= MOST_FILES or not all("::" in goal for goal in goals):
        return tuple(goals)
    small = set(
        sorted(files, key=lambda file: (os.path.getsize(os.path.join(root, file)), file))[
            :MOST_FILES
        ]
    )
    return tuple(goal for goal in goals if goal.split("::")[0] in small)


class FreshLane:
    """Orders trials from the fork server.

    Args:
        link: The link to the fork server.
        suite: The tests.
        memory_bytes: Memory limit of a child.
    """

    def __init__(self, link: PipeLink, suite: Suite, memory_bytes: int) -> None:
        self._link = link
        self._answers: Dict[int, Dict[str, Any]] = {}
        self._ended: set[int] = set()
        self._open: set[int] = set()
        """Numbers of trials that were ordered and not answered."""
        self._held: List[Dict[str, Any]] = []
        """Orders to send once those have ended.

        In a writable checkout only one trial runs at a time.
        """
        self._number = 0
        self._memory_bytes = memory_bytes
        self.suite = suite
        self.few = few_goals(suite.root, suite.goals)
        """The goals that a trial runs first."""
        self._looked = False

    def start(
        self,
        kind: str,
        files: Mapping[str, bytes],
        passing: Sequence[str],
        factor: float = 1.0,
        *,
        changes: bool = True,
    ) -> int:
        """Order a trial; return its number."""
        suite = self.suite
        self._number += 1
        narrow = (
            find_test_files(suite.root, [*suite.goals, *passing])
            if kind != WHOLE and len(passing) < MOST_NARROW and suite.narrow
            else None
        )
        goals = self.few if kind == QUICK and narrow is not None else suite.goals
        narrow = find_test_files(suite.root, [*goals, *passing]) if narrow is not None else None
        known = [*goals, *passing]
        limits = {name: suite.limits[name] * factor for name in known if name in suite.limits}
        limits.update(dict.fromkeys(suite.hung, HUNG_S) if not changes else {})
        running = sum(limits.get(name, suite.default_s * factor) for name in known)
        self._order({
            "id": self._number, "kind": kind, "goals": list(goals), "passing": list(passing),
            "files": narrow, "limits": limits, "default_s": suite.default_s * factor,
            "collect_s": suite.collect_s * factor, "memory_bytes": self._memory_bytes,
            "guards_tree": suite.guards_tree,
            "edited": {p: base64.b64encode(data).decode("ascii") for p, data in files.items()},
            "wall_s": slowdown(MOST_SLOWED_TRIAL if kind == QUICK else MOST_SLOWED) * (
                1.5 + 4 * (suite.set_up_s + suite.collect_s * factor)
                + 2 * min(running, 60.0 + running / 10)
            ),
        })  # fmt: skip
        return self._number

    def _order(self, message: Dict[str, Any]) -> None:
        if self._open and not self.suite.guards_tree:
            self._held.append(message)
            return
        self._open.add(message["id"])
        self._link.send(message)

    def _close(self, number: int) -> None:
        """Forget a trial that has ended or is no longer needed; send the next order."""
        self._open.discard(number)
        while self._held and not self._open:
            self._order(self._held.pop(0))

    def wait(self, number: int, wait_s: float) -> Optional[Dict[str, Any]]:
        """Return the answer to a trial, or None after the timeout."""
        deadline = time.monotonic() + wait_s
        while number not in self._answers:
            message = self._link.next(max(0.0, deadline - time.monotonic()))
            if message is None:
                return None
            answered = message.get("id")
            if isinstance(answered, int):
                self._close(answered)
            if isinstance(answered, int) and answered not in self._ended:
                answer = message.get("answer")
                self._answers[answered] = answer if isinstance(answer, dict) else {}
        return self._answers.pop(number)

    def end(self, number: int) -> None:
        """Stop waiting for a trial."""
        self._ended.add(number)
        if any(message["id"] == number for message in self._held):
            self._held = [message for message in self._held if message["id"] != number]
        elif self._answers.pop(number, None) is None:
            self._link.send({"id": number, "end": True})
            self._close(number)

    # --- trials of candidates --------------------------------------------------------------------

    def trial(
        self, ready: ReadyCandidate, passing: Sequence[str], factor: float = 1.0
    ) -> FreshWork:
        """Start a trial: failing tests first, then some passing ones."""
        return FreshWork(self, ready, self.start(QUICK, ready.files, passing, factor))

    def confirm(self, files: Mapping[str, bytes], left: Callable[[], float]) -> Tuple[str, ...]:
        """Run the whole suite in its order.

        Return the goals reached, or none if a passing test breaks.
        """
        answer = self._whole(files, left)
        if answer.get("lost") and not self._looked:
            # A test fails that passes in the swap lane: because of this candidate, or always?
            self._leave_out(left)
            if answer["lost"] not in self.suite.passing:
                answer = self._whole(files, left)
        return parse_outcome(answer).fixed

    def _whole(self, files: Mapping[str, bytes], left: Callable[[], float]) -> Dict[str, Any]:
        number = self.start(WHOLE, files, self.suite.passing, 3.0)
        answer = self.wait(number, left())
        if answer is None:
            self.end(number)
        return answer or {"outcome": "timeout", "fixed": []}

    def _leave_out(self, left: Callable[[], float]) -> None:
        """Drop the tests that fail in this lane without an edit; done once."""
        self._looked = True
        number = self.start(SURVEY, {}, self.suite.passing, 3.0, changes=False)
        answer = self.wait(number, 0.5 * left())
        if answer is None:
            self.end(number)
        outcomes = (answer or {}).get("outcomes")
        if isinstance(outcomes, dict):
            passing = tuple(
                name for name in self.suite.passing if outcomes.get(name) in (PASS, SKIP)
            )
            if len(passing) >= (1 - MOST_LOST) * len(self.suite.passing):
                self.suite = self.suite._replace(passing=passing)

    def survey(self, files: Mapping[str, bytes], passing: Sequence[str]) -> int:
        """Start a run of the failing tests and some passing ones on the unedited program."""
        return self.start(SURVEY, files, passing, 3.0, changes=False)

    def quick_no_op(self, files: Mapping[str, bytes]) -> int:
        """Start a trial that changes nothing; it has to be rejected."""
        return self.start(QUICK, files, self.suite.passing[:4], changes=False)


class FreshWork:
    """A running trial.

    Args:
        lane: The fresh lane.
        ready: The candidate.
        number: The number of the trial.
    """

    def __init__(self, lane: FreshLane, ready: ReadyCandidate, number: int) -> None:
        self.ready = [ready]
        self._lane = lane
        self._number = number

    def outcomes(self, left: Callable[[], float]) -> List[TrialOutcome]:
        """Wait for the trial."""
        answer = self._lane.wait(self._number, max(0.0, left()))
        if answer is None:
            self.end()
            return [TrialOutcome("timeout")]
        return [parse_outcome(answer)]

    def end(self) -> None:
        """Have the fork server kill the trial."""
        self._lane.end(self._number)


def parse_outcome(answer: Mapping[str, Any]) -> TrialOutcome:
    """Validate the answer of a child, which ran untrusted code and may contain anything."""
    outcome, fixed, mark = answer.get("outcome"), answer.get("fixed"), answer.get("mark", ())
    if (
        outcome not in OUTCOMES
        or not isinstance(fixed, list)
        or not all(isinstance(n, str) for n in fixed)
    ):
        return TrialOutcome("died")
    numbers = tuple(n for n in mark if isinstance(n, int)) if isinstance(mark, list) else ()
    return TrialOutcome(str(outcome), tuple(fixed), numbers)
