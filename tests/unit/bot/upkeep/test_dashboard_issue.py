"""When a dashboard issue is opened, written, left alone, closed and opened again."""

import asyncio
import logging
from pathlib import Path

import pytest

from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState
from bot.domain.request import DashboardDue, DashboardTouched
from bot.errors import NotPermitted, RateLimited
from bot.policy.policy_file import read_policy
from bot.publish.dashboard_issue import OFF, ON
from bot.registry.dashboards import StoredDashboards
from bot.upkeep.dashboard_issue import MOST_CLOSED, DashboardIssues
from tests.databases import a_database
from tests.fakes.memory_queue import MemoryQueue
from tests.fakes.memory_records import MemoryRecords
from tests.services import services
from tests.unit.bot.upkeep.world import RED_PULL, REPOSITORY, World, a_fix

pytestmark = pytest.mark.anyio
WRITES = {"open_issue", "update_issue"}


class Boards:
    """The dashboard of one repository, whose policy can change."""

    def __init__(self, folder: Path) -> None:
        self.world, self.queue = World(), MemoryQueue()
        self.policy = RepositoryPolicy(dashboard_issue=True)
        self.reads = 0

        async def read(_: object) -> RepositoryPolicy:
            self.reads += 1
            return self.policy

        bag = services(
            self.world.github,
            registry=self.world.registry,
            records=MemoryRecords(),
            queue=self.queue,
            clock=self.world.clock,
            read_policy=read,
        )
        self.known = StoredDashboards(a_database(folder))
        self.issues = DashboardIssues(bag, self.known, 60.0)

    async def refresh(self) -> list[str]:
        """Read the policy, and return the writes of one update."""
        await self.issues.read_policy(REPOSITORY)
        return [call for call in await self.calls() if call in WRITES]

    async def calls(self) -> list[str]:
        """Return the requests of one update."""
        before = len(self.world.github.calls)
        await self.issues.refresh(DashboardDue(repository=REPOSITORY, turn=1))
        return self.world.github.calls[before:]

    async def touch(self, action: str) -> None:
        """A person does something to the issue."""
        issue = self.world.github.issues[0]
        if action == "deleted":
            self.world.github.issues.clear()
        if action in {"closed", "reopened"}:
            issue.is_open = action == "reopened"
        touch = {"repository": REPOSITORY, "number": issue.number, "action": action}
        await self.issues.touched(REPOSITORY, DashboardTouched.model_validate(touch))


@pytest.fixture
def boards(tmp_path: Path) -> Boards:
    return Boards(tmp_path)


async def test_an_issue_is_opened_and_written_only_when_its_text_changes(boards: Boards) -> None:
    assert await boards.refresh() == ["open_issue"]
    assert await boards.calls() == []
    issue = boards.world.github.issues[0]
    boards.world.put(a_fix(checks=("other",)))
    assert await boards.calls() == ["update_issue"]
    assert "other" in issue.body
    issue.body = issue.body.replace("- [ ]", "- [x]")
    await boards.issues.touched(REPOSITORY, None)
    assert await boards.calls() == ["update_issue"]
    assert "[x]" not in issue.body
    issue.body = "nothing of ours"
    await boards.touch("edited")
    assert await boards.calls() == ["update_issue"]
    assert issue.body.startswith(ON)


async def test_a_deleted_issue_is_opened_again_and_a_closed_one_is_left_alone(
    boards: Boards,
) -> None:
    await boards.refresh()
    await boards.touch("closed")
    boards.world.put(a_fix(checks=("other",)))
    assert await boards.calls() == []
    await boards.issues.changed(REPOSITORY)
    turns = len(boards.queue.notices)
    await boards.touch("reopened")
    assert len(boards.queue.notices) == turns, "the present interval has its work already"
    assert await boards.calls() == ["update_issue"]
    await boards.touch("deleted")
    assert await boards.refresh() == ["open_issue"]
    boards.world.github.issues.clear()  # its event is lost
    boards.world.put(a_fix(checks=("another",)))
    assert await boards.refresh() == ["update_issue", "open_issue"]


async def test_turning_the_policy_off_and_on_wakes_a_closed_one_up(boards: Boards) -> None:
    await boards.refresh()
    issue = boards.world.github.issues[0]
    await boards.touch("closed")
    boards.policy = RepositoryPolicy()
    assert await boards.refresh() == ["update_issue"]
    assert issue.body.startswith(OFF)
    assert await boards.refresh() == []
    boards.queue.notices.clear()
    boards.policy = RepositoryPolicy(dashboard_issue=True)
    assert await boards.refresh() == ["update_issue"]
    assert len(boards.queue.notices) == 1, "a policy that is read makes the issue due"
    assert issue.is_open
    assert issue.body.startswith(ON)


async def test_a_policy_that_cannot_be_read_neither_closes_nor_opens_the_issue(
    boards: Boards,
) -> None:
    await boards.refresh()
    issue = boards.world.github.issues[0]
    for written in (b"dashboard_issue: [", b"dashboard_isue: true", b"dashboard_issue: 3"):
        boards.policy = read_policy(written)
        assert not boards.policy.dashboard_issue
        await boards.refresh()
        assert issue.is_open
        assert issue.body.startswith(ON)
    await boards.touch("closed")
    await boards.refresh()
    boards.policy = RepositoryPolicy(dashboard_issue=True)
    assert await boards.refresh() == [], "a person closed it"
    boards.policy = read_policy(b"dashboard_issue: false")
    assert await boards.refresh() == ["update_issue"]
    assert issue.body.startswith(OFF)


async def test_a_closed_pull_request_is_shown_again_when_a_mission_begins(boards: Boards) -> None:
    boards.world.put(a_fix(state=FixState.CLOSED))
    await boards.refresh()
    issue = boards.world.github.issues[0]
    assert "refused fixes" in issue.body
    for is_open in (False, True):
        await boards.issues.note_pull(REPOSITORY, RED_PULL, is_open=is_open)
        assert await boards.refresh() == ["update_issue"]
        assert ("refused fixes" in issue.body) == is_open
    for number in range(400):
        await boards.issues.note_pull(REPOSITORY, 1_000 + number, is_open=False)
    assert len((await boards.known.find(REPOSITORY.id)).closed_pulls) == MOST_CLOSED


async def test_an_issue_that_is_not_known_is_found_again(boards: Boards, tmp_path: Path) -> None:
    await boards.refresh()
    await boards.known.revise(REPOSITORY.id, lambda known: known.with_(number=None))
    assert await boards.refresh() == ["update_issue"]
    boards.world.github.issues[0].is_open = False
    await boards.known.revise(REPOSITORY.id, lambda known: known.with_(number=None))
    assert await boards.refresh() == []
    assert (await boards.known.find(REPOSITORY.id)).closed_by == "person"


async def test_the_policy_of_an_older_mission_changes_nothing_that_is_known(boards: Boards) -> None:
    older = RepositoryPolicy(dashboard_issue=True, origins={"dashboard_issue": "x:1"})
    await boards.issues.learn(REPOSITORY, RepositoryPolicy())
    await boards.issues.learn(REPOSITORY, older, is_new=False)
    assert boards.queue.notices == []


async def test_a_staged_repository_is_not_written_to(boards: Boards) -> None:
    boards.policy = RepositoryPolicy(dashboard_issue=True, mode="staged")
    assert await boards.refresh() == []


async def test_a_missing_right_is_told_once_an_hour(
    boards: Boards, caplog: pytest.LogCaptureFixture
) -> None:
    boards.world.github.faults["open_issue"] = [NotPermitted("no", "grant it", status=403)] * 2
    with caplog.at_level(logging.WARNING):
        await boards.refresh()
    boards.queue.notices.clear()
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
    await boards.issues.read_policy(REPOSITORY)
    await asyncio.gather(boards.calls(), boards.calls())
    assert len(boards.world.github.issues) == 1


async def test_a_change_makes_it_due_once_in_each_turn(boards: Boards) -> None:
    await boards.issues.read_policy(REPOSITORY)
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


async def test_where_none_is_wanted_nothing_is_requested(boards: Boards) -> None:
    boards.policy = RepositoryPolicy()
    await boards.issues.changed(REPOSITORY)
    await boards.issues.read_policy(REPOSITORY)
    await boards.issues.changed(REPOSITORY)
    assert boards.queue.notices == []
    assert await boards.calls() == []
    assert boards.reads == 1
