"""A sandbox that goes away under a mission: the step is made again in another one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import pytest
from pydantic import BaseModel
from typing_extensions import override

from bot.domain.mission import Outcome
from bot.ports import Workspace
from bot.queue.memory import MemoryCheckpoint
from sandbox.errors import HostGone, SandboxDied, SandboxError
from sandbox.types import Checkout, TestReport
from tests.fakes.scripted_workspace import World
from tests.unit.bot.mission.world import Stage, a_world

pytestmark = pytest.mark.anyio

Value = TypeVar("Value", bound=BaseModel)


class Patient(MemoryCheckpoint):
    """Tries again at once what the engine tries again after a while."""

    @override
    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        try:
            return await super().step(name, returns, call)
        except SandboxError:
            return await super().step(f"{name}#2", returns, call)


class Mortal:
    """A workspace that is gone once the host was."""

    def __init__(self, inner: Workspace, host: "Host") -> None:
        self._inner, self._host, self._born = inner, host, host.restarts

    def __getattr__(self, name: str) -> Any:
        if self._born != self._host.restarts:
            raise SandboxDied("The sandbox went away.")
        return getattr(self._inner, name)

    async def run_tests(self, *arguments: Any, **named: Any) -> TestReport:
        self._host.runs += 1
        if self._host.runs == self._host.goes_at:
            self._host.restarts += 1
            raise self._host.error("It went away.", "Start it.")
        if self._born != self._host.restarts:
            raise SandboxDied("The sandbox went away.")
        return await self._inner.run_tests(*arguments, **named)


class Host:
    """Goes away once, in the middle of a run, with all that it holds."""

    def __init__(self, world: World, goes_at: int, error: type[SandboxError]) -> None:
        self.world, self.goes_at, self.error = world, goes_at, error
        self.runs = self.restarts = 0

    @asynccontextmanager
    async def open(self, checkout: Checkout) -> AsyncIterator[Workspace]:
        async with self.world.open_workspace(checkout) as workspace:
            yield cast("Workspace", Mortal(workspace, self))


@pytest.mark.parametrize("error", [HostGone, SandboxDied])
async def test_wherever_the_host_goes_away_the_mission_comes_to_the_same_end(
    error: type[SandboxError],
) -> None:
    without = Host(a_world(), 0, error)
    first = await Stage(world=without.world, door=without.open).play()
    assert first.outcome is Outcome.FIXED
    for at in range(1, without.runs + 1):
        host = Host(a_world(), at, error)
        context = await Stage(
            world=host.world, door=host.open, checkpoint=Patient(through_json=True)
        ).play()
        assert host.restarts == 1
        assert (at, context.outcome, context.reason) == (at, first.outcome, first.reason)


async def test_without_anybody_to_wait_the_mission_ends_and_says_who_has_to_act() -> None:
    host = Host(a_world(), 1, HostGone)
    context = await Stage(world=host.world, door=host.open).play()
    assert context.outcome is Outcome.ERROR
    assert context.reason == "It went away: not the fault of this repository"
