"""Who spoke in each stage, rules or a model, and what the models cost. Pure."""

from collections.abc import Iterable
from typing import Any

from bot.domain.mission import MissionContext
from bot.domain.model import ModelCall, Role, Spend, Usage, total
from bot.publish.markdown import Section, table
from bot.publish.story import Story

_USAGE = tuple(Usage.model_fields)
_SPEAKERS = {"rules": "rules", "model": "a model", "fallback": "rules, after a model gave nothing usable"}


def spend_in_words(spend: Spend) -> str:
    """What calls cost, and of how many that is not known; never $0 for what is unknown."""
    if spend.calls == 0:
        return "nothing: no model was asked"
    known = f"${spend.cost_usd:.4f}"
    if spend.unpriced_calls == 0:
        return known
    unknown = f"unknown for {spend.unpriced_calls} of {spend.calls} calls"
    return f"{known} and {unknown}" if spend.unpriced_calls < spend.calls else "unknown"


def speakers(context: MissionContext) -> dict[str, str]:
    """Per stage that ran in the newest iteration: `rules`, `model` or `fallback`."""
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
    """What calls came to by one of their fields, `stage` or `model`, in order of the first call."""
    groups: dict[str, list[ModelCall]] = {}
    for call in calls:
        groups.setdefault(getattr(call, what), []).append(call)
    return {name: total(tuple(group)) for name, group in groups.items()}


def rung_calls(context: MissionContext) -> tuple[ModelCall, ...]:
    """The calls of rung 2."""
    return tuple(call for call in context.calls if call.role is Role.FIX)


def models_section(story: Story) -> Section | None:
    """A row for each stage; nothing where only rules spoke and no model was asked."""
    calls, spoke = story.context.calls, speakers(story.context)
    lost = lost_of(story.context)
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
        broken = "tries that were broken off"
        rows.append((broken, "", "", str(lost.calls), _tokens(lost.usage), spend_in_words(lost)))
    all_of_it = story.context.bill
    rows.append(("in all", "", "", str(all_of_it.calls), _tokens(all_of_it.usage), spend_in_words(all_of_it)))
    header = ("stage", "who decided", "model", "calls", "tokens in and out", "cost")
    return table("Who spoke, and what it cost", header, rows, folded=True)


def models_as_data(context: MissionContext) -> dict[str, Any]:
    """The same for programs; a cost that is not known is null."""
    return {
        "spoke": speakers(context),
        "stages": {stage: _as_data(spend) for stage, spend in spend_by(context.calls, "stage").items()},
        "models": {model: _as_data(spend) for model, spend in spend_by(context.calls, "model").items()},
        "broken_off": _as_data(lost_of(context)),
        "total": _as_data(context.bill),
    }


def lost_of(context: MissionContext) -> Spend:
    """What calls came to that no stage of the mission names: a process died before their stage was done."""
    known, bill = total(context.calls), context.bill
    return Spend(
        calls=bill.calls - known.calls,
        unpriced_calls=max(0, bill.unpriced_calls - known.unpriced_calls),
        cost_usd=max(0.0, round(bill.cost_usd - known.cost_usd, 9)),
        usage=Usage(**{name: max(0, getattr(bill.usage, name) - getattr(known.usage, name)) for name in _USAGE}),
    )


def known_usd(spend: Spend) -> float | None:
    """What calls cost; None as soon as the price of one is not known."""
    return spend.cost_usd if spend.unpriced_calls == 0 else None


def _answering(calls: Iterable[ModelCall], stage: str) -> list[str]:
    """The models that were asked for a stage; one that never answered is not named as speaking."""
    names = {call.model: None for call in calls if call.stage == stage and call.trouble is None}
    return list(names)[:3]


def _tokens(usage: Usage) -> str:
    cached = f" ({usage.cache_read_tokens} cached)" if usage.cache_read_tokens else ""
    return f"{usage.input_tokens}{cached}, {usage.output_tokens}"


def _as_data(spend: Spend) -> dict[str, Any]:
    return {
        "calls": spend.calls,
        "unpriced_calls": spend.unpriced_calls,
        "usd": known_usd(spend),
        **spend.usage.model_dump(),
    }
