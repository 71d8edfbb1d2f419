"""The open connections: tracks which wait for their client, and which to close for a new one."""

import logging
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

FILES_FOR_OTHERS = 256
"""Open files reserved for databases, sandboxes and GitHub; an idle service has about forty."""
DRAIN_BYTES = 32 * 1024 * 1024
"""Bytes of rejected bodies discarded between two ticks, at the cost of a sixth of a core."""

log = logging.getLogger(__name__)


class Connection(Protocol):
    """A managed connection."""

    def abort(self) -> None:
        """Close it without an answer."""
        ...

    def resume(self) -> None:
        """Read from it again."""
        ...


@dataclass(slots=True)
class _Wait:
    since: float
    until: float


class Connections:
    """All connections of a server, up to a limit.

    A connection waits while its client has to act: to send a head or body, or to read an answer.
    Only waiting connections are closed for a new one, the longest wait first: honest clients act
    within milliseconds.

    Args:
        limit: Most concurrent connections.
        now: The event loop's clock, in seconds.
    """

    def __init__(self, limit: int, now: Callable[[], float]) -> None:
        self.limit = limit
        self._now = now
        self._open: set[Connection] = set()
        self._waiting: dict[Connection, _Wait] = {}
        """In order of `since`: a new wait is added at the end."""
        self._closed_for_others = 0
        self._malformed = 0
        self._drainable = DRAIN_BYTES
        self._paused: list[Connection] = []

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Connection, limit_s: float) -> bool:
        """Add a new connection that waits for its client; close another one for it if necessary.

        Returns:
            False if all others are being served: the new one has to be closed.
        """
        if len(self._open) >= self.limit and not self._close_oldest():
            return False
        self._open.add(connection)
        self.wait(connection, limit_s)
        return True

    def wait(self, connection: Connection, limit_s: float) -> None:
        """Start a new wait for the client, limited to `limit_s` seconds."""
        if connection in self._open:
            self._waiting.pop(connection, None)
            now = self._now()
            self._waiting[connection] = _Wait(now, now + limit_s)

    def serve(self, connection: Connection) -> None:
        """End the wait: the service has to act."""
        self._waiting.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Forget a connection that was closed."""
        self._open.discard(connection)
        self._waiting.pop(connection, None)

    def count_malformed(self) -> None:
        """Count a request that is no valid HTTP; one log line names all between two ticks."""
        self._malformed += 1

    def may_drain(self, connection: Connection, size: int) -> bool:
        """Count bytes of a refused body.

        Returns:
            False if the connection must not be read from until it is resumed.
        """
        self._drainable -= size
        if self._drainable > 0:
            return True
        self._paused.append(connection)
        return False

    def tick(self) -> None:
        """Close connections whose wait timed out, and resume draining.

        Call this ten times a second.
        """
        now = self._now()
        for connection in [one for one, wait in self._waiting.items() if wait.until <= now]:
            self._close(connection)
        if self._closed_for_others:
            log.warning(
                "connection limit of %d reached, %d closed", self.limit, self._closed_for_others
            )
            self._closed_for_others = 0
        if self._malformed:
            log.warning("%d malformed requests refused", self._malformed)
            self._malformed = 0
        self._drainable = DRAIN_BYTES
        paused, self._paused = self._paused, []
        for connection in paused:
            if connection in self._open:
                connection.resume()

    def _close_oldest(self) -> bool:
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        self._closed_for_others += 1
        self._close(oldest)
        return True

    def _close(self, connection: Connection) -> None:
        self.remove(connection)
        connection.abort()


def fit_open_files(wanted: int) -> int:
    """Return the number of connections that fit, after raising the limit of open files if allowed.

    Args:
        wanted: Most connections, as configured.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + FILES_FOR_OTHERS
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return wanted
    return min(wanted, max(soft - FILES_FOR_OTHERS, soft // 2))
