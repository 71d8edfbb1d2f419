"""The store of large values: what is put is named by its hash, and what is read is checked against it."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

from typing_extensions import override

from bot.blobs.shelf import Entry, Shelf
from bot.domain.blob import MOST_BYTES, Blob, Drawer, Kind
from bot.errors import BlobLost, BlobRefused
from bot.ports import BlobStore

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(r"[^A-Za-z0-9-]")
_ESCAPED = re.compile(r"_([0-9a-f]{2})")
_NAME_BYTES = 240
"""What a file system takes as a name."""


class HashedStore(BlobStore):
    """Values on a shelf, as `kind/owner/sha256`.

    Args:
        shelf: Where they are.
        most: The largest value that is kept or read.
    """

    def __init__(self, shelf: Shelf, most: int = MOST_BYTES) -> None:
        self._shelf = shelf
        self._most = most

    @override
    async def put(self, drawer: Drawer, content: bytes) -> str:
        """Hash it and write it, also when it is there: that renews its age and heals what was damaged."""
        if len(content) > self._most:
            message = f"{len(content)} bytes are more than is kept of one value ({self._most})"
            raise BlobRefused(message, "nothing of it was kept")

        def write() -> str:
            digest = hashlib.sha256(content).hexdigest()
            self._shelf.write(_key(drawer, digest), content)
            return digest

        return await asyncio.to_thread(write)

    @override
    async def get(self, drawer: Drawer, digest: str) -> bytes:
        """Read it and hash it."""
        if _DIGEST.fullmatch(digest) is None:
            raise BlobLost(f"{ascii(digest)[:80]} is no SHA-256", "nothing can be kept under it")

        def read() -> bytes:
            name = f"{drawer.kind} of {drawer.owner}, sha256 {digest},"
            content = self._shelf.read(_key(drawer, digest), self._most)
            if content is None:
                raise BlobLost(f"{name} is not in the store", "its time was over, or the store is another one")
            if not hmac.compare_digest(hashlib.sha256(content).hexdigest(), digest):
                raise BlobLost(f"{name} is damaged", "the store changed what was put there")
            return content

        return await asyncio.to_thread(read)

    @override
    async def kept(self, kind: Kind, owner: str | None = None, *, before: datetime | None = None) -> tuple[Blob, ...]:
        """List the shelf; what is not ours there is passed over."""
        under = kind.value if owner is None else f"{kind.value}/{_escaped(owner)}"

        def look() -> tuple[Blob, ...]:
            entries = (one for one in self._shelf.entries(under) if before is None or one.written_at < before)
            found = (blob for blob in map(_blob, entries) if blob is not None)
            return tuple(sorted(found, key=attrgetter("kept_at", "digest")))

        return await asyncio.to_thread(look)

    @override
    async def taken(self, kind: Kind) -> int:
        """Add up the shelf; what is not ours there, or was never finished, takes nobody's room."""

        def add_up() -> int:
            return sum(blob.size for blob in map(_blob, self._shelf.entries(kind.value)) if blob is not None)

        return await asyncio.to_thread(add_up)

    @override
    async def drop(self, blobs: Sequence[Blob]) -> None:
        """Take them off the shelf."""
        if blobs:
            await asyncio.to_thread(self._shelf.remove, [_key(blob.drawer, blob.digest) for blob in blobs])

    @override
    async def clear_up(self) -> int:
        """In the drawers of every kind: what stands beside them is not ours."""
        return await asyncio.to_thread(lambda: sum(self._shelf.clear_up(kind.value) for kind in Kind))


def _key(drawer: Drawer, digest: str) -> str:
    return f"{drawer.kind.value}/{_escaped(drawer.owner)}/{digest}"


def _escaped(owner: str) -> str:
    """An owner as one word that every file system and every bucket takes, and no two owners share."""
    word = _PLAIN.sub(lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode("utf-8", "replace")), owner)
    if len(word) > _NAME_BYTES:
        raise BlobRefused("the name of whoever keeps something is too long", "nothing of it was kept")
    return word


def _owner(word: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), word).encode("latin-1").decode("utf-8", "replace")


def _blob(entry: Entry) -> Blob | None:
    kind, _, rest = entry.key.partition("/")
    word, _, digest = rest.partition("/")
    if kind not in set(Kind) or not word or _DIGEST.fullmatch(digest) is None:
        return None
    drawer = Drawer(kind=Kind(kind), owner=_owner(word))
    return Blob(drawer=drawer, digest=digest, size=entry.size, kept_at=entry.written_at)
