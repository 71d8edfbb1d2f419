"""A label of ours was put on a pull request: a command."""

from bot.domain.command import Command, Origin, Verb
from bot.domain.request import Ignored
from bot.github.events import Delivery, PullRequestEvent, Slim, cut
from bot.intake.identity import OwnApp
from bot.intake.on_comment import is_bot
from bot.policy.rules import LABEL_FIX, LABEL_OFF

_VERBS = {LABEL_FIX: Verb.FIX, LABEL_OFF: Verb.OFF}


class _Label(Slim):
    """A label."""

    name: str


class LabelEvent(PullRequestEvent):
    """`pull_request.labeled`."""

    label: _Label | None = None


def on_label(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """Handle `pull_request.labeled`: `metaagent:fix` and `metaagent:off` are commands.

    Labelling does not need write access, so admission checks the sender.
    """
    event = cut(delivery, LabelEvent)
    verb = _VERBS.get(event.label.name.lower()) if event.label else None
    if verb is None:
        return Ignored(reason="the label is not one of MetaAgent's")
    if event.sender is None or is_bot(event.sender.login, own, said_so=event.sender.is_bot):
        return Ignored(reason="bots cannot give commands")
    repository, pull = event.repository_ref, event.pull_request
    return Command(
        command_id=f"command:{repository.id}:l{delivery.id}",
        verb=verb,
        word=verb.value,
        origin=Origin.LABEL,
        repository=repository,
        author=event.sender.login,
        number=pull.number,
        head_sha=pull.head.sha,
        head_branch=pull.head.ref,
        delivery_id=delivery.id,
    )
