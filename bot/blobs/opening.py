"""From the settings of the store to the store."""

from pathlib import Path

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.domain.storage import StorageSpec

FOLDER = "blobs"
"""In the data directory."""


def open_store(spec: StorageSpec, data_dir: Path, ca_bundle: Path | None = None) -> HashedStore:
    """The store that all processes of a service share; nothing is asked yet.

    Args:
        spec: Which.
        data_dir: Where it is when nothing else is said.
        ca_bundle: Certificates that are trusted besides the system's.

    Raises:
        SettingsError: it cannot be used here.
    """
    if spec.url is None:
        return HashedStore(FolderShelf(data_dir / FOLDER))
    if spec.url.startswith("file://"):
        return HashedStore(FolderShelf(Path(spec.url.removeprefix("file://"))))
    from bot.blobs.bucket import BucketShelf

    return HashedStore(BucketShelf(spec, ca_bundle))
