"""What is tried and in which order, near misses that wait to be confirmed, and how it is told that time was up."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import pytest
from typing_extensions import override

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context.budget import LimitReached, SearchBudget
from sandbox.guest.search.context.suite_facts import SearchJob
from sandbox.guest.search.control.queue import CandidateQueue
from sandbox.guest.search.control.scheduler import LOOKED, STEP, TrialScheduler
from sandbox.guest.search.lanes.model import COLD, FRESH, SWAP, ReadyCandidate, TrialOutcome
from sandbox.guest.search.source.plain import PlainSource

SOURCE = PlainSource("a.py", b"")
GOALS = ("test_a", "test_b", "test_c")
FAILED = TrialOutcome("fail")


def asked(**more: Any) -> SearchJob:
    return SearchJob.read({"failing": GOALS, "root": ".", **more})


def candidate(number: int) -> CandidatePatch:
    return CandidatePatch(str(number), 1.0, 1.0, 1, SOURCE, None, ())


class Told:
    """Survivors and near misses as they are told."""

    def __init__(self, budget: SearchBudget) -> None:
        self.found: list[str] = []
        self.near: list[tuple[str, tuple[str, ...]]] = []
        self._budget = budget

    def add(self, ready: ReadyCandidate) -> None:
        self.found.append(ready.candidate.template)
        self._budget.survivors += 1

    def add_near_miss(self, ready: ReadyCandidate, fixed: Sequence[str]) -> None:
        self.near.append((ready.candidate.template, tuple(fixed)))


class Works:
    """Trials whose outcomes are known beforehand."""

    def __init__(
        self, ready: Sequence[ReadyCandidate], outcomes: dict[str, TrialOutcome], ended: list[str]
    ) -> None:
        self.ready = list(ready)
        self._outcomes = outcomes
        self._ended = ended

    def outcomes(self, _left: Callable[[], float]) -> list[TrialOutcome]:
        return [self._outcomes.get(r.candidate.template, FAILED) for r in self.ready]

    def end(self) -> None:
        self._ended += [r.candidate.template for r in self.ready]


class Scripted:
    """Lanes that run nothing; chunks are as large as they are told to be."""

    def __init__(
        self,
        outcomes: dict[str, TrialOutcome],
        sizes: Iterator[int],
        held: frozenset[str] = frozenset(),
    ) -> None:
        self.swap = self
        self.tried: list[str] = []
        self.confirmed: list[str] = []
        self.ended: list[str] = []
        self._outcomes = outcomes
        self._sizes = sizes
        self._held = held

    def chunk_size(self) -> int:
        return next(self._sizes)

    def takes(self, lane: str) -> bool:
        return lane in (SWAP, FRESH)

    def start(self, ready: Sequence[ReadyCandidate]) -> Works:
        self.tried += [r.candidate.template for r in ready]
        return Works(ready, self._outcomes, self.ended)

    def confirm(self, ready: ReadyCandidate, _left: Callable[[], float]) -> tuple[str, ...]:
        self.confirmed.append(ready.candidate.template)
        outcome = self._outcomes[ready.candidate.template]
        return () if ready.candidate.template in self._held else outcome.fixed


def sizes(*some: int) -> Iterator[int]:
    while True:
        yield from some


def search(
    outcomes: dict[str, TrialOutcome],
    chunks: Iterator[int],
    *,
    most: int = 900,
    grows: bool = False,
    lane: str = SWAP,
    tests: int = 3,
    held: frozenset[str] = frozenset(),
    time_limit_s: float = 60.0,
    late: bool = False,
    max_candidates: int = 100_000,
) -> tuple[Scripted, Told, str]:
    request = asked(time_limit_s=time_limit_s, max_candidates=max_candidates, workers=2)
    budget = SearchBudget(
        request, lambda _: None, time.monotonic() - (2 * time_limit_s if late else 0.0)
    )
    lanes, told = Scripted(outcomes, chunks, held), Told(budget)
    unbound: Any = lanes
    screening = TrialScheduler(unbound, GOALS, budget, told, tests=tests)  # type: ignore[arg-type]
    queue = CandidateQueue([map(candidate, range(most))], lambda one: ReadyCandidate(one, lane, {}))
    grown: set[str] = set()

    def between() -> None:
        for partial in screening.partials if grows else ():
            name = partial.ready.candidate.template
            if name not in grown:
                grown.add(name)
                first = 1000 * (1 + int(name))
                cheap = (candidate(first + n)._replace(cost=0.5) for n in range(30))
                queue.add(cheap, lambda one: ReadyCandidate(one, lane, {}))

    try:
        screening.run(queue, between)
    except LimitReached as ended:
        return lanes, told, str(ended)
    return lanes, told, "exhausted"


NEAR = {str(n): TrialOutcome("near", GOALS[: 1 + n % 2]) for n in range(10, 700, 60)}


@pytest.mark.parametrize("chunks", [(1,), (7, 30, 2), (64,), (1000,)])
def test_the_same_is_tried_in_the_same_order_however_fast_the_machine_is(
    chunks: tuple[int, ...],
) -> None:
    """The pace decides how many candidates run together; what near misses add must not depend on it."""
    usual, told, _ = search(NEAR, sizes(20), grows=True)
    lanes, also, _ = search(NEAR, sizes(*chunks), grows=True)
    assert lanes.tried == usual.tried
    assert lanes.confirmed == usual.confirmed
    assert also.near == told.near
    assert len(usual.tried) > 1000, "near misses added candidates"
    assert usual.tried != sorted(usual.tried, key=int), "before others had their turn"


def test_near_misses_that_mend_most_are_confirmed_first_and_then_the_earlier() -> None:
    near = {
        "3": TrialOutcome("near", GOALS[:1]),
        "5": TrialOutcome("near", GOALS[:2]),
        "9": TrialOutcome("near", GOALS[:2]),
    }
    lanes, told, _ = search(near, sizes(20), most=50)
    assert lanes.confirmed == ["5", "9", "3"]
    assert [name for name, _ in told.near] == ["5", "9", "3"]


def test_a_near_miss_that_breaks_something_is_told_to_nobody() -> None:
    near = {"3": TrialOutcome("near", GOALS[:1]), "5": TrialOutcome("near", GOALS[:2])}
    lanes, told, _ = search(near, sizes(20), most=50, held=frozenset({"5"}))
    assert lanes.confirmed == ["5", "3"]
    assert told.near == [("3", GOALS[:1])]


def test_a_survivor_is_confirmed_at_once_and_near_misses_are_not_asked_then() -> None:
    outcomes = {**NEAR, "30": TrialOutcome("pass", GOALS)}
    lanes, told, _ = search(outcomes, sizes(20))
    assert told.found == ["30"]
    assert lanes.confirmed == ["30"]


def test_a_candidate_whose_confirmation_fails_is_tried_once_more_later() -> None:
    budget = SearchBudget(asked(workers=1), lambda _: None, time.monotonic())
    lanes = Scripted({"5": TrialOutcome("pass", GOALS)}, sizes(20), frozenset({"5"}))
    told, unbound = Told(budget), cast(Any, lanes)
    scheduler = TrialScheduler(unbound, GOALS, budget, told, tests=3)  # type: ignore[arg-type]
    ready = ReadyCandidate(candidate(5), SWAP, {})
    scheduler.judge(ready, TrialOutcome("pass", GOALS))
    assert (told.found, scheduler.requeued) == ([], [ready])


def test_an_unconfirmed_candidate_brings_the_pause_forward_when_another_survives() -> None:
    """The search soon ends then, and on a busy machine the better fix may be the unconfirmed one."""
    outcomes = {"5": TrialOutcome("pass", GOALS), "30": TrialOutcome("pass", GOALS)}
    budget = SearchBudget(asked(workers=1), lambda _: None, time.monotonic())
    lanes = Scripted(outcomes, sizes(1), frozenset({"5"}))
    told, unbound = Told(budget), cast(Any, lanes)
    scheduler = TrialScheduler(unbound, GOALS, budget, told, tests=3)  # type: ignore[arg-type]
    queue = CandidateQueue([map(candidate, range(60))], lambda one: ReadyCandidate(one, SWAP, {}))
    tried_at_pauses: list[int] = []
    scheduler.run(queue, lambda: tried_at_pauses.append(len(lanes.tried)))
    assert told.found == ["30"]
    assert tried_at_pauses == [31]


def test_only_the_first_such_survivor_brings_the_pause_forward() -> None:
    """The search retries once, and a pause waits for all running trials."""
    outcomes = {name: TrialOutcome("pass", GOALS) for name in ("5", "30", "40", "50")}
    budget = SearchBudget(asked(workers=1), lambda _: None, time.monotonic())
    lanes = Scripted(outcomes, sizes(1), frozenset({"5"}))
    told, unbound = Told(budget), cast(Any, lanes)
    scheduler = TrialScheduler(unbound, GOALS, budget, told, tests=3)  # type: ignore[arg-type]
    queue = CandidateQueue([map(candidate, range(60))], lambda one: ReadyCandidate(one, SWAP, {}))
    tried_at_pauses: list[int] = []
    scheduler.run(queue, lambda: tried_at_pauses.append(len(lanes.tried)))
    assert told.found == ["30", "40", "50"]
    assert tried_at_pauses == [31]


def test_large_suites_are_run_for_few_near_misses_while_there_is_something_to_try() -> None:
    near = {str(n): TrialOutcome("near", GOALS[:1]) for n in range(0, 2 * STEP, 10)}
    lanes, _, _ = search(near, sizes(20), most=2 * STEP + 10, tests=5 * LOOKED, time_limit_s=600.0)
    few, _, _ = search(near, sizes(20), most=2 * STEP + 10, tests=1)
    assert len(lanes.confirmed) == len(few.confirmed) == len(near), (
        "what waits at the end is confirmed then"
    )
    assert most_before_the_end(tests=5 * LOOKED) == 1
    assert most_before_the_end(tests=1) > 10


def most_before_the_end(tests: int) -> int:
    """How many near misses are confirmed at the first pause."""
    near = {str(n): TrialOutcome("near", GOALS[:1]) for n in range(0, STEP, 10)}
    budget = SearchBudget(asked(workers=1), lambda _: None, time.monotonic())
    lanes = Scripted(near, sizes(20))
    counts: list[int] = []
    unbound: Any = lanes
    screening = TrialScheduler(unbound, GOALS, budget, Told(budget), tests=tests)  # type: ignore[arg-type]
    queue = CandidateQueue(
        [map(candidate, range(STEP + 10))], lambda one: ReadyCandidate(one, SWAP, {})
    )
    screening.run(queue, lambda: counts.append(len(lanes.confirmed)))
    return counts[0]


def test_trials_that_take_long_bring_the_next_look_nearer() -> None:
    near = {"3": TrialOutcome("near", GOALS[:1])}
    lanes, _, _ = search(near, sizes(20), most=100, grows=True, lane=FRESH)
    assert lanes.tried.index("4000") < 30


def test_the_last_candidates_are_looked_at_before_their_number_ends_the_search() -> None:
    near = {"3": TrialOutcome("near", GOALS[:1]), "39": TrialOutcome("near", GOALS[:2])}
    lanes, told, how = search(near, sizes(16), max_candidates=40)
    assert (how, len(lanes.tried)) == ("candidates", 40)
    assert [name for name, _ in told.near] == ["39", "3"]


def test_an_agenda_that_nobody_had_time_for_is_not_exhausted() -> None:
    lanes, _, how = search({}, sizes(20), late=True)
    assert lanes.tried == []
    assert how == "time"


def test_an_empty_agenda_is_exhausted() -> None:
    assert search({}, sizes(20), most=0)[2] == "exhausted"


def test_why_nothing_was_tried_is_told() -> None:
    request = asked()
    assert (
        "the set-up used up"
        in SearchBudget(request, lambda _: None, time.monotonic() - 100).untried_reason()
    )
    budget = SearchBudget(request, lambda _: None, time.monotonic())
    assert "nothing to try" in budget.untried_reason()
    budget.count(candidate(1))
    assert budget.untried_reason() == ""


def test_trials_and_their_time_are_counted_by_source_and_template() -> None:
    began = time.monotonic() - 100
    budget = SearchBudget(asked(), lambda _: None, began)
    first = candidate(1)._replace(origin="functions", summary="the first edit")
    for tried in (first, first, candidate(2)._replace(origin="guided").after(first)):
        budget.count(tried)
    budget.charge()
    budget.charge()
    spending = {(s["origin"], s["template"]): s for s in budget.report_spending()}
    assert {key: spent["tried"] for key, spent in spending.items()} == {
        ("functions", "1"): 2,
        ("second_edit", "2"): 1,
    }
    seconds = [spent["seconds"] for spent in spending.values()]
    assert seconds[0] == pytest.approx(2 * seconds[1])
    assert 100 <= sum(seconds) <= time.monotonic() - began


def test_who_gets_no_process_for_the_next_trials_ends_those_under_way_first() -> None:
    class Taken(Scripted):
        """Trials under way hold every process until they are waited for."""

        under_way = 0

        @override
        def start(self, ready: Sequence[ReadyCandidate]) -> Works:
            if self.under_way:
                raise BlockingIOError
            self.under_way += 1
            outer = self

            class Holding(Works):
                @override
                def outcomes(self, left: Callable[[], float]) -> list[TrialOutcome]:
                    outer.under_way -= 1
                    return super().outcomes(left)

            self.tried += [r.candidate.template for r in ready]
            return Holding(ready, self._outcomes, self.ended)

    budget = SearchBudget(asked(workers=2), lambda _: None, time.monotonic())
    lanes: Any = Taken({}, sizes(5))
    told: Any = Told(budget)
    queue = CandidateQueue([map(candidate, range(20))], lambda one: ReadyCandidate(one, SWAP, {}))
    TrialScheduler(lanes, GOALS, budget, told, tests=3).run(queue)
    assert lanes.tried == [str(number) for number in range(20)]
    assert budget.tried == 20


class Checkout:
    """Counts what runs while it is put back, and tells what was changed since the last time."""

    def __init__(self, lanes: "Beside") -> None:
        self._lanes = lanes
        self.changed: list[str] = []
        self.beside: list[int] = []

    def restore(self) -> list[str]:
        changed, self.changed = self.changed, []
        self.beside.append(len(self._lanes.under_way))
        return changed


class Beside:
    """Lanes that note what is under way when files are edited on disk."""

    def __init__(
        self, outcomes: dict[str, TrialOutcome], lane: Callable[[int], str], writes: frozenset[str]
    ) -> None:
        self.swap = self.fresh = self
        self.under_way: set[str] = set()
        self.most = 0
        self.beside: list[set[str]] = []
        self.confirmed: list[str] = []
        self.tree = Checkout(self)
        self.unedited: list[str] = []
        self._outcomes = outcomes
        self._lane = lane
        self._writes = writes

    def chunk_size(self) -> int:
        return 1

    def takes(self, _lane: str) -> bool:
        return True

    def ready(self, one: CandidatePatch) -> ReadyCandidate:
        return ReadyCandidate(one, self._lane(int(one.template)), {})

    def start(self, ready: Sequence[ReadyCandidate]) -> Works:
        name, lanes = ready[0].candidate.template, self

        class Noted(Works):
            """Under way until somebody asks; in the cold lane from then on."""

            @override
            def outcomes(self, left: Callable[[], float]) -> list[TrialOutcome]:
                if self.ready[0].lane == COLD:
                    lanes.beside.append(set(lanes.under_way))
                lanes.under_way.discard(name)
                lanes.tree.changed += [f"{name}.txt"] if name in lanes._writes else []
                return super().outcomes(left)

        if ready[0].lane != COLD:
            self.under_way.add(name)
            self.most = max(self.most, len(self.under_way))
        return Noted(ready, self._outcomes, [])

    def confirm(self, ready: Any, _left: Callable[[], float]) -> tuple[str, ...]:
        self.beside.append(set(self.under_way))
        if not ready:
            self.tree.changed += self.unedited
            return ()
        name = ready.candidate.template
        self.confirmed.append(name)
        self.tree.changed += [f"{name}.txt"] if name in self._writes else []
        return GOALS


PASSING = {str(number): TrialOutcome("pass", GOALS) for number in (2, 3, 6)}


def alone(
    lane: Callable[[int], str],
    *,
    guarded: bool,
    writes: frozenset[str] = frozenset(),
    unedited: Sequence[str] = (),
) -> tuple[Beside, Told, SearchBudget]:
    budget = SearchBudget(asked(workers=2), lambda _: None, time.monotonic())
    lanes, told = Beside(PASSING, lane, writes), Told(budget)
    lanes.unedited += unedited
    unbound: Any = lanes
    where = None if guarded else lanes.tree
    screening = TrialScheduler(unbound, GOALS, budget, told, tests=3, tree=where)  # type: ignore[arg-type]
    screening.run(CandidateQueue([map(candidate, range(12))], lanes.ready))
    return lanes, told, budget


@pytest.mark.parametrize("guarded", [True, False])
@pytest.mark.parametrize(
    "lane", [lambda _: FRESH, lambda n: COLD if n % 3 == 0 else FRESH, lambda _: COLD]
)
def test_nothing_runs_while_files_are_edited_or_put_back(
    lane: Callable[[int], str], *, guarded: bool
) -> None:
    lanes, told, budget = alone(lane, guarded=guarded)
    assert [ran for ran in lanes.beside if ran] == []
    assert [count for count in lanes.tree.beside if count] == []
    assert (told.found, lanes.confirmed, budget.tried) == (["2", "3", "6"], ["2", "3", "6"], 12)
    assert lanes.most <= (2 if guarded else 1)


@pytest.mark.skipif(os.cpu_count() == 1, reason="one processor")
def test_where_the_checkout_is_safe_two_run_at_a_time() -> None:
    assert alone(lambda _: FRESH, guarded=True)[0].most == 2


def test_who_changes_other_files_than_the_unedited_tests_is_refused() -> None:
    lanes, told, budget = alone(lambda _: FRESH, guarded=False, writes=frozenset("3"))
    assert told.found == ["2", "6"]
    assert budget.notes == []
    assert lanes.confirmed == ["2", "6"], "a trial that writes has failed"


def test_what_the_unedited_tests_change_when_they_run_again_is_told_and_nobodys_fault() -> None:
    _, told, budget = alone(
        lambda _: FRESH, guarded=False, writes=frozenset("36"), unedited=["3.txt"]
    )
    assert told.found == ["2", "3"]
    assert "3.txt" in budget.notes[0]


def test_what_was_changed_before_is_not_the_fault_of_the_first_candidate() -> None:
    budget = SearchBudget(asked(workers=2), lambda _: None, time.monotonic())
    lanes: Any = Beside({"0": TrialOutcome("pass", GOALS)}, lambda _: FRESH, frozenset())
    told: Any = Told(budget)
    lanes.tree.changed.append("left by an earlier trial")
    TrialScheduler(lanes, GOALS, budget, told, tests=3, tree=lanes.tree).run(
        CandidateQueue([map(candidate, range(2))], lanes.ready)
    )
    assert told.found == ["0"]
