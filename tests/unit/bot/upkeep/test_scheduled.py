"""Work without an event: requested once a day or week, or after a push, where the policy wants it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.domain.policy import ContinuousImprovement, RepositoryPolicy, ScheduledImprovement
from bot.domain.request import HeadMoved, RepositoryRef, Trigger
from bot.errors import GitHubError, RateLimited
from bot.ports import Services
from bot.upkeep.scheduled import AfterMerge, request_scheduled
from sandbox.types import TrustTier
from tests.builders import HEAD
from tests.fakes.memory_queue import MemoryQueue
from tests.unit.bot.upkeep.test_sweep import NOW, Lost
from tests.unit.bot.upkeep.world import NEWER, REPOSITORY, World

pytestmark = pytest.mark.anyio
YESTERDAY = NOW - timedelta(days=1)
LAST_WEEK = NOW - timedelta(days=7)


def opted_in(
    improve: str = "never", continuous: str = "never", *, after_merge: bool = False
) -> RepositoryPolicy:
    return RepositoryPolicy(
        improve=ScheduledImprovement(schedule=improve),  # type: ignore[arg-type]
        continuous=ContinuousImprovement(schedule=continuous, after_merge=after_merge),  # type: ignore[arg-type]
    )


def services_of(policy: RepositoryPolicy, queue: MemoryQueue) -> Services:
    return replace(World(policy=policy).services, queue=queue)


async def test_without_a_policy_key_nothing_is_scheduled() -> None:
    queue = MemoryQueue()
    services = services_of(RepositoryPolicy(), queue)
    assert await request_scheduled(REPOSITORY, LAST_WEEK, services) == 0
    assert (queue.requests, queue.red) == ({}, {})


@pytest.mark.parametrize(
    ("schedule", "since", "asked"),
    [
        ("daily", YESTERDAY, 1),
        ("daily", NOW - timedelta(hours=1), 0),
        ("weekly", LAST_WEEK, 1),
        ("never", LAST_WEEK, 0),
    ],
)
async def test_an_improvement_is_requested_when_its_day_or_week_begins(
    schedule: str, since: datetime, asked: int
) -> None:
    queue = MemoryQueue()
    services = services_of(opted_in(improve=schedule), queue)
    assert await request_scheduled(REPOSITORY, since, services) == asked
    assert len(queue.requests) == asked
    for request in queue.requests.values():
        assert (request.improve, request.trigger) == ("", Trigger.SCHEDULE)
        assert (request.head_sha, request.head_branch) == (HEAD, "main")
        assert request.tier is TrustTier.DEFAULT_BRANCH
        assert request.requested_by == "metaagent[bot]"


async def test_the_weekly_one_waits_for_the_next_week() -> None:
    queue = MemoryQueue()
    services = services_of(opted_in(improve="weekly"), queue)
    days = [NOW - timedelta(days=number) for number in range(7, 0, -1)]
    asked = []
    for since in days:
        asked.append(since.toordinal() // 7 != NOW.toordinal() // 7)
        assert bool(await request_scheduled(REPOSITORY, since, services)) is (
            asked[-1] and sum(asked) == 1
        )


async def test_two_looks_on_one_day_request_one_improvement() -> None:
    queue = MemoryQueue()
    services = services_of(opted_in(improve="daily"), queue)
    assert await request_scheduled(REPOSITORY, YESTERDAY, services) == 1
    assert await request_scheduled(REPOSITORY, YESTERDAY, services) == 0


async def test_continuous_missions_begin_with_the_checks_of_the_default_branch() -> None:
    queue = MemoryQueue()
    services = services_of(opted_in(continuous="daily"), queue)
    assert await request_scheduled(REPOSITORY, YESTERDAY, services) == 1
    (red,) = queue.red.values()
    assert (red.continuous, red.head_sha, red.head_branch) == (True, HEAD, "main")


async def test_a_commit_whose_tests_ran_already_is_not_tested_again() -> None:
    queue = MemoryQueue()
    queue.states[f"mission:{REPOSITORY.id}:{HEAD}:auto:unchecked"] = "done"
    services = services_of(opted_in(continuous="daily"), queue)
    assert await request_scheduled(REPOSITORY, YESTERDAY, services) == 0
    assert queue.red == {}


def pushed(**changes: Any) -> HeadMoved:
    return HeadMoved(
        repository=REPOSITORY, branch="main", before=HEAD, after=NEWER, pusher="ada"
    ).with_(**changes)


@pytest.mark.parametrize(
    ("moved", "after_merge", "asked"),
    [
        (pushed(), True, True),
        (pushed(), False, False),
        (pushed(branch="topic"), True, False),
        (pushed(after=None), True, False),
        (pushed(pull_request=5), True, False),
        (pushed(from_fork=True), True, False),
    ],
)
async def test_a_push_to_the_default_branch_requests_continuous_missions(
    moved: HeadMoved,
    after_merge: bool,  # noqa: FBT001 -- a column of the table
    asked: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    queue = MemoryQueue()
    services = services_of(opted_in(after_merge=after_merge), queue)
    await AfterMerge(services).request(moved)
    assert [(red.head_sha, red.continuous) for red in queue.red.values()] == [(NEWER, True)] * asked


async def test_a_policy_that_does_not_want_missions_after_pushes_is_read_once_an_hour() -> None:
    wanted, reads, queue = False, 0, MemoryQueue()

    async def read(_: RepositoryRef) -> RepositoryPolicy:
        nonlocal reads
        reads += 1
        return opted_in(after_merge=wanted)

    world = World()
    services = replace(world.services, queue=queue, read_policy=read)
    after_merge = AfterMerge(services)
    for _ in range(3):
        await after_merge.request(pushed())
    await after_merge.request(pushed(repository=REPOSITORY.with_(id=2)))
    assert (reads, queue.red) == (2, {})
    wanted = True
    world.clock.advance(3601)
    for _ in range(2):
        await after_merge.request(pushed())
    assert reads == 4, "a policy that wants them is read at each push"
    assert len(queue.red) == 1


async def test_the_sweep_requests_what_is_due() -> None:
    lost = Lost(policy=opted_in(improve="daily"))
    swept = await lost.sweep()
    assert (swept.scheduled, swept.heads) == (1, 0)
    assert (await lost.sweep()).scheduled == 0


async def test_a_github_that_fails_requests_nothing_and_is_looked_at_again() -> None:
    lost = Lost(policy=opted_in(improve="daily"))
    lost.github.faults["branch_head"] = [RateLimited("too many", retry_after_s=1.0)]
    with pytest.raises(GitHubError):
        await lost.sweep()
    assert (await lost.sweep()).scheduled == 1
