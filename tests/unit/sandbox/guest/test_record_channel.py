"""Records that leave the sandbox, and what becomes of forged ones."""

import json
import os
import tempfile
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.guest.hardened import harden_function
from sandbox.guest.record_channel import DETAIL_BYTES, Channel, place
from sandbox.runners.records import RecordsForged, read_records, unpack_names

KEY = b"0123456789abcdef"


def written(*records: object, held: bool = False) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        channel = Channel(os.open(path, os.O_WRONLY | os.O_CREAT), KEY)
        for record in records:
            channel.send([record], held=held)
        channel.send(["last"])
        channel.close()
        assert channel.send(["late"]) is False
        return path.read_bytes()


@given(st.lists(st.text(max_size=20), max_size=8), st.booleans())
def test_what_is_sent_is_read(texts: list[str], held: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
    assert list(read_records(written(*texts, held=held), KEY)) == [
        *([text] for text in texts),
        ["last"],
    ]


@given(st.binary(min_size=1, max_size=40))
def test_any_foreign_line_is_noticed(line: bytes) -> None:
    data = written("a", "b")
    for forged in (line + b"\n" + data, data + line + b"\n"):
        with pytest.raises(RecordsForged):
            list(read_records(forged, KEY))


def test_dropped_moved_repeated_and_changed_lines_are_noticed() -> None:
    first, second, third, _ = written("a", "b").split(b"\n")
    for lines in (
        (second, third),
        (second, first, third),
        (first, first),
        (first, second.replace(b"b", b"c")),
    ):
        with pytest.raises(RecordsForged):
            list(read_records(b"".join(line + b"\n" for line in lines), KEY))


def test_a_last_line_that_was_cut_off_is_left_out() -> None:
    data = written("a")
    assert list(read_records(data[:-5], KEY)) == [["a"]]
    assert list(read_records(b"", KEY)) == []


def test_details_give_way_before_results_do(tmp_path: Path) -> None:
    channel = Channel(os.open(tmp_path / "r", os.O_WRONLY | os.O_CREAT), KEY)
    big = ["x" * 100_000]
    sent = sum(channel.send(big, detail=True) for _ in range(40))
    assert sent * 100_000 <= DETAIL_BYTES
    assert channel.send(["small"])
    channel.close()
    assert (tmp_path / "r").stat().st_size < 4 << 20


@pytest.mark.parametrize("packed", ["", "!!", "AAAA", "eJw=", json.dumps([1])])
def test_names_that_are_no_names_are_none(packed: str) -> None:
    assert unpack_names(packed) == ()


def test_a_record_of_a_foreign_caller_becomes_a_word_about_it(tmp_path: Path) -> None:
    def ours() -> bool:
        return bool(channel.send(["ours"]))

    channel = Channel(
        os.open(tmp_path / "r", os.O_WRONLY | os.O_CREAT),
        KEY,
        {place(ours.__code__, ours.__globals__)},
        harden_function,
    )
    copied: Any = types.FunctionType(ours.__code__, {}, "ours", None, ours.__closure__)
    renamed: Any = types.FunctionType(
        ours.__code__.replace(co_firstlineno=1), globals(), "ours", None, ours.__closure__
    )
    assert ours()
    forgeries: list[Any] = [lambda: channel.send(["test", 0, "ppp", 1]), copied, renamed]
    for forged in forgeries:
        forged()
    channel.close()
    told = ["patched", ["a test wrote records"]]
    assert list(read_records((tmp_path / "r").read_bytes(), KEY)) == [["ours"], told, told, told]


def test_what_a_channel_holds_is_in_no_attribute_and_in_no_cell(tmp_path: Path) -> None:
    channel = Channel(os.open(tmp_path / "r", os.O_WRONLY | os.O_CREAT), KEY, None, harden_function)
    for function in (channel.send, channel.report, channel.close):
        assert function.__closure__ is None
        assert function.__globals__ == {"__builtins__": {}}
    assert not hasattr(channel, "__dict__")
    channel.send(["é\ud800", 1.5, None, True, {"a": [1]}])
    channel.report("traced", "a function")
    channel.close()
    found = list(read_records((tmp_path / "r").read_bytes(), KEY))
    assert found == [["é\ud800", 1.5, None, True, {"a": [1]}], ["traced", ["a function"]]]
