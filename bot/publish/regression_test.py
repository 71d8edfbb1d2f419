"""The commit with a new test for a fix, after the commit of the fix itself."""

import logging

from bot.domain.github import BranchCommit
from bot.errors import GitHubError
from bot.publish.branch import trailers
from bot.publish.markdown import Section
from bot.publish.offer import Offer
from bot.publish.services import PublishServices
from bot.publish.story import Story, identity
from sandbox.types import FileEdit

TRAILER = "MetaAgent-Test"

log = logging.getLogger(__name__)


async def with_test(story: Story, services: PublishServices, offer: Offer) -> Offer:
    """Add the commit with the test to an opened pull request; return the offer with its head.

    A permanent rejection by GitHub is only logged: the fix is offered without the test.

    Args:
        story: The mission.
        services: The services to publish with.
        offer: The offered pull request.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
    """
    test, repository = story.context.regression_test, story.context.request.repository
    if test is None or repository is None or not offer.delivered:
        return offer
    if offer.way != "pull-request" or offer.commit is None or offer.branch is None:
        return offer
    try:
        head = await services.github.commit(repository, offer.commit)
        # An interrupted run may have added it, and an earlier fix has another parent.
        if TRAILER in trailers(head.message) or story.context.request.head_sha not in head.parents:
            return offer
        commit = BranchCommit(
            branch=offer.branch, parent=offer.commit, message=_message(story, test.name)
        )
        edit = FileEdit(path=test.path, mode="100644", content=test.content.encode())
        sha = await services.github.commit_on_branch(repository, commit, (edit,))
    except GitHubError as error:
        if error.retryable:
            raise
        log.warning(
            "adding the regression test failed: %s",
            error.message,
            extra={"mission": story.context.mission_id},
        )
        return offer
    return offer.with_(commit=sha)


def pinned_section(story: Story) -> Section | None:
    """Return the sentence about the test; None without one."""
    test, pen = story.context.regression_test, story.pen
    if test is None:
        return None
    return Section(
        lead=f"**Regression test:** the second commit adds {pen.code(test.name)}. It expects "
        f"{pen.code(test.result)} from {pen.code(test.call)}, fails without the fix and passes "
        "with it."
    )


def _message(story: Story, name: str) -> str:
    title = story.pen.title(name.rpartition("::")[2], cap=60)
    return (
        f"Add {title}\n\nIt fails without the fix and passes with it.\n\n"
        f"MetaAgent-Mission: {identity(story.context.mission_id)}\n"
        f"{TRAILER}: {identity(story.context.fingerprint) or 'none'}\n"
    )
