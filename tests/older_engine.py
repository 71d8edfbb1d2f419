"""Makes an engine's database with missions in flight, by the dbos and the checkout it is run with: what an upgrade has to go on with.

With a virtual environment that has the previous dbos, in a checkout of the previous release:

    PYTHONPATH=. THAT/bin/python -m tests.older_engine tests/data/older_engine.sql
"""

import asyncio
import importlib.metadata
import os
import socket
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from bot import __version__
from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import MissionRequest, Trigger
from bot.ports import Checkpoint
from bot.queue.engine import DurableEngine
from bot.queue.workflows import Handlers
from sandbox.types import Frozen
from tests.builders import a_repository

IN_FLIGHT, WAITING = "m-in-flight", "m-waiting"
"""The first has its first step behind it and died in its second; the other one waits for it."""
STEPS = ("first", "second")


class Word(Frozen):
    """What a step gives."""

    word: str


Body = Callable[[str, str], None]
"""Called inside a step, with mission and step."""


def handlers(inside: Body) -> Handlers:
    """A mission of two steps."""

    async def mission(request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        said = []
        for name in STEPS:

            async def step(name: str = name) -> Word:
                await asyncio.to_thread(inside, request.mission_id, name)
                return Word(word=f"{name} of {request.mission_id}")

            said.append((await checkpoint.step(name, Word, step)).word)
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, ", ".join(said))

    async def settle(*_: object) -> None:
        return None

    return Handlers(mission=mission, settle=settle, command=settle, feedback=settle, notice=settle)


def a_request(name: str) -> MissionRequest:
    """Of one repository, so that one waits for the other."""
    return MissionRequest(mission_id=name, trigger=Trigger.CHECK_RUN, repository=a_repository())


def _die_in_flight(file: Path) -> None:
    all_in_line = threading.Event()

    def inside(mission: str, step: str) -> None:
        if (mission, step) == (IN_FLIGHT, STEPS[1]):
            all_in_line.wait()
            os._exit(0)

    async def run() -> None:
        engine = DurableEngine(f"sqlite:///{file}", handlers(inside), workers=1)
        await engine.launch()
        await engine.submit(a_request(IN_FLIGHT))
        await engine.submit(a_request(WAITING))
        all_in_line.set()
        await asyncio.sleep(60)

    asyncio.run(run())


def main(target: Path) -> None:
    """Write the database as SQL."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "engine.sqlite"
        if (child := os.fork()) == 0:
            _die_in_flight(file)
        os.waitpid(child, 0)
        with closing(sqlite3.connect(file)) as database:
            lines = [
                line for line in database.iterdump() if not line.startswith(("BEGIN", "COMMIT"))
            ]
    made_by = f"-- Missions in flight, left by version {__version__} with dbos {importlib.metadata.version('dbos')}."
    target.write_text("\n".join([made_by, *lines]).replace(socket.gethostname(), "host") + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
