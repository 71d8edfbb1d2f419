"""run_continuous_improvement: one mission after another until green or the limit is reached."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from bot.domain.account import Grant
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Spend
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.mission.loop import MissionPorts, run_mission
from bot.ports import Checkpoint, Meter, Progress
from sandbox.types import Checkout, LogReading

Value = TypeVar("Value", bound=BaseModel)

Learn = Callable[[MissionContext, int], Awaitable[None]]
"""Stores the lesson of a mission; the number counts from 1."""
MISSIONS = 3
"""Default limit of missions in a row."""
LEAST_S = 1.0
"""Shortest useful time for another mission, in seconds."""
_GOES_ON = frozenset({Outcome.PARTIAL, Outcome.BUDGET})
"""Outcomes after which another mission may help; any other outcome is final."""


async def run_continuous_improvement(  # noqa: PLR0913 -- those of a mission, and two for the row
    request: MissionRequest,
    policy: RepositoryPolicy,
    checkout: Checkout,
    ports: MissionPorts,
    *,
    limit: int = MISSIONS,
    ci_log: LogReading | None = None,
    learn: Learn | None = None,
) -> tuple[MissionContext, ...]:
    """Run missions one after another, each on the partial fix of the one before.

    Args:
        request: The request; later missions search in another order.
        policy: The repository's policy. The limits of one mission apply to all of them together.
        checkout: The failing commit.
        ports: External dependencies.
        limit: Maximum number of missions.
        ci_log: The red job's log as read.
        learn: Stores the lesson of a mission, so that the next one can recall it.

    Returns:
        Every mission, in order.
    """
    contexts: list[MissionContext] = []
    while True:
        fix = next((c.fix for c in reversed(contexts) if c.fix), None)
        number = len(contexts) + 1
        context = await run_mission(
            _number(request, number),
            _with_rest(policy, contexts),
            checkout,
            ports if number == 1 else _ports_of(ports, request, contexts),
            starting_from=fix[0].changes if fix else (),
            ci_log=ci_log,
        )
        contexts.append(context)
        is_last = number >= limit or context.outcome not in _GOES_ON
        if is_last or _seconds_left(contexts) < LEAST_S:
            break
        if learn is not None:
            await learn(context, number)
    if learn is not None and select_reported(tuple(contexts)) is not contexts[-1]:
        await learn(contexts[-1], len(contexts))
    return tuple(contexts)


def select_reported(contexts: tuple[MissionContext, ...]) -> MissionContext:
    """Return the mission to report: the last one with a change, else the last one.

    Args:
        contexts: Missions one after another.
    """
    return next((context for context in reversed(contexts) if context.fix), contexts[-1])


def with_ids(
    contexts: tuple[MissionContext, ...], request: MissionRequest
) -> tuple[MissionContext, ...]:
    """Return the missions of a request under their ids: the reported one has the request's."""
    reported = select_reported(contexts)
    return tuple(
        as_requested(one, request) if one is reported else with_number(one, request, number)
        for number, one in enumerate(contexts, start=1)
    )


def with_number(context: MissionContext, request: MissionRequest, number: int) -> MissionContext:
    """Return one of several missions under an id of its own, other than that of the request.

    Args:
        context: The mission.
        request: The request of all of them.
        number: Its number, from 1.
    """
    return _renamed(context, f"{request.mission_id}-{number}")


def as_requested(context: MissionContext, request: MissionRequest) -> MissionContext:
    """Return the reported mission under the id of its request.

    Its check run, record, bill and fix are looked up by this id.

    Args:
        context: The mission.
        request: The request.
    """
    return _renamed(context, request.mission_id)


def _renamed(context: MissionContext, mission_id: str) -> MissionContext:
    request = context.request.with_(mission_id=mission_id)
    return context.with_(mission_id=mission_id, request=request)


def _seconds_left(contexts: list[MissionContext]) -> float:
    """Return the time that missions leave of the first one's budget, in seconds."""
    return contexts[0].budget.seconds - sum(context.seconds for context in contexts)


def _with_rest(policy: RepositoryPolicy, earlier: list[MissionContext]) -> RepositoryPolicy:
    """Return the policy with what earlier missions left of the limits of one mission."""
    if not earlier:
        return policy
    spent = sum(context.cost_usd for context in earlier)
    limits = policy.limits.with_(
        seconds_per_mission=_seconds_left(earlier),
        usd_per_mission=max(0.0, policy.limits.usd_per_mission - spent),
    )
    return policy.with_(limits=limits)


def _ports_of(
    ports: MissionPorts, request: MissionRequest, earlier: list[MissionContext]
) -> MissionPorts:
    """Return the dependencies of a later mission: its own step names, and the same accounts."""
    spent = sum(context.seconds for context in earlier)
    spent_usd = sum(context.cost_usd for context in earlier)
    money = earlier[0].policy.limits.usd_per_mission
    return replace(
        ports,
        checkpoint=_Prefixed(ports.checkpoint, f"mission-{len(earlier) + 1}"),
        progress=_SameProgress(ports.progress, request),
        meter=_LaterMeter(ports.meter, spent) if ports.meter is not None else None,
        # With a limit of 0, models that cost nothing may be asked; a spent limit allows none.
        mind=ports.mind if money > spent_usd or spent_usd == 0 else None,
    )


def _number(request: MissionRequest, number: int) -> MissionRequest:
    """Return the request of one of several missions; later ones differ in id and seed."""
    if number == 1:
        return request
    return request.with_(
        # Another seed: the same search on the same tree would find the same again.
        mission_id=f"{request.mission_id}-{number}",
        seed=request.seed + number - 1,
    )


class _SameProgress:
    """The listener of the first mission, for a later one."""

    def __init__(self, progress: Progress, request: MissionRequest) -> None:
        self._progress = progress
        self._request = request

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Report the stage under the id of the request."""
        await self._progress.stage(as_requested(context, self._request), name, detail)


class _LaterMeter:
    """The account of the first mission, for a later one: its time adds up."""

    def __init__(self, meter: Meter, earlier_s: float) -> None:
        self._meter = meter
        self._earlier_s = earlier_s

    async def before(self, spent_s: float, own: Grant) -> Grant:
        """Return the time granted for the next step."""
        return await self._meter.before(self._earlier_s + spent_s, own)

    async def close(self, spent_s: float) -> None:
        """Release the reservation."""
        await self._meter.close(self._earlier_s + spent_s)

    async def bill(self) -> Spend:
        """Return the model costs of all missions."""
        return await self._meter.bill()


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
