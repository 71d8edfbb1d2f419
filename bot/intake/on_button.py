"""A button of our check run was pressed, or a rerun of it requested: a command."""

from bot.domain.command import Command, Origin, Verb
from bot.domain.github import POLICY_CHECK_NAME
from bot.domain.request import Ignored
from bot.github.events import CheckRun, CheckRunEvent, Delivery, Slim, cut
from bot.intake.guards import Head
from bot.intake.identity import OwnApp
from bot.intake.on_comment import is_bot


class PressedRun(CheckRun):
    """Our check run; its external id is the mission's id."""

    external_id: str | None = None


class Press(Slim):
    """A pressed button; its identifier is a verb."""

    identifier: str


class PressEvent(CheckRunEvent):
    """`check_run.requested_action` and `check_run.rerequested`."""

    check_run: PressedRun
    requested_action: Press | None = None


def on_button(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """Return the button's verb, or `retry` for `check_run.rerequested`, as a command.

    GitHub shows buttons to writers only; admission checks that again.
    """
    event = cut(delivery, PressEvent)
    run = event.check_run
    if run.app is not None and own.app_id is not None and run.app.id != own.app_id:
        return Ignored(reason="the check is another App's")
    if run.name == POLICY_CHECK_NAME:
        return Ignored(reason="the check of a policy changes with the file only")
    if event.sender is None or is_bot(event.sender.login, own, said_so=event.sender.is_bot):
        return Ignored(reason="bots cannot give commands")
    word = event.requested_action.identifier if event.requested_action else Verb.RETRY.value
    verb = next((verb for verb in Verb if verb.value == word), None)
    if verb is None:
        return Ignored(reason="the button is unknown")
    repository = event.repository_ref
    branch = run.check_suite.head_branch if run.check_suite else None
    head = Head(
        sha=run.head_sha, branch=branch, repository_id=repository.id, links=run.pull_requests
    )
    return Command(
        command_id=f"command:{repository.id}:b{delivery.id}",
        verb=verb,
        word=verb.value,
        origin=Origin.BUTTON,
        repository=repository,
        author=event.sender.login,
        number=head.pull_request,
        check_run=run.id,
        mission_id=run.external_id or None,
        head_sha=head.sha,
        head_branch=head.branch,
        delivery_id=delivery.id,
    )
