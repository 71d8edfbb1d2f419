"""The string that names a model."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.domain.model import ANY_HOST
from bot.errors import SettingsError
from bot.llm.providers.addresses import is_loopback
from bot.llm.providers.anthropic_messages import AnthropicMessages
from bot.llm.providers.named import build
from bot.llm.providers.openai_chat import OpenAIChat
from bot.llm.providers.options import ChatOptions

KEY = "sk-canary-0123456789abcdef"
KINDS = ("openai-chat", "openai-responses", "anthropic", "codex-cli", "claude-cli")
OWN = {kind: SecretStr(KEY) for kind in KINDS}
"""Of the providers themselves."""
KEYS = OWN | {ANY_HOST: SecretStr(KEY)}


def server_of(text: str, **options: Any) -> Any:
    (chat,) = build(
        text, ChatOptions(agent_reads_host=True, keys=options.pop("keys", KEYS), **options)
    ).chats
    return vars(chat)["_server"]


@pytest.mark.parametrize(
    ("text", "base_url"),
    [
        ("openai-chat:gpt-5", "https://api.openai.com/v1"),
        ("openai-responses:gpt-5", "https://api.openai.com/v1"),
        ("openai-responses:q@http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("anthropic:claude", "https://api.anthropic.com"),
        ("openai-chat:q@http://127.0.0.1:8080", "http://127.0.0.1:8080/v1"),
        ("openai-chat:q@http://[::1]:8080/", "http://[::1]:8080/v1"),
        ("openai-chat:q@http://localhost:11434/v1/", "http://localhost:11434/v1"),
        (
            "openai-chat:google/gemini@https://example.com/v1beta/openai",
            "https://example.com/v1beta/openai",
        ),
        ("anthropic:q@http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("anthropic:q@https://example.com/anthropic/v1/", "https://example.com/anthropic"),
    ],
)
def test_a_server_is_where_it_is_said_to_be(text: str, base_url: str) -> None:
    assert server_of(text).base_url == base_url


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("openai-chat:qwen2.5-coder:7b@http://localhost:11434", ["openai-chat:qwen2.5-coder:7b"]),
        ("anthropic:claude-sonnet-4@20250514", ["anthropic:claude-sonnet-4@20250514"]),
        (" anthropic: claude , mock ", ["anthropic:claude", "mock"]),
    ],
)
def test_a_model_is_called_what_it_is_called(text: str, names: list[str]) -> None:
    assert [
        chat.name for chat in build(text, ChatOptions(agent_reads_host=True, keys=KEYS)).chats
    ] == names


def test_several_are_asked_in_the_order_in_which_they_are_named() -> None:
    chat = build(
        "openai-chat:a@http://127.0.0.1:1,anthropic:b,codex-cli:c,mock",
        ChatOptions(agent_reads_host=True, keys=KEYS),
    )
    assert [type(one) for one in chat.chats[:2]] == [OpenAIChat, AnthropicMessages]
    assert chat.name == "openai-chat:a,anthropic:b,codex-cli:c,mock"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "mock,",
        "gpt-5",
        "gpt-5:",
        "openai:gpt-5",
        "openai-chat",
        "openai-chat:",
        "openai-chat:@https://example.com",
        "openai-chat:https://example.com",
        "openai-chat:m@https://",
        "openai-chat:m@https://user:sk-canary-0123456789abcdef@example.com",
        "openai-chat:m@https://example.com?key=sk-canary-0123456789abcdef",
        "openai-chat:m@https://example.com#sk-canary-0123456789abcdef",
        "openai-chat:m@https://example.com:port",
        "openai-chat:m@https://example.com:0",
        "openai-chat:m@https://exa mple.com",
        "openai-chat:m@https://ex\u00e4mple.com",
        "openai-chat:m@https://[::1",
        "sk-canary-0123456789abcdef",
        "sk-canary-0123456789abcdef:m",
        "mock:m",
        "pydantic-ai:",
        "replay:",
        "scripted:",
        "replay:/no/such/file",
        "scripted:/no/such/file",
    ],
)
def test_a_string_that_names_no_model_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        build(text, ChatOptions(agent_reads_host=True, keys=KEYS))
    assert raised.value.advice
    assert KEY not in raised.value.message + raised.value.advice


def test_a_provider_without_its_key_is_refused_and_a_server_of_ones_own_needs_none() -> None:
    with pytest.raises(SettingsError, match="anthropic:claude has no key"):
        build(
            "anthropic:claude",
            ChatOptions(agent_reads_host=True, keys={"openai-chat": SecretStr(KEY)}),
        )
    assert server_of("openai-chat:q@http://models.internal:8000", keys={}).key is None


@pytest.mark.parametrize("key", ["", " ", f"{KEY}\n", f"{KEY} ", "sk-\u2026", "sk-\x00"])
def test_a_key_with_characters_that_no_key_has_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(SettingsError) as raised:
        build(
            "anthropic:claude",
            ChatOptions(agent_reads_host=True, keys={"anthropic": SecretStr(key)}),
        )
    assert KEY not in raised.value.message + raised.value.advice


def test_the_key_of_a_host_comes_before_the_key_of_a_kind() -> None:
    keys = KEYS | {"openrouter.ai": SecretStr("other")}
    assert server_of("openai-chat:m@https://openrouter.ai/api/v1", keys=keys).key == SecretStr(
        "other"
    )
    assert server_of("openai-chat:m", keys=keys).key == SecretStr(KEY)


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_of_a_provider_is_sent_to_that_provider_and_nowhere_else(kind: str) -> None:
    def key(text: str, **more: SecretStr) -> SecretStr | None:
        (chat,) = build(text, ChatOptions(agent_reads_host=True, keys=OWN | more)).chats
        found: SecretStr | None = (
            vars(chat)["_key"] if kind.endswith("-cli") else vars(chat)["_server"].key
        )
        return found

    elsewhere = f"{kind}:m@https://elsewhere.example/v1"
    assert key(f"{kind}:m") == SecretStr(KEY)
    assert key(elsewhere) is None
    assert key(elsewhere, **{ANY_HOST: SecretStr("any")}) == SecretStr("any")
    assert key(elsewhere, **{"elsewhere.example": SecretStr("its-own")}) == SecretStr("its-own")


def test_a_key_is_not_sent_in_the_clear_unless_that_is_allowed() -> None:
    text = "openai-chat:m@http://models.internal:8000"
    with pytest.raises(SettingsError, match="unencrypted") as raised:
        server_of(text)
    assert KEY not in raised.value.message
    assert server_of(text, allow_plain_http=True).key == SecretStr(KEY)
    assert server_of("openai-chat:m@http://127.0.0.2:8000").key == SecretStr(KEY)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "127.0.0.1.example.com", "localhost.example.com", "0.0.0.1", "::2", ""]
)
def test_only_this_machine_is_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_options_show_no_key() -> None:
    assert KEY not in repr(
        ChatOptions(agent_reads_host=True, keys=KEYS, environment={"OPENAI_API_KEY": KEY})
    )


def test_nothing_heavy_is_loaded_before_a_model_is_asked() -> None:
    code = """
import sys
from bot.llm.providers.named import build
from bot.llm.providers.options import ChatOptions
build("openai-chat:a@http://127.0.0.1:1,anthropic:b@http://127.0.0.1:1", ChatOptions())
print(sorted({"httpx", "httpcore", "anyio", "pydantic_ai"} & set(sys.modules)))
"""
    folder = Path(__file__).parents[5]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    assert done.stdout.strip() == "[]"
