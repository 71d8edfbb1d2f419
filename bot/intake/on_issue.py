"""A person changed our dashboard issue; a ticked box is a command of that person."""

from pydantic import Field

from bot.domain.boxes import DASHBOARD_MARKER, read_box, ticked_rows
from bot.domain.command import Command, Origin
from bot.domain.request import DashboardTouched, Ignored
from bot.github.events import Delivery, GitHubAccount, Issue, Payload, Slim, cut
from bot.intake.identity import OwnApp
from bot.intake.on_comment import is_bot


class _Text(Issue):
    """An issue with its text."""

    body: str | None = None
    user: GitHubAccount | None = None


class _Before(Slim):
    """An earlier text."""

    text: str | None = Field(default=None, alias="from")


class _Changes(Slim):
    """The changes of an edit."""

    body: _Before | None = None


class IssueEvent(Payload):
    """`issues`."""

    issue: _Text
    changes: _Changes | None = None


def on_issue_state(delivery: Delivery, own: OwnApp) -> DashboardTouched | Ignored:
    """Handle `issues.closed`, `issues.reopened` and `issues.deleted`."""
    event = cut(delivery, IssueEvent)
    return _ignore(event, own) or _touched(event, delivery)


def on_issue_edited(delivery: Delivery, own: OwnApp) -> Command | DashboardTouched | Ignored:
    """Handle `issues.edited`; the rights of the person are checked later.

    One edit is one command. In a browser each tick is an edit; of several boxes that are ticked in
    the editor at once, the first counts. Any other edit of the text is overwritten.
    """
    event = cut(delivery, IssueEvent)
    if (ignored := _ignore(event, own)) is not None:
        return ignored
    issue, before = event.issue, event.changes.body if event.changes else None
    if event.sender is None or is_bot(event.sender.login, own, said_so=event.sender.is_bot):
        return Ignored(reason="bots cannot give commands")
    if before is None or issue.state == "closed":
        return Ignored(reason="no text of an open dashboard was edited")
    body, earlier = issue.body or "", ticked_rows(before.text or "")
    row = next((one for one in ticked_rows(body) if one not in earlier), "")
    box = read_box(row)
    if box is None or DASHBOARD_MARKER not in body:
        return _touched(event, delivery)
    # A box without a place is about the repository; then the answer goes to the dashboard.
    is_here = box.number is None and box.head_sha is None
    repository = event.repository_ref
    return Command(
        command_id=f"command:{repository.id}:x{delivery.id}",
        verb=box.verb,
        word=box.verb.value,
        target=box.target,
        options=box.options,
        origin=Origin.BOX,
        repository=repository,
        author=event.sender.login,
        number=issue.number if is_here else box.number,
        is_pull_request=not is_here,
        head_sha=box.head_sha,
        head_branch=box.head_branch,
        box=row,
        delivery_id=delivery.id,
    )


def _ignore(event: IssueEvent, own: OwnApp) -> Ignored | None:
    """Return why the event is ignored: another's issue, or our own edit; None if it counts."""
    if event.issue.user is None or event.issue.user.login != own.login:
        return Ignored(reason="the issue is not our dashboard")
    if event.sender is not None and event.sender.login == own.login:
        return Ignored(reason="we did it")
    return None


def _touched(event: IssueEvent, delivery: Delivery) -> DashboardTouched:
    return DashboardTouched.model_validate(
        {
            "repository": event.repository_ref,
            "number": event.issue.number,
            "action": delivery.action,
            "delivery_id": delivery.id,
        }
    )
