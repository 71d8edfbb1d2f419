"""Opens the configured blob store."""

from pathlib import Path

from bot.blobs.folder import FolderShelf
from bot.blobs.store import HashedStore
from bot.domain.storage import StorageSpec

FOLDER = "blobs"
"""Default folder in the data directory."""


def open_store(spec: StorageSpec, data_dir: Path, ca_bundle: Path | None = None) -> HashedStore:
    """Return the blob store that all processes of a service share, without connecting yet.

    Args:
        spec: The storage settings.
        data_dir: The data directory, which holds the default store.
        ca_bundle: Certificates to trust besides the system's.

    Raises:
        SettingsError: the configured store needs a missing library.
    """
    if spec.url is None:
        return HashedStore(FolderShelf(data_dir / FOLDER))
    if spec.url.startswith("file://"):
        return HashedStore(FolderShelf(Path(spec.url.removeprefix("file://"))))
    from bot.blobs.bucket import BucketShelf

    return HashedStore(BucketShelf(spec, ca_bundle))
