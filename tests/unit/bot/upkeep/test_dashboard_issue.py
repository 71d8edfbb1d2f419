"""When a dashboard issue is opened, written, left alone, closed and opened again."""

import asyncio
import logging

import pytest

from bot.domain.policy import RepositoryPolicy
from bot.domain.request import DashboardDue
from bot.errors import NotPermitted, RateLimited
from bot.publish.dashboard_issue import OFF, ON
from bot.upkeep.dashboard_issue import DashboardIssues
from tests.fakes.memory_queue import MemoryQueue
from tests.fakes.memory_records import MemoryRecords
from tests.services import services
from tests.unit.bot.upkeep.world import REPOSITORY, World, a_fix

pytestmark = pytest.mark.anyio
WRITES = {"open_issue", "update_issue"}


class Boards:
    """The dashboard of one repository, whose policy can change."""

    def __init__(self) -> None:
        self.world, self.queue = World(), MemoryQueue()
        self.policy = RepositoryPolicy(dashboard_issue=True)
        self.reads = 0

        async def read_policy(_: object) -> RepositoryPolicy:
            self.reads += 1
            return self.policy

        bag = services(
            self.world.github,
            registry=self.world.registry,
            records=MemoryRecords(),
            queue=self.queue,
            clock=self.world.clock,
            read_policy=read_policy,
        )
        self.issues = DashboardIssues(bag, 60.0)

    async def refresh(self) -> list[str]:
        """Return the writes of one update."""
        before = len(self.world.github.calls)
        await self.issues.refresh(DashboardDue(repository=REPOSITORY, turn=1))
        return [call for call in self.world.github.calls[before:] if call in WRITES]


@pytest.fixture
def boards() -> Boards:
    return Boards()


async def test_an_issue_is_opened_and_written_only_when_its_text_changes(boards: Boards) -> None:
    assert await boards.refresh() == ["open_issue"]
    assert await boards.refresh() == []
    issue = boards.world.github.issues[0]
    # A browser changes the ends of lines.
    issue.body = issue.body.replace("\n", "\r\n")
    assert await boards.refresh() == []
    boards.world.put(a_fix(checks=("other",)))
    assert await boards.refresh() == ["update_issue"]
    assert "other" in issue.body
    issue.body = issue.body.replace("- [ ]", "- [x]")
    assert await boards.refresh() == ["update_issue"]
    assert "[x]" not in issue.body


async def test_a_deleted_issue_is_opened_again_and_a_closed_one_is_left_alone(
    boards: Boards,
) -> None:
    await boards.refresh()
    boards.world.github.issues[0].is_open = False
    boards.world.put(a_fix(checks=("other",)))
    assert await boards.refresh() == []
    boards.world.github.issues[0].is_open = True
    assert await boards.refresh() == ["update_issue"]
    boards.world.github.issues.clear()
    assert await boards.refresh() == ["open_issue"]


async def test_turning_the_policy_off_and_on_wakes_a_closed_one_up(boards: Boards) -> None:
    await boards.refresh()
    issue = boards.world.github.issues[0]
    issue.is_open = False
    boards.policy = RepositoryPolicy()
    assert await boards.refresh() == ["update_issue"]
    assert issue.body.startswith(OFF)
    assert await boards.refresh() == []
    boards.policy = RepositoryPolicy(dashboard_issue=True)
    await boards.issues.changed(REPOSITORY)
    assert boards.queue.notices == [], "the policy is read again after an hour"
    await boards.issues.changed(REPOSITORY, policy=True)
    assert len(boards.queue.notices) == 1, "or when a push changed it"
    assert await boards.refresh() == ["update_issue"]
    assert issue.is_open
    assert issue.body.startswith(ON)


async def test_a_staged_repository_is_not_written_to(boards: Boards) -> None:
    boards.policy = RepositoryPolicy(dashboard_issue=True, mode="staged")
    assert await boards.refresh() == []


async def test_a_missing_right_is_told_once_an_hour(
    boards: Boards, caplog: pytest.LogCaptureFixture
) -> None:
    boards.world.github.faults["open_issue"] = [NotPermitted("no", "grant it", status=403)] * 2
    with caplog.at_level(logging.WARNING):
        await boards.refresh()
    assert ["issues: write" in one for one in caplog.messages] == [True]
    await boards.issues.changed(REPOSITORY)
    assert boards.queue.notices == []
    boards.world.clock.advance(3_601)
    await boards.issues.changed(REPOSITORY)
    assert len(boards.queue.notices) == 1


async def test_a_limit_of_github_is_left_to_the_next_change(boards: Boards) -> None:
    boards.world.github.faults["own_issue"] = [RateLimited("wait", retry_after_s=3_000.0)]
    assert await boards.refresh() == []
    assert await boards.refresh() == ["open_issue"]


async def test_two_at_once_open_one_issue(boards: Boards) -> None:
    await asyncio.gather(boards.refresh(), boards.refresh())
    assert len(boards.world.github.issues) == 1


async def test_a_change_makes_it_due_once_in_each_turn(boards: Boards) -> None:
    for _ in range(3):
        await boards.issues.changed(REPOSITORY)
    await boards.issues.changed(None)
    boards.world.clock.advance(60)
    await boards.issues.changed(REPOSITORY)
    first, second = boards.queue.notices
    assert isinstance(first, DashboardDue)
    assert isinstance(second, DashboardDue)
    assert second.turn == first.turn + 1
    assert first.key != second.key
    boards.queue.away = True
    await boards.issues.changed(REPOSITORY)


async def test_where_none_is_wanted_the_policy_is_read_once_an_hour(boards: Boards) -> None:
    boards.policy = RepositoryPolicy()
    for _ in range(3):
        await boards.issues.look_after(REPOSITORY)
        await boards.issues.changed(REPOSITORY)
    assert (boards.reads, boards.queue.notices) == (1, [])
    boards.world.clock.advance(3_601)
    boards.policy = RepositoryPolicy(dashboard_issue=True)
    await boards.issues.look_after(REPOSITORY)
    assert len(boards.queue.notices) == 1
