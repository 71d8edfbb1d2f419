"""The interface of blob storage, common to folders and buckets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """A stored object."""

    key: str
    """Words of letters, digits, `_` and `-`, separated by slashes."""
    size: int
    written_at: datetime


class Shelf(Protocol):
    """Named objects. All calls block, and each one may raise a StoreError."""

    def write(self, key: str, content: bytes) -> None:
        """Write an object atomically, replacing an existing one."""
        ...

    def read(self, key: str, most: int) -> bytes | None:
        """Return the content, cut at `most` + 1 bytes, or None if missing."""
        ...

    def entries(self, under: str) -> Iterable[Entry]:
        """Yield all objects whose key is below these words."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects; missing ones are ignored."""
        ...

    def clear_up(self, under: str) -> int:
        """Remove unfinished writes that are older than a day; return their number."""
        ...
