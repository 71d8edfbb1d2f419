"""Source of each stage's result (rules or a model), and the cost of models. Pure."""

from collections.abc import Iterable
from typing import Any

from bot.domain.counted import counted
from bot.domain.forecast import Forecast
from bot.domain.mission import MissionContext
from bot.domain.model import ModelCall, Role, Spend, Usage, total
from bot.publish.markdown import Section, table
from bot.publish.story import Story

_USAGE = tuple(Usage.model_fields)
_SPEAKERS = {
    "rules": "rules",
    "model": "a model",
    "fallback": "rules, after an unusable model answer",
}
_ROLES = {Role.JUDGE: "judging", Role.FIX: "fixing"}


def spend_in_words(spend: Spend) -> str:
    """Return the cost in words; calls without a price are reported as unknown, never as $0."""
    if spend.calls == 0:
        return "nothing: no model was called"
    known = f"${spend.cost_usd:.4f}"
    if spend.unpriced_calls == 0:
        return known
    unknown = f"unknown for {spend.unpriced_calls} of {counted(spend.calls, 'call')}"
    return f"{known} and {unknown}" if spend.unpriced_calls < spend.calls else "unknown"


def forecast_in_words(forecast: Forecast) -> str:
    """Return the expected use of models by a mission, and its source, in words."""
    cost = "unknown, without a price" if forecast.cost_usd is None else f"${forecast.cost_usd:.4f}"
    tokens = f"{forecast.input_tokens} tokens in, {forecast.output_tokens} out"
    source = (
        f"the median of {counted(forecast.missions, 'mission')} that asked a model"
        if forecast.missions
        else "assumed, without enough missions that asked a model"
    )
    return f"{cost} ({counted(forecast.calls, 'call')}, {tokens}; {source})"


def speakers(context: MissionContext) -> dict[str, str]:
    """Return the source of each stage's result in the newest iteration."""
    now = context.current
    if now is None:
        return {}
    values = {
        "analyze": now.diagnosis,
        "plan": now.plan,
        "critique": now.critique,
        "evaluate": now.meta,
        "decide": now.next_action,
        "review": now.verification.review if now.verification else None,
    }
    return {stage: value.by for stage, value in values.items() if value is not None}


def spend_by(calls: Iterable[ModelCall], what: str) -> dict[str, Spend]:
    """Sum the calls by a field, `stage`, `role` or `model`, in order of first use."""
    groups: dict[str, list[ModelCall]] = {}
    for call in calls:
        groups.setdefault(getattr(call, what), []).append(call)
    return {name: total(tuple(group)) for name, group in groups.items()}


def rung_calls(context: MissionContext) -> tuple[ModelCall, ...]:
    """Return the calls of rung 2."""
    return tuple(call for call in context.calls if call.role is Role.FIX)


def models_section(story: Story) -> Section | None:
    """Return a table with one row per stage; None if no model was called."""
    calls, spoke = story.context.calls, speakers(story.context)
    lost = unattributed_spend(story.context)
    if not calls and not lost.calls and set(spoke.values()) <= {"rules"}:
        return None
    spent = spend_by(calls, "stage")
    rows = [
        (
            story.pen.code(stage),
            _SPEAKERS[spoke[stage]] if stage in spoke else "",
            ", ".join(story.pen.code(name) for name in _answering(calls, stage)),
            str(spent[stage].calls) if stage in spent else "",
            _tokens(spent[stage].usage) if stage in spent else "",
            spend_in_words(spent[stage]) if stage in spent else "",
        )
        for stage in dict.fromkeys((*spoke, *spent))
    ]
    if lost.calls:
        broken = "interrupted attempts"
        rows.append((broken, "", "", str(lost.calls), _tokens(lost.usage), spend_in_words(lost)))
    all_of_it = story.context.bill
    rows.append(
        (
            "total",
            "",
            "",
            str(all_of_it.calls),
            _tokens(all_of_it.usage),
            spend_in_words(all_of_it),
        )
    )
    rows[-1:-1] = [
        (
            f"all for {_ROLES[Role(role)]}",
            "",
            "",
            str(one.calls),
            _tokens(one.usage),
            spend_in_words(one),
        )
        for role, one in spend_by(calls, "role").items()
    ]
    header = ("stage", "who decided", "model", "calls", "tokens in and out", "cost")
    return table("Models and their cost", header, rows, folded=True)


def models_as_data(context: MissionContext) -> dict[str, Any]:
    """Return the same as data; an unknown cost is null."""
    return {
        "spoke": speakers(context),
        "stages": {
            stage: _as_data(spend) for stage, spend in spend_by(context.calls, "stage").items()
        },
        "roles": {role: _as_data(spend) for role, spend in spend_by(context.calls, "role").items()},
        "models": {
            model: _as_data(spend) for model, spend in spend_by(context.calls, "model").items()
        },
        "broken_off": _as_data(unattributed_spend(context)),
        "total": _as_data(context.bill),
        "expected": context.forecast.model_dump() if context.forecast else None,
    }


def unattributed_spend(context: MissionContext) -> Spend:
    """Return the calls missing from all stages: a process died before its stage finished."""
    known, bill = total(context.calls), context.bill
    return Spend(
        calls=bill.calls - known.calls,
        unpriced_calls=max(0, bill.unpriced_calls - known.unpriced_calls),
        cost_usd=max(0.0, round(bill.cost_usd - known.cost_usd, 9)),
        usage=Usage(
            **{
                name: max(0, getattr(bill.usage, name) - getattr(known.usage, name))
                for name in _USAGE
            }
        ),
    )


def usd_or_none(spend: Spend) -> float | None:
    """Return the cost; None if the price of any call is unknown."""
    return spend.cost_usd if spend.unpriced_calls == 0 else None


def _answering(calls: Iterable[ModelCall], stage: str) -> list[str]:
    """Return up to three models that answered in a stage."""
    names = {call.model: None for call in calls if call.stage == stage and call.trouble is None}
    return list(names)[:3]


def _tokens(usage: Usage) -> str:
    cached = f" ({usage.cache_read_tokens} cached)" if usage.cache_read_tokens else ""
    return f"{usage.input_tokens}{cached}, {usage.output_tokens}"


def _as_data(spend: Spend) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "unpriced_calls": spend.unpriced_calls,
        "usd": usd_or_none(spend),
        **spend.usage.model_dump(),
    }
