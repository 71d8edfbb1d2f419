"""Request bodies with a common memory budget."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from bot.errors import DeliveryRejected

PART_OVERHEAD = 64
"""Python's overhead for a part, in bytes: a body sent byte by byte takes more than its length."""
READ_BYTES = 64 * 1024
"""Largest size of one read, in bytes, see `bot/front/server.py`.

It is charged in advance, unless the body is shorter: the server may hold a part of every body
before the first handler runs.
"""

DIGITS = 20
"""Digits of a Content-Length that are read, since Python refuses to parse thousands."""


class Body:
    """A body as far as it has arrived."""

    def __init__(self, read_bytes: int) -> None:
        self.read_bytes = read_bytes
        """Bytes charged in advance."""
        self.size = 0
        """Bytes that have arrived."""
        self.cost = 0
        """Bytes charged to the budget."""
        self.parts: list[bytes] = []
        self.deadline: asyncio.Timeout | None = None
        """Timeout of the reading; None while it is not being read."""
        self.is_displaced = False
        """True if it was rejected to make room for smaller ones."""


class Bodies:
    """The memory budget of all bodies.

    When it is full, the largest body that is still arriving is rejected, even if it is the one that
    just grew. So a flood of large bodies cannot keep small ones out, and no body waits for another.

    Args:
        budget: Bytes for all bodies together.
        most: Largest body, in bytes.
        within_s: Timeout for one body, in seconds.
    """

    def __init__(self, budget: int, most: int, within_s: float) -> None:
        self._budget = budget
        self._most = min(most, budget)
        self._within_s = within_s
        self._taken = 0
        self._arriving: set[Body] = set()

    @property
    def used_bytes(self) -> int:
        """Return the bytes charged now."""
        return self._taken

    @contextmanager
    def open(self, length: str | None) -> Iterator[Body]:
        """Open a body before it is read; its memory is charged until the block ends.

        Args:
            length: Its Content-Length, None without one.

        Raises:
            DeliveryRejected: it would be too large.
        """
        declared = None
        if length is not None and length.isdecimal():
            declared = int(length[:DIGITS])
            if declared > self._most:
                raise self._too_large()
        body = Body(READ_BYTES if declared is None else min(declared, READ_BYTES))
        try:
            yield body
        finally:
            self._free(body)

    async def read(
        self, body: Body, stream: AsyncIterator[bytes], each: Callable[[bytes], None]
    ) -> None:
        """Read a body to its end.

        Args:
            body: An open body.
            stream: Its parts, as they arrive.
            each: Called with each part.

        Raises:
            DeliveryRejected: it is too large or too slow, or was rejected for smaller ones.
        """
        self._arriving.add(body)
        try:
            self._charge(body, body.read_bytes)
            async with asyncio.timeout(self._within_s) as body.deadline:
                async for part in stream:
                    if part:
                        self._add(body, part)
                        each(part)
        except TimeoutError:
            if body.is_displaced:
                raise _busy() from None
            raise DeliveryRejected(
                f"the body did not arrive within {self._within_s:g} s", status=408
            ) from None
        finally:
            body.deadline = None
            self._arriving.discard(body)

    def _add(self, body: Body, part: bytes) -> None:
        if body.is_displaced:
            raise _busy()
        if body.size + len(part) > self._most:
            raise self._too_large()
        self._charge(body, len(part) + PART_OVERHEAD)
        body.parts.append(part)
        body.size += len(part)

    def _charge(self, body: Body, cost: int) -> None:
        while self._taken + cost > self._budget:
            largest = max(self._arriving, key=lambda one: one.cost)
            if largest.cost <= body.cost:
                raise _busy()
            self._displace(largest)
        body.cost += cost
        self._taken += cost

    def _displace(self, body: Body) -> None:
        body.is_displaced = True
        self._arriving.discard(body)
        self._free(body)
        if body.deadline is not None:
            body.deadline.reschedule(asyncio.get_running_loop().time())

    def _free(self, body: Body) -> None:
        body.parts.clear()
        self._taken -= body.cost
        body.cost = 0

    def _too_large(self) -> DeliveryRejected:
        return DeliveryRejected(f"the body is larger than {self._most} bytes", status=413)


def _busy() -> DeliveryRejected:
    return DeliveryRejected("too many bodies are being received; deliver again", status=503)
