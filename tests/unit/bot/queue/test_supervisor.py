"""Who is dead, who judges, and when nobody may."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from bot.queue.supervisor import Supervisor


class Executors:
    """A table of beats, and what the rows say everybody works on."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.living = {"we", "other"}
        self.work = {"we": ["m-1"], "other": ["m-2"], "dead": ["m-3", "m-4"]}
        self.somebody_judges = False
        self.taken: list[str] = []

    def monotonic(self) -> float:
        return self.now

    def beat(self) -> None:
        """It is written in `living`."""

    def alive(self, executors: Sequence[str], ttl_s: float) -> frozenset[str]:
        return frozenset(self.living & set(executors))

    @contextmanager
    def alone(self, what: str, *, wait: bool = True) -> Iterator[bool]:
        yield not self.somebody_judges

    def running(self) -> dict[str, list[str]]:
        return self.work

    def recover(self, executor: str) -> None:
        self.taken.append(executor)
        del self.work[executor]


@pytest.fixture
def table() -> Executors:
    return Executors()


@pytest.fixture
def supervisor(table: Executors) -> Supervisor:
    return Supervisor(table, table, ttl_s=30, monotonic=table.monotonic)


def test_only_the_work_of_the_dead_is_taken_back(supervisor: Supervisor, table: Executors) -> None:
    assert supervisor.judge() == ("dead",)
    assert supervisor.judge() == ()
    assert table.taken == ["dead"]


def test_where_nobody_works_nobody_is_judged(supervisor: Supervisor, table: Executors) -> None:
    table.work = {}
    assert supervisor.judge() == ()


def test_one_judges_at_a_time(supervisor: Supervisor, table: Executors) -> None:
    table.somebody_judges = True
    assert supervisor.judge() == ()
    table.somebody_judges = False
    assert supervisor.judge() == ("dead",)


def test_after_an_outage_everybody_has_one_life_time_to_say_something(
    supervisor: Supervisor, table: Executors
) -> None:
    table.living = set()
    table.now += 20
    assert supervisor.judge() == (), "our own beat is old: who knows whose is not"
    supervisor.beat()
    assert supervisor.judge() == ()
    for _ in range(5):
        table.now += 5
        supervisor.beat()
        assert supervisor.judge() == ()
    table.living = {"we", "other"}
    table.now += 5
    supervisor.beat()
    assert supervisor.judge() == ("dead",)


def test_a_short_hiccup_is_no_outage(supervisor: Supervisor, table: Executors) -> None:
    table.now += 14
    supervisor.beat()
    assert supervisor.judge() == ("dead",)
