"""A mission that is stopped while its sandbox works: the step ends within two seconds, its container within five."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from bot.domain.mission import MissionContext
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest
from bot.ports import Checkpoint
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.workflows import Handlers
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import RunLimits, SandboxSpec
from tests.builders import a_request
from tests.integration.test_docker_sandbox import ours

pytestmark = [pytest.mark.anyio, pytest.mark.docker]

STEP_S, CONTAINER_S = 2.0, 5.0


class Long:
    """A mission of one step, which sleeps in a sandbox for longer than anybody waits."""

    def __init__(self) -> None:
        self.sleeps = False
        self.stopped_at: float | None = None

    async def mission(self, _: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        async def sleep() -> Publication:
            backend = DockerBackend(SandboxSpec(pool=0))
            image = await backend.ensure_toolchain()
            try:
                async with backend.open(image) as guest:
                    self.sleeps = True
                    await guest.run(("/bin/sleep", "600"), limits=RunLimits(wall_s=600.0))
            except asyncio.CancelledError:
                self.stopped_at = time.monotonic()
                raise
            finally:
                await backend.close()
            raise AssertionError

        await checkpoint.step("sleep", Publication, sleep)
        raise AssertionError

    async def nothing(self, *_: object) -> None:
        """Nothing."""


async def test_a_mission_that_is_stopped_leaves_its_sandbox_at_once(
    docker_ready: None, tmp_path: Path
) -> None:
    long = Long()
    nothing = long.nothing
    handlers = Handlers(
        mission=long.mission, settle=nothing, command=nothing, feedback=nothing, notice=nothing
    )
    engine = DurableEngine(
        f"sqlite:///{tmp_path}/engine.sqlite", handlers, pace=EngineTiming(poll_s=0.05)
    )
    await engine.launch()
    try:
        await engine.submit(a_request())
        async with asyncio.timeout(120):
            while not long.sleeps:  # noqa: ASYNC110 -- it runs in the engine's own loop
                await asyncio.sleep(0.1)
        assert ours("mission")
        await asyncio.sleep(0.5)
        asked = time.monotonic()
        await engine.cancel(a_request().mission_id)
        async with asyncio.timeout(60):
            while long.stopped_at is None or ours("mission"):  # noqa: ASYNC110 -- the daemon tells nobody
                await asyncio.sleep(0.05)
        gone = time.monotonic() - asked
        said = (
            f"step ended after {long.stopped_at - asked:.2f} s, container gone after {gone:.2f} s"
        )
        print(said)  # noqa: T201
        crowded = os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)
        assert crowded or (long.stopped_at - asked <= STEP_S and gone <= CONTAINER_S), said
        assert await engine.status(a_request().mission_id) == "cancelled"
    finally:
        await engine.close()
