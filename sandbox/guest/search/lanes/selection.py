"""Select the lanes that can be trusted here, and the lane of each candidate."""

from __future__ import annotations

from typing import Any, Callable, Collection, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context.budget import SearchBudget
from sandbox.guest.search.context.search_context import SearchContext
from sandbox.guest.search.context.suite_facts import SearchRefused
from sandbox.guest.search.lanes.cold import ColdLane
from sandbox.guest.search.lanes.fresh import FreshLane, Suite
from sandbox.guest.search.lanes.model import COLD, FRESH, SWAP, ReadyCandidate, RunningTrials
from sandbox.guest.search.lanes.swap import SwapLane
from sandbox.guest.search.process.link import PipeLink
from sandbox.guest.search.process.threads import own_threads
from sandbox.guest.search.session.collected import SuiteCommand
from sandbox.guest.search.session.harness import PASS, SKIP
from sandbox.guest.search.source.functions import Unit, signature

MOST_PASSING = 12
"""Maximum number of passing tests in a fresh trial before the full confirmation."""
MOST_DEFERRED = 2000
SAMPLE, SAMPLE_S = 40, 2.0
"""Passing tests that are run before the fresh lane is trusted: maximum number, maximum CPU seconds.
"""
CHEAP = 0.03
"""Share of the time left. Suites that take less are run again in a new process."""
SETTLED, LEAST_SETTLING = 0.45, 0.06
"""Shares of the time limit: when the lane is decided if there is another; minimum for its answer.
"""
LEAST_TEST_S = 0.3
LEAST_COLLECT_S = 0.7
"""Minimum CPU seconds for importing an edited file."""
MENDED_COLLECT_S = 5.0
"""The same if the collection failed: the time of a complete one is unknown."""
MOST_LOST = 0.2
"""Maximum share of the passing tests that may fail in a lane without an edit."""


class LaneResources(NamedTuple):
    """The resources of the lanes."""

    link: PipeLink
    """The link to the fork server."""
    tree: Any
    """The checkout as the supervisor remembers it."""
    command: SuiteCommand
    collect_s: float
    """CPU seconds that the collection took."""


class Lanes:
    """The lanes of one search.

    Args:
        context: The search context.
        budget: The budget; also receives notes.
        means: The resources of the lanes.
    """

    def __init__(self, context: SearchContext, budget: SearchBudget, means: LaneResources) -> None:
        self._means = means
        self._guards_tree = bool(means.tree.guard.guards_tree)
        budget.note(
            None if self._guards_tree else "the checkout is compared and restored after each trial"
        )
        self._context = context
        self._budget = budget
        self._seen: Set[Any] = set()
        self.deferred: List[CandidatePatch] = []
        """Candidates in functions that run, if at all, only while modules are imported."""
        wanted = context.request.lanes
        self.swap: Optional[SwapLane] = self._swap_lane() if SWAP in wanted else None
        self.fresh: Optional[FreshLane] = None
        self.cold: Optional[ColdLane] = None
        self._cold_asked = COLD not in wanted
        self._survey: Tuple[int, int] = (0, 0)
        self._sample: Tuple[str, ...] = ()
        if FRESH in wanted and not context.reach.elsewhere:
            self.fresh = FreshLane(
                means.link, self._suite(means.collect_s), context.request.memory_bytes
            )
            self._sample = self._sample_tests()
            unedited = self._unedited()
            self._survey = (
                self.fresh.survey(unedited, self._sample),
                self.fresh.quick_no_op(unedited),
            )

    # --- which lanes to trust --------------------------------------------------------------------

    def _swap_lane(self) -> Optional[SwapLane]:
        facts = self._context.facts
        if facts is None:
            self._budget.note("swap: disabled, no test could be collected")
        elif self._context.reach.elsewhere:
            self._budget.note(
                "swap, fresh: disabled, the failing tests only run the checkout in other processes"
            )
        elif self._context.reach.blind:
            self._budget.note("swap: disabled, the failing tests run no function of the checkout")
        elif own_threads() > 1:
            self._budget.note("swap: disabled, the collected session has threads")
        elif not facts.rejects_no_op:
            self._budget.note(
                "swap: disabled, no function to edit, or tests pass there without an edit"
            )
        else:
            self._budget.note(
                "swap: enabled" + (", tests share state" if facts.baseline.isolated else "")
            )
            return SwapLane(facts)
        return None

    def _suite(self, collect_s: float) -> Suite:
        context, facts = self._context, self._context.facts
        usual = context.request.test_cpu_s
        limits: Dict[str, float] = {}
        hung: Tuple[str, ...] = ()
        if facts is not None:
            known = {facts.items.names[i]: s for i, s in facts.screen.limits.known.items()}
            limits = {name: max(LEAST_TEST_S, 2 * seconds) for name, seconds in known.items()}
            usual = min(usual, max(LEAST_TEST_S, 2 * facts.screen.limits.default))
            hung = tuple(facts.items.names[i] for i in sorted(facts.baseline.hung))
        return Suite(
            context.root,
            context.goals,
            context.passing,
            limits,
            usual,
            (LEAST_COLLECT_S if facts is not None else MENDED_COLLECT_S) + 4 * collect_s,
            self._guards_tree,
            hung,
            set_up_s=sum(facts.baseline.set_up_s.values()) if facts is not None else 0.0,
        )

    def _sample_tests(self) -> Tuple[str, ...]:
        """Return quick passing tests that check the lane; those beside failing tests come first."""
        context, facts = self._context, self._context.facts
        if facts is None:
            return context.passing[:SAMPLE]
        files = {goal.split("::")[0] for goal in context.goals}
        names, seconds = facts.items.names, facts.baseline.seconds
        order = sorted(
            facts.items.passing,
            key=lambda i: (names[i].split("::")[0] not in files, facts.baseline.pace(i), i),
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
        """Return the files of a candidate that changes nothing."""
        return {source.path: source.data for source in self._context.code.sources[:1]}

    def settle(self) -> None:
        """Read the results of the unedited program in the fresh lane and decide whether to use it.

        Raises:
            SearchRefused: The failing tests pass when they are run again.
        """
        lane = self.fresh
        if lane is None:
            return
        context = self._context
        limit = context.request.time_limit_s

        def wait() -> float:
            """Return the timeout: long if no other lane exists, else short."""
            if self.swap is None:
                return max(1.0, 0.3 * self._budget.left())
            return max(LEAST_SETTLING * limit, SETTLED * limit - self._budget.seconds())

        answer, quick = [lane.wait(number, wait()) for number in self._survey]
        if context.facts is None:
            # Nothing can be collected here, so nothing may be collected in the fresh lane either.
            outcomes = (answer or {}).get("outcomes", {})
            sound = answer is not None and not any(
                outcomes.get(goal) == PASS for goal in context.goals
            )
            yes = sound and (quick or {}).get("outcome") not in ("pass", "near", "late")
            self._decide(yes=yes, why="enabled" if yes else "failing tests pass there")
            return
        outcomes = answer.get("outcomes") if answer else None
        if not isinstance(outcomes, dict):
            outcome = (answer or {}).get("outcome", "no answer")
            self._decide(yes=False, why=f"the suite does not finish there ({outcome})")
            return
        already_fixed = [goal for goal in context.goals if outcomes.get(goal) in (PASS, SKIP)]
        if len(already_fixed) == len(context.goals):
            raise SearchRefused("flaky tests: all failing tests passed in a second run")
        failed = {name for name in self._sample if outcomes.get(name) not in (PASS, SKIP)}
        lost = len(failed)
        if already_fixed:
            self._decide(yes=False, why=f"failing tests that pass there: {len(already_fixed)}")
        elif lost > max(2, MOST_LOST * len(self._sample)):
            self._decide(yes=False, why=f"passing tests that fail there: {lost}")
        else:
            lane.suite = lane.suite._replace(
                passing=tuple(name for name in context.passing if name not in failed),
                narrow=(quick or {}).get("outcome") in ("fail", "timeout"),
            )
            self._decide(yes=True, why=f"enabled, tests skipped: {lost}" if lost else "enabled")

    def _decide(self, *, yes: bool, why: str) -> None:
        self._budget.note(f"fresh: {why}")
        if not yes:
            self.fresh = None

    def _cold_lane(self) -> Optional[ColdLane]:
        """Return the cold lane; the check at first use runs the whole suite."""
        if not self._cold_asked:
            self._cold_asked = True
            context = self._context
            lane = ColdLane(
                self._means.command,
                self._means.tree,
                context.goals,
                context.passing,
                memory_bytes=context.request.memory_bytes,
            )
            why_not = lane.check_unedited(lambda: 0.4 * self._budget.left())
            self._budget.note(f"cold: {why_not or 'enabled'}")
            self.cold = None if why_not else lane
        return self.cold

    # --- candidates ------------------------------------------------------------------------------

    def ready(
        self,
        candidate: CandidatePatch,
        first: Optional[CandidatePatch] = None,
        already_fixed: Collection[str] = (),
    ) -> Optional[ReadyCandidate]:
        """Prepare a candidate for its lane.

        Args:
            candidate: The candidate.
            first: The edit that it extends.
            already_fixed: Goals that the first edit reaches alone.
        """
        code = None
        if candidate.unit is not None and not candidate.more:
            code = candidate.unit.compile(candidate.edits)
            if code is None:
                return None
            unit = candidate.unit  # the line distinguishes functions of the same name
            key: Any = (unit.source.path, unit.names, unit.first_line, signature(code))
            if key in self._seen:
                return None
            if not candidate.is_revert:
                # An undo is not recorded: a template that explains the same edit is worth more, and
                # may follow.
                self._seen.add(key)
            ready = self.swap.ready(candidate, code, first, already_fixed) if self.swap else None
            if ready is not None:
                return ready
            if self.swap is not None and first is None and not self._runs(candidate.unit):
                # No failing test runs it. It can only matter during imports, so it is tried at the
                # end.
                self.deferred += [candidate] if len(self.deferred) < MOST_DEFERRED else []
                return None
        return self._ready_afresh(candidate, first, compiled=code is not None)

    def _runs(self, unit: Unit) -> bool:
        """Return True if a failing test or its collection ran a function."""
        facts = self._context.facts
        return facts is not None and bool(
            facts.tests_through(unit)[0] or facts.located.runs_when_collected(unit)
        )

    def _ready_afresh(
        self, candidate: CandidatePatch, first: Optional[CandidatePatch], *, compiled: bool
    ) -> Optional[ReadyCandidate]:
        files = self._files(candidate, first)
        if files is None or (not compiled and not self._is_new(files)):
            return None
        if self.fresh is not None:
            return ReadyCandidate(candidate, FRESH, files, None, first)
        return (
            ReadyCandidate(candidate, COLD, files, None, first)
            if self._cold_lane() is not None
            else None
        )

    def _cold_is_cheap(self) -> bool:
        """Return True if a run of the whole suite in a new process is cheap.

        It then confirms survivors of the swap lane if no other lane does.
        """
        facts = self._context.facts
        if facts is None or facts.baseline.whole_s() > CHEAP * self._budget.left():
            return False
        return self._cold_lane() is not None

    def ready_deferred(self, candidate: CandidatePatch) -> Optional[ReadyCandidate]:
        """Prepare a deferred candidate."""
        return self._ready_afresh(candidate, None, compiled=True)

    def _files(
        self, candidate: CandidatePatch, first: Optional[CandidatePatch]
    ) -> Optional[Dict[str, bytes]]:
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

    def passing_near(self, ready: ReadyCandidate) -> Tuple[str, ...]:
        """Return the passing tests in the first trial of a fresh candidate."""
        facts = self._context.facts
        if facts is None or self.fresh is None:
            return (self.fresh.suite.passing if self.fresh else ())[:MOST_PASSING]
        paths = set(ready.files)
        near = [i for i in facts.items.passing if paths & set(facts.coverage.get(i, ()))]
        files = {goal.split("::")[0] for goal in self.fresh.few}  # these are collected in any case
        near.sort(
            key=lambda i: (
                facts.items.names[i].split("::")[0] not in files,
                facts.baseline.pace(i),
                i,
            )
        )
        known = set(self.fresh.suite.passing)
        names = [facts.items.names[i] for i in near if facts.items.names[i] in known]
        return tuple(dict.fromkeys(names))[:MOST_PASSING]

    def start(self, ready: Sequence[ReadyCandidate], factor: float = 1.0) -> RunningTrials:
        """Start the trials of a chunk of the swap lane, or of one candidate of another lane."""
        if ready[0].lane == SWAP and self.swap is not None:
            return self.swap.start(ready, factor)
        if ready[0].lane == COLD and self.cold is not None:
            return self.cold.trial(ready[0])
        assert self.fresh is not None
        return self.fresh.trial(ready[0], self.passing_near(ready[0]), factor)

    def stretch(self, factor: float) -> None:
        """Extend the time limits of all tests, because some candidates needed longer."""
        facts = self._context.facts
        if facts is not None:
            facts.screen.limits = facts.screen.limits._replace(known={}, stretched=factor)

    def takes(self, lane: str) -> bool:
        """Return True if a lane is in use."""
        return {SWAP: self.swap, FRESH: self.fresh, COLD: self.cold}.get(lane) is not None

    def confirm(self, ready: ReadyCandidate, left: Callable[[], float]) -> Tuple[str, ...]:
        """Return the goals that a candidate reaches in every trusted lane.

        Each lane runs the whole suite in its order.
        """
        unseen = self._context.reach.unseen
        fixed: Tuple[str, ...] = ()
        if ready.lane == SWAP and self.swap is not None:
            fixed = self.swap.confirm(ready.trial.swaps, left)
            if not self._reaches_all(fixed, beside=unseen) or (
                self.fresh is None and not self._cold_is_cheap()
            ):
                return fixed  # a partial fix is not worth a second run
        files = ready.files or self._files(ready.candidate, ready.first) or {}
        lane: Any = self.cold if ready.lane == COLD or self.fresh is None else self.fresh
        again = lane.confirm(files, left) if lane is not None else ()
        if (
            lane is self.fresh
            and not self._reaches_all(again)
            and self._reaches_all(again, beside=unseen)
        ):
            cold = self._cold_lane()  # the missing goals may run in other processes
            again = cold.confirm(files, left) if cold is not None else again
        return tuple(name for name in again if not fixed or name in fixed or name in unseen)

    def _reaches_all(self, fixed: Collection[str], beside: Collection[str] = ()) -> bool:
        """Return True if every goal is reached, except those in `beside`, and at least one is."""
        return bool(fixed) and all(goal in fixed or goal in beside for goal in self._context.goals)
