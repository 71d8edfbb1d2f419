"""Build the models of missions; without a configured model nothing of them is imported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from bot.domain.account import ModelLimits
from bot.domain.model import Judging, Role, is_cli
from bot.domain.policy import Limits
from bot.ports import AgentDoors, Chat, Clock, Minds
from bot.settings import Settings, environment
from bot.store.database import Database

_OF_SERVERS = ("openai-chat", "openai-responses", "anthropic", "pydantic-ai")
"""Kinds of models whose answers take up to `models.timeout_s`."""


class OpenMinds(Minds, Protocol):
    """Models of missions, with their connections."""

    async def close(self) -> None:
        """Close connections."""
        ...


def select_models(settings: Settings) -> dict[Role, str]:
    """Return the configured model of each role."""
    named = {
        Role.JUDGE: settings.model_judge or settings.model,
        Role.FIX: settings.model_fix or settings.model,
    }
    return {role: text for role, text in named.items() if text}


def derive_limits(settings: Settings) -> Limits:
    """Return the limits of a mission.

    A search of the ladder has time for one whole answer of the slowest model or agent, and a third
    of that to try it. The mission's own limit is above both, and a request may ask for less.
    """
    # A role may name several models, separated by commas: fallbacks for each other.
    fixing = [name.strip() for name in select_models(settings).get(Role.FIX, "").split(",")]
    limits = settings.models
    answers_s = [0.0]
    if settings.model_agent or any(map(is_cli, fixing)):
        answers_s.append(limits.cli_timeout_s)
    if any(name.partition(":")[0] in _OF_SERVERS for name in fixing):
        answers_s.append(limits.timeout_s)
    return settings.limits.with_(model_s=max(settings.limits.model_s, max(answers_s) * 4 / 3))


def derive_model_limits(settings: Settings) -> ModelLimits:
    """Return the limits of models, with what `auto` means for the configured ones.

    A model at a loopback or private address is taken for a small one: it writes whole functions,
    and judges only if a setting says so.
    """
    named, limits = select_models(settings), settings.models
    if not named:
        return limits
    from bot.llm.providers.addresses import is_local

    if limits.judging == "auto":
        judges = settings.model_judge or not is_local(named.get(Role.JUDGE, ""))
        limits = limits.with_(judging=Judging.WHEN_UNSURE if judges else Judging.NEVER)
    if limits.edit_format == "auto" and is_local(named.get(Role.FIX, "")):
        limits = limits.with_(edit_format="function")
    return limits


def _options(settings: Settings) -> dict[str, Any]:
    """Return the arguments of `ChatOptions`, for every provider."""
    limits, bundle = settings.models, settings.sandbox.ca_bundle
    return {
        "keys": settings.keys,
        "ca_bundle": Path(bundle) if bundle else None,
        "idle_s": limits.idle_s,
        "agent_s": limits.cli_timeout_s,
        "allow_plain_http": limits.plain_http,
        "agent_reads_host": limits.cli_reads_host,
        "environment": environment(),
    }


def build_chats(settings: Settings) -> dict[Role, Chat]:
    """Return a model for each role; equal models are shared. No server is asked.

    Raises:
        SettingsError: a model is wrongly named, or its key is missing.
    """
    from bot.llm.providers.named import build
    from bot.llm.providers.options import ChatOptions

    options = ChatOptions(**_options(settings))
    named = select_models(settings)
    chats: Mapping[str, Chat] = {text: build(text, options) for text in set(named.values())}
    return {role: chats[text] for role, text in named.items()}


def build_minds(settings: Settings, clock: Clock, database: Database) -> OpenMinds | None:
    """Return the models of missions, billed in the database; None without a configured model.

    Raises:
        SettingsError: a model, a key or a price is wrong.
    """
    if not select_models(settings):
        return None
    from bot.ledger.calls import CallLedger
    from bot.llm.mind import ModelMinds
    from bot.llm.prices import Prices

    return ModelMinds(
        build_chats(settings),
        CallLedger(database),
        Prices(settings.models.prices),
        derive_model_limits(settings),
        clock=clock,
        secrets=settings.secret_values,
    )


def build_doors(settings: Settings, clock: Clock, database: Database) -> AgentDoors | None:
    """Return the agents' proxies to models, billed in the database; None without an agent.

    Raises:
        SettingsError: the agent, a key or a price is wrong.
    """
    if not settings.model_agent:
        return None
    from bot.ledger.calls import CallLedger
    from bot.llm.agent_proxy import AgentModelProxies as Doors
    from bot.llm.billing import Billing
    from bot.llm.configured_agent import agent_served
    from bot.llm.prices import Prices
    from bot.llm.providers.options import ChatOptions

    limits = settings.models
    served = agent_served(
        settings.model_agent, limits.agent_command, ChatOptions(**_options(settings))
    )
    return Doors(
        served,
        Billing(CallLedger(database), Prices(limits.prices)),
        limits,
        clock=clock,
        secrets=settings.secret_values,
    )
