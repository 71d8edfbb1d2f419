"""One process of the service under load (`benchmarks.load`): receiver, inbox, dispatcher and engine, or a worker.

    python -m benchmarks.load_process URL FOLDER --role web|worker|serve --port N --steps N --step-ms N --at-once N

It makes `ready-PID` in the folder when it works; each step leaves a line in `steps` there.
"""

import argparse
import asyncio
import os
import signal
import time
from pathlib import Path

from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest, RedHead
from bot.intake.settle import first_request
from bot.ports import Checkpoint
from bot.queue.engine import DurableEngine
from bot.queue.workflows import Handlers
from tests.unit.bot.intake import payloads

STEPS_FILE = "steps"


class Missions:
    """Missions whose steps write a line, and sleep.

    Args:
        folder: Where the lines go.
        steps: Of each mission.
        step_s: How long one sleeps.
    """

    def __init__(self, folder: Path, steps: int, step_s: float) -> None:
        self._folder = folder
        self._steps = steps
        self._step_s = step_s

    def handlers(self) -> Handlers:
        """What the engine is given."""
        return Handlers(
            mission=self._mission,
            settle=self._settle,
            command=_nothing,
            feedback=_nothing,
            notice=_nothing,
        )

    async def _mission(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        for number in range(self._steps):
            name = f"step-{number}"
            await checkpoint.step(name, Publication, lambda name=name: self._step(name, request))  # type: ignore[misc]
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "done")

    async def _settle(self, red: RedHead, _: Checkpoint) -> MissionRequest:
        return first_request(red)

    async def _step(self, name: str, request: MissionRequest) -> Publication:
        descriptor = os.open(self._folder / STEPS_FILE, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(descriptor, f"{time.time():.3f} {request.mission_id} {name}\n".encode())
        os.close(descriptor)
        await asyncio.sleep(self._step_s)
        return Publication(mission_id=request.mission_id)


async def _nothing(*_: object) -> None:
    """Nobody asks."""


def main() -> None:
    """Work until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--role", choices=["web", "worker", "serve"], required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--step-ms", type=float, required=True)
    parser.add_argument("--at-once", type=int, required=True)
    asyncio.run(_work(parser.parse_args()))


async def _work(arguments: argparse.Namespace) -> None:
    missions = Missions(arguments.folder, arguments.steps, arguments.step_ms / 1000)
    works = arguments.role != "web"
    engine = DurableEngine(
        arguments.url, missions.handlers(), works=works, workers=arguments.at_once
    )
    await engine.launch()
    ready = arguments.folder / f"ready-{os.getpid()}"
    if arguments.role == "worker":
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        ready.touch()
        await stop.wait()
    else:
        await _listen(arguments.port, engine, ready)
    await engine.close()


async def _listen(port: int, engine: DurableEngine, ready: Path) -> None:
    """The receiver, its inbox and the dispatcher; the server hears the signal."""
    import uvicorn
    from fastapi import FastAPI

    from bot.clock import SystemClock
    from bot.intake.identity import OwnApp
    from bot.intake.webhook import webhook_router
    from bot.queue.dispatch import Dispatcher
    from bot.queue.inbox import BUSY_S, Inbox
    from bot.store.opening import open_database

    inbox = Inbox(open_database(engine.url, busy_s=BUSY_S), SystemClock(), engine.status)
    inbox.open()
    app = FastAPI()
    app.include_router(
        webhook_router(secret=payloads.SECRET, inbox=inbox, own=OwnApp(app_id=payloads.APP_ID))
    )
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    await asyncio.to_thread(ready.touch)
    dispatching = asyncio.create_task(Dispatcher(inbox, engine).run())
    await uvicorn.Server(config).serve()
    dispatching.cancel()
    inbox.close()


if __name__ == "__main__":
    main()
