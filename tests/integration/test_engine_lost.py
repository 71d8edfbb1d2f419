"""A step that could not be written down: nobody takes that for an end, and the same process goes on with it."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bot.domain.command import Command, Verb
from bot.domain.mission import MissionContext, Outcome
from bot.domain.publication import Publication
from bot.domain.request import Feedback, HeadMoved, MissionRequest, RedHead, Trigger
from bot.errors import QueueError, StoreError
from bot.intake.settle import first_request
from bot.ports import Checkpoint
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.workflows import Change, Handlers
from tests.builders import a_repository
from tests.postgres import Server

pytestmark = pytest.mark.anyio

Ask = Callable[[str], None]
OF_SQLITE = (
    "CREATE TRIGGER full BEFORE INSERT ON operation_outputs BEGIN SELECT no_such_function(); END",
    "DROP TRIGGER full",
)
OF_POSTGRES = (
    """CREATE FUNCTION dbos.full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION USING ERRCODE = '58030'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON dbos.operation_outputs EXECUTE FUNCTION dbos.full()""",
    "DROP TRIGGER full_disk ON dbos.operation_outputs",
)


class Missions:
    """Two steps; what breaks out of the first is looked at, as the line does that tells people."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.taken_for_an_end: list[Exception] = []
        self.refusals = 0

    async def handle(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        async def work(name: str) -> Publication:
            self.begun.append(name)
            return Publication(mission_id=request.mission_id)

        try:
            for name in ("first", "second"):
                await checkpoint.step(name, Publication, lambda name=name: work(name))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 -- what the line takes for an end
            self.taken_for_an_end.append(error)
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "done")

    async def ended(self, _: str) -> None:
        if self.refusals:
            self.refusals -= 1
            raise StoreError("the disk is full")


async def nothing(*_: object) -> None:
    return None


async def broken() -> None:
    raise StoreError("nothing can be given back")


async def ended(engine: DurableEngine) -> str | None:
    async with asyncio.timeout(120):
        while (state := await engine.status("m-1")) in {"waiting", "running"}:  # noqa: ASYNC110 -- it tells nobody
            await asyncio.sleep(0.05)
    return state


async def _goes_on(url: str, full: tuple[str, str], ask: Ask) -> None:
    missions = Missions()
    handlers = Handlers(
        mission=missions.handle,
        settle=nothing,
        command=nothing,
        feedback=nothing,
        notice=nothing,
        ended=missions.ended,
    )
    engine = DurableEngine(url, handlers, pace=EngineTiming(poll_s=0.05, beat_s=0.1))
    await engine.launch()
    try:
        ask(full[0])
        request = MissionRequest(
            mission_id="m-1", trigger=Trigger.CHECK_RUN, repository=a_repository()
        )
        await engine.submit(request)
        async with asyncio.timeout(120):
            while not missions.begun:  # noqa: ASYNC110 -- it tells nobody
                await asyncio.sleep(0.02)
        missions.refusals = 1  # and at its end our own tables fail once
        ask(full[1])
        assert await ended(engine) == "done"
    finally:
        await engine.close()
    assert missions.taken_for_an_end == []
    assert missions.begun[-1] == "second"
    assert missions.begun.count("second") == 1
    assert missions.refusals == 0


class Trouble:
    """Every kind of work meets a database that is away, once, in a step or outside of one."""

    def __init__(self) -> None:
        self.tries: Counter[str] = Counter()
        self.done: list[str] = []

    async def met(self, name: str) -> None:
        self.tries[name] += 1
        if self.tries[name] == 1:
            raise (
                StoreError("the disk is full")
                if name in {"feedback", "find"}
                else QueueError("no answer")
            )

    async def step(self, name: str, checkpoint: Checkpoint) -> None:
        async def work() -> Publication:
            await self.met(name)
            return Publication(mission_id=name)

        await checkpoint.step(f"{name} before", Publication, lambda: self.counted(name))
        await checkpoint.step(name, Publication, work)
        self.done.append(name)

    async def counted(self, name: str) -> Publication:
        self.tries[f"{name} before"] += 1
        return Publication(mission_id=name)

    async def mission(self, request: MissionRequest, checkpoint: Checkpoint) -> MissionContext:
        await self.step("mission", checkpoint)
        context = MissionContext(
            mission_id=request.mission_id, request=request, created_at="", target_path=""
        )
        return context.ended(Outcome.NO_FIX, "done")

    async def settle(self, red: RedHead, checkpoint: Checkpoint) -> MissionRequest:
        await self.step("past", checkpoint)
        return first_request(red)

    async def command(self, _: Command, checkpoint: Checkpoint) -> None:
        await self.met("command")
        await self.step("command", checkpoint)

    async def feedback(self, _: Feedback) -> None:
        await self.met("feedback")
        self.done.append("feedback")

    async def notice(self, _: Change, checkpoint: Checkpoint) -> None:
        await self.step("find", checkpoint)


async def test_no_kind_of_work_is_lost_when_a_database_fails_it(tmp_path: Path) -> None:
    trouble = Trouble()
    handlers = Handlers(
        mission=trouble.mission,
        settle=trouble.settle,
        command=trouble.command,
        feedback=trouble.feedback,
        notice=trouble.notice,
    )
    engine = DurableEngine(
        f"sqlite:///{tmp_path}/engine.sqlite", handlers, pace=EngineTiming(poll_s=0.05, beat_s=0.05)
    )
    await engine.launch()
    try:
        repository = a_repository()
        await engine.settle(red := RedHead(repository=repository, head_sha="a" * 40))
        await engine.command(
            Command(command_id="command:42:c1", verb=Verb.FIX, repository=repository, author="ann")
        )
        await engine.feed_back(
            Feedback(repository=repository, pull_request=8, merged=False, branch="b")
        )
        await engine.notice(HeadMoved(repository=repository, branch="feature", after="b" * 40))
        async with asyncio.timeout(120):
            while len(trouble.done) < 5:  # noqa: ASYNC110 -- it tells nobody
                await asyncio.sleep(0.05)
            while await engine.status(red.mission_id) != "done":  # noqa: ASYNC110 -- it tells nobody
                await asyncio.sleep(0.05)
        assert not await engine.is_unanswered(red.mission_id)
    finally:
        await engine.close()
    assert sorted(trouble.done) == ["command", "feedback", "find", "mission", "past"]
    assert {
        name: count for name, count in trouble.tries.items() if name.endswith("before")
    } == dict.fromkeys(("mission before", "past before", "command before", "find before"), 1), (
        "a step that was written down never runs again"
    )


async def test_an_orderly_stop_while_the_database_is_away_lets_go_of_everything(
    tmp_path: Path,
) -> None:
    url, missions = f"sqlite:///{tmp_path}/engine.sqlite", Missions()
    handlers = Handlers(
        mission=missions.handle,
        settle=nothing,
        command=nothing,
        feedback=nothing,
        notice=nothing,
        closing=broken,
    )

    def ask(sql: str) -> None:
        with closing(sqlite3.connect(tmp_path / "engine.sqlite", timeout=20)) as database:
            database.execute(sql)

    engine = DurableEngine(url, handlers, pace=EngineTiming(poll_s=0.05))
    await engine.launch()
    request = MissionRequest(mission_id="m-1", trigger=Trigger.CHECK_RUN, repository=a_repository())
    await engine.submit(request, delay_s=2.0)
    ask("ALTER TABLE workflow_status RENAME TO away")
    await engine.close()
    ask("ALTER TABLE away RENAME TO workflow_status")
    again = DurableEngine(url, handlers, pace=EngineTiming(poll_s=0.05))
    await again.launch()
    try:
        assert await ended(again) == "done"
    finally:
        await again.close()


async def test_a_mission_on_sqlite_goes_on_by_itself(tmp_path: Path) -> None:
    def ask(sql: str) -> None:
        with closing(sqlite3.connect(tmp_path / "engine.sqlite", timeout=20)) as database:
            database.execute(sql)

    await _goes_on(f"sqlite:///{tmp_path}/engine.sqlite", OF_SQLITE, ask)


def _asking(url: str) -> Ask:
    """Runs a statement on a PostgreSQL database."""

    def ask(sql: str) -> None:
        with psycopg.connect(url) as database:
            database.execute(sql)

    return ask


@pytest.mark.slow
async def test_a_mission_on_postgresql_goes_on_by_itself(postgres: Server) -> None:
    url = postgres.new_database()
    await _goes_on(url, OF_POSTGRES, _asking(url))


@pytest.mark.slow
async def test_a_value_that_could_not_be_written_is_no_error_of_its_step(postgres: Server) -> None:
    """The library writes the database's error into the row that the value should have had, if that has room."""
    url = postgres.new_database()
    values_only = OF_POSTGRES[0].replace(
        "BEGIN RAISE", "BEGIN IF NEW.error IS NOT NULL THEN RETURN NEW; END IF; RAISE"
    )
    values_only = values_only.replace("EXECUTE FUNCTION", "FOR EACH ROW EXECUTE FUNCTION")
    await _goes_on(url, (values_only, OF_POSTGRES[1]), _asking(url))
