"""From settings to the minds of missions; without a configured model nothing of it is loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from bot.domain.model import Role, is_cli
from bot.domain.policy import Limits
from bot.ports import AgentDoors, Chat, Clock, Minds
from bot.settings import Settings, environment
from bot.store.database import Database


class OpenMinds(Minds, Protocol):
    """Minds, and how what they hold is given back."""

    async def close(self) -> None:
        """Give back connections."""
        ...


def models_of(settings: Settings) -> dict[Role, str]:
    """Which model each role has, as configured; none for a role without one."""
    named = {Role.JUDGE: settings.model_judge or settings.model, Role.FIX: settings.model_fix or settings.model}
    return {role: text for role, text in named.items() if text}


def limits_of(settings: Settings) -> Limits:
    """Of a mission. A climb has time for one whole answer of whoever mends: an agent's, and a third of that to try it.

    The mission's own limit is above both, and whoever asks for a mission may say less.
    """
    answers_late = any(map(is_cli, models_of(settings).get(Role.FIX, "").split(","))) or settings.model_agent
    least_s = settings.models.cli_timeout_s * 4 / 3 if answers_late else 0.0
    return settings.limits.with_(model_s=max(settings.limits.model_s, least_s))


def _options(settings: Settings) -> dict[str, Any]:
    """What every provider may need to know, as arguments of `ChatOptions`."""
    limits, bundle = settings.models, settings.sandbox.ca_bundle
    return {
        "keys": settings.keys,
        "ca_bundle": Path(bundle) if bundle else None,
        "attempt_s": limits.timeout_s,
        "agent_s": limits.cli_timeout_s,
        "allow_plain_http": limits.plain_http,
        "agent_reads_host": limits.cli_reads_host,
        "environment": environment(),
    }


def build_chats(settings: Settings) -> dict[Role, Chat]:
    """A model for each role; two roles with the same one share it. No server is asked.

    Raises:
        SettingsError: a model is wrongly named, or its key is missing.
    """
    from bot.llm.providers.named import build
    from bot.llm.providers.options import ChatOptions

    options = ChatOptions(**_options(settings))
    named = models_of(settings)
    chats: Mapping[str, Chat] = {text: build(text, options) for text in set(named.values())}
    return {role: chats[text] for role, text in named.items()}


def build_minds(settings: Settings, clock: Clock, database: Database) -> OpenMinds | None:
    """Gives every mission its mind, which pays from the database; None when no model is configured.

    Raises:
        SettingsError: a model, a key or a price is wrong.
    """
    if not models_of(settings):
        return None
    from bot.ledger.calls import CallLedger
    from bot.llm.mind import ModelMinds
    from bot.llm.prices import Prices

    return ModelMinds(
        build_chats(settings),
        CallLedger(database),
        Prices(settings.models.prices),
        settings.models,
        clock=clock,
        secrets=tuple(secret.get_secret_value() for secret in settings.secrets),
    )


def build_doors(settings: Settings, clock: Clock, database: Database) -> AgentDoors | None:
    """Gives every mission the door of its agent, which pays from the database; None when no agent is configured.

    Raises:
        SettingsError: the agent, a key or a price is wrong.
    """
    if not settings.model_agent:
        return None
    from bot.ledger.calls import CallLedger
    from bot.llm.agent_door import AgentDoors as Doors
    from bot.llm.agent_served import agent_served
    from bot.llm.prices import Prices
    from bot.llm.providers.options import ChatOptions
    from bot.llm.till import Till

    limits = settings.models
    served = agent_served(settings.model_agent, limits.agent_command, ChatOptions(**_options(settings)))
    secrets = tuple(secret.get_secret_value() for secret in settings.secrets)
    return Doors(served, Till(CallLedger(database), Prices(limits.prices)), limits, clock=clock, secrets=secrets)
