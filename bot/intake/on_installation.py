"""The App was installed or removed: nothing to do yet, but said in the log."""

from bot.domain.request import Ignored
from bot.github.events import Delivery, InstallationEvent, cut
from bot.intake.identity import OwnApp


def on_installation(delivery: Delivery, own: OwnApp) -> Ignored:
    """`installation` and `installation_repositories`."""
    event = cut(delivery, InstallationEvent)
    account = event.installation.account.login if event.installation.account else "somebody"
    return Ignored(reason=f"{own.slug}: {delivery.event} {delivery.action or ''} for {account}, noted")
