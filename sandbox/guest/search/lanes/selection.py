"""Which lanes are believed here, and which one a candidate takes."""

from __future__ import annotations

from typing import Any, Callable, Collection, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.candidates.generator import Candidate
from sandbox.guest.search.context.budget import Course
from sandbox.guest.search.context.ground import Refused
from sandbox.guest.search.context.situation import Situation
from sandbox.guest.search.lanes.cold import ColdLane
from sandbox.guest.search.lanes.fresh import FreshLane, Suite
from sandbox.guest.search.lanes.model import COLD, FRESH, SWAP, Ready, Work
from sandbox.guest.search.lanes.swap import SwapLane
from sandbox.guest.search.process.link import Link
from sandbox.guest.search.process.threads import own_threads
from sandbox.guest.search.session.collected import Command
from sandbox.guest.search.session.harness import PASS, SKIP
from sandbox.guest.search.source.functions import Unit, signature

MOST_PASSING = 12
"""How many passing tests a candidate of the fresh lane meets before it is confirmed with all of them."""
MOST_DEFERRED = 2000
SAMPLE, SAMPLE_S = 40, 2.0
"""How many passing tests, and for how many CPU seconds, are run before the fresh lane is believed."""
CHEAP = 0.03
"""Of the time that is left: suites that take no longer are run once more in a process of their own."""
SETTLED, LEAST_SETTLING = 0.45, 0.06
"""Of the time limit: by when it is decided, if there is another lane; what a lane has in any case for its answer."""
LEAST_TEST_S = 0.3
LEAST_COLLECT_S = 0.7
"""CPU seconds that importing an edited file may take in any case."""
MENDED_COLLECT_S = 5.0
"""The same where collecting broke off: nobody knows what a mended one takes."""
MOST_LOST = 0.2
"""Of the tests that pass: how many may fail when all is imported afresh, before that is not believed."""


class Means(NamedTuple):
    """What lanes work with."""

    link: Link
    """To the zygote."""
    tree: Any
    """The checkout, as the keeper remembers it."""
    command: Command
    collect_s: float
    """CPU seconds the collection took."""


class Lanes:
    """The lanes of one search.

    Args:
        situation: What is known.
        course: Bounds, and where notes go.
        means: What they work with.
    """

    def __init__(self, situation: Situation, course: Course, means: Means) -> None:
        self._means = means
        self._guards_tree = bool(means.tree.guard.guards_tree)
        course.note(None if self._guards_tree else "the checkout is compared and put back after each trial")
        self._situation = situation
        self._course = course
        self._seen: Set[Any] = set()
        self.deferred: List[Candidate] = []
        """Candidates of functions that run, if at all, while modules are imported."""
        wanted = situation.request.lanes
        self.swap: Optional[SwapLane] = self._swap_lane() if SWAP in wanted else None
        self.fresh: Optional[FreshLane] = None
        self.cold: Optional[ColdLane] = None
        self._cold_asked = COLD not in wanted
        self._survey: Tuple[int, int] = (0, 0)
        self._sample: Tuple[str, ...] = ()
        if FRESH in wanted and not situation.elsewhere:
            self.fresh = FreshLane(means.link, self._suite(means.collect_s), situation.request.memory_bytes)
            self._sample = self._quick_ones()
            unedited = self._unedited()
            self._survey = (self.fresh.survey(unedited, self._sample), self.fresh.quick_no_op(unedited))

    # --- what is believed ----------------------------------------------------------------------------

    def _swap_lane(self) -> Optional[SwapLane]:
        ground = self._situation.ground
        if ground is None:
            self._course.note("swap: nothing could be collected")
        elif self._situation.elsewhere:
            self._course.note("swap, fresh: the failing tests run nothing of the checkout in their own process")
        elif self._situation.blind:
            self._course.note("swap: the failing tests run no function of the checkout")
        elif own_threads() > 1:
            self._course.note("swap: the collected session runs threads")
        elif not ground.rejects_no_op:
            self._course.note("swap: no function to edit, or tests pass there without an edit")
        else:
            self._course.note("swap: believed" + (", tests share state" if ground.baseline.isolated else ""))
            return SwapLane(ground)
        return None

    def _suite(self, collect_s: float) -> Suite:
        situation, ground = self._situation, self._situation.ground
        usual = situation.request.test_cpu_s
        limits: Dict[str, float] = {}
        hung: Tuple[str, ...] = ()
        if ground is not None:
            known = {ground.items.names[i]: s for i, s in ground.screen.limits.known.items()}
            limits = {name: max(LEAST_TEST_S, 2 * seconds) for name, seconds in known.items()}
            usual = min(usual, max(LEAST_TEST_S, 2 * ground.screen.limits.default))
            hung = tuple(ground.items.names[i] for i in sorted(ground.baseline.hung))
        return Suite(
            situation.root,
            situation.goals,
            situation.passing,
            limits,
            usual,
            (LEAST_COLLECT_S if ground is not None else MENDED_COLLECT_S) + 4 * collect_s,
            self._guards_tree,
            hung,
            set_up_s=sum(ground.baseline.set_up_s.values()) if ground is not None else 0.0,
        )

    def _quick_ones(self) -> Tuple[str, ...]:
        """Some passing tests by which the lane is believed: quick ones, those beside the failing tests first."""
        situation, ground = self._situation, self._situation.ground
        if ground is None:
            return situation.passing[:SAMPLE]
        files = {goal.split("::")[0] for goal in situation.goals}
        names, seconds = ground.items.names, ground.baseline.seconds
        order = sorted(
            ground.items.passing, key=lambda i: (names[i].split("::")[0] not in files, ground.baseline.pace(i), i)
        )
        chosen: List[str] = []
        left = SAMPLE_S
        for index in order:
            left -= seconds.get(index, 1.0)
            if len(chosen) >= SAMPLE or left < 0:
                break
            chosen.append(names[index])
        return tuple(dict.fromkeys(chosen))

    def _unedited(self) -> Dict[str, bytes]:
        """A candidate that changes nothing."""
        return {source.path: source.data for source in self._situation.sources[:1]}

    def settle(self) -> None:
        """Hear how the unedited program did in the fresh lane.

        Raises:
            Refused: the failing tests pass when they are run again.
        """
        lane = self.fresh
        if lane is None:
            return
        situation = self._situation
        limit = situation.request.time_limit_s

        def wait() -> float:
            """Long, where nothing else can be tried; else most of the time is for candidates."""
            if self.swap is None:
                return max(1.0, 0.3 * self._course.left())
            return max(LEAST_SETTLING * limit, SETTLED * limit - self._course.seconds())

        answer, quick = [lane.wait(number, wait()) for number in self._survey]
        if situation.ground is None:
            # Nothing can be collected: that has to be so afresh.
            outcomes = (answer or {}).get("outcomes", {})
            sound = answer is not None and not any(outcomes.get(goal) == PASS for goal in situation.goals)
            self._believe(
                yes=sound and (quick or {}).get("outcome") not in ("pass", "near", "late"), why="it works there"
            )
            return
        outcomes = answer.get("outcomes") if answer else None
        if not isinstance(outcomes, dict):
            self._believe(yes=False, why=f"the suite does not end there ({(answer or {}).get('outcome', 'no answer')})")
            return
        mended = [goal for goal in situation.goals if outcomes.get(goal) in (PASS, SKIP)]
        if len(mended) == len(situation.goals):
            raise Refused("the failing tests waver: run again, they pass")
        failed = {name for name in self._sample if outcomes.get(name) not in (PASS, SKIP)}
        lost = len(failed)
        if mended:
            self._believe(yes=False, why=f"{len(mended)} failing tests pass there")
        elif lost > max(2, MOST_LOST * len(self._sample)):
            self._believe(yes=False, why=f"{lost} passing tests fail there")
        else:
            lane.suite = lane.suite._replace(
                passing=tuple(name for name in situation.passing if name not in failed),
                narrow=(quick or {}).get("outcome") in ("fail", "timeout"),
            )
            self._believe(yes=True, why=f"believed, {lost} tests left out" if lost else "believed")

    def _believe(self, *, yes: bool, why: str) -> None:
        self._course.note(f"fresh: {why}")
        if not yes:
            self.fresh = None

    def _cold_lane(self) -> Optional[ColdLane]:
        """The cold lane, believed when it is first needed: that costs a run of the whole suite."""
        if not self._cold_asked:
            self._cold_asked = True
            situation = self._situation
            lane = ColdLane(
                self._means.command,
                self._means.tree,
                situation.goals,
                situation.passing,
                memory_bytes=situation.request.memory_bytes,
            )
            why_not = lane.believe(lambda: 0.4 * self._course.left())
            self._course.note(f"cold: {why_not or 'believed'}")
            self.cold = None if why_not else lane
        return self.cold

    # --- candidates ----------------------------------------------------------------------------------

    def ready(
        self, candidate: Candidate, first: Optional[Candidate] = None, mended: Collection[str] = ()
    ) -> Optional[Ready]:
        """A candidate made ready for its lane; None when it is no Python, no news, or no lane takes it.

        Args:
            candidate: What is to be tried.
            first: The edit it comes on top of.
            mended: Goals that the first edit reaches alone.
        """
        code = None
        if candidate.unit is not None and not candidate.more:
            code = candidate.unit.compile(candidate.edits)
            if code is None:
                return None
            unit = candidate.unit  # of several with one name the line tells which
            key: Any = (unit.source.path, unit.names, unit.first_line, signature(code))
            if key in self._seen:
                return None
            if not candidate.undoes:
                # What a kind of mistake explains is worth more than the same edit as an undoing: that may still come.
                self._seen.add(key)
            ready = self.swap.ready(candidate, code, first, mended) if self.swap else None
            if ready is not None:
                return ready
            if self.swap is not None and first is None and not self._runs(candidate.unit):
                # No failing test runs it: it can only matter while modules are imported. That is for the end.
                self.deferred += [candidate] if len(self.deferred) < MOST_DEFERRED else []
                return None
        return self._ready_afresh(candidate, first, compiled=code is not None)

    def _runs(self, unit: Unit) -> bool:
        """Whether a function ran in a failing test, or for one when the tests were collected."""
        ground = self._situation.ground
        return ground is not None and bool(ground.tests_through(unit)[0] or ground.located.runs_when_collected(unit))

    def _ready_afresh(self, candidate: Candidate, first: Optional[Candidate], *, compiled: bool) -> Optional[Ready]:
        files = self._files(candidate, first)
        if files is None or (not compiled and not self._is_new(files)):
            return None
        if self.fresh is not None:
            return Ready(candidate, FRESH, files, None, first)
        return Ready(candidate, COLD, files, None, first) if self._cold_lane() is not None else None

    def _cold_is_cheap(self) -> bool:
        """Whether survivors of the swap lane can be run with files as well, where nothing else confirms them."""
        ground = self._situation.ground
        if ground is None or ground.baseline.whole_s() > CHEAP * self._course.left():
            return False
        return self._cold_lane() is not None

    def ready_deferred(self, candidate: Candidate) -> Optional[Ready]:
        """A candidate that was kept for the end."""
        return self._ready_afresh(candidate, None, compiled=True)

    def _files(self, candidate: Candidate, first: Optional[Candidate]) -> Optional[Dict[str, bytes]]:
        try:
            files = {**(first.files() if first else {}), **candidate.files()}
            for path, data in files.items():
                compile(data, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
            return None
        return files

    def _is_new(self, files: Dict[str, bytes]) -> bool:
        key = tuple(sorted(files.items()))
        if hash(key) in self._seen:
            return False
        self._seen.add(hash(key))
        return True

    def passing_near(self, ready: Ready) -> Tuple[str, ...]:
        """Passing tests that a candidate of the fresh lane meets at once."""
        ground = self._situation.ground
        if ground is None or self.fresh is None:
            return (self.fresh.suite.passing if self.fresh else ())[:MOST_PASSING]
        paths = set(ready.files)
        near = [i for i in ground.items.passing if paths & set(ground.coverage.get(i, ()))]
        files = {goal.split("::")[0] for goal in self.fresh.few}  # these are collected in any case
        near.sort(key=lambda i: (ground.items.names[i].split("::")[0] not in files, ground.baseline.pace(i), i))
        known = set(self.fresh.suite.passing)
        names = [ground.items.names[i] for i in near if ground.items.names[i] in known]
        return tuple(dict.fromkeys(names))[:MOST_PASSING]

    def start(self, ready: Sequence[Ready], factor: float = 1.0) -> Work:
        """Begin the trials of a chunk, or of one candidate that takes another lane."""
        if ready[0].lane == SWAP and self.swap is not None:
            return self.swap.start(ready, factor)
        if ready[0].lane == COLD and self.cold is not None:
            return self.cold.trial(ready[0])
        assert self.fresh is not None
        return self.fresh.trial(ready[0], self.passing_near(ready[0]), factor)

    def stretch(self, factor: float) -> None:
        """Some candidates need longer than was thought: all get more time from now on."""
        ground = self._situation.ground
        if ground is not None:
            ground.screen.limits = ground.screen.limits._replace(known={}, stretched=factor)

    def takes(self, lane: str) -> bool:
        """Whether a lane is in use."""
        return {SWAP: self.swap, FRESH: self.fresh, COLD: self.cold}.get(lane) is not None

    def confirm(self, ready: Ready, left: Callable[[], float]) -> Tuple[str, ...]:
        """The goals a candidate reaches with the whole suite run in its order, by every lane that is believed."""
        unseen = self._situation.unseen
        fixed: Tuple[str, ...] = ()
        if ready.lane == SWAP and self.swap is not None:
            fixed = self.swap.confirm(ready.trial.swaps, left)
            if not self._reaches_all(fixed, beside=unseen) or (self.fresh is None and not self._cold_is_cheap()):
                return fixed  # half a fix is worth no more than this
        files = ready.files or self._files(ready.candidate, ready.first) or {}
        lane: Any = self.cold if ready.lane == COLD or self.fresh is None else self.fresh
        again = lane.confirm(files, left) if lane is not None else ()
        if lane is self.fresh and not self._reaches_all(again) and self._reaches_all(again, beside=unseen):
            cold = self._cold_lane()  # what is missing may run in processes of its own
            again = cold.confirm(files, left) if cold is not None else again
        return tuple(name for name in again if not fixed or name in fixed or name in unseen)

    def _reaches_all(self, fixed: Collection[str], beside: Collection[str] = ()) -> bool:
        """Whether every goal is reached, those beside left out; one at least."""
        return bool(fixed) and all(goal in fixed or goal in beside for goal in self._situation.goals)
