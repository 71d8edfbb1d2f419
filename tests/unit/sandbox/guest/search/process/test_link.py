"""Our own processes talk over pipes: large messages both ways at once, late answers, ends that went away."""

import threading

import pytest

from sandbox.guest.search.process.link import PipeLink, connect
from sandbox.guest.search.session_host import CheckoutProxy

LARGE = {"names": "x" * 300_000}
"""More than a pipe holds."""


@pytest.fixture
def ends() -> tuple[PipeLink, PipeLink]:
    return connect()


def test_two_ends_that_both_send_much_wait_for_neither(ends: tuple[PipeLink, PipeLink]) -> None:
    one, other = ends
    heard: list[object] = []

    def talk(end: PipeLink) -> None:
        assert end.send(LARGE)
        heard.append(end.next(10))

    talkers = [threading.Thread(target=talk, args=(end,), daemon=True) for end in ends]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join(20)
    assert heard == [LARGE, LARGE]
    one.close()
    assert other.next(1) is None
    assert other.closed


def test_what_nobody_reads_any_more_is_not_sent(ends: tuple[PipeLink, PipeLink]) -> None:
    one, other = ends
    other.close()
    assert not one.send(LARGE)
    assert one.closed


def test_an_answer_that_comes_late_is_not_taken_for_the_next_one(
    ends: tuple[PipeLink, PipeLink],
) -> None:
    keeper, ours = ends
    tree = CheckoutProxy(ours, "/nowhere", check_s=0.05)
    assert not tree.write({"a.py": b"x"}), "nobody answered in time"
    keeper.send({"written": True})
    keeper.send({"changed": ["late.py"]})
    keeper.send({"changed": ["now.py"]})
    assert tree.restore() == ["now.py"]
    assert [keeper.next(1) for _ in range(3)] == [
        {"write": {"a.py": "eA=="}},
        {"restore": True},
        {"restore": True},
    ]


def test_trials_are_asked_for_when_the_process_they_are_forked_from_is_the_new_one(
    ends: tuple[PipeLink, PipeLink],
) -> None:
    """An order that the former one took with it into its grave would be waited for in vain."""
    keeper, ours = ends
    raised = threading.Event()

    def raise_it() -> None:
        assert set(keeper.next(10) or {}) == {"modules"}
        raised.set()
        keeper.send({"raised": True})

    answering = threading.Thread(target=raise_it, daemon=True)
    answering.start()
    CheckoutProxy(ours, "/nowhere", check_s=10).preload()
    assert raised.is_set()
    answering.join(10)
