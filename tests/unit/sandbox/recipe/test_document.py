"""YAML within bounds."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.recipe.document import mapping, read_document, sequence, text


def test_words_are_read_as_github_reads_them() -> None:
    document, problem = read_document(
        b"on: push\nx: [yes, 3.10, 010, 1e3, 22:30, ~, 2024-01-01, true, '3', -1.5, off, 0x1f, null, ., 1_000]\n1: one\n"
    )
    assert not problem
    assert document["on"] == "push"
    assert document["1"] == "one"
    expected = [
        "yes",
        3.1,
        10,
        1000.0,
        "22:30",
        None,
        "2024-01-01",
        True,
        "3",
        -1.5,
        "off",
        31,
        None,
        ".",
        "1_000",
    ]
    assert document["x"] == expected


def test_merge_keys_and_aliases_are_followed() -> None:
    document, _ = read_document(b"a: &a {k: 1, l: 2}\nb: {<<: *a, k: 3}\nc: *a\n")
    assert (document["b"], document["c"]) == ({"k": 3, "l": 2}, {"k": 1, "l": 2})


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{n}: &{n} [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]\n"
    for p, n in zip("abcdefghi", "bcdefghij", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{n}: &{n} {{<<: [*{p},*{p},*{p},*{p},*{p},*{p},*{p},*{p}]}}\n"
    for p, n in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE = {
    "not yaml": b"jobs: [unclosed",
    "a list": b"[1, 2]",
    "a scalar": b"x",
    "nothing": b"",
    "aliases that grow": BOMB.encode(),
    "merges that grow": MERGES.encode(),
    "itself": b"a: &a {jobs: *a}",
    "an unknown alias": b"a: *b",
    "deep": b"[" * 20_000,
    "deep blocks": "".join(" " * i + "a:\n" for i in range(300)).encode(),
    "long": b"x: " + b"y" * 300_000,
    "many": b"[" + b"1," * 100_000 + b"]",
    "not utf-8": b"\xff\xfe\x00",
    "a python object": b"!!python/object/apply:os.system ['touch /tmp/attack-marker']",
    "an unhashable key": b"? [1, 2]\n: x",
    "a date that is none": b"a: !!timestamp 2024-99-99",
    "binary that is none": b"a: !!binary 'x'",
    "a number without end": b"a: !!int " + b"9" * 10_000,
    "several documents": b"a: 1\n---\nb: 2\n",
    "a null byte": b"a: \0",
    "an unknown tag": b"a: !secret x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_told_and_never_raises(name: str) -> None:
    started = time.process_time()
    document, problem = read_document(HOSTILE[name])
    assert document == {}
    assert problem.startswith(("it ", "a part of it"))
    assert time.process_time() - started < 20


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:-[]{}&*<>!|'\"#?%@` \n\t,0.~", max_size=120))
def test_no_text_makes_the_reader_fail(written: str) -> None:
    document, _ = read_document(written.encode())
    assert all(isinstance(key, str) for key in document)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=80))
def test_no_bytes_make_the_reader_fail(raw: bytes) -> None:
    read_document(raw)


def test_other_shapes_than_expected_are_empty() -> None:
    assert (mapping([1]), sequence({1: 2}), text([1]), text({}), text(None)) == ({}, [], "", "", "")
    assert (text(value=True), text(3.0), text(3.1), text("x"), text(7)) == (
        "true",
        "3",
        "3.1",
        "x",
        "7",
    )
    assert mapping({1: "a", None: "b"}) == {"1": "a", "": "b"}
