"""One of our pull requests was merged or closed: pass on the verdict."""

from bot.domain.request import Feedback, Ignored
from bot.github.events import Delivery, PullRequestEvent, cut
from bot.intake import guards
from bot.intake.identity import OwnApp


def on_pull_request(delivery: Delivery, own: OwnApp) -> Feedback | Ignored:
    """`pull_request.closed`: feedback when branch and author are ours."""
    event = cut(delivery, PullRequestEvent)
    pull = event.pull_request
    if not guards.is_own_branch(pull.head.ref):
        return Ignored(reason="it is not our pull request")
    if guards.is_from_fork(pull.head, event.repository.id):
        return Ignored(reason="a fork uses our branch name")
    if pull.user is None or pull.user.login != own.login:
        return Ignored(reason="somebody else opened it from our branch")
    return Feedback(
        repository=event.repository_ref,
        pull_request=pull.number,
        merged=bool(pull.merged),
        branch=pull.head.ref,
        delivery_id=delivery.id,
    )
