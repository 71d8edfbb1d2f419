"""From what happens on a (local) GitHub to a mission: real deliveries, the real engine, a mission that only remembers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from pydantic import SecretStr

from bot.clock import SystemClock
from bot.domain.admission import Admission
from bot.domain.command import Command
from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import (
    DashboardDue,
    DashboardTouched,
    Feedback,
    GivenUp,
    Halted,
    MissionRequest,
    PullRequestOpened,
    RedHead,
)
from bot.github.gateway import GitHubGateway
from bot.intake.admission import admit
from bot.intake.identity import OwnApp
from bot.intake.settle import settle
from bot.intake.webhook import webhook_router
from bot.ports import Checkpoint, PatientCheckpoint, Services
from bot.queue.dispatch import Dispatcher
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.inbox import Inbox
from bot.queue.workflows import Change, Handlers
from bot.registry import under_way
from bot.registry.stored import StoredRegistry
from bot.upkeep.obsolete import end_obsolete
from sandbox.types import GitSource, TrustTier
from tests.databases import a_database
from tests.github_server.entities import Ci
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub
from tests.services import services

__all__ = ["app_key", "local_github"]

pytestmark = [pytest.mark.anyio, pytest.mark.shared, pytest.mark.slow]
NAME = "octo/calculator"
RED = {"calculator.py": "def add(a, b):\n    return a - b\n"}
PATIENCE_S = 60.0
"""Time for storing a delivery on a busy machine, where the usual one ends with 503."""


class Intake:
    """Everything before a mission, and a mission that is admitted, then waits until it is let go."""

    def __init__(self, server: LocalGitHub, folder: Path) -> None:
        self.server = server
        self.admissions: list[Admission] = []
        self.commands: list[Command] = []
        self.go = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._clock = SystemClock()
        key = SecretStr(server.private_key_pem)
        self.gateway = GitHubGateway(str(server.app_id), key, server.api_url, write_pause_s=0)
        self.registry = StoredRegistry(a_database(folder))
        handlers = Handlers(
            mission=self._mission,
            settle=self._settle,
            command=self._command,
            feedback=self._feedback,
            notice=self._notice,
            begun=self._begun,
            ended=self._ended,
            closing=self.gateway.aclose,
        )
        self.engine = DurableEngine(
            f"sqlite:///{folder}/engine.sqlite", handlers, pace=EngineTiming(poll_s=0.05)
        )
        self.inbox = Inbox(a_database(folder), self._clock, self.engine.status)
        self.own = OwnApp(app_id=server.app_id, slug=server.app_slug)
        app = FastAPI()
        app.include_router(
            webhook_router(
                secret=server.webhook_secret,
                inbox=self.inbox,
                own=self.own,
                answer_within_s=PATIENCE_S,
            )
        )
        self.uvicorn = uvicorn.Server(
            uvicorn.Config(app, port=0, log_level="warning", lifespan="off")
        )

    async def _mission(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        async def ask() -> Admission:
            admission = await admit(request, self.gateway, own_app_slug=self.own.slug)
            self.admissions.append(admission)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.go.wait(), self._loop))
            return admission

        await checkpoint.step("admit", Admission, ask)
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "nothing was tried")

    async def _settle(self, red: RedHead, checkpoint: PatientCheckpoint) -> MissionRequest | None:
        return await settle(red, self._services, checkpoint)

    @property
    def _services(self) -> Services:
        return services(
            self.gateway,
            queue=self.engine,
            registry=self.registry,
            clock=self._clock,
            app_slug=self.own.slug,
            wind_down_s=0.1,
        )

    async def _command(self, command: Command, _: Checkpoint) -> None:
        self.commands.append(command)

    async def _feedback(self, _: Feedback) -> None:
        pass

    async def _notice(self, change: Change, checkpoint: PatientCheckpoint) -> None:
        assert not isinstance(change, DashboardDue | DashboardTouched | GivenUp | Halted)
        if not isinstance(change, PullRequestOpened):
            await end_obsolete(change, self._services, checkpoint)

    async def _begun(self, request: MissionRequest) -> None:
        await under_way.begin(request, self.registry, self._clock)

    async def _ended(self, mission_id: str) -> None:
        await under_way.end(mission_id, self.registry)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not condition():  # noqa: ASYNC110 -- other threads make it true
                await asyncio.sleep(0.02)

    async def admitted(self, number: int = 1) -> Admission:
        """The admission of the so many-th mission."""
        await self.until(lambda: len(self.admissions) >= number)
        return self.admissions[number - 1]

    async def quiet(self) -> None:
        """Everything that GitHub told us is done with."""
        await asyncio.to_thread(self.server.settle)
        async with asyncio.timeout(120):
            while await self.inbox.waiting():  # noqa: ASYNC110 -- the dispatcher tells nobody
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)


@pytest.fixture
async def intake(local_github: LocalGitHub, tmp_path: Path) -> AsyncIterator[Intake]:
    built = Intake(local_github, tmp_path)
    built.inbox.open()
    await built.engine.launch()
    serving = asyncio.create_task(built.uvicorn.serve())
    await built.until(lambda: built.uvicorn.started)
    port = built.uvicorn.servers[0].sockets[0].getsockname()[1]
    local_github.webhook_url = f"http://127.0.0.1:{port}/webhook"
    dispatching = asyncio.create_task(Dispatcher(built.inbox, built.engine).run())
    yield built
    local_github.webhook_url = ""
    built.go.set()
    dispatching.cancel()
    built.uvicorn.should_exit = True
    await asyncio.gather(serving, dispatching, return_exceptions=True)
    await built.engine.close()
    await built.gateway.aclose()
    built.inbox.close()


async def test_a_red_push_becomes_one_admitted_mission(intake: Intake) -> None:
    intake.server.create_repository(
        "octo", "calculator", {**RED, ".github/metaagent.yml": "draft: true\n"}, ci="exit 1"
    )
    head = intake.server.store(NAME).ref("refs/heads/main")
    admission = await intake.admitted()
    request = admission.request
    assert request.head_sha == head
    assert request.check is not None
    assert request.check.is_actions_job
    assert admission.admitted, admission.reason
    assert admission.policy.draft
    assert admission.checkout is not None
    assert isinstance(admission.checkout.source, GitSource)
    assert admission.checkout.source.url == intake.server.clone_url(NAME)
    assert admission.checkout.tier is TrustTier.DEFAULT_BRANCH
    assert admission.checkout.hints.step_name
    assert admission.ci_log is not None
    assert (admission.ci_log.step, admission.ci_log.exit_code) == (
        admission.checkout.hints.step_name,
        1,
    )
    await intake.quiet()
    assert len(intake.admissions) == 1, (
        "job, check run, suite and workflow run told of it, four times"
    )


async def test_twelve_red_jobs_and_a_red_status_are_one_mission_that_names_them_all(
    intake: Intake,
) -> None:
    versions = [f"3.{minor}" for minor in range(2, 14)]
    intake.server.create_repository("octo", "calculator", RED)
    intake.server.repository(NAME).ci = Ci.matrix("exit 1", *versions)
    sha = intake.server.push(NAME, "feature", {"calculator.py": "def add(a, b):\n    return 1\n"})
    intake.server.status(NAME, sha, "ci/old", "failure")
    request = (await intake.admitted()).request
    assert request.check is not None
    assert len({request.check.name, *(other.name for other in request.also_red)}) == 13
    assert request.check.is_actions_job
    assert request.also_red[-1].name == "ci/old"
    await intake.quiet()
    assert len(intake.admissions) == 1
    assert [
        live.mission_id for live in await intake.registry.live(intake.server.repository(NAME).id)
    ] == [request.mission_id]


async def test_a_push_ends_the_mission_on_the_older_head_and_the_next_one_says_so(
    intake: Intake,
) -> None:
    intake.server.create_repository("octo", "calculator", RED)
    intake.server.repository(NAME).ci = Ci.command("exit 1")
    old = intake.server.push(NAME, "feature", {"calculator.py": "def add(a, b):\n    return 1\n"})
    first = (await intake.admitted()).request
    new = intake.server.push(NAME, "feature", {"calculator.py": "def add(a, b):\n    return 2\n"})
    second = (await intake.admitted(2)).request
    assert await intake.engine.status(first.mission_id) == "cancelled"
    assert (first.head_sha, second.head_sha, second.supersedes) == (old, new, first.mission_id)
    await intake.quiet()
    (told,) = intake.server.own_check_runs(old)
    assert (told.status, told.conclusion) == ("completed", "neutral")
    assert "STALE" in (told.title or "")


async def test_a_pull_request_and_an_installation_end_their_missions_and_one_opened_again_gets_another(
    intake: Intake,
) -> None:
    intake.server.create_repository("octo", "calculator", RED)
    head = intake.server.push(NAME, "feature", {"calculator.py": "def add(a, b):\n    return 1\n"})
    pull = intake.server.open_pull_request(NAME, "feature").number
    intake.server.third_party_check(NAME, head, "tests", "failure")
    closed = (await intake.admitted()).request
    intake.server.close(NAME, pull, "octo")
    async with asyncio.timeout(120):
        while await intake.engine.status(closed.mission_id) != "cancelled":  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.05)
    intake.server.reopen(NAME, pull, "octo")
    again = (await intake.admitted(2)).request
    assert (again.head_sha, again.mission_id) == (head, f"{closed.mission_id}:{again.delivery_id}")
    # Another person: the same body within one second would count as a replay.
    intake.server.close(NAME, pull, "maria")
    async with asyncio.timeout(120):
        while await intake.engine.status(again.mission_id) != "cancelled":  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.05)
    sha = intake.server.push(NAME, "main", {"calculator.py": "def add(a, b):\n    return 2\n"})
    intake.server.third_party_check(NAME, sha, "tests", "failure")
    running = (await intake.admitted(3)).request
    intake.server.suspend("octo")
    async with asyncio.timeout(120):
        while await intake.engine.status(running.mission_id) != "cancelled":  # noqa: ASYNC110 -- nobody is told
            await asyncio.sleep(0.05)


async def test_forks_bots_and_our_own_work_start_nothing(intake: Intake) -> None:
    intake.server.create_repository("octo", "calculator", RED)
    intake.server.fork(NAME, "stranger")
    intake.server.repository(NAME).ci = Ci.command("exit 1")
    fork = intake.server.push(
        "stranger/calculator", "main", {"calculator.py": "def add(a, b):\n    return 2\n"}
    )
    intake.server.open_pull_request(NAME, "stranger:main")
    intake.server.third_party_check(NAME, fork, "tests", "failure")
    intake.server.status(NAME, fork, "ci/old", "failure")
    for branch in ("metaagent/main/01234567", "dependabot/pip/x"):
        intake.server.push(NAME, branch, {"a.py": "x = 1\n"})
    await intake.quiet()
    assert intake.admissions == []
    assert {delivery.status_code for delivery in intake.server.deliveries} <= {202}
