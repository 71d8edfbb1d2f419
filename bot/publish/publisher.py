"""Publish the outcome of a mission: pull request, comment and check run, chosen by outcome."""

import logging
from typing import assert_never

from bot.domain.mission import Outcome
from bot.domain.publication import Publication
from bot.errors import GitHubError
from bot.policy.rules import LABEL_NEEDS_HUMAN
from bot.publish.check_run import publish_result
from bot.publish.comment import is_fork, reply
from bot.publish.delivery import hand_over
from bot.publish.fix_records import is_chosen, open_elsewhere, propose
from bot.publish.offer import Offer
from bot.publish.services import PublishServices
from bot.publish.story import Story
from sandbox.types import Frozen

log = logging.getLogger(__name__)


class PublishedTraces(Frozen):
    """Traces written to GitHub, and those that GitHub rejected."""

    offer: Offer | None = None
    comment: int | None = None
    check_run: int | None = None
    refused: tuple[str, ...] = ()


async def publish_outcome(story: Story, services: PublishServices) -> Publication:
    """Publish the outcome of a mission on GitHub.

    Everything is looked up by the mission's marker or the failure's branch before it is created, so
    that running this twice has the same effect as once. A permanent rejection by GitHub skips one
    trace, not the others.

    Args:
        story: The finished mission; without a repository nothing is published.
        services: External dependencies of publishing.

    Raises:
        GitHubError: GitHub failed, limits us or could not be reached; try again later.
    """
    context, github = story.context, services.github
    if context.request.repository is None:
        return Publication(
            mission_id=context.mission_id, outcome=story.outcome, skipped="there is no repository"
        )
    refused: list[str] = []
    offer = None
    if _offers(story):
        try:
            offer = await hand_over(story, services)
        except GitHubError as error:
            refused.append(_refused("The fix could not be pushed", error))
            offer = Offer(outcome=story.outcome, note=refused[0])
        story = _with_offer(story, offer)
    if story.outcome is Outcome.BASE_RED:
        story = story.with_(delivered=await open_elsewhere(story, services))
    proposal = await propose(story, services)
    story = story.with_(
        choices=tuple(change.title for change in proposal.changes) if proposal else ()
    )
    try:
        comment = await reply(story, github)
    except GitHubError as error:
        comment = None
        refused.append(_refused("No comment could be written", error))
    await _label(story, services)
    try:
        check_run = await publish_result(story, github)
    except GitHubError as error:
        check_run = None
        refused.append(_refused("No check run could be written", error))
    for trace in refused:
        log.warning("publishing failed in part: %s", trace, extra={"mission": context.mission_id})
    return _publication(
        story,
        PublishedTraces(offer=offer, comment=comment, check_run=check_run, refused=tuple(refused)),
    )


async def _label(story: Story, services: PublishServices) -> None:
    """Label the failing pull request while a person is needed, and remove the label afterwards."""
    request = story.context.request
    if request.repository is None or request.pull_request is None:
        return
    try:
        if story.outcome is Outcome.NEEDS_HUMAN:
            await services.github.add_labels(
                request.repository, request.pull_request, [LABEL_NEEDS_HUMAN]
            )
        elif request.answer is not None and story.delivered:
            await services.github.remove_label(
                request.repository, request.pull_request, LABEL_NEEDS_HUMAN
            )
    except GitHubError as error:
        log.warning(
            "publishing failed in part: %s",
            _refused("No label could be written", error),
            extra={"mission": story.context.mission_id},
        )


def _refused(what: str, error: GitHubError) -> str:
    """Describe a permanent rejection with advice; re-raise an error that can be retried."""
    if error.retryable:
        raise error
    return f"{what}: {error.message}" + (f" ({error.advice})" if error.advice else "")


def _offers(story: Story) -> bool:
    """Return True if the outcome may be delivered as a change; all others are only reported."""
    if story.fix is None:
        return False
    match story.outcome:
        case Outcome.FIXED | Outcome.IMPROVED:
            return story.fix[1].green
        case Outcome.PARTIAL:
            # A partial fix is shown as a patch and only applied if a person chose it.
            return is_chosen(story) and not is_fork(story)
        case _:
            return False


def _with_offer(story: Story, offer: Offer) -> Story:
    url = offer.pull_request.url if offer.pull_request and offer.delivered else ""
    return story.with_(
        outcome=offer.outcome, note=offer.note, pull_request_url=url, delivered=_where(story, offer)
    )


def _where(story: Story, offer: Offer) -> str:
    """Describe the place of the delivered change; empty if it is only shown."""
    if not offer.delivered:
        return ""
    if story.context.policy.mode == "staged":
        return "Staged: nothing was changed; this check lists the writes that would have been made."
    match offer.way:
        case "pull-request":
            number = offer.pull_request.number if offer.pull_request else 0
            url = offer.pull_request.url if offer.pull_request else ""
            return f"Pull request: {url or f'#{number}'}"
        case "push":
            branch = story.pen.code(offer.branch or "")
            return f"Pushed to {branch} as commit {(offer.commit or '')[:12]}."
        case "suggest":
            return "Suggested in the pull request: accept the suggestions to apply the change."
        case "report":
            return ""
        case _:
            assert_never(offer.way)


def _publication(story: Story, traces: PublishedTraces) -> Publication:
    offer = traces.offer
    pull_request = offer.pull_request if offer else None
    skipped = [*([offer.note] if offer and offer.note else []), *traces.refused]
    if story.outcome is Outcome.FIXED and is_fork(story) and not story.delivered:
        skipped.append("the branch belongs to a fork: the patch was handed over instead")
    return Publication(
        mission_id=story.context.mission_id,
        outcome=story.outcome,
        branch=offer.branch if offer else None,
        commit=offer.commit if offer else None,
        pull_request=pull_request.number if pull_request else None,
        pull_request_url=(pull_request.url or None) if pull_request else None,
        check_run=traces.check_run,
        way=offer.way if offer and offer.delivered else None,
        review=offer.review if offer else None,
        comments=(traces.comment,) if traces.comment is not None else (),
        skipped="; ".join(dict.fromkeys(skipped)) or None,
    )
