"""The fresh lane: each trial is a fork from before the collection that imports the edited source."""

from __future__ import annotations

import base64
import os
import time
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.lanes.fresh_child import QUICK, SURVEY, WHOLE, existing
from sandbox.guest.search.lanes.model import Outcome, Ready
from sandbox.guest.search.process.link import Link
from sandbox.guest.search.session.harness import PASS, SKIP

OUTCOMES = ("pass", "near", "fail", "timeout", "died", "late", "surveyed")
HUNG_S = 0.1
MOST_NARROW = 60
"""Tests for which single files are collected instead of everything."""
MOST_FILES = 2
"""Files of failing tests that are collected for a trial; a survivor meets all."""
MOST_LOST = 0.2
"""Of the tests that pass: how many may fail when all is imported afresh."""


class Suite(NamedTuple):
    """What the lane knows of the tests."""

    root: str
    goals: Tuple[str, ...]
    passing: Tuple[str, ...]
    limits: Mapping[str, float]
    """CPU seconds by test."""
    default_s: float
    collect_s: float
    """CPU seconds that collecting everything may take."""
    guards_tree: bool = True
    """Whether children may not write into the checkout."""
    hung: Tuple[str, ...] = ()
    """Goals that ran out of time; they need not do so for long to show it again."""
    narrow: bool = True
    """Whether only the needed files may be collected."""
    set_up_s: float = 0.0
    """CPU seconds of setting up what outlives tests, for all of them."""


def few_goals(root: str, goals: Sequence[str]) -> Tuple[str, ...]:
    """The goals in the smallest files, where they stand in many: what mends them all mends these."""
    files = existing(root, goals)
    if files is None or len(files) <= MOST_FILES or not all("::" in goal for goal in goals):
        return tuple(goals)
    small = set(sorted(files, key=lambda file: (os.path.getsize(os.path.join(root, file)), file))[:MOST_FILES])
    return tuple(goal for goal in goals if goal.split("::")[0] in small)


class FreshLane:
    """Asks the zygote for trials.

    Args:
        link: To the zygote.
        suite: The tests.
        memory_bytes: How far a child may grow.
    """

    def __init__(self, link: Link, suite: Suite, memory_bytes: int) -> None:
        self._link = link
        self._answers: Dict[int, Dict[str, Any]] = {}
        self._ended: set[int] = set()
        self._open: set[int] = set()
        """Asked for and not answered."""
        self._held: List[Dict[str, Any]] = []
        """What is asked for when those have ended: in a checkout that children can write, one runs at a time."""
        self._number = 0
        self._memory_bytes = memory_bytes
        self.suite = suite
        self.few = few_goals(suite.root, suite.goals)
        """The goals that a trial asks first."""
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
        """Begin a trial; the number it is known by."""
        suite = self.suite
        self._number += 1
        narrow = (
            existing(suite.root, [*suite.goals, *passing])
            if kind != WHOLE and len(passing) < MOST_NARROW and suite.narrow
            else None
        )
        goals = self.few if kind == QUICK and narrow is not None else suite.goals
        narrow = existing(suite.root, [*goals, *passing]) if narrow is not None else None
        known = [*goals, *passing]
        limits = {name: suite.limits[name] * factor for name in known if name in suite.limits}
        limits.update(dict.fromkeys(suite.hung, HUNG_S) if not changes else {})
        running = sum(limits.get(name, suite.default_s * factor) for name in known)
        self._order({
            "id": self._number, "kind": kind, "goals": list(goals), "passing": list(passing),
            "files": narrow, "limits": limits, "default_s": suite.default_s * factor,
            "collect_s": suite.collect_s * factor, "memory_bytes": self._memory_bytes,
            "guards_tree": suite.guards_tree,
            "edited": {path: base64.b64encode(data).decode("ascii") for path, data in files.items()},
            "wall_s": 1.5 + 4 * (suite.set_up_s + suite.collect_s * factor) + 2 * min(running, 60.0 + running / 10),
        })  # fmt: skip
        return self._number

    def _order(self, message: Dict[str, Any]) -> None:
        if self._open and not self.suite.guards_tree:
            self._held.append(message)
            return
        self._open.add(message["id"])
        self._link.send(message)

    def _close(self, number: int) -> None:
        """A trial has ended, or nobody waits for it; the next one may begin."""
        self._open.discard(number)
        while self._held and not self._open:
            self._order(self._held.pop(0))

    def wait(self, number: int, wait_s: float) -> Optional[Dict[str, Any]]:
        """The answer to a trial, or None when there was none in time."""
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
        """Nobody waits for it any more."""
        self._ended.add(number)
        if any(message["id"] == number for message in self._held):
            self._held = [message for message in self._held if message["id"] != number]
        elif self._answers.pop(number, None) is None:
            self._link.send({"id": number, "end": True})
            self._close(number)

    # --- trials of candidates ------------------------------------------------------------------------

    def trial(self, ready: Ready, passing: Sequence[str], factor: float = 1.0) -> FreshWork:
        """Failing tests first, then some passing ones."""
        return FreshWork(self, ready, self.start(QUICK, ready.files, passing, factor))

    def confirm(self, files: Mapping[str, bytes], left: Callable[[], float]) -> Tuple[str, ...]:
        """The whole suite in its order: the goals that are reached, none when anything that passed breaks."""
        answer = self._whole(files, left)
        if answer.get("lost") and not self._looked:
            # A test that passes elsewhere fails here: by this candidate, or always?
            self._leave_out(left)
            if answer["lost"] not in self.suite.passing:
                answer = self._whole(files, left)
        return outcome_of(answer).fixed

    def _whole(self, files: Mapping[str, bytes], left: Callable[[], float]) -> Dict[str, Any]:
        number = self.start(WHOLE, files, self.suite.passing, 3.0)
        answer = self.wait(number, left())
        if answer is None:
            self.end(number)
        return answer or {"outcome": "timeout", "fixed": []}

    def _leave_out(self, left: Callable[[], float]) -> None:
        """Once: tests that fail here without any edit are not asked any more."""
        self._looked = True
        number = self.start(SURVEY, {}, self.suite.passing, 3.0, changes=False)
        answer = self.wait(number, 0.5 * left())
        if answer is None:
            self.end(number)
        outcomes = (answer or {}).get("outcomes")
        if isinstance(outcomes, dict):
            passing = tuple(name for name in self.suite.passing if outcomes.get(name) in (PASS, SKIP))
            if len(passing) >= (1 - MOST_LOST) * len(self.suite.passing):
                self.suite = self.suite._replace(passing=passing)

    def survey(self, files: Mapping[str, bytes], passing: Sequence[str]) -> int:
        """Begin to run the failing tests and some that pass on the unedited program."""
        return self.start(SURVEY, files, passing, 3.0, changes=False)

    def quick_no_op(self, files: Mapping[str, bytes]) -> int:
        """Begin a trial that changes nothing; it has to be rejected."""
        return self.start(QUICK, files, self.suite.passing[:4], changes=False)


class FreshWork:
    """One trial under way.

    Args:
        lane: Whose.
        ready: The candidate.
        number: The trial's.
    """

    def __init__(self, lane: FreshLane, ready: Ready, number: int) -> None:
        self.ready = [ready]
        self._lane = lane
        self._number = number

    def outcomes(self, left: Callable[[], float]) -> List[Outcome]:
        """Wait for the one."""
        answer = self._lane.wait(self._number, max(0.0, left()))
        if answer is None:
            self.end()
            return [Outcome("timeout")]
        return [outcome_of(answer)]

    def end(self) -> None:
        """Let the zygote kill it."""
        self._lane.end(self._number)


def outcome_of(answer: Mapping[str, Any]) -> Outcome:
    """A child that ran a candidate may say anything."""
    outcome, fixed, mark = answer.get("outcome"), answer.get("fixed"), answer.get("mark", ())
    if outcome not in OUTCOMES or not isinstance(fixed, list) or not all(isinstance(n, str) for n in fixed):
        return Outcome("died")
    numbers = tuple(n for n in mark if isinstance(n, int)) if isinstance(mark, list) else ()
    return Outcome(str(outcome), tuple(fixed), numbers)
