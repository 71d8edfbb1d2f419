"""What people did with what we offered: merged, closed, undone, reopened, taken over, its branch deleted."""

import logging
import re
from collections.abc import Iterable

from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import Feedback, HeadMoved, RepositoryRef
from bot.errors import GitHubError
from bot.policy.rules import LABEL_TEST_CHANGE
from bot.publish.markdown import Pen
from bot.publish.picture import BOXES, ticks
from bot.publish.retire import retire
from bot.upkeep.keeper import Keeper

_STATES = {
    "merged": FixState.MERGED,
    "closed": FixState.CLOSED,
    "reverted": FixState.REVERTED,
    "reopened": FixState.OPEN,
}
_REVERTS_COMMIT = re.compile(r"\bThis reverts commit ([0-9a-f]{40})\b")
_REVERTS_PULL = re.compile(r"^Reverts \S{0,200}#([1-9][0-9]{0,9})\b", re.MULTILINE)
_ENDED_BY_US = frozenset({FixState.SUPERSEDED, FixState.EXPIRED})

log = logging.getLogger(__name__)


async def take_feedback(feedback: Feedback, keeper: Keeper) -> int:
    """One of our pull requests was merged, closed, undone or reopened: registry and lessons learn it.

    Args:
        feedback: What became of it; of one that is not ours nothing is learnt.
        keeper: Whom to ask and tell.

    Returns:
        How many lessons it touched.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
        StoreError: it could not be remembered.
    """
    fate = feedback.fate or ("merged" if feedback.merged else "closed")
    if fate == "closed" and keeper.is_us(feedback.by):
        return 0  # we took it back ourselves: nobody refused it
    fixes = await keeper.registry.offered(feedback.repository.id, pull_request=feedback.pull_request)
    boxes = await _ticked(feedback, keeper) if fixes and fate in {"merged", "closed"} else ()
    note = ", ".join(BOXES[box] for box in boxes)
    # With the red branch GitHub closes what would go into it: nobody refused that.
    needless = fate == "closed" and await _lost_their_base(feedback.repository, fixes, keeper)

    def told(fix: OfferedFix) -> OfferedFix:
        state = _next(fix, FixState.SUPERSEDED if needless else _STATES[fate])
        if state is fix.state:
            return fix
        by = f" by {feedback.by}" if feedback.by else ""
        words = "; ".join(part for part in (f"{fate}{by}", feedback.said, note) if part)
        merge_sha = feedback.merge_sha or fix.merge_sha
        return fix.with_(state=state, closing=False, note=words, merge_sha=merge_sha)

    for fix in fixes:
        if await keeper.registry.revise(fix.key, told) is None:
            continue
        if fate in {"merged", "closed"}:
            await keeper.tidy(feedback.repository, fix)
        if fate == "closed" and "test" in boxes:
            await _test_is_wrong(fix, keeper)
    if needless or (fate == "closed" and await _was_ended_by_us(feedback, keeper)):
        return 0
    return await keeper.lessons.feed_back(feedback.with_(boxes=boxes))


def _next(fix: OfferedFix, state: FixState) -> FixState:
    """What follows: undone stays undone, merged can only be undone, and what we ended ourselves nobody closes."""
    if fix.state is FixState.REVERTED or (fix.state is FixState.MERGED and state is not FixState.REVERTED):
        return fix.state
    return fix.state if fix.state in _ENDED_BY_US and state is FixState.CLOSED else state


async def _was_ended_by_us(feedback: Feedback, keeper: Keeper) -> bool:
    """Whether we took back what it offered, perhaps while we looked at what people did."""
    fixes = await keeper.registry.offered(feedback.repository.id, pull_request=feedback.pull_request)
    return any(fix.state in _ENDED_BY_US for fix in fixes)


async def _lost_their_base(repository: RepositoryRef, fixes: Iterable[OfferedFix], keeper: Keeper) -> bool:
    """Whether the branch that open fixes go into is gone."""
    bases = {fix.base_branch for fix in fixes if fix.state is FixState.OPEN and fix.base_branch}
    return bool(bases) and not any([await keeper.github.branch_head(repository, base) for base in bases])


async def _test_is_wrong(fix: OfferedFix, keeper: Keeper) -> None:
    """A person said that a test has to change: the red pull request says so; it is not worth failing for."""
    if fix.for_pull_request is None:
        return
    try:
        if await keeper.may_write(fix.repository):
            await keeper.upkeep.add_labels(fix.repository, fix.for_pull_request, [LABEL_TEST_CHANGE])
    except GitHubError as error:
        log.warning("#%d keeps its labels: %s", fix.for_pull_request, error.message)


async def _ticked(feedback: Feedback, keeper: Keeper) -> tuple[str, ...]:
    """What reviewers ticked in it; it is not worth failing for."""
    try:
        pull = await keeper.github.pull_request(feedback.repository, feedback.pull_request)
    except GitHubError as error:
        log.warning("ticks of #%d are not known: %s", feedback.pull_request, error.message)
        return ()
    return ticks(pull.body) if pull is not None else ()


async def head_moved(moved: HeadMoved, keeper: Keeper) -> None:
    """A branch moved, went away, or nobody waits for it any more: what we offered from it or into it follows.

    Args:
        moved: What happened; whatever we did ourselves changes nothing.
        keeper: Whom to ask and tell.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
        StoreError: it could not be remembered.
    """
    if keeper.is_us(moved.pusher) or moved.from_fork:
        return
    await _undone(moved, keeper)
    for fix in await keeper.open_fixes(moved.repository):
        if fix.branch == moved.branch:
            await _own_branch(fix, moved, keeper)
        elif fix.base_branch == moved.branch:
            await _red_branch(fix, moved, keeper)


async def _undone(moved: HeadMoved, keeper: Keeper) -> None:
    """A push whose last commit says that it takes back what we changed: the change is refused for good.

    Only where the change is: on another branch it is a proposal, about which nobody has decided.
    """
    fixes = await keeper.registry.offered(moved.repository.id)
    # What was only suggested has no commit of ours, and stands under the red one.
    made = [fix for fix in fixes if fix.commit != fix.head_sha]
    here = [fix for fix in made if moved.branch in {fix.base_branch, moved.repository.default_branch}]
    taken = [fix for fix in here if _can_be_undone(fix)]
    if moved.after is None or not taken:
        return
    try:
        message = await _said(moved.repository, moved.after, keeper)
    except GitHubError as error:
        if error.retryable:
            raise
        return  # somebody pushed once more, and the commit is gone

    def reverted(fix: OfferedFix) -> OfferedFix:
        if not _can_be_undone(fix):
            return fix
        return fix.with_(state=FixState.REVERTED, note=f"undone by {moved.pusher}")

    commits, numbers = set(_REVERTS_COMMIT.findall(message)), set(_REVERTS_PULL.findall(message))
    for fix in taken:
        if not commits & {fix.commit, fix.merge_sha} and str(fix.pull_request) not in numbers:
            continue
        undone = Feedback(
            repository=moved.repository,
            pull_request=fix.pull_request or 0,
            merged=False,
            branch=fix.branch,
            fate="reverted",
            by=moved.pusher,
        )
        await keeper.registry.revise(fix.key, reverted)
        await keeper.lessons.feed_back(undone)


def _can_be_undone(fix: OfferedFix) -> bool:
    """Whether the change is where people work."""
    return fix.state is FixState.MERGED or (fix.state is FixState.OPEN and not fix.pull_request)


async def _said(repository: RepositoryRef, sha: str, keeper: Keeper) -> str:
    """The words of a commit; of a merge also those of what it brought."""
    commit = await keeper.github.commit(repository, sha)
    brought = [(await keeper.github.commit(repository, one)).message for one in commit.parents[1:2]]
    return "\n".join((commit.message, *brought))


async def _own_branch(fix: OfferedFix, moved: HeadMoved, keeper: Keeper) -> None:
    """A person pushed to our branch, and it is theirs now; or took it away, and the change is refused."""
    if moved.after is None:
        note = f"its branch was deleted by {moved.pusher}" if moved.pusher else "its branch was deleted"
        changes: dict[str, object] = {"state": FixState.CLOSED, "note": note}
    elif moved.after != fix.commit:
        changes = {"taken_over": moved.pusher or "somebody"}
    else:
        return

    def follows(now: OfferedFix) -> OfferedFix:
        # A merge deletes the branch in the same moment: its event may have been first.
        return now.with_(**changes) if now.state is FixState.OPEN and not now.taken_over else now

    await keeper.registry.revise(fix.key, follows)


async def _red_branch(fix: OfferedFix, moved: HeadMoved, keeper: Keeper) -> None:
    """Nobody waits for the red branch any more: so nobody waits for its fix."""
    if moved.after is None:
        why = f"The branch {Pen().code(fix.base_branch)} is gone, so nobody needs this any more."
    elif moved.closed and moved.pull_request is not None and moved.pull_request == fix.for_pull_request:
        pull = await keeper.github.pull_request(moved.repository, moved.pull_request)
        if pull is not None and pull.state == "open":
            return  # it was opened again before we heard of it
        why = f"Pull request #{moved.pull_request} is closed, so nobody needs this any more."
    else:
        return
    await take_back(moved.repository, fix, (FixState.SUPERSEDED, why), keeper)


async def take_back(repository: RepositoryRef, fix: OfferedFix, ending: tuple[FixState, str], keeper: Keeper) -> bool:
    """Close a fix that nobody needs, with a word; one that ended in an event we missed is caught up on.

    Args:
        repository: Where it is.
        fix: Open, as far as we know.
        ending: How it ends, and why, in words that are safe in a comment.
        keeper: Whom to ask and tell.

    Returns:
        Whether we closed it; `mode: staged` leaves it open.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
        StoreError: it could not be remembered.
    """
    pull = await keeper.pull_request(repository, fix)
    if pull is None:
        return False
    if pull.state != "open" and fix.closing and not pull.merged:
        await keeper.registry.revise(fix.key, lambda now: now.with_(closing=False) if now.closing else now)
        return False
    if pull.state != "open":
        missed = Feedback(repository=repository, pull_request=pull.number, merged=pull.merged, branch=fix.branch)
        await take_feedback(missed, keeper)
        return False
    if not await keeper.may_write(repository):
        return False
    return await retire(repository, pull, ending, github=keeper.github, upkeep=keeper.upkeep, registry=keeper.registry)
