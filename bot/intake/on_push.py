"""A branch was updated or deleted: work on its old head is obsolete."""

from bot.domain.request import HeadMoved, Ignored
from bot.github.events import Delivery, PushEvent, cut
from bot.intake.identity import OwnApp
from bot.policy.policy_file import POLICY_PATHS

BRANCHES = "refs/heads/"
NOTHING = "0" * 40
"""GitHub's placeholder for a missing commit."""


def on_push(delivery: Delivery, own: OwnApp) -> HeadMoved | Ignored:
    """Handle `push`: an updated, force-pushed or deleted branch, also one of ours."""
    event = cut(delivery, PushEvent)
    if not event.ref.startswith(BRANCHES):
        return Ignored(reason="the ref is not a branch")
    pusher = (
        event.sender.login
        if event.sender is not None
        else (event.pusher and event.pusher.name) or ""
    )
    if pusher == own.login:
        return Ignored(reason="it is our own push")
    before, after = (None if sha == NOTHING else sha for sha in (event.before, event.after))
    if before is None:
        return Ignored(reason="the branch is new")
    return HeadMoved(
        repository=event.repository_ref,
        branch=event.ref.removeprefix(BRANCHES),
        before=before,
        after=None if event.deleted else after,
        pusher=pusher,
        touches_policy=any(
            path in POLICY_PATHS
            for commit in event.commits
            for path in (*commit.added, *commit.modified, *commit.removed)
        ),
        delivery_id=delivery.id,
    )
