"""A branch moved or went away: work on what was there is needless."""

from bot.domain.request import HeadMoved, Ignored
from bot.github.events import Delivery, PushEvent, cut
from bot.intake.identity import OwnApp

BRANCHES = "refs/heads/"
NOTHING = "0" * 40
"""GitHub's commit for a ref that is not there."""


def on_push(delivery: Delivery, own: OwnApp) -> HeadMoved | Ignored:
    """`push`: a branch moved, was forced or deleted; a person's push to a branch of ours counts too."""
    event = cut(delivery, PushEvent)
    if not event.ref.startswith(BRANCHES):
        return Ignored(reason="only branches matter")
    pusher = event.sender.login if event.sender is not None else (event.pusher and event.pusher.name) or ""
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
        delivery_id=delivery.id,
    )
