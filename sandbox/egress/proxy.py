"""EgressProxy: lets a set-up sandbox reach the hosts of a list, by TLS to the very name it asked for, and no other.

The one who asks is hostile: heads and greetings are bounded in size and time, connections in number, the whole in bytes
and time. What it asks for is looked up in the list first; a name that is not listed is not even resolved.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandbox.egress.allowed import AllowList, Endpoint, authority
from sandbox.egress.head import Request, read_request
from sandbox.egress.hello import Hello, read_hello
from sandbox.egress.ledger import Ledger
from sandbox.egress.outward import BUFFER, Outward, Way
from sandbox.egress.refused import Cut, Refused
from sandbox.types import Egress, Frozen

log = logging.getLogger(__name__)

READY = b"HTTP/1.1 200 Connection established\r\n\r\n"
EVERYBODY = 0o666
"""The folder decides who reaches the socket; whoever does may connect."""

BACKLOG = 512

Allowed = Callable[[], Awaitable[AllowList]]
"""Finds the allow-list; asked when the first connection comes."""


class EgressLimits(Frozen):
    """What one set-up sandbox may use."""

    received_bytes: int = 1 << 30
    wall_s: float = 600.0
    connections: int = 96
    greeting_s: float = 10.0
    """For the head of the request, and again for the greeting of TLS."""
    idle_s: float = 60.0


class EgressProxy:
    """The proxy of one set-up sandbox.

    Args:
        socket: Where it listens.
        allowed: Finds what may be reached.
        outward: Makes connections.
        limits: Of all its connections together.
    """

    def __init__(self, socket: Path, allowed: Allowed, outward: Outward, limits: EgressLimits) -> None:
        self._socket = socket
        self._allowed = allowed
        self._outward = outward
        self._limits = limits
        self._added: dict[str, Endpoint] = {}
        self._ledger = Ledger(limits.received_bytes)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.AbstractServer | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._over: str | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the socket cannot be made.
        """
        self._server = await asyncio.start_unix_server(self._accept, self._socket, limit=BUFFER, backlog=BACKLOG)
        self._socket.chmod(EVERYBODY)
        late = functools.partial(self._cut, "the set-up's time is over")
        self._timer = asyncio.get_running_loop().call_later(self._limits.wall_s, late)

    def allow(self, endpoint: Endpoint) -> None:
        """Let one more host be reached, by this sandbox only."""
        self._added[endpoint.authority] = endpoint

    async def end(self) -> Egress:
        """Cut every connection and refuse what comes, for good; says what was reached. Twice is fine."""
        self._cut("the way out is closed")
        await self._gone()
        return self._ledger.egress()

    async def close(self) -> None:
        """End, and listen no more."""
        if self._timer is not None:
            self._timer.cancel()
        if self._server is not None:
            self._server.close()
        await self.end()
        if self._server is not None:
            await self._server.wait_closed()
        with contextlib.suppress(OSError):
            self._socket.unlink()

    def _cut(self, reason: str) -> None:
        """From now on nothing is let through; the first reason stays."""
        self._over = self._over or reason
        for task in self._tasks:
            task.cancel()

    async def _gone(self) -> None:
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- one connection -----------------------------------------------------------------------------

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= self._limits.connections:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the proxy failed at a connection", exc_info=error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client; whatever it does, its connection ends here."""
        asked = ""
        try:
            async with asyncio.timeout(self._limits.greeting_s):
                request = await read_request(reader)
            asked = authority(request.host, request.port)
            await self._let_through(request, reader, writer)
        except Cut as refusal:
            self._ledger.refused(asked, refusal.reason)
        except Refused as refusal:
            self._ledger.refused(asked, refusal.reason)
            await self._tell(writer, refusal.reason)
        except TimeoutError:
            self._ledger.refused(asked, "nothing moved for too long")
        except (OSError, EOFError):
            log.debug("a connection to %s broke", asked)
        finally:
            writer.transport.abort()

    async def _tell(self, writer: asyncio.StreamWriter, reason: str) -> None:
        """Say why not."""
        body = f"refused by the sandbox's proxy: {reason}\n".encode()
        head = f"HTTP/1.1 403 Refused\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                writer.write(head.encode() + body)
                await _written(writer)

    async def _let_through(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._over is not None:
            raise Refused(self._over)
        endpoint = self._added.get(authority(request.host, request.port))
        endpoint = endpoint or (await self._allowed()).find(request.host, request.port)
        if endpoint is None:
            raise Refused("it is not on the list of hosts")
        if request.is_tunnel != (endpoint.scheme == "https"):
            raise Refused("it is not reached in this way")
        if request.is_tunnel:
            await self._tunnel(endpoint, reader, writer)
        else:
            await self._forward(request, endpoint, writer)

    async def _tunnel(self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Nothing is connected before the greeting was read and names the host that was asked for."""
        writer.write(READY)
        try:
            async with asyncio.timeout(self._limits.greeting_s):
                hello = await read_hello(reader)
            _require_same(hello, endpoint)
            way = await self._outward.open(endpoint)
            try:
                self._ledger.reached(endpoint.authority)
                self._sent(len(hello.raw))
                way.writer.write(hello.raw)
                await self._exchange((reader, writer), (way.reader, way.writer))
            finally:
                way.writer.transport.abort()
        except Refused as refusal:
            raise Cut(refusal.reason) from refusal

    async def _forward(self, request: Request, endpoint: Endpoint, writer: asyncio.StreamWriter) -> None:
        """A plain request, where the operator's index is one: its answer, and the end."""
        way = await self._outward.open(endpoint)
        try:
            self._ledger.reached(endpoint.authority)
            head = _head_for(request, way)
            self._sent(len(head))
            way.writer.write(head)
            async with asyncio.timeout(self._limits.idle_s) as idle:
                await self._pump(way.reader, writer, self._received, idle)
                await _written(writer)
        finally:
            way.writer.transport.abort()

    async def _exchange(
        self,
        inside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        outside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Both directions, until both have ended or nothing moves any more."""
        refusal: Refused | None = None
        try:
            async with asyncio.timeout(self._limits.idle_s) as idle, asyncio.TaskGroup() as group:
                group.create_task(self._pump(inside[0], outside[1], self._sent, idle))
                group.create_task(self._pump(outside[0], inside[1], self._received, idle))
        except* Refused as several:
            refusal = next(one for one in several.exceptions if isinstance(one, Refused))
        except* (OSError, EOFError):
            log.debug("a tunnel broke, or nothing moved in it")
        if refusal is not None:
            raise refusal

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        count: Callable[[int], None],
        idle: asyncio.Timeout,
    ) -> None:
        loop = asyncio.get_running_loop()
        while data := await reader.read(2 * BUFFER):
            count(len(data))
            writer.write(data)
            await writer.drain()
            idle.reschedule(loop.time() + self._limits.idle_s)
        if writer.can_write_eof():
            writer.write_eof()

    def _received(self, size: int) -> None:
        self._spend(self._ledger.received, size)

    def _sent(self, size: int) -> None:
        self._spend(self._ledger.sent, size)

    def _spend(self, count: Callable[[int], None], size: int) -> None:
        """Who spends too much ends it for all, himself included."""
        try:
            count(size)
        except Refused as refusal:
            if self._over is None:
                log.warning("a set-up is cut off: %s", refusal.reason)
            self._over = self._over or refusal.reason
            asyncio.get_running_loop().call_soon(self._cut, refusal.reason)
            raise


async def _written(writer: asyncio.StreamWriter) -> None:
    """Wait until the kernel has everything. Not by closing: a transport that closed late cannot be aborted any more."""
    writer.transport.set_write_buffer_limits(0)
    await writer.drain()


def _require_same(hello: Hello, endpoint: Endpoint) -> None:
    """An address has no name to be compared; everything else is named, and the same."""
    if endpoint.is_literal and hello.server is None:
        return
    if hello.server is None:
        raise Refused("the TLS greeting names no server")
    if hello.server != endpoint.host:
        raise Refused("the TLS greeting names another server")


def _head_for(request: Request, way: Way) -> bytes:
    """The first line is a path for the host itself, and the whole address for the operator's proxy."""
    if way.upstream is None:
        return request.onward(request.path, {})
    return request.onward(f"http://{authority(request.host, request.port)}{request.path}", way.upstream.headers)
