"""Feedback on offered fixes: merged, closed, reverted, reopened, taken over, or branch deleted."""

import logging
import re
from collections.abc import Iterable

from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import Feedback, HeadMoved, RepositoryRef
from bot.errors import GitHubError
from bot.policy.rules import LABEL_TEST_CHANGE
from bot.ports import Services
from bot.publish.markdown import SafeWriter
from bot.publish.overview import BOXES, ticks
from bot.publish.retire import retire
from bot.upkeep.offered import (
    delete_branch,
    feedback_on,
    find_pull_request,
    may_write,
    open_fixes,
)
from bot.upkeep.taken import accepts_suggestion, compare_with_ours

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


async def take_feedback(feedback: Feedback, services: Services) -> int:
    """Record in registry and lessons that one of our pull requests was merged, closed or the like.

    Args:
        feedback: The event; for other pull requests, nothing is recorded.
        services: The services to use.

    Returns:
        The number of changed lessons.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
        StoreError: registry or lessons could not be written.
    """
    fate = feedback.fate or ("merged" if feedback.merged else "closed")
    if fate == "closed" and services.is_us(feedback.by):
        return 0  # we closed it ourselves, so it is not a rejection
    fixes = await services.registry.offered(
        feedback.repository.id, pull_request=feedback.pull_request
    )
    await _note(feedback, fate, fixes, services)
    if fixes and fate in {"merged", "closed"}:
        feedback = await _with_details(feedback, fate, fixes[0], services)
    boxes = feedback.boxes
    note = ", ".join(BOXES[box] for box in boxes)
    # GitHub closes pull requests into a deleted branch, which is not a rejection either.
    needless = fate == "closed" and await _lost_their_base(feedback.repository, fixes, services)

    def apply_state(fix: OfferedFix) -> OfferedFix:
        state = _next_state(fix, FixState.SUPERSEDED if needless else _STATES[fate])
        if state is fix.state:
            return fix
        by = f" by {feedback.by}" if feedback.by else ""
        words = "; ".join(part for part in (f"{fate}{by}", feedback.said, note) if part)
        merge_sha = feedback.merge_sha or fix.merge_sha
        return fix.with_(state=state, closing=False, note=words, merge_sha=merge_sha)

    for fix in fixes:
        if await services.registry.revise(fix.key, apply_state) is None:
            continue
        if fate in {"merged", "closed"}:
            await delete_branch(feedback.repository, fix, services)
        if fate == "closed" and "test" in boxes:
            await _test_is_wrong(fix, services)
    if needless or (fate == "closed" and await _was_ended_by_us(feedback, services)):
        return 0
    return await services.lessons.feed_back(feedback)


async def _note(
    feedback: Feedback, fate: str, fixes: tuple[OfferedFix, ...], services: Services
) -> None:
    """Add a person's decision about one of our fixes to the audit log."""
    if fixes and feedback.by:
        subject, mission = f"#{feedback.pull_request}", fixes[0].mission_id
        await services.note(
            f"fix {fate}", feedback.by, feedback.repository, subject=subject, mission=mission
        )


def _next_state(fix: OfferedFix, state: FixState) -> FixState:
    """Return a fix's next state.

    A reverted fix stays reverted, a merged one can only be reverted, and one that we closed
    ourselves is not closed by people.
    """
    if fix.state is FixState.REVERTED or (
        fix.state is FixState.MERGED and state is not FixState.REVERTED
    ):
        return fix.state
    return fix.state if fix.state in _ENDED_BY_US and state is FixState.CLOSED else state


async def _was_ended_by_us(feedback: Feedback, services: Services) -> bool:
    """Return True if we closed the fix ourselves, perhaps just now."""
    fixes = await services.registry.offered(
        feedback.repository.id, pull_request=feedback.pull_request
    )
    return any(fix.state in _ENDED_BY_US for fix in fixes)


async def _lost_their_base(
    repository: RepositoryRef, fixes: Iterable[OfferedFix], services: Services
) -> bool:
    """Return True if the target branch of open fixes was deleted."""
    bases = {fix.base_branch for fix in fixes if fix.state is FixState.OPEN and fix.base_branch}
    return bool(bases) and not any(
        [await services.github.branch_head(repository, base) for base in bases]
    )


async def _test_is_wrong(fix: OfferedFix, services: Services) -> None:
    """Label the red pull request, since a person decided that its test is wrong.

    Ignore failures.
    """
    if fix.for_pull_request is None:
        return
    try:
        if await may_write(fix.repository, services):
            await services.github.add_labels(
                fix.repository, fix.for_pull_request, [LABEL_TEST_CHANGE]
            )
    except GitHubError as error:
        log.warning("labelling #%d failed: %s", fix.for_pull_request, error.message)


async def _with_details(
    feedback: Feedback, fate: str, fix: OfferedFix, services: Services
) -> Feedback:
    """Return the feedback with ticked boxes and a merged change that is not ours."""
    try:
        pull = await services.github.pull_request(feedback.repository, feedback.pull_request)
    except GitHubError as error:
        log.warning("reading the result of #%d failed: %s", feedback.pull_request, error.message)
        return feedback
    if pull is None:
        return feedback
    feedback = feedback.with_(boxes=ticks(pull.body))
    if fate != "merged":
        return feedback
    taken, difference = await compare_with_ours(fix, pull, services.github)
    return feedback.with_(taken=taken, difference=difference)


async def head_moved(moved: HeadMoved, services: Services) -> None:
    """Update fixes whose own branch or target branch was updated, deleted or closed.

    Args:
        moved: The event; our own pushes are ignored.
        services: The services to use.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
        StoreError: registry or lessons could not be written.
    """
    if services.is_us(moved.pusher) or moved.from_fork:
        return
    await _read_commit(moved, services)
    for fix in await open_fixes(moved.repository, services):
        if fix.branch == moved.branch:
            await _own_branch(fix, moved, services)
        elif fix.base_branch == moved.branch:
            await _red_branch(fix, moved, services)


async def _read_commit(moved: HeadMoved, services: Services) -> None:
    """Mark fixes that the pushed commit reverts or applies according to its message.

    A revert counts only on the branch that has the fix: on another branch it is a mere proposal.
    """
    fixes = await services.registry.offered(moved.repository.id)
    here = [
        fix for fix in fixes if moved.branch in {fix.base_branch, moved.repository.default_branch}
    ]
    made = [fix for fix in here if _can_be_undone(fix)]
    suggested = [fix for fix in here if _is_suggestion(fix) and fix.base_branch == moved.branch]
    if moved.after is None or not (made or suggested):
        return
    try:
        message = await _full_message(moved.repository, moved.after, services)
    except GitHubError as error:
        if error.retryable:
            raise
        return  # the commit was removed by another push
    commits, numbers = set(_REVERTS_COMMIT.findall(message)), set(_REVERTS_PULL.findall(message))
    for fix in made:
        own = {fix.merge_sha} if fix.commit == fix.head_sha else {fix.commit, fix.merge_sha}
        if commits & own or str(fix.pull_request) in numbers:
            await _decided(fix, moved, FixState.REVERTED, services)
    if accepts_suggestion(message, services.login):
        for fix in suggested:
            await _decided(fix, moved, FixState.MERGED, services)


async def _decided(fix: OfferedFix, moved: HeadMoved, state: FixState, services: Services) -> None:
    """Record that a pushed commit reverted or applied a fix."""
    is_reverted = state is FixState.REVERTED
    note = f"{'undone' if is_reverted else 'applied'} by {moved.pusher}"

    def become(now: OfferedFix) -> OfferedFix:
        if is_reverted:
            return now.with_(state=state, note=note) if _can_be_undone(now) else now
        is_open = now.state is FixState.OPEN
        return now.with_(state=state, note=note, merge_sha=moved.after) if is_open else now

    await services.registry.revise(fix.key, become)
    await services.lessons.feed_back(
        feedback_on(fix, fate="reverted" if is_reverted else "merged", by=moved.pusher)
    )


def _is_suggestion(fix: OfferedFix) -> bool:
    """Return True for open suggestions, which have no commit of ours."""
    is_own = fix.commit == fix.head_sha and fix.branch == fix.base_branch
    return is_own and fix.state is FixState.OPEN


def _can_be_undone(fix: OfferedFix) -> bool:
    """Return True if the change is on a branch that people use."""
    is_pushed = not fix.pull_request and fix.commit != fix.head_sha
    return fix.state is FixState.MERGED or (fix.state is FixState.OPEN and is_pushed)


async def _full_message(repository: RepositoryRef, sha: str, services: Services) -> str:
    """Return a commit's message; for a merge, with the merged commit's message."""
    commit = await services.github.commit(repository, sha)
    brought = [
        (await services.github.commit(repository, one)).message for one in commit.parents[1:2]
    ]
    return "\n".join((commit.message, *brought))


async def _own_branch(fix: OfferedFix, moved: HeadMoved, services: Services) -> None:
    """Record that a person took over our branch by a push, or rejected the fix by deleting it."""
    if moved.after is None:
        note = (
            f"its branch was deleted by {moved.pusher}"
            if moved.pusher
            else "its branch was deleted"
        )
        changes: dict[str, object] = {"state": FixState.CLOSED, "note": note}
    elif moved.after != fix.commit:
        changes = {"taken_over": moved.pusher or "another person"}
    else:
        return

    def follows(now: OfferedFix) -> OfferedFix:
        # A merge deletes the branch at once, so that event may arrive first.
        return now.with_(**changes) if now.state is FixState.OPEN and not now.taken_over else now

    await services.registry.revise(fix.key, follows)


async def _red_branch(fix: OfferedFix, moved: HeadMoved, services: Services) -> None:
    """Close a fix whose red branch was deleted or whose red pull request was closed."""
    if moved.after is None:
        why = f"The branch {SafeWriter().code(fix.base_branch)} was deleted, so this is obsolete."
    elif (
        moved.closed
        and moved.pull_request is not None
        and moved.pull_request == fix.for_pull_request
    ):
        pull = await services.github.pull_request(moved.repository, moved.pull_request)
        if pull is not None and pull.state == "open":
            return  # it was reopened meanwhile
        why = f"Pull request #{moved.pull_request} is closed, so this is obsolete."
    else:
        return
    await close_obsolete(moved.repository, fix, (FixState.SUPERSEDED, why), services)


async def close_obsolete(
    repository: RepositoryRef,
    fix: OfferedFix,
    ending: tuple[FixState, str],
    services: Services,
) -> bool:
    """Close an obsolete fix with a comment, or catch up on one that people closed unnoticed.

    Args:
        repository: The fix's repository.
        fix: A fix that is open according to the registry.
        ending: Its new state, and the reason as text that is safe in a comment.
        services: The services to use.

    Returns:
        True if it was closed here; `mode: staged` leaves it open.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
        StoreError: the registry could not be written.
    """
    pull = await find_pull_request(repository, fix, services)
    if pull is None:
        return False
    if pull.state != "open" and fix.closing and not pull.merged:
        await services.registry.revise(
            fix.key, lambda now: now.with_(closing=False) if now.closing else now
        )
        return False
    if pull.state != "open":
        missed = Feedback(
            repository=repository, pull_request=pull.number, merged=pull.merged, branch=fix.branch
        )
        await take_feedback(missed, services)
        return False
    if not await may_write(repository, services):
        return False
    return await retire(
        repository,
        pull,
        ending,
        github=services.github,
        registry=services.registry,
    )
