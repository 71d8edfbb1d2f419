"""Bound, strip, redact, cap."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.gate import clean
from sandbox.gate.strip import HIDDEN

HOSTILE = st.text(
    alphabet=st.sampled_from("a\x1b[]0;mP\\\x07\x9b\x9d\u202e\u200b\U000e0041\r\n\t\b::##`@é"),
    max_size=300,
)
SLOW = {
    "one long line": "x" * 5_000_000,
    "many lines": "y\n" * 2_000_000,
    "escapes that do not end": "\x1b]" * 1_500_000,
    "device strings that do not end": "\x1bP" * 1_500_000,
    "sequences that do not end": "\x1b[" + "0;" * 2_000_000,
    "heads of tokens": "eyJ" * 1_000_000,
    "heads of keys": "-----BEGIN RSA PRIVATE KEY-----" * 100_000,
    "tails of keys": "AAAA" * 100_000 + "-----END RSA PRIVATE KEY-----" * 10_000,
    "urls": "https://" * 300_000,
    "colons": "a://b:c" * 300_000,
    "gaps": "' + '" * 500_000,
    "authorizations": "authorization: bearer " * 100_000,
    "hyphens": "xoxb-" * 500_000,
}


def test_terminal_escapes_are_taken_out() -> None:
    text = "a\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x9b1mb\x1bPq#0\x1b\\c\x1b(B\x08\x07d"
    assert clean(text) == "aredlink bd"


def test_an_escape_that_does_not_end_takes_no_other_line_with_it() -> None:
    assert clean("a\x1b]0;rest\nnext") == "a\nnext"


def test_returns_become_newlines() -> None:
    assert clean("a\r\nb\rc\r\r\nd\u2028e") == "a\nb\nc\nd\ne"


def test_invisible_characters_are_taken_out_and_letters_stay() -> None:
    assert clean("naïve \u200b\u202e日本語\U000e0041\ufe0f ✓ 🙂\u00ad\u2066") == "naïve 日本語 ✓ 🙂"


@given(HOSTILE)
def test_nothing_hidden_survives_and_cleaning_twice_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    assert not HIDDEN.search(cleaned)
    assert clean(cleaned) == cleaned


@given(st.text(max_size=3000), st.integers(min_value=1, max_value=400))
def test_the_cap_holds(text: str, cap: int) -> None:
    assert len(clean(text, cap=cap)) <= cap


def test_head_and_tail_stay_and_the_cut_is_told() -> None:
    cleaned = clean("first\n" + "middle\n" * 100_000 + "last", cap=2000)
    assert cleaned.startswith("first")
    assert cleaned.endswith("last")
    assert "characters cut" in cleaned


@pytest.mark.parametrize("offset", range(-60, 60, 7))
def test_no_half_of_a_token_stays_at_a_cut(offset: int) -> None:
    token = "ghp_" + "Zq9" * 12
    for position in (1000, 99_000):
        text = ("w " * 50_000)[: position + offset] + token + " w" * 50_000
        cleaned = clean(text, cap=1000)
        assert "Zq9Zq9" not in cleaned


@pytest.mark.slow
@pytest.mark.parametrize("text", SLOW.values(), ids=list(SLOW))
def test_time_is_linear_whatever_the_text(text: str) -> None:
    started = time.process_time()
    text = text[:800_000]
    clean(text, secrets=["a-secret-of-some-length"])
    clean(text, cap=200_000)
    assert time.process_time() - started < 15, "quadratic work would take minutes"


def test_empty_text_stays_empty() -> None:
    assert clean("") == ""
