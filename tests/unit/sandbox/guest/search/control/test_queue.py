"""The order of candidates: best first over all sources, each paying for the time it has had, always the same."""

from collections.abc import Iterator

from sandbox.guest.search.candidates.generator import CandidatePatch, LowerBound
from sandbox.guest.search.candidates.sources import merge_feeds
from sandbox.guest.search.control.queue import CandidateQueue
from sandbox.guest.search.lanes.model import FRESH, SWAP, ReadyCandidate
from sandbox.guest.search.source.plain import PlainSource

SOURCE = PlainSource("a.py", b"")


def candidate(name: str, cost: float) -> CandidatePatch:
    return CandidatePatch(name, cost, 1.0, 1, SOURCE, None, ())


def feed(name: str, *costs: float) -> Iterator[CandidatePatch]:
    return (candidate(f"{name}{number}", cost) for number, cost in enumerate(costs))


def swapped(one: CandidatePatch) -> ReadyCandidate:
    return ReadyCandidate(one, SWAP, {})


def afresh(one: CandidatePatch) -> ReadyCandidate:
    return ReadyCandidate(one, FRESH, {})


def names(queue: CandidateQueue) -> list[str]:
    found = []
    while (ready := queue.next()) is not None:
        found.append(ready.candidate.template)
    return found


def test_the_cheapest_candidate_of_all_sources_goes_first() -> None:
    queue = CandidateQueue([feed("a", 1.0, 1.2), feed("b", 0.2, 1.1)], swapped)
    assert names(queue) == ["b0", "a0", "b1", "a1"]


def test_a_source_whose_trials_are_long_waits_for_its_next_turn() -> None:
    queue = CandidateQueue([], swapped)
    queue.add(feed("slow", *[1.0] * 40), afresh)
    queue.add(feed("quick", *[1.3] * 40), swapped)
    order = names(queue)
    assert order[0] == "slow0"
    assert order.index("quick39") < order.index("slow39")


def test_candidates_that_nobody_takes_are_left_out() -> None:
    queue = CandidateQueue(
        [feed("a", 1.0, 2.0, 3.0)], lambda one: swapped(one) if one.cost != 2.0 else None
    )
    assert names(queue) == ["a0", "a2"]
    assert queue.empty


def test_a_chunk_holds_one_lane_and_nothing_is_lost() -> None:
    queue = CandidateQueue(
        [feed("a", 1.0, 2.0, 3.0, 4.0)],
        lambda one: afresh(one) if one.cost == 3.0 else swapped(one),
    )
    chunks = []
    while chunk := queue.chunk(SWAP, lambda: 10, lambda: True):
        chunks.append([ready.candidate.template for ready in chunk])
    assert chunks == [["a0", "a1"], ["a2"], ["a3"]]


def test_merged_sources_are_asked_only_when_their_turn_comes() -> None:
    asked: list[str] = []

    def counted(name: str, *costs: float) -> Iterator[CandidatePatch]:
        for one in feed(name, *costs):
            asked.append(one.template)
            yield one

    first = next(merge_feeds([counted("a", 1.0, 5.0), counted("b", 2.0, 3.0)]))
    assert first == candidate("a0", 1.0)
    assert asked == ["a0", "b0"]


def test_what_has_to_be_worked_out_waits_until_nothing_better_is_left_and_the_clock_is_looked_at() -> (
    None
):
    worked: list[str] = []

    def dear(name: str, least: float, cost: float) -> Iterator[CandidatePatch | LowerBound]:
        yield LowerBound(least)
        worked.append(name)
        yield candidate(name, cost)

    queue = CandidateQueue(
        [merge_feeds([dear("x", 1.5, 2.5), dear("y", 3.5, 4.0)]), feed("a", 1.0, 2.0, 3.0)], swapped
    )
    first = queue.next()
    assert first is not None
    assert (first.candidate.template, worked) == ("a0", [])
    assert queue.next() is None, "somebody may look at the clock now"
    assert worked == ["x"]
    assert [r.candidate.template for r in queue.chunk(SWAP, lambda: 2, lambda: True)] == [
        "a1",
        "x",
    ]
    assert worked == ["x"], "the other is worse than what is there"
    assert [r.candidate.template for r in queue.chunk(SWAP, lambda: 9, lambda: True)] == [
        "a2",
        "y",
    ]
    assert queue.empty
