"""A bot in a process of its own for tests that kill it: webhook, inbox, dispatcher and engine, with a mission of three steps.

Run as `python -m tests.integration.bot_process FOLDER PORT MODE`; MODE `deaf` never hands anything to the engine,
`patient` waits a while for the other checks of a red head.
"""

import asyncio
import os
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from bot.clock import SystemClock
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest, RedHead
from bot.intake.identity import OwnApp
from bot.intake.settle import first_request
from bot.intake.webhook import webhook_router
from bot.ports import Checkpoint, PatientCheckpoint
from bot.queue.dispatch import Dispatcher
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.inbox import Inbox
from bot.queue.workflows import Handlers
from bot.store.opening import open_database
from tests.unit.bot.intake.payloads import APP_ID, SECRET

SETTLE_S = 3.0
PATIENCE_S = 60.0
"""Time for storing a delivery on a busy machine, where the usual one ends with 503."""


class Mission:
    """Three steps; each leaves a line, the second waits for the file `go`."""

    def __init__(self, folder: Path, settle_s: float = 0.0) -> None:
        self._folder = folder
        self._settle_s = settle_s

    async def handle(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        """The steps, then an outcome."""
        for name in ("first", "second", "third"):
            await checkpoint.step(name, Publication, lambda name=name: self._step(name, request))  # type: ignore[misc]
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "done")

    async def settle(self, red: RedHead, checkpoint: PatientCheckpoint) -> MissionRequest:
        """After a while."""
        await checkpoint.pause(self._settle_s)
        return first_request(red)

    async def nothing(self, *_: object) -> None:
        """Nothing."""

    def handlers(self) -> Handlers:
        """What the engine is given."""
        return Handlers(
            mission=self.handle,
            settle=self.settle,
            command=self.nothing,
            feedback=self.nothing,
            notice=self.nothing,
        )

    async def _step(self, name: str, request: MissionRequest) -> Publication:
        self._note(f"begin {name}")
        while name == "second" and not (self._folder / "go").exists():  # noqa: ASYNC110 -- another process makes it
            await asyncio.sleep(0.02)
        self._note(f"end {name}")
        return Publication(mission_id=request.mission_id)

    def _note(self, line: str) -> None:
        descriptor = os.open(self._folder / "steps", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)


async def serve(folder: Path, port: int, mode: str) -> None:
    """Until killed."""
    deaf = mode == "deaf"
    mission = Mission(folder, SETTLE_S if mode == "patient" else 0.0)
    engine = DurableEngine(
        f"sqlite:///{folder}/engine.sqlite", mission.handlers(), pace=EngineTiming(poll_s=0.05)
    )
    inbox = Inbox(open_database(engine.url), SystemClock(), None if deaf else engine.status)
    inbox.open()
    app = FastAPI()
    app.include_router(
        webhook_router(
            secret=SECRET, inbox=inbox, own=OwnApp(app_id=APP_ID), answer_within_s=PATIENCE_S
        )
    )

    @app.get("/status")
    async def status(mission: str) -> str | None:
        return None if deaf else await engine.status(mission)

    dispatching = None
    if not deaf:
        await engine.launch()
        dispatching = asyncio.create_task(Dispatcher(inbox, engine).run())
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning")
    await uvicorn.Server(config).serve()
    if dispatching is not None:
        dispatching.cancel()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
