"""What is done again and again goes on, whatever happens to one turn."""

import threading

import pytest

from bot.queue.turns import Turns


def test_a_turn_that_fails_is_told_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    tried = threading.Semaphore(0)

    def beat() -> None:
        tried.release()
        raise ConnectionError("the database is away")

    turns = Turns([beat], 0.01)
    turns.start()
    assert all(tried.acquire(timeout=20) for _ in range(3))
    working = turns.is_working
    turns.stop()
    assert (working, turns.is_working) == (True, False)
    assert [r.getMessage() for r in caplog.records] == [
        "supervision failed (beat): ConnectionError"
    ]
