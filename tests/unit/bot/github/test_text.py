"""Texts are cut so that GitHub takes them and nothing stays open."""

from hypothesis import given
from hypothesis import strategies as st

from bot.github.text import NOTE, cut, fenced, with_marker

MARKER = "<!-- m -->"


def test_a_text_that_fits_is_left_alone() -> None:
    assert cut("short", 10) == "short"


def test_an_open_fence_and_an_open_fold_are_closed() -> None:
    text = "<details>\n\n````diff\n" + "+ line\n" * 100
    short = cut(text, 300)
    assert len(short) <= 300
    assert short.endswith("\n````\n\n</details>" + NOTE)


def test_what_stands_in_a_fence_does_not_count_as_open() -> None:
    text = "```\n<details>\n~~~\n```\n" + "line\n" * 100
    short = cut(text, 200)
    assert "</details>" not in short
    assert not short.removesuffix(NOTE).endswith("```")


def test_characters_count_and_not_bytes() -> None:
    assert len(cut("é\n" * 1000, 500)) <= 500


@given(st.text(alphabet="ab`~\n<details>/ é", max_size=600), st.integers(60, 400))
def test_no_text_is_ever_longer_than_the_limit(text: str, limit: int) -> None:
    assert len(cut(text, limit)) <= limit


@given(st.text(max_size=100))
def test_the_marker_is_always_there_once_more_or_less(body: str) -> None:
    assert MARKER in with_marker(body, MARKER)


def test_a_marker_at_the_end_of_a_long_body_survives_the_cut() -> None:
    long = "x\n" * 50_000 + MARKER
    assert MARKER in with_marker(long, MARKER)
    assert len(with_marker(long, MARKER)) <= 65_536
    within = "x\n" * 32_760 + MARKER + "\n" + "y\n" * 5_000
    assert MARKER in with_marker(within, MARKER)
    assert len(with_marker(within, MARKER)) <= 65_536


@given(st.text(alphabet="`a\n", max_size=30))
def test_nothing_in_a_fence_closes_it(text: str) -> None:
    opening, *inside, closing = fenced(text, "suggestion").split("\n")
    assert opening == f"{closing}suggestion"
    assert closing not in "\n".join(inside)
    assert "\n".join(inside) == text.removesuffix("\n")


def test_an_empty_suggestion_takes_the_lines_away() -> None:
    assert fenced("", "suggestion") == "```suggestion\n```"
