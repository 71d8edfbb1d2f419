"""Answer a command, ask a person a question, or hand over the patch on a fork's pull request."""

from bot.domain.mission import Outcome
from bot.domain.request import Trigger
from bot.ports import GitHub
from bot.publish.report import answer
from bot.publish.story import Story, marker
from sandbox.types import TrustTier


def where_to_answer(story: Story) -> int | None:
    """Return the issue or pull request to comment on; None if no comment is needed.

    Every command gets an answer. Without a command, we comment only to ask a question, or to hand
    over a fix that we may not push because the branch belongs to a fork.
    """
    request = story.context.request
    if request.trigger is Trigger.COMMENT:
        return request.comment.number if request.comment else request.pull_request
    if story.outcome is Outcome.NEEDS_HUMAN:
        return request.pull_request
    if story.outcome is Outcome.FIXED and is_fork(story):
        return request.pull_request
    return None


def is_fork(story: Story) -> bool:
    """Return True if the failing branch belongs to a fork, so that we cannot push to it."""
    return story.context.request.tier is TrustTier.FORK


async def reply(story: Story, github: GitHub) -> int | None:
    """Create the mission's comment, or update it; its marker identifies it.

    Raises:
        GitHubError: GitHub rejected the call, failed or could not be reached.
    """
    number, repository = where_to_answer(story), story.context.request.repository
    if number is None or repository is None:
        return None
    return await github.comment(repository, number, answer(story), marker=marker(story.context))
