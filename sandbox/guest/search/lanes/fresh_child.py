"""What a child of the zygote does: import the edited checkout, collect what is needed, run it, report once."""

from __future__ import annotations

import base64
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.failure_detail import Describer
from sandbox.guest.search.process.forked import Report
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.process.overlay import Overlay
from sandbox.guest.search.session.collected import Broken, Collected, Command
from sandbox.guest.search.session.collecting import collect
from sandbox.guest.search.session.harness import FAIL, PASS, SKIP, TIMEOUT, Runner

NEAR = "near"
QUICK, WHOLE, SURVEY = "quick", "whole", "survey"
"""Failing tests first and stop when lost; every known test in its order; the outcome of every known test."""
MORE_CHANCES = 2
MOST_BROKEN = 5


class Plan(NamedTuple):
    """What to run, and how."""

    kind: str
    goals: Tuple[str, ...]
    """Failing tests; a name without `::` is a file that could not be collected, an empty one the whole session."""
    passing: Tuple[str, ...]
    files: Optional[Tuple[str, ...]]
    """Which files are collected; None for all."""
    limits: Mapping[str, float]
    default_s: float
    collect_s: float

    @classmethod
    def read(cls, message: Dict[str, Any]) -> Plan:
        """From what was sent."""
        files = message["files"]
        return cls(
            message["kind"], tuple(message["goals"]), tuple(message["passing"]), tuple(files) if files else None,
            message["limits"], message["default_s"], message["collect_s"],
        )  # fmt: skip


def work_of(command: Command, message: Dict[str, Any], told: Callable[[BaseException], Any]) -> Callable[..., None]:
    """The work of one child.

    Args:
        command: How tests are collected.
        message: The order, see `Plan`; `edited` holds files in base 64.
        told: Turns an exception into what is told of it.
    """
    plan = Plan.read(message)
    edited = {path: base64.b64decode(data) for path, data in message["edited"].items()}

    def work(limiter: Limiter, report: Report) -> None:
        overlay = Overlay(command.root, edited)
        if overlay.imported():
            report({"outcome": "late", "fixed": []})
            return
        overlay.install()

        def inside(collected: Collected) -> None:
            limiter.disarm()
            # Collecting may take longer than any test: what bounds the tests begins anew.
            answer = Session(command, plan, collected, Limiter()).run()
            report({**answer, "broken": [[b.name, told(b.error)] for b in collected.broken[:MOST_BROKEN]]})
            os._exit(0)  # the session's own end takes longer than all that was before

        limiter.restore()
        limiter.arm(plan.collect_s)
        broken: Sequence[Broken] = collect(command, inside, plan.files)
        limiter.disarm()
        outcome = TIMEOUT if limiter.exceeded else FAIL
        report({"outcome": outcome, "fixed": [], "broken": [[b.name, told(b.error)] for b in broken[:MOST_BROKEN]]})

    return work


class Session:
    """One collected session and what is known of its tests."""

    def __init__(self, command: Command, plan: Plan, collected: Collected, limiter: Limiter) -> None:
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
            for part in {*places_of(name), ""} - {name}:
                self._numbers.setdefault(part, []).append(index)
        self._runner = Runner(self.items, limiter)
        self._seen: Dict[int, str] = {}

    def run(self) -> Dict[str, Any]:
        """As the plan says."""
        answer = {QUICK: self._quick, WHOLE: self._whole, SURVEY: self._survey}[self._plan.kind]()
        self._runner.close()
        return answer

    def _quick(self) -> Dict[str, Any]:
        fixed: List[str] = []
        lost: List[str] = []
        for name in self._plan.goals:
            outcome = self._goal(name)
            if outcome == PASS:
                fixed.append(name)
                continue
            lost.append(name)
            if not fixed and (outcome == TIMEOUT or len(lost) > MORE_CHANCES):
                return {"outcome": TIMEOUT if outcome == TIMEOUT else FAIL, "fixed": [], "mark": self._mark()}
        if not fixed:
            return {"outcome": FAIL, "fixed": [], "mark": self._mark()}
        for name in self._plan.passing:
            if self._known(name) not in (PASS, SKIP):
                return {"outcome": FAIL, "fixed": [], "mark": self._mark()}
        return {"outcome": NEAR if lost else PASS, "fixed": fixed, "mark": self._mark()}

    def _whole(self) -> Dict[str, Any]:
        passing = set(self._plan.passing)
        wanted = {i for name in (*self._plan.goals, *passing) for i in self._numbers.get(name, ())}
        for index in sorted(wanted):
            if self._outcome(index) not in (PASS, SKIP) and self.names[index] in passing:
                return {"outcome": FAIL, "fixed": [], "lost": self.names[index]}
        missing = [name for name in self._plan.passing if name not in self._numbers]
        fixed = [name for name in self._plan.goals if self._goal(name) == PASS]
        outcome = FAIL if missing or not fixed else PASS if len(fixed) == len(self._plan.goals) else NEAR
        return {"outcome": outcome, "fixed": [] if missing else fixed, "lost": missing[0] if missing else ""}

    def _survey(self) -> Dict[str, Any]:
        goals = set(self._plan.goals)
        wanted = sorted({i for name in (*goals, *self._plan.passing) for i in self._numbers.get(name, ())})
        for index in wanted:
            self._outcome(index)
        outcomes = {name: self._goal(name) for name in self._plan.goals}
        outcomes.update({name: self._known(name) for name in self._plan.passing})
        return {"outcome": "surveyed", "fixed": [], "outcomes": outcomes}

    def _known(self, name: str) -> str:
        """The outcome of one test by its name; tests of the same name have one outcome, the worst."""
        found = [self._outcome(index) for index in self._numbers.get(name, ())]
        return next((o for o in found if o not in (PASS, SKIP)), found[0]) if found else FAIL

    def _goal(self, name: str) -> str:
        """Fixed: the test passes; of a file or folder that it is collected and what stands in it passes."""
        if any(name in (broken, "") or name in places_of(broken) for broken in self._broken):
            return FAIL
        outcome = self._known(name)
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
        """How far it came: more tests collected, more tests passed."""
        return [len(self.items), sum(outcome == PASS for outcome in self._seen.values())]


def places_of(name: str) -> List[str]:
    """The file a test stands in, and the folders above it."""
    path = name.split("::", maxsplit=1)[0]
    return [path, *(path[:at] for at, letter in enumerate(path) if letter == "/")]


def existing(root: str, names: Sequence[str]) -> Optional[List[str]]:
    """The files in which these tests stand, in order; None when some are not to be found that way."""
    files = list(dict.fromkeys(name.split("::")[0] for name in names))
    return files if all(file and os.path.isfile(os.path.join(root, file)) for file in files) else None
