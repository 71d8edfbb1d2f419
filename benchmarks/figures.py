"""A figure: what was measured, what is demanded, and whether that is met; what cannot be measured says why."""

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

Figure = dict[str, Any]


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds: median, 95th percentile, largest, and of how many."""
    ordered = sorted(value * 1000 for value in seconds)

    def at(share: float) -> float:
        return round(ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * share) - 1))], 3)

    return {"p50": at(0.5), "p95": at(0.95), "max": at(1.0), "n": len(ordered)}


def figure(value: Any, unit: str, demand: Any = None, **more: Any) -> Figure:
    """A measured figure.

    Args:
        value: A number, or numbers by name.
        unit: Of all of them.
        demand: The most it may be: a number, or numbers by the same names; None demands nothing.
        more: Further facts that nothing is demanded of.
    """
    return {"value": value, "unit": unit, "demand": demand, "met": _met(value, demand), **more}


def _met(value: Any, demand: Any) -> bool | None:
    if demand is None:
        return None
    if isinstance(demand, Mapping):
        return all(value[name] <= most for name, most in demand.items())
    return bool(value <= demand)


async def measured(
    call: Callable[[], Awaitable[Mapping[str, Figure]]], *names: str
) -> dict[str, Figure]:
    """What a measurement gives; one that breaks costs its own figures only.

    Args:
        call: Measures.
        names: The figures it would give.
    """
    try:
        return dict(await call())
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:300]
        return {name: {"value": None, "met": None, "reason": reason} for name in names}


def attempted(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a comparison gives, or why it could not be made.

    Args:
        call: Makes it.
    """
    try:
        return call()
    except Exception as error:
        return {"reason": f"{type(error).__name__}: {error}"[:300]}


def missed(figures: Mapping[str, Figure]) -> list[str]:
    """The names of figures that are demanded and not met, or could not be measured."""
    return [name for name, one in figures.items() if one["met"] is False or "reason" in one]


async def lasted(awaited: Awaitable[Any]) -> float:
    """Seconds until it is there."""
    begun = time.perf_counter()
    await awaited
    return time.perf_counter() - begun
