"""Publishes a fix in processes of their own for tests that kill them: forked from one that has everything imported.

Run as `python -m tests.integration.publish_process FOLDER`. Each line of its input is a `Job`; it answers with the number
of the process that does it, which begins at the next line, and then with how that ended.
"""

import asyncio
import io
import os
import sys
from pathlib import Path

from pydantic import SecretStr

from bot.domain.mission import Confidence
from bot.domain.request import MissionRequest
from bot.github.gateway import GitHubGateway
from bot.publish.publisher import publish_outcome
from bot.publish.services import PublishServices
from bot.publish.story import build_story
from bot.registry.stored import StoredRegistry
from bot.store.opening import open_database
from sandbox.types import Frozen
from tests.builders import a_mission


class Job(Frozen):
    """What is published where."""

    request: MissionRequest
    api_url: str
    app_id: int
    app_key: str


async def publish(job: Job, folder: Path) -> None:
    """All of it, as the step of a mission does."""
    gateway = GitHubGateway(str(job.app_id), SecretStr(job.app_key), job.api_url, write_pause_s=0)
    database = open_database(f"sqlite:///{folder}/engine.sqlite")
    context = a_mission(mission_id=job.request.mission_id, request=job.request)
    story = build_story(context, confidence=Confidence(value=0.9))
    await publish_outcome(story, PublishServices(gateway, "metaagent", StoredRegistry(database)))
    database.close()
    await gateway.aclose()


def main(folder: Path) -> None:
    """One job after the other."""
    for line in iter(io.FileIO(0, closefd=False).readline, b""):
        pid = os.fork()
        if pid == 0:
            os.read(0, 16)
            asyncio.run(publish(Job.model_validate_json(line), folder))
            os._exit(0)
        print(pid, flush=True)  # noqa: T201
        print(os.waitpid(pid, 0)[1], flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
