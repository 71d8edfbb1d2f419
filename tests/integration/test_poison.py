"""A mission that takes every process with it, and innocent ones beside it."""

import asyncio
from pathlib import Path

import pytest

from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import GivenUp, MissionRequest, Trigger
from bot.ports import Checkpoint
from bot.queue import executor
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.executor import DEATHS
from bot.queue.workflows import Change, Handlers
from tests.builders import a_repository

pytestmark = pytest.mark.anyio


class Lives:
    """One process after the other, as it were: each dies of the poison at once, if it gets at it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.deaths = 0
        self.given_up: list[GivenUp] = []
        self.done: list[str] = []

    async def until_quiet(self, requests: list[MissionRequest]) -> None:
        """Live and die until every mission has come to an end."""
        while not await self._live(requests if self.deaths == 0 else []):
            self.deaths += 1
            assert self.deaths <= 3 * DEATHS, "it must come to an end"

    async def _live(self, requests: list[MissionRequest]) -> bool:
        """Whether everything ended before the poison killed us."""
        deadly = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def mission(request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
            async def work() -> Publication:
                if request.mission_id == "poison":
                    loop.call_soon_threadsafe(deadly.set)
                    await asyncio.sleep(3_600)
                await asyncio.sleep(0.3)
                return Publication(mission_id=request.mission_id)

            await checkpoint.step("work", Publication, work)
            self.done.append(request.mission_id)
            context = MissionContext(
                mission_id=request.mission_id, request=request, created_at="", target_path=""
            )
            return context.ended(Outcome.NO_FIX, "done")

        async def notice(change: Change, _: Checkpoint) -> None:
            assert isinstance(change, GivenUp)
            self.given_up.append(change)

        async def nothing(*_: object) -> None:
            return None

        handlers = Handlers(
            mission=mission, settle=nothing, command=nothing, feedback=nothing, notice=notice
        )
        url = f"sqlite:///{self._folder}/engine.sqlite"
        engine = DurableEngine(url, handlers, workers=9, pace=EngineTiming(poll_s=0.05))
        await engine.launch()
        for request in requests:
            await engine.submit(request)
        while not deadly.is_set():
            if not await engine.under_way() and (self.given_up or "poison" in self.done):
                await engine.close()
                return True
            await asyncio.sleep(0.05)
        await asyncio.to_thread(
            executor.destroy
        )  # as a process that is gone: nothing is put back, nobody is told
        engine._leave()
        return False


def a_mission(name: str, number: int) -> MissionRequest:
    return MissionRequest(
        mission_id=name, trigger=Trigger.CHECK_RUN, repository=a_repository(id=number)
    )


async def test_who_kills_every_process_is_given_up_and_everybody_beside_it_comes_to_an_end(
    tmp_path: Path,
) -> None:
    lives = Lives(tmp_path)
    beside = [f"beside-{number}" for number in range(4)]
    await lives.until_quiet(
        [a_mission(name, number) for number, name in enumerate([*beside, "poison"])]
    )
    assert sorted(lives.done) == beside
    assert lives.deaths == 2 * DEATHS
    assert [(one.request.mission_id, one.deaths) for one in lives.given_up] == [
        ("poison", 2 * DEATHS)
    ]
