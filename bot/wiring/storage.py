"""Large values of a service: results of steps, evidence and logs in one store, and when they go."""

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
"""In the data directory: where earlier versions kept bundles."""

log = logging.getLogger(__name__)


def open_storage(settings: Settings) -> HashedStore:
    """The store that all processes of a service share; nothing is asked yet.

    Raises:
        SettingsError: it cannot be used here.
    """
    ca_bundle = settings.sandbox.ca_bundle
    return open_store(settings.storage, settings.data_dir, Path(ca_bundle) if ca_bundle else None)


class Storage:
    """What a process of a service keeps in the store.

    Args:
        settings: All settings.
        clock: Tells how old things are.

    Raises:
        SettingsError: the store cannot be used here.
    """

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.blobs = open_storage(settings)
        self.evidence = EvidenceStore(self.blobs, settings.evidence, clock)
        self.logs = MissionLogs(self.blobs, settings.secrets)
        self._earlier = settings.data_dir / EARLIER

    async def tidy(self, known: Known, before: datetime) -> None:
        """Take over what an earlier version kept here, and drop what nobody can ask for any more; never raises.

        Args:
            known: Tells whether a mission is remembered.
            before: Steps and logs that are younger stay in any case.
        """
        try:
            await self.evidence.take_over(self._earlier)
            dropped = await self.evidence.forget() + await forget_missions(self.blobs, known, before)
        except (StoreError, QueueError) as error:
            log.warning("the store is not tidied up: %s", error.message)
        else:
            if dropped:
                log.info("the store is tidied up", extra={"dropped": dropped})
