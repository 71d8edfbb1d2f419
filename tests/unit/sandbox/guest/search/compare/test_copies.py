"""Copies: deep where that works, shared where it does not."""

import threading

import pytest

from sandbox.guest.search.compare.copies import copied_arguments, own_copy


class Client:
    """Holds something that cannot be copied."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.sent = [1]


def test_what_can_be_copied_is() -> None:
    value = {"a": [1, {2}]}
    twin = own_copy(value)
    twin["a"].append(3)
    assert value == {"a": [1, {2}]}


def test_an_object_with_a_lock_is_copied_around_the_lock() -> None:
    client = Client()
    (twin,), named = copied_arguments((client,), {"x": [client]})
    twin.sent.append(2)
    assert client.sent == [1]
    assert twin.lock is client.lock
    assert named["x"][0].sent == [1]


def test_what_cannot_be_copied_at_all_says_so() -> None:
    with pytest.raises(TypeError):
        own_copy(threading.Lock())
