"""Every delivery on disk before the answer; a delivery once."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from bot.domain.command import Command, Verb
from bot.domain.delivery import Receipt
from bot.domain.request import (
    Feedback,
    HeadMoved,
    Ignored,
    InstallationChange,
    MissionRequest,
    PullRequestOpened,
    RedHead,
    Trigger,
)
from bot.errors import QueueError
from bot.ports import Work
from bot.queue.dispatch import Dispatcher
from bot.queue.inbox import LEFT_S, UNREAD, Inbox
from bot.queue.inbox_table import CHECKPOINT_AFTER, LIVE, WaitingDelivery
from bot.store.opening import FILE, open_database
from tests.builders import a_repository
from tests.databases import BOTH, a_database, engine_file, url_of
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_queue import MemoryQueue
from tests.patience import HANG_S

pytestmark = pytest.mark.anyio

EVERY_KIND: tuple[Work, ...] = (
    MissionRequest(mission_id="m-1", trigger=Trigger.COMMENT, repository=a_repository()),
    RedHead(repository=a_repository(), head_sha="a" * 40),
    Command(
        command_id="c-1",
        verb=Verb.FIX,
        options={"rungs": "0"},
        repository=a_repository(),
        author="mona",
    ),
    Feedback(repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1"),
    HeadMoved(repository=a_repository(), branch="main", before="a" * 40, after=None),
    InstallationChange(installation_id=3, action="suspend"),
    PullRequestOpened(repository=a_repository(), pull_request=3, head_sha="a" * 40),
)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def queue() -> MemoryQueue:
    return MemoryQueue()


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, request, tmp_path)


@pytest.fixture
def inbox(url: str, clock: FixedClock, queue: MemoryQueue) -> Iterator[Inbox]:
    opened = Inbox(open_database(url), clock, queue.status)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def other(url: str, clock: FixedClock, queue: MemoryQueue) -> Iterator[Inbox]:
    """That of another process."""
    opened = Inbox(open_database(url), clock, queue.status)
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def in_a_file(tmp_path: Path, clock: FixedClock, queue: MemoryQueue) -> Iterator[Inbox]:
    opened = Inbox(a_database(tmp_path), clock, queue.status)
    opened.open()
    yield opened
    opened.close()


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(120):
        while not condition():  # noqa: ASYNC110 -- the fakes have no events
            await anyio.sleep(0.005)


def a_request(mission: str = "m-1") -> MissionRequest:
    return MissionRequest(mission_id=mission, trigger=Trigger.CHECK_RUN, repository=a_repository())


async def accept(
    inbox: Inbox, delivery: str = "d-1", decision: MissionRequest | Feedback | Ignored | None = None
) -> Receipt:
    return await inbox.accept(delivery, "check_run", "completed", decision or a_request())


async def handed_over(inbox: Inbox, number: int) -> tuple[WaitingDelivery, ...]:
    """Wait until PostgreSQL has released the locks of a closed connection."""
    async with asyncio.timeout(HANG_S):
        while len(waiting := await inbox.waiting()) < number:  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.01)
    return waiting


async def test_an_accepted_delivery_is_there_after_the_process_died(
    inbox: Inbox, other: Inbox
) -> None:
    await accept(inbox)
    await inbox.waiting()
    inbox.close()
    (waiting,) = await handed_over(other, 1)
    assert waiting.work == a_request()


async def test_of_several_processes_each_hands_over_what_it_took_in_and_one_what_a_dead_one_left(
    url: str, inbox: Inbox, other: Inbox, clock: FixedClock
) -> None:
    async def ours(one: Inbox) -> list[str]:
        return [waiting.delivery for waiting in await one.waiting()]

    assert await ours(inbox) == []
    third = Inbox(open_database(url), clock)
    third.open()
    for number, one in enumerate((inbox, other, third)):
        await accept(one, f"d-{number}", a_request(f"m-{number}"))
    assert await ours(inbox) == ["d-0"]
    if url.startswith("postgresql"):  # of a file there is one process only
        assert await ours(other) == ["d-1"]
    third.close()
    clock.advance(LEFT_S + 1)
    assert [one.delivery for one in await handed_over(inbox, 3)] == ["d-0", "d-1", "d-2"]
    await asyncio.gather(*(inbox.submitted(f"d-{number}") for number in range(3)))
    assert await ours(other) == []


async def test_several_processes_that_hear_of_one_mission_at_the_same_time_ask_for_it_once(
    inbox: Inbox, other: Inbox
) -> None:
    both = [
        accept(one, f"d-{n}", a_request(f"m-{n % 5}")) for n in range(20) for one in (inbox, other)
    ]
    results = [receipt.result for receipt in await asyncio.gather(*both)]
    assert (results.count("queued"), results.count("duplicate")) == (5, 35)


async def test_what_waits_is_handed_over_when_nothing_else_arrives(
    inbox: Inbox, other: Inbox, clock: FixedClock
) -> None:
    await inbox.waiting()
    await accept(other)
    other.close()
    clock.advance(LEFT_S + 1)
    queue = MemoryQueue()
    async with anyio.create_task_group() as group:
        group.start_soon(Dispatcher(inbox, queue, look_s=0.05).run)
        await until(lambda: "m-1" in queue.requests)
        group.cancel_scope.cancel()


async def test_ignored_deliveries_are_remembered_and_never_wait(inbox: Inbox) -> None:
    receipt = await accept(inbox, decision=Ignored(reason="not ours"))
    assert (receipt.result, receipt.reason) == ("ignored", "not ours")
    assert await inbox.waiting() == ()
    assert (await accept(inbox, decision=Ignored(reason="not ours"))).result == "duplicate"


async def test_a_redelivery_of_a_failed_mission_is_let_through(
    inbox: Inbox, queue: MemoryQueue
) -> None:
    await accept(inbox)
    await Dispatcher(inbox, queue).deliver()
    assert (await accept(inbox)).result == "duplicate"
    queue.states["m-1"] = "failed"
    assert (await accept(inbox)).result == "queued"
    assert await Dispatcher(inbox, queue).deliver() == 1
    assert queue.states["m-1"] == "waiting"


async def test_another_delivery_for_a_failed_mission_is_let_through(
    inbox: Inbox, queue: MemoryQueue
) -> None:
    await accept(inbox)
    await Dispatcher(inbox, queue).deliver()
    queue.states["m-1"] = "failed"
    assert (await accept(inbox, "d-2")).result == "queued"


async def test_a_finished_mission_is_not_done_again(inbox: Inbox, queue: MemoryQueue) -> None:
    await accept(inbox)
    await Dispatcher(inbox, queue).deliver()
    queue.states["m-1"] = "done"
    assert (await accept(inbox, "d-2")).result == "duplicate"


async def test_many_deliveries_at_once_ask_for_one_mission(inbox: Inbox) -> None:
    receipts = []

    async def one(number: int) -> None:
        receipts.append(await accept(inbox, f"d-{number}"))

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(one, number)
    assert sorted(r.result for r in receipts) == ["duplicate"] * 11 + ["queued"]
    assert len(await inbox.waiting()) == 1


async def test_what_a_dead_process_left_is_handed_over_at_the_next_start(
    inbox: Inbox, queue: MemoryQueue
) -> None:
    await accept(inbox)
    await accept(
        inbox,
        "d-2",
        Feedback(repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1"),
    )
    queue.away = True
    with pytest.raises(QueueError):
        await Dispatcher(inbox, queue).deliver()
    queue.away = False
    async with anyio.create_task_group() as group:
        group.start_soon(Dispatcher(inbox, queue).run)
        await until(lambda: len(queue.requests) + len(queue.feedback) == 2)
        group.cancel_scope.cancel()


async def test_a_delivery_that_arrives_while_the_dispatcher_runs_is_handed_over_at_once(
    inbox: Inbox, queue: MemoryQueue
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(Dispatcher(inbox, queue).run)
        await anyio.sleep(0.05)
        await accept(inbox)
        await until(lambda: "m-1" in queue.requests)
        group.cancel_scope.cancel()


async def test_dying_between_queue_and_mark_costs_nothing(inbox: Inbox, queue: MemoryQueue) -> None:
    await accept(inbox)
    (one,) = await inbox.waiting()
    assert isinstance(one.work, MissionRequest)
    await queue.submit(one.work)
    assert await Dispatcher(inbox, queue).deliver() == 1
    assert len(queue.requests) == 1
    assert await inbox.waiting() == ()


async def test_settled_deliveries_are_forgotten_in_time(
    inbox: Inbox, queue: MemoryQueue, clock: FixedClock
) -> None:
    await accept(inbox)
    await accept(inbox, "d-2", a_request("m-2"))
    await inbox.submitted("d-1")
    clock.advance(timedelta(days=40).total_seconds())
    assert await inbox.purge(timedelta(days=30)) == 1
    assert len(await inbox.waiting()) == 1


async def test_a_locked_database_is_a_queue_error_for_all_who_wait(
    tmp_path: Path, clock: FixedClock
) -> None:
    inbox = Inbox(open_database(engine_file(tmp_path), busy_s=0.05), clock)
    inbox.open()
    with a_database(tmp_path).transaction():
        refused = await asyncio.gather(
            *(accept(inbox, f"d-{n}", a_request(f"m-{n}")) for n in range(5)),
            return_exceptions=True,
        )
    assert [type(one) for one in refused] == [QueueError] * 5
    assert (await accept(inbox)).result == "queued"
    inbox.close()


async def test_deliveries_that_come_together_are_all_written_in_their_order(inbox: Inbox) -> None:
    names = [f"d-{number}" for number in range(600)]
    receipts = await asyncio.gather(*(accept(inbox, name, a_request(name)) for name in names))
    assert [receipt.delivery for receipt in receipts] == names
    assert {receipt.result for receipt in receipts} == {"queued"}
    assert [one.delivery for one in await inbox.waiting()] == names
    assert await inbox.find_known(["d-0", "d-599", "d-600"]) == {"d-0", "d-599"}


async def test_the_log_of_writes_is_moved_into_the_file_beside_the_answers(
    in_a_file: Inbox, tmp_path: Path
) -> None:
    inbox, log = in_a_file, tmp_path / f"{FILE}-wal"
    for number in range(CHECKPOINT_AFTER):
        await accept(inbox, f"d-{number}", a_request(f"m-{number}"))
    assert inbox._moving is not None
    await inbox._moving
    before = log.stat().st_size
    for number in range(50):
        await accept(inbox, f"e-{number}", a_request(f"n-{number}"))
    assert log.stat().st_size == before, "what was moved is written over"
    assert len(await inbox.waiting()) == CHECKPOINT_AFTER + 50


def test_a_group_costs_the_same_however_much_waits(tmp_path: Path) -> None:
    with closing(a_database(tmp_path)) as database:
        plan = database.run(
            lambda tx: tx.execute(
                f"EXPLAIN QUERY PLAN {LIVE.format(':a, :b')}", {"a": "1", "b": "2"}
            )
        )
    assert "delivery_by_mission" in str(plan)


async def test_a_delivery_whose_sender_gave_up_while_it_was_written_is_on_disk_all_the_same(
    inbox: Inbox,
) -> None:
    gone = asyncio.create_task(accept(inbox))
    while not inbox._writing or inbox._pending:  # noqa: ASYNC110 -- no event tells that
        await asyncio.sleep(0)
    gone.cancel()
    assert (await accept(inbox, "d-2", a_request("m-2"))).result == "queued"
    assert {one.delivery for one in await inbox.waiting()} == {"d-1", "d-2"}


async def test_what_nobody_waits_for_any_more_does_not_pile_up_behind_a_database_that_is_silent(
    tmp_path: Path, clock: FixedClock, in_a_file: Inbox
) -> None:
    with a_database(tmp_path).transaction():
        first = asyncio.create_task(accept(in_a_file))
        while not in_a_file._writing or in_a_file._pending:  # noqa: ASYNC110 -- no event tells that
            await asyncio.sleep(0)
        more = [
            asyncio.create_task(accept(in_a_file, f"d-{n}", a_request(f"m-{n}")))
            for n in range(2, 50)
        ]
        await asyncio.sleep(0)
        assert len(in_a_file._pending) == len(more)
        for one in (first, *more):
            one.cancel()
        await asyncio.gather(first, *more, return_exceptions=True)
        assert not in_a_file._pending
    assert (await accept(in_a_file, "d-50", a_request("m-50"))).result == "queued"
    assert {one.delivery for one in await in_a_file.waiting()} == {"d-1", "d-50"}


@pytest.mark.parametrize("work", EVERY_KIND, ids=lambda work: type(work).__name__)
async def test_every_kind_of_work_comes_out_as_it_went_in(inbox: Inbox, work: Work) -> None:
    assert (await inbox.accept("d-1", "event", None, work)).result == "queued"
    (waiting,) = await inbox.waiting()
    assert waiting.work == work


async def test_every_red_check_of_a_head_is_one_mission(inbox: Inbox) -> None:
    red = RedHead(repository=a_repository(), head_sha="a" * 40)
    first = await inbox.accept("d-1", "check_run", "completed", red)
    second = await inbox.accept(
        "d-2", "workflow_run", "completed", red.with_(workflow_run=7, delivery_id="d-2")
    )
    other = await inbox.accept("d-3", "check_run", "completed", red.with_(head_sha="b" * 40))
    assert [r.result for r in (first, second, other)] == ["queued", "duplicate", "queued"]


async def test_a_closed_inbox_takes_nothing(inbox: Inbox) -> None:
    inbox.close()
    with pytest.raises(QueueError):
        await accept(inbox)


def test_a_folder_that_cannot_be_made_is_a_queue_error(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(QueueError, match="cannot be made"):
        Inbox(a_database(tmp_path / "file"), clock).open()


async def test_a_row_of_another_version_does_not_hold_up_the_others_and_waits_for_who_can_read_it(
    inbox: Inbox, queue: MemoryQueue, url: str, clock: FixedClock, caplog: pytest.LogCaptureFixture
) -> None:
    await accept(inbox)
    await accept(inbox, "d-2", a_request("m-2"))
    write = "UPDATE delivery SET work = :work WHERE id = 'd-1'"
    assert open_database(url).run(lambda tx: tx.change(write, {"work": '{"newer": 1}'})) == 1
    assert await Dispatcher(inbox, queue).deliver() == 1
    assert list(queue.requests) == ["m-2"]
    assert await inbox.waiting() == ()
    assert [
        record.levelname for record in caplog.records if "unreadable delivery" in record.message
    ] == ["WARNING"]
    newer = a_request().model_dump_json()
    assert open_database(url).run(lambda tx: tx.change(write, {"work": newer})) == 1
    assert [one.delivery for one in await inbox.waiting()] == ["d-1"], "as a newer process reads it"
    open_database(url).run(lambda tx: tx.change(write, {"work": '{"newer": 1}'}))
    clock.advance(UNREAD.total_seconds() + 1)
    assert await inbox.waiting() == ()
    open_database(url).run(lambda tx: tx.change(write, {"work": newer}))
    assert await inbox.waiting() == (), "nobody came who could"


async def accept_body(
    inbox: Inbox, delivery: str, fingerprint: str | None, mission: str = "m-1"
) -> str:
    decision = a_request(mission)
    return (await inbox.accept(delivery, "check_run", "completed", decision, fingerprint)).result


async def test_a_body_under_another_id_is_a_duplicate_in_every_process_and_after_a_restart(
    inbox: Inbox, other: Inbox, url: str, clock: FixedClock
) -> None:
    command = Command(command_id="c-1", verb=Verb.FIX, repository=a_repository(), author="mona")
    first = await inbox.accept("d-1", "issue_comment", "created", command, "f-1")
    # What is asked for has another name each time: nothing but the body tells.
    replayed = command.with_(command_id="c-2", delivery_id="d-2")
    second = await other.accept("d-2", "issue_comment", "created", replayed, "f-1")
    inbox.close()
    reopened = Inbox(open_database(url), clock)
    reopened.open()
    third = await reopened.accept("d-3", "check_run", None, replayed.with_(command_id="c-3"), "f-1")
    reopened.close()
    assert [one.result for one in (first, second, third)] == ["queued", "duplicate", "duplicate"]


async def test_bodies_written_at_the_same_time_count_once_each(inbox: Inbox, other: Inbox) -> None:
    both = [
        accept_body(one, f"d-{n}-{id(one)}", f"f-{n % 5}", f"m-{n}")
        for n in range(20)
        for one in (inbox, other)
    ]
    results = await asyncio.gather(*both)
    assert (results.count("queued"), results.count("duplicate")) == (5, 35)


async def test_a_replay_does_not_begin_a_failed_mission_again_and_a_redelivery_does(
    inbox: Inbox, queue: MemoryQueue
) -> None:
    assert await accept_body(inbox, "d-1", "f-1") == "queued"
    await Dispatcher(inbox, queue).deliver()
    queue.states["m-1"] = "failed"
    assert await accept_body(inbox, "d-2", "f-1") == "duplicate"
    assert await accept_body(inbox, "d-1", "f-1") == "queued"


async def test_deliveries_without_a_fingerprint_are_told_apart_by_their_ids_only(
    inbox: Inbox,
) -> None:
    results = [await accept_body(inbox, f"d-{n}", None, f"m-{n}") for n in range(3)]
    assert results == ["queued"] * 3


async def test_a_body_is_forgotten_with_its_delivery(
    inbox: Inbox, queue: MemoryQueue, clock: FixedClock
) -> None:
    await accept_body(inbox, "d-1", "f-1")
    await Dispatcher(inbox, queue).deliver()
    clock.advance(timedelta(days=29).total_seconds())
    await inbox.purge(timedelta(days=30))
    assert await accept_body(inbox, "d-2", "f-1", "m-2") == "duplicate"
    clock.advance(timedelta(days=31).total_seconds())
    await inbox.purge(timedelta(days=30))
    assert await accept_body(inbox, "d-3", "f-1", "m-3") == "queued"
