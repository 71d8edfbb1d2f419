"""Chunks of trials: each gets its verdict however its child fares, and the number of children is bounded."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import override

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.context.suite_facts import limit_clock
from sandbox.guest.search.execution.screen import Chunk, CpuLimits, Screen, Trial
from sandbox.guest.search.execution.verdicts import DIED, Board, TrialVerdict
from sandbox.guest.search.process.forked import USUAL, Report
from sandbox.guest.search.process.limits import Limiter
from sandbox.guest.search.session.harness import Items
from sandbox.guest.search.session.watch import FixtureWatch
from sandbox.guest.search.source.plain import PlainSource

NOTHING = CandidatePatch("nothing", 0.0, 1.0, 1, PlainSource("a.py", b""), None, ())
LIMITS = CpuLimits({}, 0.5)
TRIAL = Trial(NOTHING, (), [0], ())


def seconds(most: float) -> Callable[[], float]:
    return limit_clock(lambda: 1000.0, most)


class Item:
    """A test as pytest has one, run by its hooks."""

    def __init__(self, test: Callable[[], object]) -> None:
        watch = FixtureWatch()
        plugins = SimpleNamespace(get_plugin=lambda _: watch)
        self.config = SimpleNamespace(pluginmanager=plugins, rootpath="/nowhere")
        self.stash: dict[object, object] = {}
        self.ihook = SimpleNamespace(
            pytest_runtest_setup=lambda item: None,
            pytest_runtest_call=lambda item: test(),
            pytest_runtest_teardown=lambda item, nextitem: None,
        )


def leaves_a_thread() -> None:
    threading.Thread(target=time.sleep, args=(60.0,), daemon=True).start()
    raise AssertionError


def fails() -> None:
    raise AssertionError


class Counted(Screen):
    """Counts the children of its chunks."""

    children = 0

    @override
    def chunk_work(self, *given: Any, **more: Any) -> Callable[[Limiter, Report], None]:
        self.children += 1
        return super().chunk_work(*given, **more)


@pytest.mark.parametrize(("test", "children"), [(fails, 1), (leaves_a_thread, 4)])
def test_what_the_unedited_test_leaves_costs_no_trial_its_verdict(
    test: Callable[[], None], children: int
) -> None:
    items: Any = [Item(test)]
    screen = Counted(Items(items, ["test_a"], [0], []), LIMITS)
    verdicts = Chunk(screen, [TRIAL] * 3, 1.0).results(seconds(20.0))
    assert verdicts == [TrialVerdict("fail")] * 3
    assert screen.children == children, "one that tried nothing, and one for each trial after that"


class Children:
    """A screen whose children do what they are told to: note verdicts for so many trials, and report."""

    bounds = USUAL
    limits = LIMITS
    allowance = 0.0

    def __init__(self, work: Callable[[bool, bool], int]) -> None:
        self._work = work
        self.asked: list[tuple[int, bool, bool]] = []

    def shares(self) -> bool:
        return True

    def chunk_work(
        self,
        _trials: Sequence[Trial],
        _factor: float,
        board: Board,
        numbers: Sequence[int],
        *,
        shared: bool,
        plain: bool = False,
    ) -> Callable[[Limiter, Report], None]:
        self.asked.append((len(numbers), shared, plain))

        def work(_limiter: Limiter, report: Report) -> None:
            for number in list(numbers)[: self._work(shared, plain)]:
                board.begin(number)
                board.store(number, TrialVerdict("fail"))
            report([])

        return work


def outcomes(screen: Any, most_s: float = 20.0) -> list[str]:
    return [verdict.outcome for verdict in Chunk(screen, [TRIAL] * 4, 1.0).results(seconds(most_s))]


def test_after_a_child_that_tried_nothing_nothing_is_shared_or_kept() -> None:
    screen = Children(lambda shared, plain: 1 if plain and not shared else 0)
    assert outcomes(screen) == ["fail"] * 4
    assert screen.asked == [
        (4, True, False),
        (4, False, True),
        (3, False, True),
        (2, False, True),
        (1, False, True),
    ]


def test_children_that_get_somewhere_go_on_sharing() -> None:
    screen = Children(lambda shared, plain: 3 if shared and not plain else 0)
    assert outcomes(screen) == ["fail"] * 4
    assert screen.asked == [(4, True, False), (1, True, False)]


class Hasty(Children):
    """A screen whose children are done before anyone listens to them."""

    @override
    def chunk_work(self, *given: Any, **more: Any) -> Callable[[Limiter, Report], None]:
        no_limiter: Any = None
        super().chunk_work(*given, **more)(no_limiter, lambda _: None)
        return lambda _limiter, report: report([])


def test_verdicts_before_anyone_listens_count_for_their_child() -> None:
    screen = Hasty(lambda shared, plain: 3 if shared and not plain else 0)
    assert outcomes(screen) == ["fail"] * 4
    assert screen.asked == [(4, True, False), (1, True, False)]


def test_children_that_never_try_anything_are_not_started_for_ever() -> None:
    screen = Children(lambda _shared, _plain: 0)
    assert outcomes(screen) == [DIED] * 4
    assert len(screen.asked) == 5


def test_a_part_of_the_time_ends_by_itself_and_with_the_whole() -> None:
    whole: Iterator[float] = iter([9.0, 0.5])
    left = limit_clock(lambda: next(whole), 5.0)
    assert 4.0 < left() <= 5.0
    assert left() == 0.5
    assert limit_clock(lambda: 9.0, 0.0)() <= 0


def test_a_busy_machine_gets_chunks_as_large_as_an_idle_one() -> None:
    """Trials take ten times as long there, but starting a child costs the same processor time."""
    items: Any = [Item(fails)]
    idle, busy = (Screen(Items(items, ["test_a"], [0], []), LIMITS) for _ in range(2))
    idle.note_pace(0.001, 0.001, shared=False)
    busy.note_pace(0.010, 0.001, shared=False)
    assert idle.chunk_size(slowed=1.0) == busy.chunk_size(slowed=10.0) == 80
