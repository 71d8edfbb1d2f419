"""Retention: values of forgotten missions are deleted, those of known missions are kept."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import datetime

from bot.domain.blob import Blob, BlobKind
from bot.ports import BlobStore

Known = Callable[[str], Awaitable[object | None]]
"""Returns what is stored about a mission or command, or None if it was forgotten."""


async def forget_missions(blobs: BlobStore, known: Known, before: datetime) -> int:
    """Delete steps and logs of forgotten missions, and unfinished writes; return their number.

    Args:
        blobs: The store.
        known: Looks a mission up; a known one keeps all its values, at any age.
        before: Newer values are kept in any case.

    Raises:
        StoreError: the store is unavailable.
        QueueError: the lookup failed; the missions not yet looked up keep their values.
    """
    dropped = 0
    for kind in (BlobKind.STEPS, BlobKind.LOGS):
        old: defaultdict[str, list[Blob]] = defaultdict(list)
        for blob in await blobs.list_blobs(kind, before=before):
            old[blob.drawer.owner].append(blob)
        for owner, held in old.items():
            if await known(owner) is None:
                await blobs.drop(held)
                dropped += len(held)
    return dropped + await blobs.clear_up()
