"""The blob store: values are named by their SHA-256, and checked against it when read."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

from typing_extensions import override

from bot.blobs.shelf import Entry, Shelf
from bot.domain.blob import MOST_BYTES, Blob, BlobKind, Drawer
from bot.errors import BlobLost, BlobRefused
from bot.ports import BlobStore

_DIGEST = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(r"[^A-Za-z0-9-]")
_ESCAPED = re.compile(r"_([0-9a-f]{2})")
_NAME_BYTES = 240
"""Longest file name, in bytes: file systems allow 255."""


class HashedStore(BlobStore):
    """Values stored as `kind/owner/sha256`.

    Args:
        shelf: The underlying storage.
        most: Largest value, in bytes.
    """

    def __init__(self, shelf: Shelf, most: int = MOST_BYTES) -> None:
        self._shelf = shelf
        self._most = most

    @override
    async def put(self, drawer: Drawer, content: bytes) -> str:
        """Store a value.

        An existing one is written again, which renews its age and repairs damage.
        """
        if len(content) > self._most:
            message = f"a value of {len(content)} bytes exceeds the limit of {self._most}"
            raise BlobRefused(message, "it was not stored")

        def write() -> str:
            digest = hashlib.sha256(content).hexdigest()
            self._shelf.write(_key(drawer, digest), content)
            return digest

        return await asyncio.to_thread(write)

    @override
    async def get(self, drawer: Drawer, digest: str) -> bytes:
        """Read a value and check its hash."""
        if _DIGEST.fullmatch(digest) is None:
            raise BlobLost(f"{ascii(digest)[:80]} is not a SHA-256", "no value can have this name")

        def read() -> bytes:
            name = f"{drawer.kind} of {drawer.owner}, sha256 {digest},"
            content = self._shelf.read(_key(drawer, digest), self._most)
            if content is None:
                raise BlobLost(
                    f"{name} is not in the store", "it expired, or the store was changed"
                )
            if not hmac.compare_digest(hashlib.sha256(content).hexdigest(), digest):
                raise BlobLost(f"{name} is damaged", "the store changed its content")
            return content

        return await asyncio.to_thread(read)

    @override
    async def list_blobs(
        self, kind: BlobKind, owner: str | None = None, *, before: datetime | None = None
    ) -> tuple[Blob, ...]:
        """List stored values; foreign objects are skipped."""
        under = kind.value if owner is None else f"{kind.value}/{_escape(owner)}"

        def look() -> tuple[Blob, ...]:
            entries = (
                one
                for one in self._shelf.entries(under)
                if before is None or one.written_at < before
            )
            found = (blob for blob in map(_blob, entries) if blob is not None)
            return tuple(sorted(found, key=attrgetter("kept_at", "digest")))

        return await asyncio.to_thread(look)

    @override
    async def total_bytes(self, kind: BlobKind) -> int:
        """Return the size of all values in bytes; foreign and unfinished objects do not count."""

        def add_up() -> int:
            return sum(
                blob.size
                for blob in map(_blob, self._shelf.entries(kind.value))
                if blob is not None
            )

        return await asyncio.to_thread(add_up)

    @override
    async def drop(self, blobs: Sequence[Blob]) -> None:
        """Remove values."""
        if blobs:
            await asyncio.to_thread(
                self._shelf.remove, [_key(blob.drawer, blob.digest) for blob in blobs]
            )

    @override
    async def clear_up(self) -> int:
        """Remove unfinished writes of every kind; other folders are not ours."""
        return await asyncio.to_thread(
            lambda: sum(self._shelf.clear_up(kind.value) for kind in BlobKind)
        )


def _key(drawer: Drawer, digest: str) -> str:
    return f"{drawer.kind.value}/{_escape(drawer.owner)}/{digest}"


def _escape(owner: str) -> str:
    """Return an owner as a unique word that every file system and bucket accepts."""
    word = _PLAIN.sub(
        lambda found: "".join(f"_{byte:02x}" for byte in found[0].encode("utf-8", "replace")), owner
    )
    if len(word) > _NAME_BYTES:
        raise BlobRefused("the owner's name is too long", "the value was not stored")
    return word


def _owner(word: str) -> str:
    return (
        _ESCAPED.sub(lambda found: chr(int(found[1], 16)), word)
        .encode("latin-1")
        .decode("utf-8", "replace")
    )


def _blob(entry: Entry) -> Blob | None:
    kind, _, rest = entry.key.partition("/")
    word, _, digest = rest.partition("/")
    if kind not in set(BlobKind) or not word or _DIGEST.fullmatch(digest) is None:
        return None
    drawer = Drawer(kind=BlobKind(kind), owner=_owner(word))
    return Blob(drawer=drawer, digest=digest, size=entry.size, kept_at=entry.written_at)
