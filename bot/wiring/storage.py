"""The service's store of large values: step results, evidence and logs."""

import logging
from datetime import datetime
from pathlib import Path

from bot.blobs.opening import open_store
from bot.blobs.retention import Known, forget_missions
from bot.blobs.store import HashedStore
from bot.errors import QueueError, StoreError
from bot.evidence.keep import EvidenceStore
from bot.evidence.logs import MissionLogs
from bot.ports import Clock
from bot.settings import Settings

EARLIER = "evidence"
"""Folder in the data directory where earlier versions stored bundles."""

log = logging.getLogger(__name__)


def open_storage(settings: Settings) -> HashedStore:
    """Return the store that all processes share; nothing is requested yet.

    Raises:
        SettingsError: it cannot be used here.
    """
    ca_bundle = settings.sandbox.ca_bundle
    return open_store(settings.storage, settings.data_dir, Path(ca_bundle) if ca_bundle else None)


class Storage:
    """Stored values of a service's process.

    Args:
        settings: All settings.
        clock: Measures ages.

    Raises:
        SettingsError: the store cannot be used here.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.blobs = open_storage(settings)
        self.evidence = EvidenceStore(self.blobs, settings.evidence, clock)
        self.logs = MissionLogs(self.blobs, settings.secrets)
        self._earlier = settings.data_dir / EARLIER

    async def tidy(self, known: Known, before: datetime) -> None:
        """Import values of earlier versions, and delete expired ones; never raises.

        Args:
            known: Returns the status of a mission, None if it is forgotten.
            before: Younger steps and logs are always kept.
        """
        try:
            await self.evidence.take_over(self._earlier)
            dropped = await self.evidence.forget() + await forget_missions(
                self.blobs, known, before
            )
        except (StoreError, QueueError) as error:
            log.warning("store cleanup failed: %s", error.message)
        else:
            if dropped:
                log.info("store cleaned up", extra={"dropped": dropped})
