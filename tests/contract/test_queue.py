"""The MissionQueue port: the queue in memory and the durable engine keep the same promises."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.domain.command import Command
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import Feedback, HeadMoved, InstallationChange, MissionRequest, RedHead, Trigger
from bot.errors import GitHubError, NotPermitted, QueueError, RateLimited
from bot.intake.settle import first_request
from bot.ports import Checkpoint, MissionQueue, PatientCheckpoint
from bot.queue.engine import DurableEngine
from bot.queue.workflows import Handlers
from tests.builders import a_repository
from tests.fakes.memory_queue import MemoryQueue

pytestmark = pytest.mark.anyio


class Missions:
    """What the engine is given to do: every step is counted, some misbehave by the name of the mission."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.feedback: list[Feedback] = []
        self.commands: list[Command] = []
        self.notices: list[HeadMoved | InstallationChange] = []
        self.at_once = 0
        self.most_at_once: dict[int, int] = {}
        self.release = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    async def handle(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        async def first() -> Publication:
            self.steps.append(f"{request.mission_id} first")
            if "slow" in request.mission_id:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.release.wait(), self.loop))
            return Publication(mission_id=request.mission_id, branch="b")

        async def second() -> Publication:
            self.steps.append(f"{request.mission_id} second")
            if "limited" in request.mission_id and self.steps.count(f"{request.mission_id} second") == 1:
                raise RateLimited("wait", retry_after_s=0.1)
            if "outage" in request.mission_id and self.steps.count(f"{request.mission_id} second") <= 2:
                raise GitHubError("GitHub did not answer in time", retryable=True)
            if "refused" in request.mission_id:
                raise NotPermitted("no", "grant it", status=403)
            if "broken" in request.mission_id:
                raise RuntimeError("a bug")
            return Publication(mission_id=request.mission_id)

        assert (await checkpoint.step("first", Publication, first)).branch == "b"
        await checkpoint.step("second", Publication, second)
        context = MissionContext(mission_id=request.mission_id, request=request, created_at="", target_path="")
        return context.ended(Outcome.ERROR if "error" in request.mission_id else Outcome.NO_FIX, "done")

    async def handle_feedback(self, feedback: Feedback) -> None:
        self.feedback.append(feedback)

    async def settle(self, red: RedHead, checkpoint: PatientCheckpoint) -> MissionRequest | None:
        await checkpoint.pause(0.1)
        return first_request(red)

    async def obey(self, command: Command, checkpoint: Checkpoint) -> None:
        self.commands.append(command)

    async def take_notice(self, change: HeadMoved | InstallationChange, _: PatientCheckpoint) -> None:
        self.notices.append(change)

    def handlers(self) -> Handlers:
        return Handlers(
            mission=self.handle,
            settle=self.settle,
            command=self.obey,
            feedback=self.handle_feedback,
            notice=self.take_notice,
        )


def a_request(mission: str, repository: int = 42) -> MissionRequest:
    return MissionRequest(mission_id=mission, trigger=Trigger.CHECK_RUN, repository=a_repository(id=repository))


async def ended(queue: MissionQueue, mission: str) -> str | None:
    async with asyncio.timeout(20):
        while (state := await queue.status(mission)) in {"waiting", "running"}:  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.05)
    return state


async def running(queue: MissionQueue, mission: str) -> None:
    async with asyncio.timeout(20):
        while await queue.status(mission) != "running":  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.02)


@pytest.fixture
async def missions() -> Missions:
    return Missions()


@pytest.fixture
async def engine(tmp_path: Path, missions: Missions) -> AsyncIterator[DurableEngine]:
    built = DurableEngine(
        f"sqlite:///{tmp_path}/engine.sqlite",
        missions.handlers(),
        workers=4,
        poll_s=0.05,
        pauses_s=(0.1, 0.1),
    )
    await built.launch()
    yield built
    missions.release.set()
    await built.close()


@pytest.fixture(params=["memory", "engine"])
def queue(request: pytest.FixtureRequest) -> MissionQueue:
    return MemoryQueue() if request.param == "memory" else request.getfixturevalue("engine")


async def test_a_mission_is_taken_once(queue: MissionQueue) -> None:
    assert await queue.submit(a_request("slow-1"))
    assert not await queue.submit(a_request("slow-1"))
    assert await queue.status("slow-1") in {"waiting", "running"}


async def test_an_unknown_mission_has_no_state(queue: MissionQueue) -> None:
    assert await queue.status("never heard of") is None


async def test_a_mission_that_is_cancelled_stays_cancelled(queue: MissionQueue) -> None:
    await queue.submit(a_request("slow-1"))
    await queue.cancel("slow-1")
    assert await ended(queue, "slow-1") == "cancelled"
    assert not await queue.submit(a_request("slow-1"))


async def test_the_same_feedback_twice_is_no_error(queue: MissionQueue) -> None:
    feedback = Feedback(repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1")
    await queue.feed_back(feedback)
    await queue.feed_back(feedback.with_(delivery_id="again"))


async def test_a_mission_runs_its_steps_and_is_done(engine: DurableEngine, missions: Missions) -> None:
    await engine.submit(a_request("m-1"))
    assert await ended(engine, "m-1") == "done"
    assert missions.steps == ["m-1 first", "m-1 second"]
    assert await engine.steps("m-1") == ("first", "second")


@pytest.mark.parametrize("mission", ["refused", "broken", "error"])
async def test_a_mission_that_fails_may_be_asked_for_again(
    engine: DurableEngine, missions: Missions, mission: str
) -> None:
    await engine.submit(a_request(mission))
    assert await ended(engine, mission) == "failed"
    assert await engine.submit(a_request(mission))
    assert await ended(engine, mission) == "failed"
    assert missions.steps.count(f"{mission} first") == 2


async def test_a_step_that_github_limits_waits_and_is_tried_again(engine: DurableEngine, missions: Missions) -> None:
    await engine.submit(a_request("limited"))
    assert await ended(engine, "limited") == "done"
    assert missions.steps == ["limited first", "limited second", "limited second"]


async def test_a_step_during_an_outage_of_github_is_tried_again(engine: DurableEngine, missions: Missions) -> None:
    await engine.submit(a_request("outage"))
    assert await ended(engine, "outage") == "done"
    assert missions.steps == ["outage first", "outage second", "outage second", "outage second"]


async def test_one_repository_has_one_mission_at_a_time(engine: DurableEngine, missions: Missions) -> None:
    await engine.submit(a_request("slow-1", 1))
    await running(engine, "slow-1")
    await engine.submit(a_request("next-1", 1))
    await engine.submit(a_request("other-2", 2))
    assert await ended(engine, "other-2") == "done"
    assert await engine.status("next-1") == "waiting"
    missions.release.set()
    assert await ended(engine, "next-1") == "done"


async def test_a_running_step_is_cancelled_soon(engine: DurableEngine) -> None:
    await engine.submit(a_request("slow-1"))
    await running(engine, "slow-1")
    await engine.cancel("slow-1")
    assert await ended(engine, "slow-1") == "cancelled"
    assert await engine.submit(a_request("after"))
    assert await ended(engine, "after") == "done"


async def test_feedback_is_handed_over_once(engine: DurableEngine, missions: Missions) -> None:
    feedback = Feedback(repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1")
    await engine.feed_back(feedback)
    await engine.feed_back(feedback)
    async with asyncio.timeout(10):
        while not missions.feedback:  # noqa: ASYNC110 -- filled from another thread
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    assert missions.feedback == [feedback]


async def test_a_second_executor_refuses_to_start_and_says_why(engine: DurableEngine, tmp_path: Path) -> None:
    second = DurableEngine(f"sqlite:///{tmp_path}/engine.sqlite", Missions().handlers())
    with pytest.raises(QueueError, match="another process already works") as refused:
        await second.launch()
    assert "METAAGENT_DATA_DIR" in refused.value.advice


async def test_a_database_that_is_not_sqlite_is_refused_clearly() -> None:
    with pytest.raises(QueueError, match="SQLite"):
        DurableEngine("postgresql://x", Missions().handlers())


async def test_after_a_restart_everything_is_still_known(
    engine: DurableEngine, missions: Missions, tmp_path: Path
) -> None:
    await engine.submit(a_request("m-1"))
    await ended(engine, "m-1")
    await engine.close()
    again = DurableEngine(f"sqlite:///{tmp_path}/engine.sqlite", missions.handlers())
    await again.launch()
    assert await again.status("m-1") == "done"
    assert not await again.submit(a_request("m-1"))
    await again.close()


async def test_a_mission_that_runs_at_an_orderly_stop_goes_on_at_the_next_start(tmp_path: Path) -> None:
    missions = Missions()
    url = f"sqlite:///{tmp_path}/engine.sqlite"
    first = DurableEngine(url, missions.handlers(), poll_s=0.05)
    await first.launch()
    await first.submit(a_request("slow-1"))
    async with asyncio.timeout(20):
        while not missions.steps:  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.02)
    await first.close()
    missions.release.set()
    second = DurableEngine(url, missions.handlers(), poll_s=0.05)
    await second.launch()
    try:
        assert await ended(second, "slow-1") == "done"
        assert missions.steps == ["slow-1 first", "slow-1 first", "slow-1 second"]
    finally:
        await second.close()
