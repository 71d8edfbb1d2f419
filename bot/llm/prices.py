"""Prices of tokens: settings first, then the table of the extra `prices`; otherwise unknown."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from bot.domain.model import Usage
from bot.errors import SettingsError
from sandbox.types import Frozen

_MILLION = 1_000_000.0
_CACHED = 1.25
"""Factor on the input price for writing to a cache; Anthropic's factor."""
_PROVIDERS: Mapping[str, str] = MappingProxyType(
    {
        "openai-chat": "openai",
        "openai-responses": "openai",
        "codex-cli": "openai",
        "anthropic": "anthropic",
        "claude-cli": "anthropic",
    }
)
"""Provider whose price table applies. At other OpenAI-compatible addresses, only OpenAI's models
have known prices."""
_FREE = frozenset({"mock", "scripted", "replay"})
"""Kinds of models without cost."""


class Price(Frozen):
    """Price in US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        """Return the cost of a usage."""
        plain = max(0, usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens)
        cost = plain * self.input + usage.output_tokens * self.output
        cost += (
            usage.cache_read_tokens * self.cache_read + usage.cache_write_tokens * self.cache_write
        )
        return cost / _MILLION


class Prices:
    """Prices by model, `openai-chat:gpt-…`, or by the model's own name.

    Args:
        own: Setting `models.prices`.

    Raises:
        SettingsError: The setting is invalid.
    """

    def __init__(self, own: str = "") -> None:
        self._own = dict(_read(own))

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the cost of a call; None if no price is known.

        Args:
            model: Model as configured, without address and key.
            usage: Token usage.
        """
        kind, _, name = model.partition(":")
        if kind in _FREE:
            return 0.0
        own = self._own.get(model) or self._own.get(name)
        return own.of(usage) if own is not None else _from_table(kind, name, usage)

    def at_most(self, model: str, input_tokens: int, output_tokens: int) -> float:
        """Return an upper bound of a call's cost, as if all input were written to a cache.

        Return 0 if no price is known.

        Args:
            model: Model as configured, without address and key.
            input_tokens: Estimated input tokens.
            output_tokens: Maximum number of output tokens.
        """
        plain = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        cached = plain.with_(cache_write_tokens=input_tokens)
        return max(self.cost(model, plain) or 0.0, self.cost(model, cached) or 0.0)


def _read(text: str) -> Iterator[tuple[str, Price]]:
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, figures = entry.rpartition("=")
        try:
            numbers = [float(figure) for figure in figures.split("/")]
        except ValueError:
            numbers = []
        if (
            not name
            or len(numbers) not in {2, 4}
            or not all(0 <= number < _MILLION for number in numbers)
        ):
            advice = (
                "write NAME=INPUT/OUTPUT in US dollars per million tokens, "
                "such as `openai-chat:small=0.25/2`"
            )
            raise SettingsError(f"setting models.prices: {entry!r} is not a price", advice)
        read, write = numbers[2:] or (numbers[0], numbers[0] * _CACHED)
        yield (
            name.strip(),
            Price(input=numbers[0], output=numbers[1], cache_read=read, cache_write=write),
        )


def _from_table(kind: str, name: str, usage: Usage) -> float | None:
    """Look up the price shipped with genai-prices, if installed; no network access."""
    try:
        import genai_prices
    except ImportError:
        return None
    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    provider, model = _PROVIDERS.get(kind, ""), name
    if not provider:  # pydantic-ai:PROVIDER:MODEL
        provider, _, model = name.partition(":")
    try:
        return float(
            genai_prices.calc_price(counted, model_ref=model, provider_id=provider).total_price
        )
    except LookupError:
        return None
