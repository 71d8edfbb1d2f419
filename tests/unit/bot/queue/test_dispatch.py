"""From the inbox to the queue: each kind of work where it belongs."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import override

from bot.domain.command import Command, Verb
from bot.domain.request import (
    Feedback,
    HeadMoved,
    InstallationChange,
    MissionRequest,
    PullRequestOpened,
    RedHead,
)
from bot.ports import Notice, Work
from bot.queue.dispatch import Dispatcher, enqueue_work
from bot.queue.inbox import Inbox
from tests.builders import a_repository, a_request
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_queue import MemoryQueue

pytestmark = pytest.mark.anyio
RED = RedHead(repository=a_repository(), head_sha="a" * 40)
COMMAND = Command(
    command_id="command:42:c1", verb=Verb.FIX, repository=a_repository(), author="alice"
)
FEEDBACK = Feedback(repository=a_repository(), pull_request=8, merged=True, branch="metaagent/x/1")
MOVED = HeadMoved(repository=a_repository(), branch="feature")
SUSPENDED = InstallationChange(installation_id=7, action="suspend")
OPENED = PullRequestOpened(repository=a_repository(), pull_request=3, head_sha="a" * 40)
EVERY_KIND: tuple[Work, ...] = (a_request(), RED, COMMAND, FEEDBACK, MOVED, SUSPENDED, OPENED)


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    opened = Inbox(a_database(tmp_path), FixedClock())
    opened.open()
    yield opened
    opened.close()


async def test_every_kind_of_work_goes_where_it_belongs(inbox: Inbox) -> None:
    queue = MemoryQueue()
    for number, work in enumerate(EVERY_KIND):
        await inbox.accept(f"d-{number}", "event", None, work)
    assert await Dispatcher(inbox, queue).deliver() == len(EVERY_KIND)
    assert list(queue.requests.values()) == [a_request()]
    assert list(queue.red.values()) == [RED]
    assert list(queue.commands.values()) == [COMMAND]
    assert queue.feedback == [FEEDBACK]
    assert queue.notices == [MOVED, SUSPENDED, OPENED]
    assert await inbox.waiting() == ()


@pytest.mark.parametrize(
    ("work", "again"),
    [
        (work, not isinstance(work, Feedback | HeadMoved | InstallationChange | PullRequestOpened))
        for work in EVERY_KIND
    ],
)
async def test_what_is_there_already_says_so(work: Work, *, again: bool) -> None:
    queue = MemoryQueue()
    assert await enqueue_work(work, queue)
    assert await enqueue_work(work, queue) is not again


async def test_who_was_stopped_in_the_middle_reads_again_what_waits(inbox: Inbox) -> None:
    class Stopping(MemoryQueue):
        """Its caller is stopped, and meanwhile another process hands over what it left."""

        @override
        async def submit(self, request: MissionRequest) -> bool:
            await asyncio.sleep(0.05)
            await inbox.submitted("d-2")
            return await super().submit(request)

    queue = Stopping()
    for number in (1, 2, 3):
        await inbox.accept(f"d-{number}", "event", None, a_request(mission_id=f"m-{number}"))
    stopped = Dispatcher(inbox, queue, look_s=0.03)
    inbox.arrived.clear()
    assert (await stopped.deliver(), inbox.arrived.is_set()) == (1, True)
    assert (await stopped.deliver(), await inbox.waiting()) == (1, ())
    assert list(queue.requests) == ["m-1", "m-3"]


async def test_what_people_ask_is_handed_over_before_what_machines_tell(inbox: Inbox) -> None:
    class Noting(MemoryQueue):
        """Remembers the order."""

        def __init__(self) -> None:
            super().__init__()
            self.order: list[str] = []

        @override
        async def command(self, command: Command) -> bool:
            self.order.append("command")
            return await super().command(command)

        @override
        async def notice(self, change: Notice, *, delay_s: float = 0.0) -> None:
            self.order.append("notice")
            await super().notice(change, delay_s=delay_s)

    works: tuple[Work, ...] = (MOVED, SUSPENDED, COMMAND)
    for number, work in enumerate(works):
        await inbox.accept(f"d-{number}", "event", None, work)
    queue = Noting()
    await Dispatcher(inbox, queue).deliver()
    assert queue.order == ["command", "notice", "notice"]
