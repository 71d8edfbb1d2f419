"""What people do with what we offered is remembered, once and for good."""

from typing import Any

import pytest

from bot.domain.github import CommitState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState
from bot.domain.request import Feedback, HeadMoved
from bot.errors import GitHubError, NotPermitted
from bot.upkeep.feedback import head_moved, take_feedback
from bot.upkeep.offered import open_fixes
from tests.builders import HEAD, a_feedback, a_pull_request
from tests.unit.bot.upkeep.world import (
    BRANCH,
    COMMIT,
    NEWER,
    NUMBER,
    RED_PULL,
    REPOSITORY,
    World,
    a_fix,
)

pytestmark = pytest.mark.anyio
MERGE = "e" * 40


def moved(**changes: Any) -> HeadMoved:
    values = {
        "repository": REPOSITORY,
        "branch": "main",
        "before": HEAD,
        "after": NEWER,
        "pusher": "ada",
    }
    return HeadMoved.model_validate(values | changes)


@pytest.mark.parametrize(
    ("feedback", "state", "fate", "branch_stays"),
    [
        (a_feedback(merged=True, by="ada", merge_sha=MERGE), FixState.MERGED, "merged", False),
        (a_feedback(merged=False, by="ada"), FixState.CLOSED, "closed", False),
        (a_feedback(merged=False, by="ada", fate="reverted"), FixState.REVERTED, "reverted", True),
        (a_feedback(merged=False, by="ada", fate="reopened"), FixState.OPEN, "open", True),
    ],
    ids=["merged", "closed", "reverted", "reopened"],
)
async def test_a_verdict_is_learnt_and_learnt_again_without_harm(
    feedback: Feedback,
    state: FixState,
    fate: str,
    branch_stays: bool,  # noqa: FBT001
) -> None:
    world = World()
    for _ in range(2):
        await take_feedback(feedback, world.services)
        assert (world.fix.state, world.fate) == (state, fate)
        assert (BRANCH in world.github.branches) is branch_stays
    assert world.fix.merge_sha == feedback.merge_sha


async def test_a_closed_or_undone_change_is_blocked_and_a_reopened_one_is_not() -> None:
    world = World()
    await take_feedback(a_feedback(merged=False), world.services)
    assert await world.registry.is_blocked(REPOSITORY.id, "p" * 16) is not None
    await take_feedback(a_feedback(merged=False, fate="reopened"), world.services)
    assert await world.registry.is_blocked(REPOSITORY.id, "p" * 16) is None


async def test_a_revert_is_the_last_word() -> None:
    world = World()
    for feedback in (
        a_feedback(),
        a_feedback(merged=False, fate="reverted"),
        a_feedback(),
        a_feedback(merged=False),
    ):
        await take_feedback(feedback, world.services)
    assert (world.fix.state, world.fate) == (FixState.REVERTED, "reverted")


async def test_a_merge_that_comes_after_its_branch_was_deleted_is_a_merge() -> None:
    world = World()
    await head_moved(moved(branch=BRANCH, after=None), world.services)
    assert world.fix.state is FixState.CLOSED
    await take_feedback(a_feedback(), world.services)
    assert (world.fix.state, world.fate) == (FixState.MERGED, "merged")


@pytest.mark.parametrize("by", ["metaagent[bot]", ""])
async def test_what_we_closed_ourselves_nobody_refused(by: str) -> None:
    world = World()
    world.put(a_fix(state=FixState.SUPERSEDED))
    await take_feedback(a_feedback(merged=False, by=by), world.services)
    assert (world.fix.state, world.fate) == (FixState.SUPERSEDED, "open")


async def test_what_github_closes_with_its_red_branch_nobody_refused() -> None:
    world = World()
    del world.github.branches["main"]
    for _ in range(2):
        await take_feedback(a_feedback(merged=False, by="ada"), world.services)
        assert (world.fix.state, world.fate) == (FixState.SUPERSEDED, "open")
    assert await world.registry.is_blocked(REPOSITORY.id, "p" * 16) is None


async def test_what_reviewers_ticked_is_kept() -> None:
    world = World()
    body = (
        "- [x] The test is wrong <!-- metaagent:box=test -->\n- [ ] x <!-- metaagent:box=wrong -->"
    )
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(body=body)
    await take_feedback(a_feedback(merged=False, by="ada"), world.services)
    assert world.fix.note == "closed by ada; The test is wrong, not the code"
    (lesson,) = await world.lessons.newest(repository_id=str(REPOSITORY.id))
    assert (lesson.fate, lesson.boxes) == ("closed", ("test",))
    assert world.github.pull_labels[RED_PULL] == ["metaagent:test-change"]


@pytest.mark.parametrize(
    ("policy", "merged", "box"),
    [({"mode": "staged"}, False, "test"), ({}, True, "test"), ({}, False, "wrong")],
)
async def test_a_red_pull_request_is_not_labelled_unless_its_test_is_wrong(
    policy: dict[str, Any], box: str, *, merged: bool
) -> None:
    world = World(policy=RepositoryPolicy(**policy))
    body = f"- [x] so it is <!-- metaagent:box={box} -->"
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(body=body)
    await take_feedback(a_feedback(merged=merged, by="ada"), world.services)
    assert not world.github.pull_labels.get(RED_PULL)


@pytest.mark.parametrize("call", ["pull_request", "delete_branch"])
async def test_what_is_only_nice_to_have_stops_nothing(call: str) -> None:
    world = World()
    world.github.faults[call] = [NotPermitted("no", status=403)]
    await take_feedback(a_feedback(), world.services)
    assert world.fix.state is FixState.MERGED


async def test_a_branch_somebody_pushed_to_is_not_cleared_away() -> None:
    world = World()
    world.github.branches[BRANCH] = NEWER
    await take_feedback(a_feedback(), world.services)
    assert world.github.branches[BRANCH] == NEWER


async def test_where_all_is_rehearsed_nothing_is_closed_or_cleared_away() -> None:
    world = World(policy=RepositoryPolicy(mode="staged"))
    await head_moved(moved(closed=True, pull_request=RED_PULL), world.services)
    assert (world.is_open, world.words, world.fix.state) == (True, [], FixState.OPEN)
    await take_feedback(a_feedback(merged=False, by="ada"), world.services)
    assert (BRANCH in world.github.branches, world.fix.state) == (True, FixState.CLOSED)


async def test_a_pull_request_that_is_not_ours_teaches_nothing() -> None:
    world = World()
    assert await take_feedback(a_feedback(pull_request=99), world.services) == 0
    assert world.fix.state is FixState.OPEN


async def test_a_person_who_pushes_to_our_branch_takes_it_over() -> None:
    world = World()
    await head_moved(moved(branch=BRANCH), world.services)
    assert (world.fix.taken_over, world.fix.state) == ("ada", FixState.OPEN)
    assert await open_fixes(REPOSITORY, world.services) == ()
    await head_moved(moved(closed=True, pull_request=RED_PULL), world.services)
    assert world.is_open, "it is theirs now"


@pytest.mark.parametrize(
    "change",
    [
        {"branch": BRANCH, "pusher": "metaagent[bot]"},
        {"branch": BRANCH, "after": None, "pusher": "metaagent[bot]"},
        {"branch": BRANCH, "after": COMMIT},
        {"branch": BRANCH, "from_fork": True},
        {"branch": "other", "after": None},
        {},
        {"closed": True, "pull_request": 6},
        {"after": None, "from_fork": True},
    ],
)
async def test_what_does_not_concern_us_changes_nothing(change: dict[str, Any]) -> None:
    world = World()
    await head_moved(moved(**change), world.services)
    assert world.fix == a_fix()
    assert world.is_open


async def test_a_deleted_branch_refuses_the_change() -> None:
    world = World()
    await head_moved(moved(branch=BRANCH, after=None), world.services)
    assert world.fix.state is FixState.CLOSED
    assert world.fix.note == "its branch was deleted by ada"
    assert await world.registry.is_blocked(REPOSITORY.id, "p" * 16) is not None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"after": None}, "`main` was deleted"),
        ({"closed": True, "pull_request": RED_PULL}, "#5 is closed"),
    ],
)
async def test_a_fix_whose_red_branch_nobody_needs_is_taken_back(
    change: dict[str, Any], why: str
) -> None:
    world = World()
    await head_moved(moved(**change), world.services)
    world.expect_taken_back(FixState.SUPERSEDED, why)
    await head_moved(moved(**change), world.services)
    world.expect_taken_back(FixState.SUPERSEDED, why)


async def test_a_fix_of_a_pull_request_that_is_open_again_is_kept() -> None:
    world = World()
    world.github.pulls[RED_PULL] = a_pull_request(number=RED_PULL, head_sha=HEAD)
    await head_moved(moved(closed=True, pull_request=RED_PULL), world.services)
    assert (world.is_open, world.fix.state) == (True, FixState.OPEN)


@pytest.mark.parametrize(
    "message",
    [
        f"Revert it\n\nThis reverts commit {COMMIT}.",
        f"Revert it\n\nThis reverts commit {MERGE}, reversing\nchanges made to x.",
        'Revert "Fix add" (#18)\n\nReverts octo/calculator#17',
    ],
)
async def test_a_push_that_takes_our_change_back_refuses_it_for_good(message: str) -> None:
    world = World()
    world.put(a_fix(state=FixState.MERGED, merge_sha=MERGE))
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    for _ in range(2):
        await head_moved(moved(), world.services)
        assert (world.fix.state, world.fate) == (FixState.REVERTED, "reverted")


async def test_who_takes_the_red_commit_back_refuses_no_suggestion() -> None:
    world = World()
    suggested = a_fix(pull_request=None, branch="main", commit=HEAD)
    world.registry.fixes = {suggested.key: suggested}
    message = f"Revert it\n\nThis reverts commit {HEAD}."
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    await head_moved(moved(), world.services)
    assert world.registry.fixes == {suggested.key: suggested}


async def test_a_merge_that_brings_the_revert_refuses_it_too() -> None:
    world = World()
    world.put(a_fix(state=FixState.MERGED, merge_sha=MERGE))
    brought = "9" * 40
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD, brought), message="Merge pull request #18"
    )
    world.github.commits[brought] = CommitState(
        sha=brought, message=f"Revert it\n\nThis reverts commit {MERGE}."
    )
    await head_moved(moved(), world.services)
    assert world.fix.state is FixState.REVERTED


@pytest.mark.parametrize("change", [{}, {"closed": True, "pull_request": 6}])
async def test_a_revert_that_is_only_proposed_decides_nothing(change: dict[str, Any]) -> None:
    world = World()
    world.put(a_fix(state=FixState.MERGED, merge_sha=MERGE))
    message = f"Revert it\n\nThis reverts commit {MERGE}."
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    await head_moved(moved(branch="ada/undo", **change), world.services)
    assert (world.fix.state, world.fate) == (FixState.MERGED, "open")


async def test_a_commit_that_was_pushed_straight_can_be_taken_back_too() -> None:
    world = World()
    pushed = a_fix(pull_request=None, branch="main")
    world.registry.fixes = {pushed.key: pushed}
    message = f"Revert it\n\nThis reverts commit {COMMIT}."
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    await head_moved(moved(), world.services)
    assert world.registry.fixes[pushed.key].state is FixState.REVERTED


@pytest.mark.parametrize(
    "message",
    [
        "This reverts nothing",
        f"This reverts commit {HEAD}.",
        "see #17",
        "Reverts octo/calculator#170",
        f"x {COMMIT}",
    ],
)
async def test_a_push_that_takes_something_else_back_changes_nothing(message: str) -> None:
    world = World()
    merged = a_fix(state=FixState.MERGED, merge_sha=MERGE)
    world.put(merged)
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    await head_moved(moved(), world.services)
    assert world.fix == merged


async def test_a_push_that_is_gone_by_now_changes_nothing() -> None:
    world = World()
    world.put(a_fix(state=FixState.MERGED, merge_sha=MERGE))
    await head_moved(moved(), world.services)
    assert world.fix.state is FixState.MERGED


@pytest.mark.parametrize(("merged", "state"), [(True, FixState.MERGED), (False, FixState.CLOSED)])
async def test_an_ending_we_missed_is_caught_up_on(merged: bool, state: FixState) -> None:  # noqa: FBT001
    world = World()
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(state="closed", merged=merged)
    await head_moved(moved(after=None), world.services)
    assert (world.fix.state, world.fate) == (state, state.value)
    assert world.words == []


@pytest.mark.parametrize("lost", ["comment", "close_pull_request", "delete_branch"])
async def test_a_process_that_dies_while_taking_back_is_no_refusal(lost: str) -> None:
    world = World()
    world.github.after[lost] = [GitHubError("the connection broke", retryable=True)]
    with pytest.raises(GitHubError):
        await head_moved(moved(after=None), world.services)
    assert (world.fix.state, world.fix.closing) == (FixState.SUPERSEDED, True)
    await take_feedback(a_feedback(merged=False), world.services)
    assert world.fix.state is FixState.SUPERSEDED
