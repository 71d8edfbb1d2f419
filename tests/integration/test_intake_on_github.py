"""From what happens on a (local) GitHub to an admitted or refused mission: real deliveries, real answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from bot.clock import SystemClock
from bot.domain.mission import Outcome
from bot.domain.request import MissionRequest, Trigger
from bot.github.gateway import GitHubGateway
from bot.intake.admission import admit
from bot.intake.identity import OwnApp
from bot.intake.webhook import webhook_router
from bot.queue.dispatch import Dispatcher
from bot.queue.inbox import Inbox
from sandbox.types import GitSource, TrustTier
from tests.fakes.memory_queue import MemoryQueue
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared, pytest.mark.slow]
NAME = "octo/calculator"
RED = {"calculator.py": "def add(a, b):\n    return a - b\n"}


class Intake:
    """A listening intake with a queue that only remembers."""

    def __init__(self, server: LocalGitHub, folder: Path) -> None:
        self.server = server
        self.queue = MemoryQueue()
        self.inbox = Inbox(folder / "inbox.sqlite", SystemClock(), self.queue.status)
        self.gateway = GitHubGateway(str(server.app_id), SecretStr(server.private_key_pem), server.api_url)
        own = OwnApp(app_id=server.app_id, slug=server.app_slug)
        app = FastAPI()
        app.include_router(webhook_router(secret=server.webhook_secret, inbox=self.inbox, own=own))
        self.uvicorn = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110 -- other threads make it true
                await asyncio.sleep(0.02)

    async def one(self, trigger: Trigger) -> MissionRequest:
        """The mission that was asked for in this way."""

        def found() -> list[MissionRequest]:
            return [request for request in self.queue.requests.values() if request.trigger is trigger]

        await self.until(lambda: bool(found()))
        return found()[0]

    async def settle(self) -> None:
        await asyncio.to_thread(self.server.settle)
        await self.inbox.waiting()


@pytest.fixture
async def intake(local_github: LocalGitHub, tmp_path: Path) -> AsyncIterator[Intake]:
    built = Intake(local_github, tmp_path)
    built.inbox.open()
    serving = asyncio.create_task(built.uvicorn.serve())
    await built.until(lambda: built.uvicorn.started)
    port = built.uvicorn.servers[0].sockets[0].getsockname()[1]
    local_github.webhook_url = f"http://127.0.0.1:{port}/webhook"
    dispatching = asyncio.create_task(Dispatcher(built.inbox, built.queue).run())
    yield built
    local_github.webhook_url = ""
    dispatching.cancel()
    built.uvicorn.should_exit = True
    await asyncio.gather(serving, dispatching, return_exceptions=True)
    await built.gateway.aclose()
    built.inbox.close()


async def test_a_red_push_becomes_one_admitted_mission(intake: Intake) -> None:
    intake.server.create_repository(
        "octo", "calculator", {**RED, ".github/metaagent.yml": "draft: true\n"}, ci="exit 1"
    )
    head = intake.server.store(NAME).ref("refs/heads/main")
    request = await intake.one(Trigger.CHECK_RUN)
    assert request.head_sha == head
    assert request.check is not None
    assert request.check.is_actions_job
    admission = await admit(request, intake.gateway)
    assert admission.admitted, admission.reason
    assert admission.policy.draft
    assert admission.checkout is not None
    assert isinstance(admission.checkout.source, GitSource)
    assert admission.checkout.source.url == intake.server.clone_url(NAME)
    assert admission.checkout.tier is TrustTier.DEFAULT_BRANCH
    assert admission.checkout.hints.step_name
    assert admission.ci_log is not None
    assert (admission.ci_log.step, admission.ci_log.exit_code) == (admission.checkout.hints.step_name, 1)
    intake.server.push(NAME, "main", {"more.py": "x = 1\n"})
    assert (await admit(request, intake.gateway)).refusal is Outcome.STALE


async def test_a_command_is_obeyed_by_right_only(intake: Intake) -> None:
    intake.server.create_repository("octo", "calculator", RED)
    intake.server.push(NAME, "feature", {"calculator.py": "def add(a, b):\n    return 1\n"})
    pull = intake.server.open_pull_request(NAME, "feature").number
    intake.server.comment(NAME, pull, "stranger", "/metaagent fix")
    refused = await admit(await intake.one(Trigger.COMMENT), intake.gateway)
    assert refused.refusal is Outcome.POLICY
    assert "stranger" in refused.reason
    intake.queue.requests.clear()
    intake.server.set_permission(NAME, "writer", "write")
    intake.server.comment(NAME, pull, "writer", "> /metaagent fix\n\nwas said, so:\n\n/metaagent fix")
    admitted = await admit(await intake.one(Trigger.COMMENT), intake.gateway)
    assert admitted.admitted, admitted.reason
    assert admitted.base_branch == "main"
    assert admitted.checkout is not None
    assert isinstance(admitted.checkout.source, GitSource)
    assert admitted.checkout.source.base_sha == intake.server.store(NAME).ref("refs/heads/main")


async def test_a_fork_starts_nothing_by_itself_and_is_read_only_on_command(intake: Intake) -> None:
    intake.server.create_repository("octo", "calculator", RED, ci="true")
    intake.server.fork(NAME, "stranger")
    intake.server.repository(NAME).ci = None
    sha = intake.server.push("stranger/calculator", "main", {"calculator.py": "def add(a, b):\n    return 2\n"})
    pull = intake.server.open_pull_request(NAME, "stranger:main").number
    intake.server.third_party_check(NAME, sha, "tests", "failure")
    await intake.settle()
    assert intake.queue.requests == {}
    intake.server.comment(NAME, pull, "octo", "/metaagent fix")
    admission = await admit(await intake.one(Trigger.COMMENT), intake.gateway)
    assert admission.admitted, admission.reason
    assert admission.read_only
    assert admission.request.check is not None
    assert admission.checkout is not None
    assert admission.checkout.tier is TrustTier.FORK


async def test_what_other_ci_and_our_own_checks_say_is_sorted_out(intake: Intake) -> None:
    intake.server.create_repository("octo", "calculator", RED)
    sha = intake.server.push(NAME, "metaagent/main/01234567", {"a.py": "x = 1\n"})
    intake.server.third_party_check(NAME, sha, "tests", "failure")
    await intake.settle()
    assert intake.queue.requests == {}
    statuses = {delivery.status_code for delivery in intake.server.deliveries}
    assert statuses <= {202}
