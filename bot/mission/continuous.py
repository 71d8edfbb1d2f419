"""run_continuous_improvement: missions one after another until green or the limit is reached."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.mission.loop import MissionPorts, run_mission
from bot.ports import Checkpoint
from sandbox.types import Checkout, LogReading

Value = TypeVar("Value", bound=BaseModel)

MISSIONS = 3
_GOES_ON = frozenset({Outcome.PARTIAL, Outcome.BUDGET})
"""Any other outcome is final: green, or nothing that another mission would change."""


async def run_continuous_improvement(
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    limit: int = MISSIONS,
    ci_log: LogReading | None = None,
) -> tuple[MissionContext, ...]:
    """Missions one after another, each on what the one before mended.

    Args:
        request: What asked for it; later missions search in another order.
        policy: What the repository allows.
        checkout: The failing commit.
        ports: Everything from outside.
        limit: How many missions at most.
        ci_log: What the red job's log says.

    Returns:
        Every mission, in order.
    """
    contexts: list[MissionContext] = []
    for number in range(1, limit + 1):
        fix = next((c.fix for c in reversed(contexts) if c.fix), None)
        context = await run_mission(
            _numbered(request, number),
            policy,
            checkout,
            ports if number == 1 else replace(ports, checkpoint=_Prefixed(ports.checkpoint, f"mission-{number}")),
            starting_from=fix[0].changes if fix else (),
            ci_log=ci_log,
        )
        contexts.append(context)
        if context.outcome not in _GOES_ON:
            break
    return tuple(contexts)


def told(contexts: tuple[MissionContext, ...]) -> MissionContext:
    """Return the mission to tell of: the last one with a change, else the last one.

    Args:
        contexts: Missions one after another.
    """
    return next((context for context in reversed(contexts) if context.fix), contexts[-1])


def _numbered(request: MissionRequest, number: int) -> MissionRequest:
    """The request of one of several missions."""
    if number == 1:
        return request
    return request.with_(mission_id=f"{request.mission_id}-{number}", seed=request.seed + number - 1)


class _Prefixed:
    """A checkpoint whose step names tell the missions apart."""

    def __init__(self, checkpoint: Checkpoint, prefix: str) -> None:
        self._checkpoint = checkpoint
        self._prefix = prefix

    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        """The same step under its longer name."""
        return await self._checkpoint.step(f"{self._prefix}/{name}", returns, call)
