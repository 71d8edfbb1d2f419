"""Log lines of missions, stored beside the evidence: masked, bounded, from every process."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar

from pydantic import SecretStr
from typing_extensions import override

from bot.domain.blob import BlobKind, Drawer
from bot.errors import StoreError
from bot.ports import BlobStore
from bot.telemetry import JsonFormatter, current_mission

MOST_BYTES = 4 << 20
"""Default limit per mission and process, in bytes."""

log = logging.getLogger(__name__)


class MissionLogs(logging.Handler):
    """Collects the log lines of running missions from the root logger.

    Args:
        blobs: The store for the lines of a mission that ends or leaves this process.
        secrets: Values to mask.
        most: Most bytes per mission and process; the oldest lines are dropped.
    """

    def __init__(
        self, blobs: BlobStore, secrets: Sequence[SecretStr] = (), *, most: int = MOST_BYTES
    ) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter(secrets))
        self._blobs = blobs
        self._most = most
        self._running = 0
        # A context variable keeps the lines of concurrent missions apart.
        self._lines: ContextVar[_Lines | None] = ContextVar("lines of a mission", default=None)

    @override
    def emit(self, record: logging.LogRecord) -> None:
        """Record a line that belongs to a mission."""
        lines = self._lines.get()
        if lines is not None:
            lines.add(self.format(record))

    @asynccontextmanager
    async def of(self, mission_id: str) -> AsyncIterator[None]:
        """Store the lines logged inside the context, even after an error or a cancellation."""
        lines = _Lines(self._most)
        before, mission = self._lines.set(lines), current_mission.set(mission_id)
        self._running += 1
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            self._lines.reset(before)
            current_mission.reset(mission)
            self._running -= 1
            if not self._running:
                logging.getLogger().removeHandler(self)
            if text := lines.text():
                try:
                    # Shielded, so that the log of a cancelled mission is stored as well.
                    await asyncio.shield(
                        self._blobs.put(Drawer(kind=BlobKind.LOGS, owner=mission_id), text)
                    )
                except StoreError as error:
                    log.warning(
                        "storing the mission log failed: %s",
                        error.message,
                        extra={"mission": mission_id},
                    )


async def read_logs(blobs: BlobStore, mission_id: str) -> tuple[bytes, ...]:
    """Return the stored log of a mission as JSON lines; one part per run, oldest first.

    Args:
        blobs: The store.
        mission_id: The mission.

    Raises:
        StoreError: the store is unreachable.
    """
    kept = await blobs.list_blobs(BlobKind.LOGS, mission_id)
    return tuple([await blobs.get(blob.drawer, blob.digest) for blob in kept])


class _Lines:
    """The most recent lines within a limit."""

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
        first = (
            b'{"message": "%d lines before these were dropped"}\n' % self._dropped
            if self._dropped
            else b""
        )
        return first + b"".join(self._lines)
