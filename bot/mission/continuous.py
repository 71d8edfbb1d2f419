"""run_continuous_improvement: one mission after another until green or the limit is reached."""

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
"""Default limit of missions in a row."""
_GOES_ON = frozenset({Outcome.PARTIAL, Outcome.BUDGET})
"""Outcomes after which another mission may help; any other outcome is final."""


async def run_continuous_improvement(
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    limit: int = MISSIONS,
    ci_log: LogReading | None = None,
) -> tuple[MissionContext, ...]:
    """Run missions one after another, each on the partial fix of the one before.

    Args:
        request: The request; later missions search in another order.
        policy: The repository's policy.
        checkout: The failing commit.
        ports: External dependencies.
        limit: Maximum number of missions.
        ci_log: The red job's log as read.

    Returns:
        Every mission, in order.
    """
    contexts: list[MissionContext] = []
    for number in range(1, limit + 1):
        fix = next((c.fix for c in reversed(contexts) if c.fix), None)
        context = await run_mission(
            _number(request, number),
            policy,
            checkout,
            ports
            if number == 1
            else replace(ports, checkpoint=_Prefixed(ports.checkpoint, f"mission-{number}")),
            starting_from=fix[0].changes if fix else (),
            ci_log=ci_log,
        )
        contexts.append(context)
        if context.outcome not in _GOES_ON:
            break
    return tuple(contexts)


def select_reported(contexts: tuple[MissionContext, ...]) -> MissionContext:
    """Return the mission to report: the last one with a change, else the last one.

    Args:
        contexts: Missions one after another.
    """
    return next((context for context in reversed(contexts) if context.fix), contexts[-1])


def _number(request: MissionRequest, number: int) -> MissionRequest:
    """Return the request of one of several missions; later ones differ in id and seed."""
    if number == 1:
        return request
    return request.with_(
        # Another seed: the same search on the same tree would find the same again.
        mission_id=f"{request.mission_id}-{number}",
        seed=request.seed + number - 1,
    )


class _Prefixed:
    """A checkpoint that prefixes step names with the mission's number."""

    def __init__(self, checkpoint: Checkpoint, prefix: str) -> None:
        self._checkpoint = checkpoint
        self._prefix = prefix

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        """Run the same step under its prefixed name."""
        return await self._checkpoint.step(f"{self._prefix}/{name}", returns, call)
