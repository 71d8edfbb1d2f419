"""What nobody can ask for any more is dropped; what a mission that lives may still need is not."""

from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import datetime

from bot.domain.blob import Blob, Kind
from bot.ports import BlobStore

Known = Callable[[str], Awaitable[object | None]]
"""What is known of a mission, of the work before it, or of a command: None when it was forgotten."""


async def forget_missions(blobs: BlobStore, known: Known, before: datetime) -> int:
    """Drop steps and logs of missions that were forgotten, and what was never finished; how many values.

    Args:
        blobs: The store.
        known: Tells whether a mission is remembered. What is remembered keeps everything, whatever its age.
        before: What was put later stays in any case.

    Raises:
        StoreError: the store is out of reach.
        QueueError: nobody can tell which missions are remembered; then nothing is dropped.
    """
    dropped = 0
    for kind in (Kind.STEPS, Kind.LOGS):
        old: defaultdict[str, list[Blob]] = defaultdict(list)
        for blob in await blobs.kept(kind, before=before):
            old[blob.drawer.owner].append(blob)
        for owner, held in old.items():
            if await known(owner) is None:
                await blobs.drop(held)
                dropped += len(held)
    return dropped + await blobs.clear_up()
