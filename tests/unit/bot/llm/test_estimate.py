"""A guess that errs towards too many tokens, and learns."""

import pytest

from bot.llm.estimate import CHARACTERS_PER_TOKEN, Tokens


def test_at_first_a_text_is_guessed_to_be_rather_long() -> None:
    assert Tokens().of("m", 3300) == 1001
    assert Tokens().of("m", 0) == 1


def test_what_a_model_counted_moves_the_guess_for_that_model() -> None:
    tokens = Tokens()
    for _ in range(50):
        tokens.learn("dense", 10_000, 5_000)
    assert tokens.ratio("dense") == pytest.approx(2.0, abs=0.1)
    assert tokens.ratio("other") == pytest.approx(CHARACTERS_PER_TOKEN)


def test_one_short_answer_moves_it_little() -> None:
    tokens = Tokens()
    tokens.learn("m", 100, 10)
    assert tokens.ratio("m") == pytest.approx(CHARACTERS_PER_TOKEN, abs=0.1)


@pytest.mark.parametrize(("characters", "count"), [(10_000_000, 1), (1_000, 10_000_000)])
def test_a_server_that_counts_nonsense_moves_it_within_bounds(characters: int, count: int) -> None:
    tokens = Tokens()
    tokens.learn("m", characters, count)
    assert 1.5 <= tokens.ratio("m") <= 6.0


def test_nothing_is_learned_where_nothing_was_counted() -> None:
    tokens = Tokens()
    tokens.learn("m", 1000, 0)
    assert tokens.ratio("m") == pytest.approx(CHARACTERS_PER_TOKEN)
