"""A worker in a process of its own, to be killed, stopped and cut off: missions of scripted steps that write down what they do.

Run as `python -m tests.chaos.worker URL FOLDER`; it makes `ready-PID` in the folder when it works. Every step leaves a
line in `steps` when it begins and one when it ends, and asks a model in between, where there is one.
"""

import argparse
import asyncio
import logging
import os
import signal
import time
from pathlib import Path

from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Prompt
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest, RedHead, Trigger
from bot.intake.settle import first_request
from bot.llm.providers.http_chat import Server
from bot.llm.providers.openai_chat import OpenAIChat
from bot.ports import Checkpoint
from bot.queue.engine import HOURLY, DurableEngine, EngineTiming
from bot.queue.workflows import Handlers
from tests.builders import a_repository

ANSWER_S = 30.0


def step_names(count: int) -> tuple[str, ...]:
    """The steps of a mission."""
    return tuple(f"step-{number}" for number in range(count))


def a_request(number: int, mission: str | None = None) -> MissionRequest:
    """One mission in a repository of its own."""
    return MissionRequest(
        mission_id=mission or f"m-{number}",
        trigger=Trigger.CHECK_RUN,
        repository=a_repository(id=1_000 + number),
    )


class Missions:
    """Steps that take their time, and leave lines.

    Args:
        folder: Where lines go.
        steps: How many steps a mission has.
        step_s: How long one takes.
        model: The base URL of a model that every step asks; None asks nobody.
    """

    def __init__(self, folder: Path, steps: int, step_s: float, model: str | None = None) -> None:
        self._folder = folder
        self._steps = step_names(steps)
        self._step_s = step_s
        self._model = model

    async def handle(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        """All steps, then an outcome."""
        for name in self._steps:
            await checkpoint.step(name, Publication, lambda name=name: self._step(name, request))  # type: ignore[misc]
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "done")

    async def settle(self, red: RedHead, checkpoint: Checkpoint) -> MissionRequest:
        """At once."""
        return first_request(red)

    async def tidy(self) -> None:
        """Only told."""
        self._note("tick", "tidy", "tidy")

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
            tidy=self.tidy,
        )

    async def _step(self, name: str, request: MissionRequest) -> Publication:
        self._note("begin", request.mission_id, name)
        if self._model is not None:
            chat = OpenAIChat(Server(self._model), "paid")
            try:
                await chat.complete(
                    Prompt(system="-", user=f"{request.mission_id} {name}"), deadline_s=ANSWER_S
                )
            finally:
                await chat.close()
        await asyncio.sleep(self._step_s)
        self._note("end", request.mission_id, name)
        return Publication(mission_id=request.mission_id)

    def _note(self, what: str, mission: str, step: str) -> None:
        descriptor = os.open(self._folder / "steps", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(descriptor, f"{time.time():.3f} {os.getpid()} {mission} {step} {what}\n".encode())
        os.close(descriptor)


async def work(arguments: argparse.Namespace) -> None:
    """Until told to stop."""
    missions = Missions(arguments.folder, arguments.steps, arguments.step_s, arguments.model)
    pace = EngineTiming(
        poll_s=0.2,
        beat_s=1.0,
        ttl_s=arguments.ttl_s,
        per_minute=arguments.per_minute,
        tidy_at=arguments.tidy_at,
    )
    engine = DurableEngine(
        arguments.url,
        missions.handlers(),
        workers=arguments.workers,
        workers_total=arguments.workers_total,
        pace=pace,
    )
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await engine.launch()
    for number in range(arguments.submit):
        await engine.submit(a_request(number))
    (arguments.folder / f"ready-{os.getpid()}").touch()
    await stop.wait()
    await engine.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--step-s", type=float, default=0.5)
    parser.add_argument(
        "--ttl-s", type=float, default=8.0, help="after so long a silence a worker is dead"
    )
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--workers-total", type=int)
    parser.add_argument("--per-minute", type=int)
    parser.add_argument("--tidy-at", default=HOURLY)
    parser.add_argument(
        "--submit", type=int, default=0, help="missions put in line here, where nobody else can"
    )
    parser.add_argument("--model", help="base URL of a model that every step asks")
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(work(parser.parse_args()))
