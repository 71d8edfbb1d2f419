"""A box of our dashboard issue was ticked: a command of the person who ticked it."""

from pydantic import Field

from bot.domain.boxes import DASHBOARD_MARKER, read_box, ticked_rows
from bot.domain.command import Command, Origin
from bot.domain.request import Ignored
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


def on_issue_edited(delivery: Delivery, own: OwnApp) -> Command | Ignored:
    """Handle `issues.edited`; the rights of the person are checked later.

    One edit is one command. In a browser each tick is an edit; of several boxes that are ticked in
    the editor at once, the first counts.
    """
    event = cut(delivery, IssueEvent)
    issue, before = event.issue, event.changes.body if event.changes else None
    body = issue.body or ""
    if issue.user is None or issue.user.login != own.login or DASHBOARD_MARKER not in body:
        return Ignored(reason="the issue is not our dashboard")
    if event.sender is None or is_bot(event.sender.login, own, said_so=event.sender.is_bot):
        return Ignored(reason="bots cannot give commands")
    if before is None or issue.state == "closed":
        return Ignored(reason="no box of an open dashboard was ticked")
    earlier = ticked_rows(before.text or "")
    row = next((one for one in ticked_rows(body) if one not in earlier), "")
    box = read_box(row)
    if box is None:
        return Ignored(reason="no box was ticked")
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
