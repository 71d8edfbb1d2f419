"""YAML as strings only: nothing is guessed, nothing refers to anything else, and a hand's mistakes are mended."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.llm.protocol.strings import NODE_CAP, TEXT_CAP, StringsError, documents, parse_json, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("id: 001", {"id": "001"}),
        (
            "a: no\nb: 2026-01-02\nc: 0x1f\nd: 1e3",
            {"a": "no", "b": "2026-01-02", "c": "0x1f", "d": "1e3"},
        ),
        (
            "a:\nb: ~\nc: null\nd: ''\ne: 'null'",
            {"a": None, "b": None, "c": None, "d": "", "e": "null"},
        ),
        ("- a\n- [b, {c: d}]", ["a", ["b", {"c": "d"}]]),
        ("a: |\n  x: y: z\n  *b\n", {"a": "x: y: z\n*b\n"}),
        ("a: 1\na: 2", {"a": "2"}),
        (
            '{"a": 1.50, "b": true, "c": null, "d": [1e9]}',
            {"a": "1.50", "b": "true", "c": None, "d": ["1e9"]},
        ),
    ],
)
def test_every_scalar_stays_what_was_written(text: str, value: object) -> None:
    assert read(text) == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: b: c\nd: e", {"a": "b: c", "d": "e"}),
        ("a: it's: so", {"a": "it's: so"}),
        ('a: "x" is wrong', {"a": '"x" is wrong'}),
        ("a: [x] is wrong", {"a": "[x] is wrong"}),
        ("a: {x} is wrong", {"a": "{x} is wrong"}),
        ("a: *args and **kwargs", {"a": "*args and **kwargs"}),
        ("a: @cache", {"a": "@cache"}),
        ("a: `x` is y", {"a": "`x` is y"}),
        ("a: %s", {"a": "%s"}),
        ("- a: b: c\n- d", [{"a": "b: c"}, "d"]),
        ("a: b\n\nThat is all.\nBye", {"a": "b"}),
    ],
)
def test_what_a_hand_writes_wrongly_is_read_as_it_was_meant(text: str, value: object) -> None:
    assert read(text) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x",
        "a: !!python/name:os.system x",
        "? [a]\n: b",
        "a: " + "[" * 100,
        "- " * 100 + "a",
        "a: " + "x" * TEXT_CAP,
        "- a\n" * (NODE_CAP + 1),
        "{" * 5_000,
        'a: "never closed',
    ],
)
def test_what_may_harm_or_is_unfinished_is_refused(text: str) -> None:
    with pytest.raises(StringsError):
        documents(text)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{", "nothing", '{"a": ' * 50 + "1" + "}" * 50, '["\\ud800']
)
def test_json_beyond_the_caps_is_refused(text: str) -> None:
    with pytest.raises(StringsError):
        parse_json(text)


@settings(max_examples=60)
@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(StringsError):
        assert isinstance(read(text), list)
