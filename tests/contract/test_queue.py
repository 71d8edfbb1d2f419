"""The MissionQueue port: the queue in memory and the durable engine keep the same promises."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.command import Command, Verb
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import (
    DashboardDue,
    Feedback,
    HeadMoved,
    InstallationChange,
    MissionRequest,
    RedHead,
    Trigger,
)
from bot.errors import GitHubError, NotPermitted, QueueError, RateLimited
from bot.intake.settle import first_request
from bot.ports import Checkpoint, MissionQueue, PatientCheckpoint
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.library_table import library_table
from bot.queue.rows import MISSIONS, PROTOCOL, UNDER_WAY
from bot.queue.workflows import AT_ONCE, Change, Handlers
from sandbox.errors import HostGone, SandboxDied
from tests.builders import a_repository
from tests.fakes.memory_queue import MemoryQueue
from tests.postgres import Server

pytestmark = pytest.mark.anyio

POSTGRES = pytest.param("postgres", marks=pytest.mark.slow)


class Missions:
    """What the engine is given to do: every step is counted, some misbehave by the name of the mission."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.feedback: list[Feedback] = []
        self.commands: list[Command] = []
        self.obeyed: list[Command] = []
        self.obeying = self.most_obeying = 0
        self.notices: list[Change] = []
        self.at_once = 0
        self.most_at_once: dict[int, int] = {}
        self.settled: list[RedHead] = []
        self.green = False
        """Whether a head that settles is green by then."""
        self.live: list[str] = []
        self.tidied = 0
        self.release = asyncio.Event()
        self.settles = asyncio.Event()
        self.crowded = asyncio.Event()
        self.loop = asyncio.get_running_loop()

    async def handle(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        async def first() -> Publication:
            self.steps.append(f"{request.mission_id} first")
            if "slow" in request.mission_id:
                await asyncio.wrap_future(
                    asyncio.run_coroutine_threadsafe(self.release.wait(), self.loop)
                )
            return Publication(mission_id=request.mission_id, branch="b")

        async def second() -> Publication:
            self.steps.append(f"{request.mission_id} second")
            if (
                "limited" in request.mission_id
                and self.steps.count(f"{request.mission_id} second") == 1
            ):
                raise RateLimited("wait", retry_after_s=0.1)
            if (
                "outage" in request.mission_id
                and self.steps.count(f"{request.mission_id} second") <= 2
            ):
                raise GitHubError("GitHub did not answer in time", retryable=True)
            if (
                "away" in request.mission_id
                and self.steps.count(f"{request.mission_id} second") <= 3
            ):
                raise HostGone("Docker does not answer")
            if "deadly" in request.mission_id:
                raise SandboxDied("the sandbox went away")
            if "refused" in request.mission_id:
                raise NotPermitted("no", "grant it", status=403)
            if "broken" in request.mission_id:
                raise RuntimeError("a bug")
            return Publication(mission_id=request.mission_id)

        assert (await checkpoint.step("first", Publication, first)).branch == "b"
        await checkpoint.step("second", Publication, second)
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(
            Outcome.ERROR if "error" in request.mission_id else Outcome.NO_FIX, "done"
        )

    async def handle_feedback(self, feedback: Feedback) -> None:
        self.feedback.append(feedback)

    async def settle(self, red: RedHead, checkpoint: PatientCheckpoint) -> MissionRequest | None:
        self.settled.append(red)
        await checkpoint.pause(0.1)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.settles.wait(), self.loop))
        return None if self.green else first_request(red)

    async def has_begun(self, request: MissionRequest) -> None:
        self.live.append(f"+{request.mission_id}")

    async def ended(self, mission_id: str) -> None:
        self.live.append(f"-{mission_id}")

    async def obey(self, command: Command, checkpoint: Checkpoint) -> None:
        async def act() -> Publication:
            if command.word == "limited":
                raise RateLimited("wait", retry_after_s=600.0)
            self.obeying += 1
            self.most_obeying = max(self.most_obeying, self.obeying)
            if self.obeying >= AT_ONCE:
                self.loop.call_soon_threadsafe(self.crowded.set)
            if command.word == "crowded":  # the first ones stay until all places are taken
                await asyncio.wrap_future(
                    asyncio.run_coroutine_threadsafe(self.crowded.wait(), self.loop)
                )
            await asyncio.sleep(0.1)
            self.obeying -= 1
            return Publication(mission_id=command.command_id)

        self.commands.append(command)
        await checkpoint.step("act", Publication, act)
        self.obeyed.append(command)

    async def take_notice(self, change: Change, _: PatientCheckpoint) -> None:
        self.notices.append(change)

    async def tidy(self) -> None:
        self.tidied += 1

    def begun(self) -> int:
        """Missions whose first step began."""
        return sum(step.endswith("first") for step in self.steps)

    def handlers(self) -> Handlers:
        return Handlers(
            mission=self.handle,
            tidy=self.tidy,
            settle=self.settle,
            command=self.obey,
            feedback=self.handle_feedback,
            notice=self.take_notice,
            begun=self.has_begun,
            ended=self.ended,
        )


def a_request(mission: str, repository: int = 42) -> MissionRequest:
    return MissionRequest(
        mission_id=mission, trigger=Trigger.CHECK_RUN, repository=a_repository(id=repository)
    )


def a_red_head(**changes: object) -> RedHead:
    return RedHead(repository=a_repository(), head_sha="a" * 40, head_branch="feature").with_(
        **changes
    )


def a_command(number: int = 1) -> Command:
    return Command(
        command_id=f"command:42:c{number}", verb=Verb.FIX, repository=a_repository(), author="alice"
    )


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.02)


async def ended(queue: MissionQueue, mission: str) -> str | None:
    async with asyncio.timeout(120):
        while (state := await queue.status(mission)) in {"waiting", "running"}:  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.05)
    return state


async def running(queue: MissionQueue, mission: str) -> None:
    async with asyncio.timeout(120):
        while await queue.status(mission) != "running":  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.02)


@pytest.fixture
async def missions() -> Missions:
    return Missions()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What every queue promises is asked of the one in memory too."""
    marked = any("url" in mark.args for mark in metafunc.definition.iter_markers("parametrize"))
    if "url" in metafunc.fixturenames and not marked:
        memory = ["memory"] if "queue" in metafunc.fixturenames else []
        metafunc.parametrize("url", [*memory, "sqlite", POSTGRES], indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of its own."""
    if request.param != "postgres":
        return f"{request.param}:///{tmp_path}/engine.sqlite"
    server: Server = request.getfixturevalue("postgres")
    return server.new_database(request.getfixturevalue("prepared"))


@pytest.fixture(scope="module")
def prepared(postgres: Server) -> str:
    """The name of a database that has the engine's tables; making them takes seconds."""

    async def prepare() -> str:
        made = DurableEngine(postgres.new_database(), Missions().handlers())
        await made.launch()
        await made.close()
        return made.url.rpartition("/")[2]

    return asyncio.run(prepare())


@pytest.fixture
async def engine(url: str, missions: Missions) -> AsyncIterator[DurableEngine]:
    built = DurableEngine(
        url,
        missions.handlers(),
        workers=4,
        pace=EngineTiming(poll_s=0.05, pauses_s=(0.1, 0.1, 0.1)),
    )
    await built.launch()
    yield built
    missions.release.set()
    missions.settles.set()
    await built.close()


@pytest.fixture
def queue(request: pytest.FixtureRequest, url: str) -> MissionQueue:
    return MemoryQueue() if url.startswith("memory") else request.getfixturevalue("engine")


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
    feedback = Feedback(
        repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1"
    )
    await queue.feed_back(feedback)
    await queue.feed_back(feedback.with_(delivery_id="again"))


async def test_a_head_settles_once_and_its_mission_waits_meanwhile(queue: MissionQueue) -> None:
    red = a_red_head()
    assert await queue.settle(red)
    assert not await queue.settle(red.with_(delivery_id="another job"))
    assert await queue.status(red.mission_id) in {"waiting", "running"}


async def test_a_head_that_somebody_stopped_while_it_settled_begins_only_when_it_is_wanted_again(
    queue: MissionQueue,
) -> None:
    red = a_red_head()
    await queue.settle(red)
    await queue.cancel(red.mission_id)
    assert await queue.status(red.mission_id) == "cancelled"
    assert not await queue.settle(red.with_(delivery_id="another job"))
    assert await queue.settle(red.with_(delivery_id="reopened", again=True))


async def test_a_head_whose_mission_is_there_does_not_settle_again(queue: MissionQueue) -> None:
    red = a_red_head()
    await queue.submit(a_request(red.mission_id))
    assert not await queue.settle(red)


async def test_a_command_is_taken_once(queue: MissionQueue) -> None:
    assert await queue.command(a_command())
    assert not await queue.command(a_command())
    assert await queue.command(a_command(2))


async def test_changes_of_every_kind_are_taken(queue: MissionQueue) -> None:
    await queue.notice(HeadMoved(repository=a_repository(), branch="feature", after="b" * 40))
    await queue.notice(InstallationChange(installation_id=7, action="suspend"))


async def test_what_is_under_way_is_known_with_its_request(queue: MissionQueue) -> None:
    await queue.submit(a_request("slow-1", 1))
    await queue.submit(a_request("slow-2", 2))
    assert {r.mission_id for r in await queue.under_way()} == {"slow-1", "slow-2"}
    assert await queue.under_way(2) == (a_request("slow-2", 2),)
    await queue.cancel("slow-2")
    assert await queue.under_way(2) == ()


async def test_the_library_has_its_table_still(engine: DurableEngine) -> None:
    assert engine._rows is not None
    table = library_table(engine._rows._client)
    assert table is not None, "Rows goes the longer way"
    await engine.submit(a_request("slow-1", 1))
    await engine.submit(a_request("slow-2", 2))
    assert table.in_partition("mission", "2", UNDER_WAY) == ("slow-2",)


async def test_a_mission_that_cannot_be_read_hides_no_other(engine: DurableEngine) -> None:
    rows = engine._rows
    assert rows is not None
    for number in range(4):
        await engine.submit(a_request(f"slow-{number}", number))
    rows._client.enqueue(
        {
            "workflow_name": "mission",
            "queue_name": MISSIONS,
            "workflow_id": "slow-9",
            "app_version": PROTOCOL,
            "queue_partition_key": "2",
        },
        {"newer": 1},
    )
    assert {one.mission_id for one in await engine.under_way()} == {
        f"slow-{number}" for number in range(4)
    }
    assert await engine.under_way(2) == (a_request("slow-2", 2),)


async def test_who_was_stopped_is_not_put_back_in_line(
    engine: DurableEngine, missions: Missions
) -> None:
    rows = engine._rows
    assert rows is not None
    await engine.submit(a_request("slow-1"))
    await running(engine, "slow-1")
    await engine.cancel("slow-1")
    rows.requeue(["slow-1"], MISSIONS, engine.name)
    assert await engine.status("slow-1") == "cancelled"


async def test_a_head_whose_settling_failed_has_no_answer_until_it_is_watched_anew(
    url: str, missions: Missions
) -> None:
    async def refused(_: RedHead, __: PatientCheckpoint) -> None:
        raise NotPermitted("no", "grant it", status=403)

    handlers = replace(missions.handlers(), settle=refused)
    engine, red = DurableEngine(url, handlers, pace=EngineTiming(poll_s=0.05)), a_red_head()
    await engine.launch()
    try:
        assert not await engine.is_unanswered(red.mission_id)
        assert await engine.settle(red)
        assert await ended(engine, red.mission_id) == "failed"
        assert await engine.is_unanswered(red.mission_id)
        assert not await engine.is_unanswered("m-1")
        assert await engine.settle(red)
    finally:
        await engine.close()


async def test_many_red_checks_of_a_head_are_one_mission(
    engine: DurableEngine, missions: Missions
) -> None:
    taken = [await engine.settle(a_red_head(delivery_id=f"job {n}")) for n in range(12)]
    assert taken == [True] + [False] * 11
    missions.settles.set()
    red = a_red_head()
    await until(lambda: f"{red.mission_id} second" in missions.steps)
    assert await ended(engine, red.mission_id) == "done"
    assert len(missions.settled) == 1
    assert not await engine.settle(a_red_head(delivery_id="a late job"))


async def test_a_head_that_settled_green_may_turn_red_again(
    engine: DurableEngine, missions: Missions
) -> None:
    missions.green = True
    missions.settles.set()
    red = a_red_head()
    assert await engine.settle(red)
    assert await ended(engine, red.mission_id) == "failed", (
        "so that the next delivery is let through"
    )
    missions.green = False
    assert await engine.settle(red)
    await until(lambda: f"{red.mission_id} second" in missions.steps)


async def test_a_person_s_mission_waits_for_no_automatic_one_of_any_repository(
    engine: DurableEngine,
) -> None:
    for number in range(6):
        await engine.submit(a_request(f"slow-{number}", number))
    await engine.submit(a_request("slow-asked", 1).with_(trigger=Trigger.COMMENT))
    await running(engine, "slow-asked")
    await engine.submit(a_request("asked", 7).with_(trigger=Trigger.COMMENT))
    await engine.submit(a_request("asked next", 1).with_(trigger=Trigger.COMMENT))
    assert await ended(engine, "asked") == "done"
    assert await engine.status("asked next") == "waiting", "people take turns in a repository, too"


async def test_missions_begin_no_faster_than_their_rates(url: str, missions: Missions) -> None:
    engine = DurableEngine(
        url,
        missions.handlers(),
        workers=9,
        pace=EngineTiming(poll_s=0.05, per_minute=3, per_minute_each=2),
    )
    await engine.launch()
    try:
        for number in range(4):
            await engine.submit(a_request(f"m-{number}", 1))
        await until(lambda: missions.begun() == 2)
        await engine.submit(a_request("m-other", 2))
        await engine.submit(a_request("m-too-many", 3))
        await until(lambda: missions.begun() == 3)
        await asyncio.sleep(0.5)
        assert missions.begun() == 3
    finally:
        await engine.close()


async def test_new_limits_bind_from_the_first_mission_on(url: str, missions: Missions) -> None:
    before = DurableEngine(url, missions.handlers(), workers=9, pace=EngineTiming(poll_s=0.01))
    await before.launch()
    await before.close()
    waiting = DurableEngine(url, missions.handlers(), works=False)
    await waiting.launch()
    for number in range(4):
        await waiting.submit(a_request(f"m-{number}", number))
    await waiting.close()
    after = DurableEngine(
        url, missions.handlers(), workers=9, pace=EngineTiming(poll_s=0.01, per_minute=1)
    )
    await after.launch()
    try:
        await until(lambda: missions.begun() >= 1)
        await asyncio.sleep(0.5)
        assert missions.begun() == 1
    finally:
        await after.close()


async def test_a_mission_that_is_put_off_begins_later(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("tomorrow"), delay_s=86_400.0)
    await engine.submit(a_request("soon"), delay_s=0.2)
    await engine.submit(a_request("now"))
    assert await ended(engine, "now") == "done"
    assert await ended(engine, "soon") == "done"
    assert await engine.status("tomorrow") == "waiting"


async def test_what_is_old_is_dropped_once_a_tick_whoever_works(
    url: str, missions: Missions
) -> None:
    engine = DurableEngine(
        url, missions.handlers(), pace=EngineTiming(poll_s=0.05, tidy_at="* * * * * *")
    )
    await engine.launch()
    try:
        await until(lambda: missions.tidied >= 2)
        ticks = {row.workflow_id for row in engine._rows._client.list_workflows(name="tidy")}  # type: ignore[union-attr]
        assert 2 <= missions.tidied <= len(ticks)
    finally:
        await engine.close()


async def test_commands_and_changes_reach_those_who_answer_them(
    engine: DurableEngine, missions: Missions
) -> None:
    changes: list[HeadMoved | InstallationChange] = [
        HeadMoved(repository=a_repository(), branch="feature", after="b" * 40),
        InstallationChange(installation_id=7, action="suspend"),
    ]
    await engine.command(a_command())
    for change in changes:
        await engine.notice(change)
        await engine.notice(change)
    await until(lambda: len(missions.notices) == 2 and len(missions.commands) == 1)
    assert missions.commands == [a_command()]
    assert {type(notice) for notice in missions.notices} == {HeadMoved, InstallationChange}


async def test_commands_that_github_limits_block_no_others(
    engine: DurableEngine, missions: Missions
) -> None:
    for number in range(2 * AT_ONCE):
        await engine.command(a_command(number).with_(word="limited"))
    await until(lambda: len(missions.commands) == 2 * AT_ONCE)
    for number in range(100, 100 + 3 * AT_ONCE):
        await engine.command(a_command(number).with_(word="crowded"))
    await until(lambda: len(missions.obeyed) == 3 * AT_ONCE)
    assert missions.most_obeying == AT_ONCE


async def test_a_dashboard_is_due_once_in_each_of_its_turns(
    engine: DurableEngine, missions: Missions
) -> None:
    for turn, branch in ((1, "main"), (1, "trunk"), (2, "main")):
        repository = a_repository(default_branch=branch)
        await engine.notice(DashboardDue(repository=repository, turn=turn), delay_s=0.1)
    await until(lambda: len(missions.notices) == 2)
    assert {one.turn for one in missions.notices if isinstance(one, DashboardDue)} == {1, 2}


async def test_what_ended_long_ago_is_forgotten_and_what_waits_is_not(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("m-1"))
    await ended(engine, "m-1")
    await engine.submit(a_request("slow-1"))
    now = SystemClock().now()
    assert await engine.forget(now - timedelta(days=1)) == 0
    assert await engine.forget(now + timedelta(days=1)) == 1
    assert await engine.status("m-1") is None
    assert await engine.status("slow-1") in {"waiting", "running"}


async def test_who_keeps_the_list_hears_of_every_beginning_and_end(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("m-1"))
    await ended(engine, "m-1")
    assert missions.live == ["+m-1", "+m-1", "-m-1"]
    await engine.submit(a_request("slow-1"))
    await running(engine, "slow-1")
    await engine.cancel("slow-1")
    assert missions.live[-1] == "-slow-1"


async def test_a_mission_runs_its_steps_and_is_done(
    engine: DurableEngine, missions: Missions
) -> None:
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


async def test_a_step_that_github_limits_waits_and_is_tried_again(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("limited"))
    assert await ended(engine, "limited") == "done"
    assert missions.steps == ["limited first", "limited second", "limited second"]


async def test_a_step_whose_host_of_sandboxes_is_away_waits_for_it(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("away"))
    assert await ended(engine, "away") == "done"
    assert missions.steps == ["away first"] + 4 * ["away second"]


async def test_a_step_that_ends_every_sandbox_is_not_tried_for_ever(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("deadly"))
    assert await ended(engine, "deadly") == "failed"
    assert missions.steps == ["deadly first"] + 3 * ["deadly second"]


async def test_a_step_during_an_outage_of_github_is_tried_again(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("outage"))
    assert await ended(engine, "outage") == "done"
    assert missions.steps == ["outage first", "outage second", "outage second", "outage second"]


async def test_one_repository_has_one_mission_at_a_time(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("slow-1", 1))
    await running(engine, "slow-1")
    await engine.submit(a_request("next-1", 1))
    await engine.submit(a_request("other-2", 2))
    assert await ended(engine, "other-2") == "done"
    assert await engine.status("next-1") == "waiting"
    missions.release.set()
    assert await ended(engine, "next-1") == "done"


async def test_a_limit_of_all_workers_holds_over_repositories(url: str, missions: Missions) -> None:
    engine = DurableEngine(
        url, missions.handlers(), workers=4, workers_total=1, pace=EngineTiming(poll_s=0.05)
    )
    await engine.launch()
    try:
        await engine.submit(a_request("slow-1", 1))
        await running(engine, "slow-1")
        await engine.submit(a_request("other-2", 2))
        await asyncio.sleep(0.5)
        assert await engine.status("other-2") == "waiting"
        missions.release.set()
        assert await ended(engine, "other-2") == "done"
    finally:
        await engine.close()


async def test_a_running_step_is_cancelled_soon(engine: DurableEngine) -> None:
    await engine.submit(a_request("slow-1"))
    await running(engine, "slow-1")
    await engine.cancel("slow-1")
    assert await ended(engine, "slow-1") == "cancelled"
    assert await engine.submit(a_request("after"))
    assert await ended(engine, "after") == "done"


async def test_feedback_is_handed_over_once(engine: DurableEngine, missions: Missions) -> None:
    feedback = Feedback(
        repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1"
    )
    await engine.feed_back(feedback)
    await engine.feed_back(feedback)
    async with asyncio.timeout(120):
        while not missions.feedback:  # noqa: ASYNC110 -- filled from another thread
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.3)
    assert missions.feedback == [feedback]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_a_second_executor_on_sqlite_refuses_to_start_and_says_why(
    engine: DurableEngine,
) -> None:
    second = DurableEngine(engine.url, Missions().handlers())
    with pytest.raises(QueueError, match="another process already uses") as refused:
        await second.launch()
    assert "METAAGENT_DATA_DIR" in refused.value.advice


async def test_a_database_of_another_kind_is_refused_clearly() -> None:
    with pytest.raises(QueueError, match="SQLite or PostgreSQL, not on mysql"):
        DurableEngine("mysql://user:secret@x/y", Missions().handlers())


async def test_a_server_that_does_not_answer_is_named_without_the_password() -> None:
    engine = DurableEngine("postgresql://bot:hunter2@127.0.0.1:9/engine", Missions().handlers())
    with pytest.raises(QueueError, match=r"127\.0\.0\.1.*port 9") as refused:
        await engine.launch()
    assert "hunter2" not in refused.value.message + refused.value.advice


@pytest.mark.parametrize("url", [POSTGRES], indirect=True)
async def test_a_process_that_does_not_work_puts_in_line_what_another_one_does(
    engine: DurableEngine,
) -> None:
    web = DurableEngine(engine.url, Missions().handlers(), works=False)
    await web.launch()
    try:
        assert await web.submit(a_request("m-1"))
        assert not await engine.submit(a_request("m-1"))
        assert await ended(web, "m-1") == "done"
    finally:
        await web.close()


async def test_after_a_restart_everything_is_still_known(
    engine: DurableEngine, missions: Missions
) -> None:
    await engine.submit(a_request("m-1"))
    await ended(engine, "m-1")
    await engine.close()
    again = DurableEngine(engine.url, missions.handlers())
    await again.launch()
    assert await again.status("m-1") == "done"
    assert not await again.submit(a_request("m-1"))
    await again.close()


async def test_a_mission_that_runs_at_an_orderly_stop_goes_on_at_the_next_start(url: str) -> None:
    missions = Missions()
    first = DurableEngine(url, missions.handlers(), pace=EngineTiming(poll_s=0.05))
    await first.launch()
    await first.submit(a_request("slow-1"))
    async with asyncio.timeout(120):
        while not missions.steps:  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.02)
    await first.close()
    missions.release.set()
    second = DurableEngine(url, missions.handlers(), pace=EngineTiming(poll_s=0.05))
    await second.launch()
    try:
        assert await ended(second, "slow-1") == "done"
        assert missions.steps == ["slow-1 first", "slow-1 first", "slow-1 second"]
    finally:
        await second.close()
