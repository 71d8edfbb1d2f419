"""What was missed is found, once, and nothing else is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from typing_extensions import override

from bot.domain.github import CheckRunState, HookDelivery, InstallationRef, StatusState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState
from bot.domain.request import RepositoryRef, Trigger
from bot.errors import GitHubError, NotPermitted, RateLimited, StoreError
from bot.upkeep.sweep import MOST_AGAIN, Sweeper, Swept
from tests.builders import a_pull_request, a_repository
from tests.fakes.memory_queue import MemoryQueue
from tests.unit.bot.upkeep.world import NEWER, REPOSITORY, World

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RED = "e" * 40


@dataclass
class Lost(World):
    """The same repository, and a log of deliveries."""

    queue: MemoryQueue = field(default_factory=MemoryQueue)
    came: set[str] = field(default_factory=lambda: {"came"})
    handed: list[tuple[str, str, bytes]] = field(default_factory=list)

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        self.github.installed = [InstallationRef(id=7), InstallationRef(id=8, suspended=True)]
        self.github.installed_on = {7: (REPOSITORY,), 8: (a_repository(id=43),)}
        self.deliver("came", timedelta(hours=5), status=202)

    def deliver(self, guid: str, ago: timedelta, *, status: int = 502) -> None:
        number = len(self.github.hook_log) + 1
        at = (NOW - ago).isoformat()
        self.github.hook_log.append(
            HookDelivery(id=number, guid=guid, event="push", delivered_at=at, status_code=status)
        )
        self.github.payloads[number] = ("push", guid.encode())

    async def sweep(self, since: timedelta = timedelta(days=3)) -> Swept:
        return await self.sweeper().sweep(NOW - since)

    def sweeper(self) -> Sweeper:
        async def known(deliveries: Sequence[str]) -> frozenset[str]:
            return frozenset(self.came & set(deliveries))

        async def hand_in(guid: str, event: str, body: bytes) -> None:
            self.came.add(guid)
            self.handed.append((guid, event, body))

        @asynccontextmanager
        async def rights(repository: RepositoryRef) -> AsyncIterator[None]:
            try:
                yield
            finally:
                await self.github.release(repository)

        return Sweeper(
            replace(self.services, queue=self.queue), self.github, known, hand_in, rights
        )

    def red_pull(
        self, number: int = 30, *, ago: timedelta = timedelta(hours=2), **changes: object
    ) -> None:
        self.github.pulls[number] = a_pull_request(
            number=number, head_sha=RED, head_ref=f"topic-{number}", author="ada", **changes
        )
        self.github.other_checks.append(
            CheckRunState(
                id=70 + number,
                name="tests",
                head_sha=RED,
                conclusion="failure",
                app_slug="github-actions",
                completed_at=(NOW - ago).isoformat(),
            )
        )


async def test_a_delivery_that_never_came_is_handed_in_once_and_in_order() -> None:
    lost = Lost()
    lost.deliver("second", timedelta(hours=1))
    lost.deliver("first", timedelta(hours=3))
    lost.deliver("second", timedelta(hours=2))
    assert (await lost.sweep()).deliveries == 2
    assert lost.handed == [("first", "push", b"first"), ("second", "push", b"second")]
    assert (await lost.sweep()).deliveries == 0


async def test_a_delivery_that_github_forgot_stands_in_nobodys_way() -> None:
    lost = Lost()
    lost.deliver("forgotten", timedelta(hours=3))
    lost.deliver("kept", timedelta(hours=1))
    del lost.github.payloads[2]
    lost.red_pull()
    swept = await lost.sweep()
    assert ([guid for guid, _, _ in lost.handed], swept.heads) == (["kept"], 1)
    assert [problem.partition(":")[0] for problem in swept.problems] == ["delivery forgotten"]


async def test_many_lost_deliveries_are_found_too() -> None:
    lost = Lost()
    for number in range(1_200):
        lost.deliver(f"lost-{number}", timedelta(hours=2))
    assert (await lost.sweep()).deliveries == 1_200


async def test_what_the_app_answered_and_did_not_write_down_counts_as_lost() -> None:
    lost = Lost()
    lost.deliver("gone", timedelta(hours=1), status=202)
    assert (await lost.sweep()).deliveries == 1


async def test_a_service_that_was_just_set_up_leaves_the_past_alone() -> None:
    lost = Lost(came=set())
    lost.deliver("late", timedelta(minutes=5))
    lost.red_pull(ago=timedelta(hours=2))
    lost.red_pull(31, ago=timedelta(hours=30))
    swept = await lost.sweep()
    assert [guid for guid, _, _ in lost.handed] == ["late"]
    assert swept.heads == 0


async def test_a_red_pull_request_without_a_mission_gets_one() -> None:
    lost = Lost()
    lost.red_pull()
    assert (await lost.sweep()).heads == 1
    (red,) = lost.queue.red.values()
    assert (red.head_sha, red.head_branch, red.pull_request, red.trigger) == (
        RED,
        "topic-30",
        30,
        Trigger.SCHEDULE,
    )
    assert red.check is not None
    assert red.check.name == "tests"
    assert (await lost.sweep()).heads == 0


async def test_a_head_whose_settling_failed_is_watched_anew_but_not_for_ever() -> None:
    lost, answered = Lost(), False

    async def is_unanswered(_: str) -> bool:
        return not answered

    lost.red_pull(ago=timedelta(hours=5))
    sweeper = replace(lost.sweeper(), is_unanswered=is_unanswered)
    assert (await sweeper.sweep(NOW - timedelta(days=3))).heads == 1
    (mission,) = lost.queue.red
    last_hour = NOW - timedelta(hours=1)
    for _ in range(MOST_AGAIN):
        lost.queue.states[mission] = "failed"
        answered = True
        assert (await sweeper.sweep(last_hour)).heads == 0, "a mission that failed was told"
        answered = False
        assert (await sweeper.sweep(last_hour)).heads == 1
    assert (await sweeper.sweep(last_hour)).heads == 0


@pytest.mark.parametrize(
    ("context", "state", "hours", "heads"),
    [
        ("ci/jenkins", "failure", 2, 1),
        ("ci/jenkins", "error", 2, 1),
        ("ci/jenkins", "pending", 2, 0),
        ("ci/jenkins", "failure", 90, 0),
        ("license/cla", "failure", 2, 0),
    ],
)
async def test_a_red_status_of_older_ci_is_found_too(
    context: str, state: str, hours: int, heads: int
) -> None:
    lost = Lost()
    lost.red_pull()
    lost.github.other_checks.clear()
    at = (NOW - timedelta(hours=hours)).isoformat()
    lost.github.statuses[RED] = (StatusState(context=context, state=state, updated_at=at),)
    assert (await lost.sweep()).heads == heads
    assert [(red.check.id, red.check.name) for red in lost.queue.red.values() if red.check] == [
        (0, context)
    ] * heads


@pytest.mark.parametrize(
    ("schedule", "heads"),
    [(None, [0, 0, 0]), ("never", [0, 0, 0]), ("daily", [1, 0, 0]), ("weekly", [1, 1, 0])],
)
async def test_a_repository_s_schedule_says_how_far_back_it_is_looked(
    schedule: Literal["never", "daily", "weekly"] | None, heads: list[int]
) -> None:
    for days, wanted in zip((0.9, 6, 8), heads, strict=True):
        lost = Lost()
        lost.policy = RepositoryPolicy(schedule=schedule)
        lost.red_pull(ago=timedelta(days=days))
        assert (await lost.sweep(since=timedelta(hours=1))).heads == wanted


async def test_a_red_default_branch_gets_a_mission_too() -> None:
    lost = Lost()
    lost.push(NEWER, tests="failure")
    assert (await lost.sweep()).heads == 1


@pytest.mark.parametrize(
    "change",
    [
        {"from_fork": True},
        {"head_ref": "metaagent/main/1"},
        {"head_ref": "dependabot/pip/x"},
        {"state": "closed"},
    ],
)
async def test_a_head_that_is_not_ours_to_repair_unasked_is_left_alone(
    change: dict[str, object],
) -> None:
    lost = Lost()
    lost.red_pull()
    lost.github.pulls[30] = lost.github.pulls[30].with_(**change)
    assert (await lost.sweep()).heads == 0


@pytest.mark.parametrize(
    "change",
    [
        {"conclusion": "cancelled"},
        {"app_slug": "metaagent"},
        {"app_slug": "codecov"},
        {"completed_at": "2025-12-01T00:00:00Z"},
    ],
)
async def test_a_check_that_asks_for_nothing_is_left_alone(change: dict[str, object]) -> None:
    lost = Lost()
    lost.red_pull()
    lost.github.other_checks[-1] = lost.github.other_checks[-1].with_(**change)
    assert (await lost.sweep()).heads == 0


async def test_fixes_that_nobody_needs_are_taken_back_on_the_way() -> None:
    lost = Lost()
    lost.push(NEWER, tests="success")
    assert (await lost.sweep()).closed == 1
    assert lost.fix.state is FixState.SUPERSEDED


async def test_one_repository_that_may_not_be_read_does_not_stop_the_others_and_every_right_is_given_back() -> (
    None
):
    lost = Lost()
    other = a_repository(id=44, name="other")
    lost.github.installed_on[7] = (other, REPOSITORY)
    lost.red_pull()
    lost.github.faults["open_pull_requests"] = [NotPermitted("no pull_requests", status=403)]
    swept = await lost.sweep()
    assert swept.heads == 1
    assert swept.problems == ("octo/other: no pull_requests",)
    assert lost.github.released == [44, 42]


@pytest.mark.parametrize(
    ("faults", "looked_at"),
    [
        ([RateLimited("slow down", retry_after_s=60)], 1),
        ([GitHubError("502", retryable=True)] * 9, 5),
        ([GitHubError("502", retryable=True)], 7),
    ],
    ids=["a limit", "an outage", "one repository that fails"],
)
async def test_a_sweep_that_github_fails_is_done_anew_and_one_repository_holds_no_other_up(
    faults: list[Exception], looked_at: int
) -> None:
    lost = Lost()
    others = (a_repository(id=50 + number, name=f"r{number}") for number in range(6))
    lost.github.installed_on[7] = (*others, REPOSITORY)
    lost.github.faults["open_pull_requests"] = list(faults)
    lost.red_pull()
    with pytest.raises(GitHubError):
        await lost.sweep()
    assert len(lost.github.released) == looked_at
    assert bool(lost.queue.red) is (looked_at == 7)


async def test_of_several_processes_one_sweeps_and_another_when_that_is_gone() -> None:
    lost, asked = Lost(), 0
    lost.deliver("lost", timedelta(hours=1))

    async def is_ours() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:
            raise StoreError("the database is away")
        return asked == 4

    running = asyncio.create_task(replace(lost.sweeper(), is_ours=is_ours).run(0.001))
    async with asyncio.timeout(120):
        while not lost.handed:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait([running])
    assert asked >= 4
    assert [guid for guid, _, _ in lost.handed] == ["lost"]
