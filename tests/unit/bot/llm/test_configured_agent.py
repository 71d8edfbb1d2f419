"""From one configured string to an agent: whose wire format, whose key, and how it is started."""

import pytest
from pydantic import SecretStr

from bot.domain.model import ANY_HOST
from bot.errors import SettingsError
from bot.llm.configured_agent import agent_served
from bot.llm.providers.options import ChatOptions

KEYS = {
    "openai-chat": SecretStr("sk-openai"),
    "anthropic": SecretStr("sk-anthropic"),
    "own.example": SecretStr("sk-own"),
}


@pytest.mark.parametrize(
    ("text", "command", "header"),
    [
        ("codex-cli:m", "", {"authorization": "Bearer sk-openai"}),
        ("claude-cli:m", "", {"x-api-key": "sk-anthropic"}),
        ("openai-chat:m@https://own.example/v1", "my-agent", {"authorization": "Bearer sk-own"}),
        ("anthropic:m", "my-agent", {"x-api-key": "sk-anthropic"}),
    ],
)
def test_every_agent_has_its_model_and_its_key(
    text: str, command: str, header: dict[str, str]
) -> None:
    served = agent_served(text, command, ChatOptions(keys=KEYS))
    assert served.name == text.partition("@")[0]
    assert served.model == "m"
    assert served.credentials == header
    assert served.command == command
    assert "sk-" not in repr(served)


def test_a_server_of_ones_own_needs_no_key() -> None:
    assert agent_served("codex-cli:m@http://127.0.0.1:9", "", ChatOptions()).credentials == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "codex-cli",
        "codex-cli:m",
        "any-cli:m",
        "openai-chat:m",
        "m",
        "claude-cli:m@http://own.example",
    ],
)
def test_what_names_no_agent_is_a_setting_that_is_wrong(text: str) -> None:
    keys = (
        {ANY_HOST: SecretStr("sk-any")}
        if "own.example" in text
        else {"claude-cli": SecretStr("sk-anthropic")}
    )
    with pytest.raises(SettingsError):
        agent_served(text, "", ChatOptions(keys=keys))
