"""What a process claimed and does not work on is lost, but not the moment it is seen so."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.queue.lost import LOOKS, LOSSES, MOST_LOOKS, LostWork


@dataclass
class Row:
    """As the engine has it."""

    workflow_id: str
    name: str = "mission"
    queue_name: str = "missions"
    dequeued_at: int = 1


class Claims:
    """Rows of one process, and what became of them."""

    def __init__(self, *rows: Row) -> None:
        self.rows = list(rows)
        self.back: list[tuple[str, str]] = []
        self.given_up: list[tuple[str, int]] = []

    def running(self, executor: str) -> Sequence[Row]:
        assert executor == "we"
        return self.rows

    def requeue(self, names: Sequence[str], queue: str, executor: str) -> None:
        assert executor == "we"
        self.back += [(name, queue) for name in names]

    def give_up(self, mission_id: str, times: int, why: str) -> None:
        assert why
        self.given_up.append((mission_id, times))


def test_what_is_idle_at_one_look_after_the_other_is_put_back_and_what_is_worked_on_is_not() -> (
    None
):
    claims = Claims(Row("lost", queue_name="asked"), Row("worked on"))
    lost = LostWork(claims, "we", lambda: {"worked on"})
    assert [lost.find_lost() for _ in range(LOOKS)] == [()] * LOOKS
    assert lost.find_lost() == ("lost",)
    assert claims.back == [("lost", "asked")]


def test_the_moment_before_work_begins_and_the_one_after_it_ended_lose_nothing() -> None:
    claims = Claims(Row("m-1"))
    here: set[str] = set()
    lost = LostWork(claims, "we", lambda: here)
    for turn in range(5 * LOOKS):
        here.symmetric_difference_update({"m-1"} if turn % 2 else ())
        assert lost.find_lost() == ()
    here.clear()
    for number in range(5 * LOOKS):
        claims.rows = [Row("m-1", dequeued_at=number)]
        assert lost.find_lost() == (), "it was claimed anew between two looks"


def test_who_is_lost_again_waits_longer_and_is_given_up_in_the_end() -> None:
    claims = Claims(Row("m-1"), Row("notice:1", name="notice"))
    lost = LostWork(claims, "we", frozenset)
    looks = 0
    while not claims.given_up:
        looks += 1
        lost.find_lost()
    assert claims.given_up == [("m-1", LOSSES + 1)]
    assert [name for name, _ in claims.back].count("m-1") == LOSSES
    assert 6 * MOST_LOOKS < looks < LOSSES * MOST_LOOKS
    lost.find_lost()
    assert claims.back[-1][0] == "notice:1", "what nobody waits for is tried as long as it takes"
