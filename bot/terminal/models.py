"""metaagent models: show the configured models and their cost; `check` asks each of them."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.domain.forecast import MissionUsage
from bot.domain.model import Completion, Judging, ModelTool, Prompt, Role, Usage, is_cli
from bot.domain.model_error import ModelError
from bot.errors import MetaAgentError, SettingsError
from bot.ledger.calls import CallLedger
from bot.llm.forecast import forecast_mission
from bot.llm.prices import Prices
from bot.llm.providers.fallback import FallbackChat
from bot.ports.models import Chat
from bot.publish.model_costs import forecast_in_words
from bot.settings import Settings
from bot.store.database import SQLITE, Database, is_postgres
from bot.store.opening import own_url
from bot.terminal.prepare import set_up_quiet_logging
from bot.wiring.models import build_chats, derive_model_limits
from sandbox.gate import clean
from sandbox.types import Frozen

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"type": "string", "enum": ["ready"]}},
    "required": ["word"],
    "additionalProperties": False,
}
_TINY = Prompt(
    system="You answer with one word.",
    user="Are you there?",
    max_tokens=512,
    temperature=0.0,
    json_schema=_SCHEMA,
    name="check",
)
"""A short question; 512 tokens leave room for models that reason before they answer.

Only the schema says how to answer, so an answer in its form shows that the server enforces it.
"""
_WITH_TOOL = Prompt(
    system="You call the tool that you have.",
    user="Call the tool `report` once, with the word ready.",
    max_tokens=512,
    temperature=0.0,
    # Some servers refuse a tool without arguments.
    tools=(ModelTool(name="report", description="Reports a word.", parameters=_SCHEMA),),
    name="check_tools",
)
_LONG = (
    "Line {number} of a text that is here to be long enough for a cache; nothing in it matters.\n"
)
# About 18,000 characters: OpenAI, for one, caches prompts from 1,024 tokens on.
_LONG_LINES = 200
# Prices are quoted for a million tokens.
_A_MILLION = (Usage(input_tokens=1_000_000), Usage(output_tokens=1_000_000))

_SHOWN = {"name", "roles", "usd_per_million"}
"""Known facts of a model that was not asked."""

BuildChats = Callable[[Settings], Mapping[Role, Chat]]


class ModelCheck(Frozen):
    """Result of one model."""

    name: str
    roles: tuple[str, ...] = ()
    answers: bool = False
    trouble: str = ""
    message: str = ""
    advice: str = ""
    latency_s: float = 0.0
    served_as: str = ""
    """The server's name of the model."""
    holds_to_schema: bool | None = None
    """None if no schema is sent to this kind of model."""
    takes_tools: bool | None = None
    """None if no tools are sent to this kind of model, or the server accepted a tool and the model
    did not call it."""
    caches: bool | None = None
    """None if that was not tested."""
    usd_per_million: tuple[float, float] | None = None
    """Price of input and output, in US dollars per million tokens; None if unknown."""
    cost_usd: float | None = None
    """Cost of this check, in US dollars; None if unknown."""


@dataclass(frozen=True)
class ModelsOrder:
    """The options of one run."""

    caching: bool = False
    """Ask two more questions with a long text, to test caching."""


@dataclass(frozen=True)
class ModelsResult:
    """A text for people, and an object for programs."""

    all_answer: bool
    """True if none was asked."""
    text: str
    json_object: dict[str, Any]


def run_models_check(
    order: ModelsOrder, settings: Settings, *, build: BuildChats = build_chats
) -> ModelsResult:
    """Ask every configured model once.

    Args:
        order: The options.
        settings: All settings.
        build: Builds the models from settings.

    Raises:
        SettingsError: no model is configured, or one is configured wrongly.
    """
    settings = set_up_quiet_logging(settings)
    chats = _build(settings, build)
    checks = asyncio.run(_check_all(chats, settings, order))
    lines = [line for check in checks for line in _lines(check)]
    result = _result(settings, chats, lines, [check.model_dump(mode="json") for check in checks])
    return replace(result, all_answer=all(check.answers for check in checks))


def run_models_show(settings: Settings, *, build: BuildChats = build_chats) -> ModelsResult:
    """List the configured models without asking them.

    Args:
        settings: All settings.
        build: Builds the models from settings.

    Raises:
        SettingsError: no model is configured, or one is configured wrongly.
    """
    settings = set_up_quiet_logging(settings)
    chats = _build(settings, build)
    roles, prices = _roles(chats)[0], Prices(settings.models.prices)
    checks = [_price(ModelCheck(name=name), tuple(roles[name]), (), prices) for name in roles]
    lines = [line for one in checks for line in (_head(one), f"  price: {_price_words(one)}")]
    shown = [one.model_dump(mode="json", include=_SHOWN) for one in checks]
    return _result(settings, chats, lines, shown)


def _build(settings: Settings, build: BuildChats) -> Mapping[Role, Chat]:
    chats = build(settings)
    if not chats:
        raise SettingsError(
            "no model is set", "set METAAGENT_MODEL; docs/howto/models.md lists what it can be"
        )
    return chats


def _result(
    settings: Settings, chats: Mapping[Role, Chat], lines: Sequence[str], models: Sequence[Any]
) -> ModelsResult:
    """Return the models with what a mission does with them, and is expected to cost."""
    limits = derive_model_limits(settings)
    asked = {role: _first(chat).name for role, chat in chats.items()}
    if limits.judging is Judging.NEVER:
        asked.pop(Role.JUDGE, None)
    forecast = forecast_mission(_recent_missions(settings), Prices(limits.prices), asked)
    ways = f"judging: {limits.judging}; edits: {limits.edit_format}"
    expected = f"expected cost of a mission that asks a model: {forecast_in_words(forecast)}"
    return ModelsResult(
        all_answer=True,
        text=clean("\n".join([*lines, ways, expected])),
        json_object={
            "models": list(models),
            "judging": str(limits.judging),
            "edit_format": limits.edit_format,
            "mission": forecast.model_dump(),
        },
    )


def _recent_missions(settings: Settings) -> tuple[MissionUsage, ...]:
    """Return the use of models by recent missions; empty without a readable database."""
    url = own_url(settings.engine_url)
    if not (is_postgres(url) or Path(url.removeprefix(SQLITE)).is_file()):
        return ()
    # Read only: this command upgrades no database of a running program.
    database = Database(url)
    try:
        return asyncio.run(CallLedger(database).recent_missions())
    except MetaAgentError:
        return ()
    finally:
        database.close()


async def _check_all(
    chats: Mapping[Role, Chat], settings: Settings, order: ModelsOrder
) -> tuple[ModelCheck, ...]:
    roles, found = _roles(chats)
    prices = Prices(settings.models.prices)
    try:
        answered = await asyncio.gather(
            *(_check_model(chat, settings, order) for chat in found.values())
        )
    finally:
        for several in set(chats.values()):
            await several.close()
    return tuple(
        _price(check, tuple(roles[check.name]), answers, prices) for check, answers in answered
    )


def _roles(chats: Mapping[Role, Chat]) -> tuple[dict[str, list[str]], dict[str, Chat]]:
    """Return the roles and the chat of every model, by name."""
    roles: dict[str, list[str]] = {}
    found: dict[str, Chat] = {}
    for role, several in chats.items():
        for chat in several.chats if isinstance(several, FallbackChat) else (several,):
            roles.setdefault(chat.name, []).append(role.value)
            found.setdefault(chat.name, chat)
    return roles, found


def _first(chat: Chat) -> Chat:
    return chat.chats[0] if isinstance(chat, FallbackChat) else chat


async def _check_model(
    chat: Chat, settings: Settings, order: ModelsOrder
) -> tuple[ModelCheck, list[Completion]]:
    limits = settings.models
    deadline_s = limits.cli_timeout_s if is_cli(chat.name) else limits.timeout_s
    could = chat.can_hold_to_schema
    started = time.perf_counter()
    try:
        answers = [await chat.complete(_TINY, deadline_s=deadline_s)]
        latency_s = time.perf_counter() - started
        with_tool = await _ask_with_tool(chat, deadline_s)
        if order.caching:
            answers += [
                await chat.complete(prompt, deadline_s=deadline_s) for prompt in _long_prompts()
            ]
    except ModelError as error:
        told = error.trouble.value
        return ModelCheck(
            name=chat.name, trouble=told, message=error.message, advice=error.advice
        ), []
    check = ModelCheck(
        name=chat.name,
        answers=True,
        latency_s=round(latency_s, 2),
        served_as=answers[0].model,
        holds_to_schema=(chat.can_hold_to_schema and _holds(answers[0])) if could else None,
        takes_tools=with_tool[0].takes_tools if with_tool else None,
        caches=any(answer.usage.cache_read_tokens for answer in answers[1:])
        if order.caching
        else None,
    )
    return check, [*answers, *with_tool]


async def _ask_with_tool(chat: Chat, deadline_s: float) -> list[Completion]:
    """Offer a tool to a model; return no answer if it gives none, or is an agent of its own."""
    if is_cli(chat.name):
        return []
    try:
        return [await chat.complete(_WITH_TOOL, deadline_s=deadline_s)]
    except ModelError:
        return []


def _price(
    check: ModelCheck, roles: tuple[str, ...], answers: Sequence[Completion], prices: Prices
) -> ModelCheck:
    costs = [
        prices.cost(check.name, one.usage) if one.cost_usd is None else one.cost_usd
        for one in answers
    ]
    known = [cost for cost in costs if cost is not None]
    read, written = (prices.cost(check.name, usage) for usage in _A_MILLION)
    return check.with_(
        roles=roles,
        usd_per_million=None if read is None or written is None else (read, written),
        cost_usd=sum(known) if answers and len(known) == len(costs) else None,
    )


def _long_prompts() -> Sequence[Prompt]:
    text = "".join(_LONG.format(number=number) for number in range(_LONG_LINES))
    return [_TINY.with_(user=f"{text}\n{_TINY.user}", cache=True, seed=seed) for seed in (1, 2)]


def _holds(answer: Completion) -> bool:
    try:
        return bool(json.loads(answer.text) == {"word": "ready"})
    except (ValueError, RecursionError):
        return False


def _lines(check: ModelCheck) -> list[str]:
    if not check.answers:
        lines = [_head(check), f"  NO ANSWER ({check.trouble}): {check.message}"]
        return [*lines, f"  {check.advice}"] if check.advice else lines
    served = (
        f", served as {check.served_as}"
        if check.served_as not in {"", check.name.partition(":")[2]}
        else ""
    )
    cost = "unknown" if check.cost_usd is None else f"${check.cost_usd:.6f}"
    return [
        _head(check),
        f"  answers in {check.latency_s:.2f} s{served}",
        f"  holds to a schema: {_word(check.holds_to_schema, 'not known')}",
        f"  takes tools: {_word(check.takes_tools, 'not known')}",
        f"  keeps what it has read: {_word(check.caches, 'not tried; --caching tries')}",
        f"  price: {_price_words(check)}; this check: {cost}",
    ]


def _head(check: ModelCheck) -> str:
    return f"{check.name}  ({', '.join(check.roles)})"


def _price_words(check: ModelCheck) -> str:
    if check.usd_per_million is None:
        return "unknown: its calls are counted, not priced"
    return "${:g} in, ${:g} out for a million tokens".format(*check.usd_per_million)


def _word(known: bool | None, otherwise: str) -> str:  # noqa: FBT001 (the value is the subject)
    return otherwise if known is None else "yes" if known else "no"
