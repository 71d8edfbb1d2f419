"""Parameters that servers refuse are learnt from what they say."""

import pytest

from bot.llm.providers.adaptive import Adaptive
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.openai_chat import OpenAIChat

BODY = {
    "model": "m",
    "max_tokens": 5,
    "temperature": 0.2,
    "seed": 1,
    "stop": ["x"],
    "response_format": {},
}


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        ("Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1)", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("temperature: may only be set to 1 when thinking is enabled", "temperature"),
        ('{"param": "seed", "message": "Unsupported parameter"}', "seed"),
        ('{"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}', "seed"),
        ('{"error": "json: unknown field \\"seed\\""}', "seed"),
        ("Unsupported parameter: 'stop' is not supported with this model.", "stop"),
        ("Invalid schema for response_format 'answer': ...'response_format' must be closed", "response_format"),
        ("No endpoints found that can handle `response_format`: not supported", "response_format"),
    ],
)  # fmt: skip
def test_a_parameter_that_is_refused_is_left_out(said: str, gone: str) -> None:
    adaptive = Adaptive(OpenAIChat.optional, OpenAIChat.renames)
    adaptive.learn(said)
    assert BODY.keys() - adaptive.fit(BODY).keys() == {gone}
    assert not adaptive.takes(gone)


def test_a_parameter_with_another_name_is_renamed() -> None:
    adaptive = Adaptive(OpenAIChat.optional, OpenAIChat.renames)
    adaptive.learn(
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    )
    assert adaptive.fit({"max_tokens": 5}) == {"max_completion_tokens": 5}
    adaptive.learn("Unsupported parameter: 'max_completion_tokens' is not supported.")
    assert adaptive.fit({"max_tokens": 5}) == {"max_completion_tokens": 5}


def test_a_tool_goes_with_its_choice() -> None:
    adaptive = Adaptive(AnthropicMessages.optional, AnthropicMessages.renames)
    adaptive.learn("tools param requires --jinja flag")
    assert adaptive.fit({"model": "m", "tools": [], "tool_choice": {}}) == {"model": "m"}


@pytest.mark.parametrize(
    "said",
    [
        "",
        "the server is unavailable",
        "max_tokens is too large: 32000. This model supports at most 16384 completion tokens",
        "Unsupported model: please stop, the temperature outside is unknown",
        "Unsupported parameter: 'messages'",
        "'temperature' is nice",
    ],
)
def test_what_names_no_parameter_we_can_do_without_changes_nothing(said: str) -> None:
    adaptive = Adaptive(OpenAIChat.optional, OpenAIChat.renames)
    adaptive.learn(said)
    assert adaptive.fit(BODY) == BODY
