"""What the registry is told of missions, also when it cannot be written."""

import pytest
from typing_extensions import override

from bot.domain.registry import InstallationState, LiveMission
from bot.errors import StoreError
from bot.registry import under_way
from tests.builders import a_commanded_request, a_folder_request, a_repository, a_request
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_registry import MemoryRegistry

pytestmark = pytest.mark.anyio


class Broken(MemoryRegistry):
    """A registry whose disk is gone."""

    @override
    async def begin(self, mission: LiveMission) -> None:
        raise StoreError("the disk is gone")

    @override
    async def end(self, mission_id: str) -> None:
        raise StoreError("the disk is gone")

    @override
    async def installation(self, installation_id: int) -> InstallationState | None:
        raise StoreError("the disk is gone")


async def test_a_mission_that_begins_is_live_until_it_ends() -> None:
    registry = MemoryRegistry()
    await under_way.begin(a_commanded_request(), registry, FixedClock())
    (live,) = await registry.live(42)
    assert (live.mission_id, live.branch, live.pull_request, live.requested_by) == (
        "m-0001",
        "feature/x",
        5,
        "alice",
    )
    assert live.since.startswith("2026-01-02T03:04:05")
    await under_way.end("m-0001", registry)
    assert await registry.live(42) == ()


async def test_a_folder_is_nobody_s_business() -> None:
    registry = MemoryRegistry()
    await under_way.begin(a_folder_request(), registry, FixedClock())
    assert await registry.live(0) == ()


async def test_a_registry_that_is_away_stops_no_work() -> None:
    await under_way.begin(a_request(), Broken(), FixedClock())
    await under_way.end("m", Broken())
    assert not await under_way.is_stopped(a_repository(), Broken())
