"""Which handler takes which event and action."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bot.domain.request import Feedback, Ignored, MissionRequest
from bot.github.events import Delivery
from bot.intake.identity import OwnApp
from bot.intake.on_check_run import on_check_run
from bot.intake.on_comment import on_comment
from bot.intake.on_installation import on_installation
from bot.intake.on_pull_request import on_pull_request

Decision = MissionRequest | Feedback | Ignored
Handler = Callable[[Delivery, OwnApp], Decision]

HANDLERS: Mapping[tuple[str, str], Handler] = MappingProxyType(
    {
        ("check_run", "completed"): on_check_run,
        ("issue_comment", "created"): on_comment,
        ("pull_request", "closed"): on_pull_request,
        ("installation", "created"): on_installation,
        ("installation", "deleted"): on_installation,
        ("installation", "suspend"): on_installation,
        ("installation", "unsuspend"): on_installation,
        ("installation_repositories", "added"): on_installation,
        ("installation_repositories", "removed"): on_installation,
    }
)
"""One line for each event we react to; everything else is none of our business."""


def route(delivery: Delivery, own: OwnApp) -> Decision:
    """What a delivery asks for.

    Raises:
        DeliveryRejected: it is for us, but not as GitHub describes it.
    """
    handler = HANDLERS.get((delivery.event, delivery.action or ""))
    if handler is None:
        what = f"{delivery.event}.{delivery.action}" if delivery.action else delivery.event
        return Ignored(reason=f"nothing is done for {what}")
    return handler(delivery, own)
