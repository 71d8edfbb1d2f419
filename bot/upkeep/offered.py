"""Offered fixes and their pull requests, as following up on them needs them."""

import logging
from typing import Literal

from bot.domain.github import PullRequestState
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import Feedback, RepositoryRef
from bot.errors import GitHubError
from bot.ports import Services

log = logging.getLogger(__name__)


async def open_fixes(repository: RepositoryRef, services: Services) -> tuple[OfferedFix, ...]:
    """Return open fixes with a pull request that people have not taken over."""
    fixes = await services.registry.offered(repository.id, state=FixState.OPEN)
    return tuple(fix for fix in fixes if fix.pull_request is not None and not fix.taken_over)


def feedback_on(
    fix: OfferedFix, *, fate: Literal["merged", "reverted", "ignored"], by: str = ""
) -> Feedback:
    """Return feedback for the lesson of a fix, whichever way it was handed over.

    Args:
        fix: The offered fix.
        fate: What became of it.
        by: The person who decided.
    """
    return Feedback(
        repository=fix.repository,
        pull_request=fix.pull_request or 0,
        # A commit or suggestions are known by their mission only.
        mission_id=None if fix.pull_request else fix.mission_id,
        merged=fate == "merged",
        branch=fix.branch,
        fate=fate,
        by=by,
    )


async def may_write(repository: RepositoryRef, services: Services) -> bool:
    """Return True unless the policy's mode is `staged`."""
    return (await services.read_policy(repository)).mode != "staged"


async def find_pull_request(
    repository: RepositoryRef, fix: OfferedFix, services: Services
) -> PullRequestState | None:
    """Return the current state of a fix's pull request, or None if it has none."""
    if fix.pull_request is None:
        return None
    return await services.github.pull_request(repository, fix.pull_request)


async def delete_branch(repository: RepositoryRef, fix: OfferedFix, services: Services) -> None:
    """Delete a fix's branch, unless people pushed to it; ignore permanent failures."""
    if fix.pull_request is None:
        return
    try:
        if await may_write(repository, services):
            await services.github.delete_branch(repository, fix.branch, expected=fix.commit)
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning("deleting the branch %s failed: %s", fix.branch, error.message)
