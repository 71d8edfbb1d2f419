"""A worker in a process of its own for tests that kill it, with missions of scripted steps that write down what they do.

Run as `python -m tests.integration.worker_process URL FOLDER`; it says `ready` in a file of its own when it works.
"""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest, RedHead
from bot.intake.settle import first_request
from bot.ports import Checkpoint
from bot.queue.engine import DurableEngine, Pace
from bot.queue.workflows import Handlers

PACE = Pace(poll_s=0.2, beat_s=1.0, ttl_s=10.0)
"""On a machine that is busy with other tests, silence of less than that is no death."""
STEPS = tuple(f"step-{number}" for number in range(8))
STEP_S = 0.5


class Missions:
    """Each step leaves a line when it begins: when, where, and whose."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def handle(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        """All steps, then an outcome."""
        for name in STEPS:
            await checkpoint.step(name, Publication, lambda name=name: self._step(name, request))  # type: ignore[misc]
        context = MissionContext(mission_id=request.mission_id, request=request, created_at="", target_path="")
        return context.ended(Outcome.NO_FIX, "done")

    async def settle(self, red: RedHead, checkpoint: Checkpoint) -> MissionRequest:
        """At once."""
        return first_request(red)

    async def nothing(self, *_: object) -> None:
        """Nothing."""

    def handlers(self) -> Handlers:
        """What the engine is given."""
        return Handlers(
            mission=self.handle, settle=self.settle, command=self.nothing, feedback=self.nothing, notice=self.nothing
        )

    async def _step(self, name: str, request: MissionRequest) -> Publication:
        descriptor = os.open(self._folder / "steps", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(descriptor, f"{time.time():.3f} {os.getpid()} {request.mission_id} {name}\n".encode())
        os.close(descriptor)
        await asyncio.sleep(STEP_S)
        return Publication(mission_id=request.mission_id)


async def work(url: str, folder: Path) -> None:
    """Until told to stop."""
    engine = DurableEngine(url, Missions(folder).handlers(), workers=20, pace=PACE)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await engine.launch()
    (folder / f"ready-{os.getpid()}").touch()
    await stop.wait()
    await engine.close()


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
