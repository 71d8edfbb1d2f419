"""The App was installed, removed, suspended, or its repositories or rights changed."""

from bot.domain.request import Ignored, InstallationChange
from bot.github.events import Delivery, InstallationEvent, PingEvent, cut
from bot.intake.identity import OwnApp


def on_installation(delivery: Delivery, _: OwnApp) -> InstallationChange:
    """Handle `installation` and `installation_repositories`."""
    event = cut(delivery, InstallationEvent)
    owner = event.installation.account
    everything = tuple(repository.id for repository in event.repositories)
    return InstallationChange(
        installation_id=event.installation.id,
        account=(owner.login or owner.slug or "") if owner else "",
        action=delivery.action or "",
        added=(
            *(r.id for r in event.repositories_added),
            *(everything if delivery.action == "created" else ()),
        ),
        removed=(
            *(r.id for r in event.repositories_removed),
            *(everything if delivery.action == "deleted" else ()),
        ),
        delivery_id=delivery.id,
    )


def on_ping(delivery: Delivery, own: OwnApp) -> Ignored:
    """Handle `ping`: the webhook works, unless it belongs to another App."""
    event = cut(delivery, PingEvent)
    other = event.hook.app_id if event.hook is not None else None
    if other is not None and own.app_id is not None and other != own.app_id:
        return Ignored(reason=f"a ping of another App ({other}): check METAAGENT_APP_ID")
    return Ignored(reason="a ping: the webhook works")
