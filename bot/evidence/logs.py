"""What was logged while a mission ran, kept beside its evidence: masked as on the stream, bounded, of every process."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar

from pydantic import SecretStr
from typing_extensions import override

from bot.domain.blob import Drawer, Kind
from bot.errors import StoreError
from bot.ports import BlobStore
from bot.telemetry import JsonFormatter

MOST_BYTES = 4 << 20

log = logging.getLogger(__name__)


class MissionLogs(logging.Handler):
    """Listens to the root logger while missions run, and keeps their lines.

    Args:
        blobs: Where they go when a mission ends, or stops running in this process.
        secrets: Values that must never be seen.
        most: Bytes of one mission in one process; its first lines give way.
    """

    def __init__(self, blobs: BlobStore, secrets: Sequence[SecretStr] = (), *, most: int = MOST_BYTES) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter(secrets))
        self._blobs = blobs
        self._most = most
        self._running = 0
        self._lines: ContextVar[_Lines | None] = ContextVar("lines of a mission", default=None)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        """Remember a line that was logged on behalf of a mission."""
        lines = self._lines.get()
        if lines is not None:
            lines.add(self.format(record))

    @asynccontextmanager
    async def of(self, mission_id: str) -> AsyncIterator[None]:
        """Keep what is logged inside, also when it is cancelled or breaks."""
        lines = _Lines(self._most)
        before = self._lines.set(lines)
        self._running += 1
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            self._lines.reset(before)
            self._running -= 1
            if not self._running:
                logging.getLogger().removeHandler(self)
            if text := lines.text():
                try:
                    await asyncio.shield(self._blobs.put(Drawer(kind=Kind.LOGS, owner=mission_id), text))
                except StoreError as error:
                    log.warning("the log is not kept: %s", error.message, extra={"mission": mission_id})


async def read_logs(blobs: BlobStore, mission_id: str) -> tuple[bytes, ...]:
    """What is kept of a mission, as JSON lines; one part for each time it ran, the oldest first.

    Args:
        blobs: Where logs are.
        mission_id: Of the mission.

    Raises:
        StoreError: the store is out of reach.
    """
    kept = await blobs.kept(Kind.LOGS, mission_id)
    return tuple([await blobs.get(blob.drawer, blob.digest) for blob in kept])


class _Lines:
    """The last lines, within a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._dropped = 0

    def add(self, line: str) -> None:
        content = line.encode("utf-8", "replace") + b"\n"
        self._lines.append(content)
        self._bytes += len(content)
        while self._bytes > self._most:
            self._bytes -= len(self._lines.popleft())
            self._dropped += 1

    def text(self) -> bytes:
        first = b'{"message": "%d lines before these were dropped"}\n' % self._dropped if self._dropped else b""
        return first + b"".join(self._lines)
