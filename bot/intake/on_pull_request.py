"""A pull request was opened, closed, updated or reopened."""

import re

from bot.domain.request import Feedback, HeadMoved, Ignored, PullRequestOpened, RedHead
from bot.github.events import Delivery, PullRequest, PullRequestEvent, cut
from bot.intake import guards
from bot.intake.guards import Head
from bot.intake.identity import OwnApp

_REVERT = re.compile(r"revert-(?P<number>[1-9][0-9]{0,9})-(?P<branch>.{1,300})")
"""The branch name that GitHub's revert button creates."""


def on_opened(delivery: Delivery, own: OwnApp) -> PullRequestOpened | Ignored:
    """Handle `pull_request.opened`: it may change the policy file."""
    event = cut(delivery, PullRequestEvent)
    if _sender(event) == own.login:
        return Ignored(reason="it is our own pull request")
    return PullRequestOpened(
        repository=event.repository_ref,
        pull_request=event.pull_request.number,
        head_sha=event.pull_request.head.sha,
        delivery_id=delivery.id,
    )


def on_closed(delivery: Delivery, own: OwnApp) -> Feedback | HeadMoved | Ignored:
    """Handle `pull_request.closed`: feedback on a proposal, or the end of work on another head."""
    event = cut(delivery, PullRequestEvent)
    pull = event.pull_request
    if _is_ours(event, own):
        return _verdict(event, delivery)
    undone = _REVERT.fullmatch(pull.head.ref)
    if pull.merged and undone is not None and not _is_elsewhere(event):
        return Feedback(
            repository=event.repository_ref,
            pull_request=int(undone["number"]),
            merged=False,
            branch=undone["branch"],
            fate="reverted",
            by=_sender(event),
            merge_sha=pull.merge_commit_sha,
            delivery_id=delivery.id,
        )
    if guards.is_own_branch(pull.head.ref):
        return Ignored(reason=_not_ours(event))
    return _moved(event, delivery, pull).with_(
        before=pull.head.sha, after=pull.head.sha, closed=True
    )


def on_reopened(delivery: Delivery, own: OwnApp) -> Feedback | RedHead | Ignored:
    """Handle `pull_request.reopened`: feedback on a proposal, or a head to check for red checks."""
    event = cut(delivery, PullRequestEvent)
    pull = event.pull_request
    if _is_ours(event, own):
        return _verdict(event, delivery).with_(fate="reopened")
    head = Head(
        sha=pull.head.sha,
        branch=pull.head.ref,
        repository_id=event.repository.id,
        elsewhere=_is_elsewhere(event),
    )
    if (no := guards.refuse_head(head)) is not None:
        return Ignored(reason=no)
    return RedHead(
        repository=event.repository_ref,
        head_sha=head.sha,
        head_branch=head.branch,
        pull_request=pull.number,
        delivery_id=delivery.id,
        again=True,
    )


def on_synchronize(delivery: Delivery, own: OwnApp) -> HeadMoved | Ignored:
    """Handle `pull_request.synchronize`, the only event for a push to a fork's pull request."""
    event = cut(delivery, PullRequestEvent)
    if _sender(event) == own.login:
        return Ignored(reason="it is our own push")
    return _moved(event, delivery, event.pull_request)


def _moved(event: PullRequestEvent, delivery: Delivery, pull: PullRequest) -> HeadMoved:
    return HeadMoved(
        repository=event.repository_ref,
        branch=pull.head.ref,
        before=event.before,
        after=event.after or pull.head.sha,
        pull_request=pull.number,
        from_fork=_is_elsewhere(event),
        pusher=_sender(event),
        delivery_id=delivery.id,
    )


def _verdict(event: PullRequestEvent, delivery: Delivery) -> Feedback:
    pull = event.pull_request
    return Feedback(
        repository=event.repository_ref,
        pull_request=pull.number,
        merged=bool(pull.merged),
        branch=pull.head.ref,
        by=_sender(event),
        merge_sha=pull.merge_commit_sha if pull.merged else None,
        delivery_id=delivery.id,
    )


def _is_ours(event: PullRequestEvent, own: OwnApp) -> bool:
    pull = event.pull_request
    made_by_us = pull.user is not None and pull.user.login == own.login
    return guards.is_own_branch(pull.head.ref) and not _is_elsewhere(event) and made_by_us


def _not_ours(event: PullRequestEvent) -> str:
    return (
        "a fork uses our branch name"
        if _is_elsewhere(event)
        else "another account opened it from our branch"
    )


def _is_elsewhere(event: PullRequestEvent) -> bool:
    return guards.is_from_fork(event.pull_request.head, event.repository.id)


def _sender(event: PullRequestEvent) -> str:
    return event.sender.login if event.sender is not None else ""
