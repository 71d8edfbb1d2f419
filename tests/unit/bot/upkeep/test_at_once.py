"""Two workers have one fix in hand: what a person decided between a look and what follows from it is not overwritten."""

from typing import Any

import pytest
from typing_extensions import override

from bot.domain.github import CommitState, PullRequestState
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import HeadMoved, RepositoryRef
from bot.upkeep.feedback import close_obsolete, head_moved, take_feedback
from tests.builders import HEAD, a_feedback
from tests.fakes.fake_github import FakeGitHub
from tests.fakes.memory_registry import MemoryRegistry
from tests.unit.bot.upkeep.world import BRANCH, NEWER, NUMBER, RED_PULL, REPOSITORY, World, a_fix

pytestmark = pytest.mark.anyio

MERGE = "e" * 40
MERGED = a_fix(state=FixState.MERGED, merge_sha=MERGE, note="merged by bob")
CLOSED = a_fix(state=FixState.CLOSED, note="closed by bob")
REVERTED = a_fix(state=FixState.REVERTED, note="reverted by bob")
BOBS = a_fix(taken_over="bob")
ENDING = FixState.SUPERSEDED, "Nobody needs this any more."


class Decided(MemoryRegistry):
    """Another worker writes what a person decided, right after a look at the fixes."""

    def __init__(self, fix: OfferedFix, *, after: int = 1) -> None:
        super().__init__()
        self._fix, self._looks_left = fix, after

    @override
    async def offered(
        self,
        repository_id: int,
        *,
        fingerprint: str | None = None,
        state: FixState | None = None,
        pull_request: int | None = None,
    ) -> tuple[OfferedFix, ...]:
        seen = await super().offered(
            repository_id, fingerprint=fingerprint, state=state, pull_request=pull_request
        )
        self._looks_left -= 1
        if self._looks_left == 0:
            self.fixes[self._fix.key] = self._fix
        return seen


class Merges(FakeGitHub):
    """A person merges, and another worker has that written down, before one call of ours is answered."""

    def __init__(self, call: str) -> None:
        super().__init__()
        self._call = call
        self.world: World

    def _merged(self, call: str) -> None:
        if call == self._call:
            self.pulls[NUMBER] = self.pulls[NUMBER].with_(merged=True)
            self.world.put(MERGED)

    @override
    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        seen = await super().pull_request(repository, number)
        if number == NUMBER:
            self._merged("pull_request")
        return seen

    @override
    async def comment(self, *args: Any, **options: Any) -> int:
        self._merged("comment")
        return await super().comment(*args, **options)

    @override
    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        self._merged("delete_branch")
        return await super().delete_branch(repository, branch, expected=expected)


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
    "decided", [MERGED, CLOSED, BOBS], ids=lambda fix: fix.note or fix.taken_over
)
@pytest.mark.parametrize("after", [None, NEWER])
async def test_a_branch_that_moves_or_goes_away_changes_no_fix_that_ended_meanwhile(
    decided: OfferedFix, after: str | None
) -> None:
    world = World(registry=Decided(decided, after=2))
    await head_moved(moved(branch=BRANCH, after=after), world.services)
    assert world.fix == decided
    blocks = await world.registry.is_blocked(REPOSITORY.id, "p" * 16)
    assert (blocks is not None) is (decided is CLOSED)


async def test_a_merge_that_another_worker_heard_of_first_is_not_taken_for_a_refusal() -> None:
    world = World(registry=Decided(MERGED))
    await take_feedback(a_feedback(merged=False, by="ada"), world.services)
    assert world.fix == MERGED


async def test_what_we_began_to_close_meanwhile_nobody_refused() -> None:
    ours = a_fix(state=FixState.SUPERSEDED, closing=True, note="not needed")
    world = World(registry=Decided(ours))
    assert await take_feedback(a_feedback(merged=False, by="ada"), world.services) == 0
    assert (world.fix, world.fate) == (ours, "open")


async def test_who_undid_a_fix_is_told_as_it_was_heard_first() -> None:
    world = World(registry=Decided(REVERTED))
    world.put(MERGED)
    message = f"Revert it\n\nThis reverts commit {MERGE}."
    world.github.commits[NEWER] = CommitState(
        sha=NEWER, parents=(HEAD,), message=message, author="ada"
    )
    await head_moved(moved(), world.services)
    assert (world.fix, world.fate) == (REVERTED, "reverted")


@pytest.mark.parametrize("call", ["comment", "delete_branch"])
async def test_a_merge_while_we_take_a_fix_back_is_a_merge_and_its_revert_is_known(
    call: str,
) -> None:
    github = Merges(call)
    world = github.world = World(github=github)
    await head_moved(moved(closed=True, pull_request=RED_PULL), world.services)
    assert world.fix == MERGED
    message = f"Revert it\n\nThis reverts commit {MERGE}."
    github.commits[NEWER] = CommitState(sha=NEWER, parents=(HEAD,), message=message, author="ada")
    await head_moved(moved(), world.services)
    assert world.fix.state is FixState.REVERTED


async def test_what_was_merged_before_we_begin_to_take_it_back_is_left_alone() -> None:
    github = Merges("pull_request")
    world = github.world = World(github=github)
    assert not await close_obsolete(REPOSITORY, world.fix, ENDING, world.services)
    assert (world.fix, world.words) == (MERGED, [])
    assert BRANCH in github.branches


async def test_what_a_person_took_over_before_we_begin_to_take_it_back_is_theirs() -> None:
    world = World(registry=Decided(BOBS))
    assert not await close_obsolete(REPOSITORY, a_fix(), ENDING, world.services)
    assert (world.fix, world.words, world.is_open) == (BOBS, [], True)


async def test_what_a_person_closed_before_we_begin_to_take_it_back_stays_refused() -> None:
    world = World(registry=Decided(CLOSED))
    await close_obsolete(REPOSITORY, a_fix(), ENDING, world.services)
    assert world.fix == CLOSED


async def test_what_was_merged_after_we_died_while_taking_it_back_is_a_merge() -> None:
    world = World()
    world.put(a_fix(state=FixState.SUPERSEDED, closing=True))
    world.github.pulls[NUMBER] = world.github.pulls[NUMBER].with_(state="closed", merged=True)
    assert not await close_obsolete(REPOSITORY, world.fix, ENDING, world.services)
    assert (world.fix.state, world.fix.closing, world.fate) == (FixState.MERGED, False, "merged")
