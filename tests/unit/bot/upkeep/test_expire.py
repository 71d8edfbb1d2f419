"""Old pull requests of ours make room."""

import pytest

from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState
from bot.upkeep.expire import expire
from tests.unit.bot.upkeep.world import NUMBER, REPOSITORY, World, a_fix

pytestmark = pytest.mark.anyio
DAY = 86_400.0


async def test_an_untouched_pull_request_expires_and_may_come_back() -> None:
    world = World()
    world.clock.advance(12 * DAY)
    assert await expire(REPOSITORY, world.services) == 0
    world.clock.advance(2 * DAY)
    assert await expire(REPOSITORY, world.services) == 1
    world.expect_taken_back(FixState.EXPIRED, "for 14 days")
    assert await world.registry.is_blocked(REPOSITORY.id, "p" * 16) is None
    assert await expire(REPOSITORY, world.services) == 0


@pytest.mark.parametrize(
    ("touched", "closed"), [("2026-01-12T00:00:00Z", 0), ("2026-01-01T03:05:00Z", 1), ("", 1)]
)
async def test_where_people_still_talk_nothing_expires(touched: str, closed: int) -> None:
    world = World()
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(updated_at=touched)
    world.clock.advance(14 * DAY)
    assert await expire(REPOSITORY, world.services) == closed
    assert world.is_open is not bool(closed)


@pytest.mark.parametrize("at", ["", "yesterday", "2020-01-01T00:00:00"])
async def test_without_a_time_that_can_be_compared_nothing_expires(at: str) -> None:
    world = World()
    world.put(a_fix(at=at))
    assert await expire(REPOSITORY, world.services) == 0


async def test_the_policy_may_keep_them() -> None:
    world = World(policy=RepositoryPolicy(expire_days=0))
    world.clock.advance(400 * DAY)
    assert await expire(REPOSITORY, world.services) == 0
    assert world.is_open


async def test_what_a_person_took_over_never_expires() -> None:
    world = World()
    world.put(a_fix(taken_over="ada"))
    world.clock.advance(400 * DAY)
    assert await expire(REPOSITORY, world.services) == 0
    assert world.is_open
