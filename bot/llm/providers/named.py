"""Parse a model setting, such as `openai-chat:gpt-…@https://…`, or a list of models."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from bot.errors import SettingsError
from bot.llm.providers import anthropic_messages, openai_chat, openai_responses
from bot.llm.providers.addresses import addressed
from bot.llm.providers.fallback import FallbackChat
from bot.llm.providers.http_chat import HttpChat, RetryLimits, Server
from bot.llm.providers.options import ChatOptions
from bot.ports.models import Chat

_HTTP: dict[str, tuple[type[HttpChat], str]] = {
    "openai-chat": (openai_chat.OpenAIChat, openai_chat.BASE_URL),
    "openai-responses": (openai_responses.OpenAIResponses, openai_chat.BASE_URL),
    "anthropic": (anthropic_messages.AnthropicMessages, anthropic_messages.BASE_URL),
}
_AGENTS = ("codex-cli", "claude-cli")
_FORMS = (
    "openai-chat:MODEL[@URL], openai-responses:MODEL[@URL], anthropic:MODEL[@URL], "
    "codex-cli:MODEL, claude-cli:MODEL, pydantic-ai:MODEL, replay:FILE, scripted:FILE or mock"
)
_KIND = re.compile(r"[a-z-]{1,30}")


def build(text: str, options: ChatOptions) -> FallbackChat:
    """Create the models of a setting, without network access and without loading a client.

    Args:
        text: `kind:model`; several are separated by commas, in order of preference.
        options: Keys and limits.

    Raises:
        SettingsError: The setting names no model, or its key is missing. The message never quotes
            an address, which may contain a key.
    """
    return FallbackChat([_one(part.strip(), options) for part in text.split(",")])


def _one(text: str, options: ChatOptions) -> Chat:
    kind, _, rest = (part.strip() for part in text.partition(":"))
    if kind in _HTTP:
        return _over_http(kind, rest, options)
    if kind in _AGENTS:
        from bot.llm.providers import cli_agent

        return cli_agent.build(kind, rest, options)
    keyless = _KEYLESS.get(kind)
    if keyless is None:
        message = (
            f"{kind} is not a kind of model" if _KIND.fullmatch(kind) else "a model has no kind"
        )
        raise SettingsError(message, f"write {_FORMS}")
    return keyless(rest, options)


def _over_http(kind: str, rest: str, options: ChatOptions) -> Chat:
    model, server = served(kind, rest, options)
    patience = RetryLimits(idle_s=options.idle_s, attempts=options.attempts)
    return _HTTP[kind][0](server, model, patience, options.learned)


def served(kind: str, rest: str, options: ChatOptions) -> tuple[str, Server]:
    """Return the model and server of a setting such as `openai-chat:` or `anthropic:`.

    Args:
        kind: The kind of model.
        rest: `MODEL[@URL]`.
        options: Keys and limits.

    Raises:
        SettingsError: No model is named, or its key is missing or would be sent unencrypted.
    """
    usual = _HTTP[kind][1]
    model, address, key = addressed(kind, rest, options, usual=usual)
    if not model or "://" in model:
        raise SettingsError(
            f"{kind} is configured without the name of a model", f"write {kind}:MODEL[@URL]"
        )
    if key is None and not address:
        raise SettingsError(
            f"{kind}:{model} has no key", "set the provider's key, or name another server with @URL"
        )
    return model, Server(_base_url(kind, address) if address else usual, key, options.ca_bundle)


def _base_url(kind: str, bare: str) -> str:
    """Return the base of request paths; a bare host means `/v1`."""
    if kind == "anthropic":
        return bare.removesuffix("/v1")  # its paths begin with /v1
    return bare if urlsplit(bare).path else f"{bare}/v1"


def _replay(rest: str, options: ChatOptions) -> Chat:
    from bot.llm.providers import replay

    return replay.build(_path("replay", rest), options)


def _scripted(rest: str, options: ChatOptions) -> Chat:
    from bot.llm.providers import scripted

    return scripted.build(_path("scripted", rest), options)


def _mock(rest: str, options: ChatOptions) -> Chat:
    from bot.llm.providers import mock

    if rest:
        raise SettingsError("mock takes no model", "write mock")
    return mock.build(options)


def _pydantic_ai(rest: str, options: ChatOptions) -> Chat:
    from bot.llm.providers import pydantic_ai

    if not rest:
        raise SettingsError(
            "pydantic-ai is configured without the name of a model",
            "write pydantic-ai:PROVIDER:MODEL",
        )
    return pydantic_ai.build(rest, options)


def _path(kind: str, rest: str) -> Path:
    if not rest:
        raise SettingsError(f"{kind} is configured without a file", f"write {kind}:FILE")
    return Path(rest)


_KEYLESS: dict[str, Callable[[str, ChatOptions], Chat]] = {
    "mock": _mock,
    "pydantic-ai": _pydantic_ai,
    "replay": _replay,
    "scripted": _scripted,
}
