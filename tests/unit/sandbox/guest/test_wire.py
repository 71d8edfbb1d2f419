"""Messages between host and guest: lines, payloads in between, and what is kept of a stream."""

import os
from collections.abc import Iterator

import pytest

from sandbox.guest import wire


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def test_messages_arrive_one_by_one(pipe: tuple[int, int]) -> None:
    os.write(
        pipe[1], wire.encode({"op": "ping", "id": 1}) + wire.encode({"op": "snap", "id": 2})[:5]
    )
    inbox = wire.MessageReader(pipe[0])
    assert inbox.next() == {"op": "ping", "id": 1}
    assert inbox.line() is None
    os.write(pipe[1], wire.encode({"op": "snap", "id": 2})[5:])
    assert inbox.next() == {"op": "snap", "id": 2}


def test_a_payload_between_messages_is_taken_raw(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], wire.encode({"op": "run"}) + b'{"op":"kill"}\n' + wire.encode({"op": "ping"}))
    inbox = wire.MessageReader(pipe[0])
    assert inbox.next() == {"op": "run"}
    assert inbox.take(5) == b'{"op"'
    inbox.discard(9)
    assert inbox.next() == {"op": "ping"}


def test_the_end_of_the_stream_is_noticed(pipe: tuple[int, int]) -> None:
    os.close(pipe[1])
    with pytest.raises(wire.Closed):
        wire.MessageReader(pipe[0]).next()


def test_a_message_that_is_no_object_is_empty(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"[1, 2]\n")
    assert wire.MessageReader(pipe[0]).next() == {}


def test_the_outbox_writes_in_full(pipe: tuple[int, int]) -> None:
    wire.MessageWriter(pipe[1]).send({"text": "ünï"})
    assert os.read(pipe[0], 100) == b'{"text":"\\u00fcn\\u00ef"}\n'


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 500, 5000])
@pytest.mark.parametrize("piece", [1, 7, 64])
def test_head_and_tail_are_kept(size: int, piece: int) -> None:
    data = bytes(n % 251 for n in range(size))
    kept = wire.HeadAndTail(10)
    for start in range(0, size, piece):
        kept.add(data[start : start + piece])
    message = kept.message()
    head, tail = wire.unpack(message["head"]), wire.unpack(message["tail"])
    assert message["n"] == size
    assert head == data[:5]
    assert tail == data[5:][-5:]


@pytest.mark.parametrize("text", ["no base64!", "a", "ü"])
def test_broken_packing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        wire.unpack(text)


@pytest.mark.parametrize("value", ["text", [1], None, {"a": "b"}])
def test_only_a_list_of_strings_is_one(value: object) -> None:
    with pytest.raises(ValueError, match="list of strings"):
        wire.strings(value)
    assert wire.strings(["a"]) == ["a"]
