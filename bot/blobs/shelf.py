"""A place for named bytes: what a folder and a bucket have in common."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """One object on a shelf."""

    key: str
    """Words with slashes between, of letters, digits, `_` and `-` only."""
    size: int
    written_at: datetime


class Shelf(Protocol):
    """Named bytes. All calls block, and every one may raise a StoreError."""

    def write(self, key: str, content: bytes) -> None:
        """Put the whole content there, in place of what was there; readers see the one or the other."""
        ...

    def read(self, key: str, most: int) -> bytes | None:
        """The content, no more than one byte beyond `most` of it; None when there is none."""
        ...

    def entries(self, under: str) -> Iterable[Entry]:
        """Everything whose key begins with these words."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Take these away; one that is not there is no trouble."""
        ...

    def clear_up(self, under: str) -> int:
        """Take away what whoever died while writing there left half written, a day ago or earlier; how many."""
        ...
