"""Answer a command, or ask a human one clear question; on a fork's pull request, hand over the patch."""

from bot.domain.mission import Outcome
from bot.domain.request import Trigger
from bot.ports import GitHub
from bot.publish.report import answer
from bot.publish.story import Story, marker
from sandbox.types import TrustTier


def where_to_answer(story: Story) -> int | None:
    """The issue or pull request in which somebody waits for an answer; None when nobody does.

    Whoever gave a command is always answered. Without a command only two things are worth a comment: a question
    to a person, and a fix that we may not push because the branch is a fork's.
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
    """Whether the red branch is not ours to push to."""
    return story.context.request.tier is TrustTier.FORK


async def reply(story: Story, github: GitHub) -> int | None:
    """The one comment of this mission; found again by its marker and updated.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
    """
    number, repository = where_to_answer(story), story.context.request.repository
    if number is None or repository is None:
        return None
    return await github.comment(repository, number, answer(story), marker=marker(story.context))
