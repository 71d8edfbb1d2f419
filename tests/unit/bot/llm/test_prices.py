"""What tokens cost, and what nobody knows."""

import pytest

from bot.domain.model import Usage
from bot.errors import SettingsError
from bot.llm.prices import Prices

USED = Usage(input_tokens=1500, output_tokens=200, cache_read_tokens=500)


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("openai-chat:gpt-4o-mini", 0.0003075),
        ("anthropic:claude-sonnet-4-5", 0.00615),
        ("codex-cli:gpt-5.2", 0.0046375),
    ],
)
def test_the_table_knows_the_price_of_known_models(model: str, cost: float) -> None:
    assert Prices().cost(model, USED) == pytest.approx(cost)


def test_what_a_cache_held_costs_less_than_what_was_read_anew() -> None:
    prices = Prices()
    anew = prices.cost("openai-chat:gpt-4o-mini", USED.with_(cache_read_tokens=0))
    assert anew is not None
    assert (prices.cost("openai-chat:gpt-4o-mini", USED) or 0.0) < anew


@pytest.mark.parametrize(
    "model",
    [
        "openai-chat:my-own-model",
        "openai-chat:llama3.1:8b",
        "anthropic:no-such",
        "codex-cli:",
        "pydantic-ai:odd",
        "x",
    ],
)
def test_an_unknown_price_is_unknown_and_not_nothing(model: str) -> None:
    prices = Prices()
    assert prices.cost(model, USED) is None
    assert prices.at_most(model, 1000, 1000) == 0.0


@pytest.mark.parametrize("model", ["mock", "scripted:answers.yml", "replay:cassette.jsonl"])
def test_what_asks_nobody_costs_nothing(model: str) -> None:
    assert Prices().cost(model, USED) == 0.0


def test_a_price_of_the_settings_wins_over_the_table() -> None:
    prices = Prices("openai-chat:gpt-4o-mini=1/2, local=0/0, other=1/2/0.5/3")
    million = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
    assert prices.cost("openai-chat:gpt-4o-mini", million) == pytest.approx(3.0)
    assert prices.cost("anthropic:local", million) == 0.0
    assert prices.cost(
        "anthropic:other", million.with_(cache_read_tokens=1_000_000)
    ) == pytest.approx(2.5)
    assert prices.cost(
        "anthropic:other", million.with_(cache_write_tokens=1_000_000)
    ) == pytest.approx(5.0)


def test_the_most_a_call_may_cost_is_never_less_than_what_it_costs() -> None:
    prices = Prices("m=1/2")
    for cached in ({}, {"cache_read_tokens": 900}, {"cache_write_tokens": 900}):
        cost = prices.cost("anthropic:m", Usage(input_tokens=1000, output_tokens=300, **cached))
        assert (cost or 0.0) <= prices.at_most("anthropic:m", 1000, 300)


@pytest.mark.parametrize(
    "text", ["gpt", "gpt=1", "gpt=1/2/3", "gpt=a/b", "=1/2", "gpt=-1/2", "gpt=nan/1", "gpt=inf/1"]
)
def test_a_price_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match=r"models\.prices"):
        Prices(text)
