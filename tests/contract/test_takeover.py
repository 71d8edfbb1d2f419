"""What a dead worker left is taken back, by the library's own call that it does not promise and by those it does."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import psycopg
import pytest
from typing_extensions import override

from bot.domain.mission import MissionContext, Outcome
from bot.domain.request import MissionRequest, RedHead, Trigger
from bot.ports import Checkpoint
from bot.queue.engine import DurableEngine, EngineTiming
from bot.queue.executor import FORGIVEN, PRIVATE, QUARANTINE, DeadWork, library_recovery
from bot.queue.postgres import Postgres
from bot.queue.rows import ASKED, MISSIONS, NOTICES, Rows
from bot.queue.supervisor import Supervisor
from bot.queue.workflows import Handlers
from tests.builders import a_repository
from tests.postgres import Server

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WAITING = "waiting line"
"""Nobody looks at it, so that what is put back there stays."""


class Left:
    """Rows as dead and living executors leave them."""

    def __init__(self, url: str, rows: Rows) -> None:
        self._url = url
        self.rows = rows

    def add(self, mission: str, executor: str, *, queue: str = WAITING, runs: int = 1) -> None:
        request = MissionRequest(
            mission_id=mission, trigger=Trigger.CHECK_RUN, repository=a_repository()
        )
        self.rows.enqueue(WAITING, mission, request, partition="42")
        with psycopg.connect(self._url) as database:
            database.execute(
                "UPDATE dbos.workflow_status SET status = 'PENDING', owner_xid = 'x', executor_id = %s, "
                "recovery_attempts = %s, queue_name = %s WHERE workflow_uuid = %s",
                (executor, runs, queue, mission),
            )

    def failed(self, mission: str) -> None:
        self.add(mission, "nobody")
        with psycopg.connect(self._url) as database:
            database.execute(
                "UPDATE dbos.workflow_status SET status = 'ERROR' WHERE workflow_uuid = %s",
                (mission,),
            )

    def stopped(self, mission: str) -> None:
        self.rows.cancel(mission)

    def claimed_again(self, mission: str, executor: str) -> None:
        with psycopg.connect(self._url) as database:
            database.execute(
                "UPDATE dbos.workflow_status SET status = 'PENDING', executor_id = %s, "
                "recovery_attempts = recovery_attempts + 1, started_at_epoch_ms = 2000000 WHERE workflow_uuid = %s",
                (executor, mission),
            )

    def wrote(self, mission: str, count: int, *, since_claimed_ms: int) -> None:
        with psycopg.connect(self._url) as database:
            database.execute(
                "UPDATE dbos.workflow_status SET started_at_epoch_ms = 1000000 WHERE workflow_uuid = %s",
                (mission,),
            )
            for number in range(count):
                began = 1_000_000 + since_claimed_ms - 10 * (count - number)
                database.execute(
                    "INSERT INTO dbos.operation_outputs (workflow_uuid, function_id, function_name, "
                    "started_at_epoch_ms, completed_at_epoch_ms) VALUES (%s, %s, 'step', %s, %s)",
                    (mission, number + 1, began, began + 5),
                )

    def state(self, mission: str) -> tuple[str, str, str]:
        with psycopg.connect(self._url) as database:
            query = "SELECT status, queue_name, queue_partition_key FROM dbos.workflow_status WHERE workflow_uuid = %s"
            found = database.execute(query, (mission,)).fetchone()
        assert found is not None
        return found[0], found[1], found[2]


async def _mission(request: MissionRequest, _: Checkpoint) -> MissionContext:
    context = MissionContext(
        mission_id=request.mission_id, request=request, created_at="", target_path=""
    )
    return context.ended(Outcome.NO_FIX, "done")


async def _settle(_: RedHead, __: Checkpoint) -> None:
    return None


async def _nothing(*_: object) -> None:
    return None


@pytest.fixture
async def engine(postgres: Server) -> AsyncIterator[DurableEngine]:
    handlers = Handlers(
        mission=_mission, settle=_settle, command=_nothing, feedback=_nothing, notice=_nothing
    )
    built = DurableEngine(
        postgres.new_database(), handlers, pace=EngineTiming(poll_s=60, beat_s=3_600)
    )
    await built.launch()
    yield built
    await built.close()


@pytest.fixture
def left(engine: DurableEngine) -> Left:
    assert engine._rows is not None
    return Left(engine.url, engine._rows)


async def test_the_library_has_its_call_still(engine: DurableEngine) -> None:
    assert library_recovery() is not None, (
        f"DBOS has no {PRIVATE} any more; DeadWork goes the longer way"
    )


async def test_what_a_dead_worker_left_is_in_line_again_by_either_way(left: Left) -> None:
    for name, library in (("by the library", library_recovery()), ("by promised calls", None)):
        dead = DeadWork(left.rows, library)
        left.add(f"m-1 {name}", "dead")
        left.add(f"m-2 {name}", "living")
        assert set(dead.running()) == {"dead", "living"}, name
        dead.recover("dead")
        assert left.state(f"m-1 {name}") == ("ENQUEUED", WAITING, "42"), name
        assert left.state(f"m-2 {name}")[0] == "PENDING", name
        dead.recover("dead")
        assert left.state(f"m-1 {name}") == ("ENQUEUED", WAITING, "42"), name


class Slow(Rows):
    """Between its look at what is worked on and what it does about it, people act."""

    def __init__(self, rows: Rows, act: Callable[[], None]) -> None:
        vars(self).update(vars(rows))
        self._act = act

    @override
    def running(self, executor: str | None = None) -> Sequence[Any]:
        found = super().running(executor)
        self._act()
        return found


async def test_who_is_stopped_while_a_dead_worker_s_missions_are_taken_back_stays_stopped(
    left: Left,
) -> None:
    missions = ("wrote a step", "died three times", "alone", "died once")
    left.add("wrote a step", "dead", queue=MISSIONS, runs=3)
    left.wrote("wrote a step", 3, since_claimed_ms=5_000)
    left.add("died three times", "dead", queue=MISSIONS, runs=3)
    left.add("alone", "dead", queue=QUARANTINE, runs=3)
    left.add("died once", "dead")

    def stop_all() -> None:
        for mission in missions:
            left.stopped(mission)

    DeadWork(Slow(left.rows, stop_all), library_recovery()).recover("dead")
    assert {left.state(mission)[0] for mission in missions} == {"CANCELLED"}
    assert left.rows.status("given up:alone") is None, "who stopped it was told"


async def test_what_another_worker_took_is_not_put_back(left: Left) -> None:
    left.add("m-1", "living")
    left.rows.requeue(["m-1"], MISSIONS, "dead")
    assert left.state("m-1")[0] == "PENDING"
    left.rows.requeue(["m-1"], MISSIONS, "living")
    assert left.state("m-1") == ("ENQUEUED", MISSIONS, "42")


async def test_a_mission_that_died_three_times_goes_on_apart_and_stays_there(left: Left) -> None:
    for name, library in (("by the library", library_recovery()), ("by promised calls", None)):
        dead = DeadWork(left.rows, library)
        left.add(f"deadly {name}", "dead", queue=MISSIONS, runs=3)
        left.add(f"a person's {name}", "dead", queue=ASKED, runs=3)
        left.add(f"once apart {name}", "dead", queue=QUARANTINE, runs=2)
        left.add(f"beside {name}", "dead", queue=MISSIONS, runs=2)
        dead.recover("dead")
        assert left.state(f"deadly {name}")[:2] == ("ENQUEUED", QUARANTINE)
        assert left.state(f"a person's {name}")[:2] == ("ENQUEUED", QUARANTINE)
        assert left.state(f"once apart {name}")[:2] == ("ENQUEUED", QUARANTINE)
        assert left.state(f"beside {name}")[:2] == ("ENQUEUED", MISSIONS)


async def test_who_wrote_a_step_down_in_its_last_life_is_no_poison(left: Left) -> None:
    dead = DeadWork(left.rows, library_recovery())
    for mission, queue, count, since in (
        ("innocent beside others", MISSIONS, 3, 5_000),
        ("innocent alone", QUARANTINE, 3, 5_000),
        ("at the same step again", QUARANTINE, 3, -5_000),
        ("without end", QUARANTINE, FORGIVEN + 1, 5_000),
    ):
        left.add(mission, "dead", queue=queue, runs=3)
        left.wrote(mission, count, since_claimed_ms=since)
    dead.recover("dead")
    assert left.state("innocent beside others")[:2] == ("ENQUEUED", MISSIONS)
    assert left.state("innocent alone")[:2] == ("ENQUEUED", QUARANTINE)
    assert left.state("at the same step again")[0] == "CANCELLED"
    assert left.state("without end")[0] == "CANCELLED"
    left.claimed_again("innocent alone", "dead too")
    dead.recover("dead too")
    assert left.state("innocent alone")[:2] == ("ENQUEUED", QUARANTINE), "it counts from nothing"


async def test_a_mission_that_died_three_times_alone_is_given_up_and_that_is_told_once(
    left: Left,
) -> None:
    for name, library in (("by the library", library_recovery()), ("by promised calls", None)):
        dead = DeadWork(left.rows, library)
        left.add(f"alone {name}", "dead", queue=QUARANTINE, runs=3)
        dead.recover("dead")
        dead.recover("dead")
        assert left.state(f"alone {name}")[0] == "CANCELLED"
        assert left.state(f"given up:alone {name}")[:2] == ("ENQUEUED", NOTICES)
        assert left.rows.status(f"alone {name}") == "cancelled", (
            "what happens to its checks begins it no more"
        )


async def test_who_lives_is_told_by_the_database_s_clock(engine: DurableEngine) -> None:
    other = Postgres(engine.url, "other")
    other.prepare()
    other.beat()
    assert other.alive(["other", engine.name, "never heard of"], 60) == {"other", engine.name}
    with psycopg.connect(engine.url) as database:
        database.execute(
            "UPDATE metaagent.executor SET beat = beat - interval '61 s' WHERE id = %s",
            (engine.name,),
        )
    assert other.alive(["other", engine.name], 60) == {"other"}
    other.leave()
    again = Postgres(engine.url, "again")
    assert again.alive(["other"], 60) == frozenset()
    again.leave()


async def test_one_process_at_a_time_does_what_is_done_alone(engine: DurableEngine) -> None:
    one, other = Postgres(engine.url, "one"), Postgres(engine.url, "other")
    with one.alone("judging", wait=False) as alone:
        assert alone
        with other.alone("judging", wait=False) as refused:
            assert not refused
        with other.alone("anew") as another_thing:
            assert another_thing
    with other.alone("judging", wait=False) as alone:
        assert alone
    one.leave()
    other.leave()


async def test_who_does_one_thing_alone_may_do_another_meanwhile(engine: DurableEngine) -> None:
    ours = Postgres(engine.url, "ours")

    def both() -> bool:
        with ours.alone("judging", wait=False) as judging, ours.alone("anew") as anew:
            return judging and anew

    # A thread that hangs must not hold the tests up.
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(both()), daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, 10)
    assert found == [True]
    ours.leave()


async def test_a_mission_whose_notice_failed_once_is_given_up_while_somebody_judges(
    engine: DurableEngine, left: Left
) -> None:
    left.add("alone", "dead", queue=QUARANTINE, runs=3)
    left.failed("given up:alone")
    assert engine._postgres is not None
    supervisor = Supervisor(
        engine._postgres, DeadWork(left.rows, library_recovery()), monotonic=lambda: 1_000.0
    )
    thread = threading.Thread(target=supervisor.judge, daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()
    assert left.state("alone")[0] == "CANCELLED"
    assert left.state("given up:alone")[0] == "ENQUEUED"


async def test_a_connection_that_broke_is_made_anew(engine: DurableEngine) -> None:
    ours = Postgres(engine.url, "ours")
    ours.beat()
    with psycopg.connect(engine.url) as database:
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'metaagent'"
        )
    with pytest.raises(psycopg.OperationalError):
        ours.beat()
    ours.beat()
    assert ours.alive(["ours"], 60) == {"ours"}
    ours.leave()
