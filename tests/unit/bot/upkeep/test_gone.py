"""A failure that went away takes its fix along; anything less does not."""

import pytest

from bot.domain.github import CheckRunState, StatusState
from bot.domain.registry import FixState
from bot.errors import GitHubError
from bot.upkeep.gone import close_gone
from tests.builders import HEAD
from tests.unit.bot.upkeep.world import NEWER, NUMBER, REPOSITORY, World, a_fix

pytestmark = pytest.mark.anyio


async def test_a_failure_that_went_away_takes_its_fix_along() -> None:
    world = World()
    world.push(NEWER, tests="success", lint="failure")
    assert await close_gone(REPOSITORY, world.services) == 1
    world.expect_taken_back(FixState.SUPERSEDED, "`tests` passed on dddddddddddd of `main`")
    assert await world.registry.is_blocked(REPOSITORY.id, "p" * 16) is None
    assert await close_gone(REPOSITORY, world.services) == 0
    assert len(world.words) == 1


@pytest.mark.parametrize("conclusion", ["failure", "neutral", "cancelled", "skipped"])
async def test_only_success_says_that_it_is_gone(conclusion: str) -> None:
    world = World()
    world.push(NEWER, tests=conclusion)
    assert await close_gone(REPOSITORY, world.services) == 0
    assert world.is_open


async def test_a_check_that_did_not_run_says_nothing() -> None:
    world = World()
    world.push(NEWER, lint="success")
    assert await close_gone(REPOSITORY, world.services) == 0
    world.push(HEAD, tests="success")
    assert await close_gone(REPOSITORY, world.services) == 0, (
        "the red commit itself is a flake's business"
    )


async def test_a_status_that_turned_green_is_as_good_as_a_check() -> None:
    world = World()
    world.put(a_fix(checks=("tests", "ci/old")))
    world.push(NEWER, tests="success")
    for state in ("failure", "pending"):
        world.github.statuses[NEWER] = (StatusState(context="ci/old", state=state),)
        assert await close_gone(REPOSITORY, world.services) == 0
    world.github.statuses[NEWER] = (StatusState(context="ci/old", state="success"),)
    assert await close_gone(REPOSITORY, world.services) == 1


async def test_a_red_run_of_a_check_counts_more_than_a_status_of_its_name() -> None:
    world = World()
    world.push(NEWER, tests="failure")
    world.github.statuses[NEWER] = (StatusState(context="tests", state="success"),)
    assert await close_gone(REPOSITORY, world.services) == 0


async def test_the_newest_run_of_a_check_counts() -> None:
    world = World()
    world.push(NEWER, tests="success")
    again = CheckRunState(id=9, name="tests", head_sha=NEWER, conclusion=None, status="in_progress")
    world.github.other_checks.append(again)
    assert await close_gone(REPOSITORY, world.services) == 0
    world.github.other_checks[-1] = again.with_(status="completed", conclusion="success")
    assert await close_gone(REPOSITORY, world.services) == 1


async def test_a_fix_without_a_check_or_with_a_person_on_it_is_left_alone() -> None:
    for fix in (a_fix(checks=()), a_fix(taken_over="ada"), a_fix(pull_request=None)):
        world = World()
        world.put(fix)
        world.push(NEWER, tests="success")
        assert await close_gone(REPOSITORY, world.services) == 0
        assert world.is_open


async def test_a_fix_of_a_branch_that_is_gone_is_taken_back() -> None:
    world = World()
    del world.github.branches["main"]
    assert await close_gone(REPOSITORY, world.services) == 1
    world.expect_taken_back(FixState.SUPERSEDED, "`main` was deleted")


@pytest.mark.parametrize("lost", ["comment", "close_pull_request", "delete_branch"])
async def test_what_a_dead_process_left_half_closed_is_closed(lost: str) -> None:
    world = World()
    world.push(NEWER, tests="success")
    world.github.after[lost] = [GitHubError("the connection broke", retryable=True)]
    with pytest.raises(GitHubError):
        await close_gone(REPOSITORY, world.services)
    await close_gone(REPOSITORY, world.services)
    assert (world.fix.state, world.fix.closing, world.is_open) == (
        FixState.SUPERSEDED,
        False,
        False,
    )
    assert len(world.words) == 1
    assert world.github.pulls[NUMBER].state == "closed"
