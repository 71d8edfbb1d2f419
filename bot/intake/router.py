"""Routes each event and action to its handler."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bot.domain.request import Ignored
from bot.github.events import Delivery
from bot.intake.identity import OwnApp
from bot.intake.on_button import on_button
from bot.intake.on_comment import on_comment, on_review_comment
from bot.intake.on_installation import on_installation, on_ping
from bot.intake.on_issue import on_issue_edited, on_issue_state
from bot.intake.on_label import on_label
from bot.intake.on_pull_request import on_closed, on_opened, on_reopened, on_synchronize
from bot.intake.on_push import on_push
from bot.intake.on_red import (
    on_check_run,
    on_check_suite,
    on_status,
    on_workflow_job,
    on_workflow_run,
)
from bot.ports import Work

Decision = Work | Ignored
Handler = Callable[[Delivery, OwnApp], Decision]

HANDLERS: Mapping[tuple[str, str], Handler] = MappingProxyType(
    {
        ("check_run", "completed"): on_check_run,
        ("check_run", "requested_action"): on_button,
        ("check_run", "rerequested"): on_button,
        ("check_suite", "completed"): on_check_suite,
        ("check_suite", "rerequested"): on_check_suite,
        ("workflow_run", "completed"): on_workflow_run,
        ("workflow_job", "completed"): on_workflow_job,
        ("status", ""): on_status,
        ("issue_comment", "created"): on_comment,
        ("issues", "edited"): on_issue_edited,
        ("issues", "closed"): on_issue_state,
        ("issues", "reopened"): on_issue_state,
        ("issues", "deleted"): on_issue_state,
        ("pull_request_review_comment", "created"): on_review_comment,
        ("pull_request", "opened"): on_opened,
        ("pull_request", "closed"): on_closed,
        ("pull_request", "reopened"): on_reopened,
        ("pull_request", "synchronize"): on_synchronize,
        ("pull_request", "labeled"): on_label,
        ("push", ""): on_push,
        ("ping", ""): on_ping,
        ("installation", "created"): on_installation,
        ("installation", "deleted"): on_installation,
        ("installation", "suspend"): on_installation,
        ("installation", "unsuspend"): on_installation,
        ("installation", "new_permissions_accepted"): on_installation,
        ("installation_repositories", "added"): on_installation,
        ("installation_repositories", "removed"): on_installation,
    }
)
"""All handled events; the others are ignored."""

ALL_ACTIONS = frozenset({"status", "push", "ping"})
"""Events without actions; an older payload may have one all the same."""


def route(delivery: Delivery, own: OwnApp) -> Decision:
    """Return the decision for a delivery.

    Raises:
        DeliveryRejected: the payload does not have GitHub's format.
    """
    action = "" if delivery.event in ALL_ACTIONS else delivery.action or ""
    handler = HANDLERS.get((delivery.event, action))
    if handler is None:
        what = f"{delivery.event}.{delivery.action}" if delivery.action else delivery.event
        return Ignored(reason=f"{what} is not handled")
    return handler(delivery, own)
