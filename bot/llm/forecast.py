"""Forecast the cost of a mission from earlier missions, or from assumed figures."""

from collections.abc import Mapping, Sequence
from statistics import median

from bot.domain.forecast import Forecast, MissionUsage
from bot.domain.model import Role, Usage
from bot.llm.prices import Prices

ENOUGH = 20
"""Missions in the database from which their own median is used."""
ASSUMED = MissionUsage(
    calls=3,
    judge=Usage(input_tokens=4_000, output_tokens=500),
    fix=Usage(input_tokens=8_000, output_tokens=1_500),
)
"""The limits that a median mission should keep to: one call judges, two fix. Not measured."""


def forecast_mission(
    missions: Sequence[MissionUsage], prices: Prices, models: Mapping[Role, str]
) -> Forecast:
    """Return the medians of missions; each figure is a median of its own.

    Args:
        missions: Recent missions of all repositories.
        prices: Prices of tokens.
        models: The first model of each role that is asked.
    """
    known = missions if len(missions) >= ENOUGH else (ASSUMED,)
    costs = [_cost(mission, prices, models) for mission in known]
    priced = [cost for cost in costs if cost is not None]
    usages = [[mission.by(role) for role in models] for mission in known]
    return Forecast(
        missions=len(missions) if known is missions else 0,
        calls=round(median(mission.calls for mission in known)),
        input_tokens=round(median(sum(one.input_tokens for one in parts) for parts in usages)),
        output_tokens=round(median(sum(one.output_tokens for one in parts) for parts in usages)),
        cost_usd=round(median(priced), 6) if len(priced) == len(costs) else None,
    )


def _cost(mission: MissionUsage, prices: Prices, models: Mapping[Role, str]) -> float | None:
    """Return what a mission would cost with these models; None without a known price."""
    total = 0.0
    for role, model in models.items():
        usage = mission.by(role)
        cost = prices.cost(model, usage) if usage != Usage() else 0.0
        if cost is None:
            return None
        total += cost
    return total
