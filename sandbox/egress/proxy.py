"""The proxy of a set-up sandbox: TLS connections to allowed hosts, by the requested name only.

The client is untrusted: heads and TLS greetings have limits of size and time, connections of
number, and the whole of bytes and time. The allow-list is checked first; the proxy does not even
resolve other names.
"""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandbox.egress.allowed import AllowList, Endpoint, authority
from sandbox.egress.head import Request, read_request
from sandbox.egress.hello import ClientHello, read_hello
from sandbox.egress.ledger import EgressLedger
from sandbox.egress.outward import BUFFER, OutboundConnection, Outward
from sandbox.egress.refused import Cut, EgressRefused
from sandbox.types import Egress, Frozen

log = logging.getLogger(__name__)

READY = b"HTTP/1.1 200 Connection established\r\n\r\n"
EVERYBODY = 0o666
"""Access is restricted by the folder, not by the socket."""

BACKLOG = 512

Allowed = Callable[[], Awaitable[AllowList]]
"""Finds the allow-list; called at the first connection."""


class EgressLimits(Frozen):
    """Limits of one set-up sandbox."""

    received_bytes: int = 1 << 30
    wall_s: float = 600.0
    connections: int = 96
    greeting_s: float = 10.0
    """Timeout for the request's head, and again for the TLS greeting, in seconds."""
    idle_s: float = 60.0


class EgressProxy:
    """The proxy of one set-up sandbox.

    Args:
        socket: The path of its socket.
        allowed: Finds the allow-list.
        outward: Opens outbound connections.
        limits: Limits of all its connections together.
    """

    def __init__(
        self, socket: Path, allowed: Allowed, outward: Outward, limits: EgressLimits
    ) -> None:
        self._socket = socket
        self._allowed = allowed
        self._outward = outward
        self._limits = limits
        self._added: dict[str, Endpoint] = {}
        self._ledger = EgressLedger(limits.received_bytes)
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.AbstractServer | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._over: str | None = None

    async def start(self) -> None:
        """Start to listen.

        Raises:
            OSError: The socket cannot be created.
        """
        self._server = await asyncio.start_unix_server(
            self._accept, self._socket, limit=BUFFER, backlog=BACKLOG
        )
        # The sandbox's user is not the proxy's.
        self._socket.chmod(EVERYBODY)
        late = functools.partial(self._cut, "the set-up's network time is over")
        self._timer = asyncio.get_running_loop().call_later(self._limits.wall_s, late)

    def allow(self, endpoint: Endpoint) -> None:
        """Allow one more host for this sandbox."""
        self._added[endpoint.authority] = endpoint

    async def end(self) -> Egress:
        """Cut all connections and refuse new ones. Return what was reached. Idempotent."""
        self._cut("the set-up's network access has ended")
        await self._wait_for_tasks()
        return self._ledger.egress()

    async def close(self) -> None:
        """End the proxy and stop to listen."""
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
        """Cut all connections and refuse new ones. The first reason is kept."""
        self._over = self._over or reason
        for task in self._tasks:
            task.cancel()

    async def _wait_for_tasks(self) -> None:
        # A connection may still be accepted while the others end.
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- one connection ---------------------------------------------------------------------------

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= self._limits.connections:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._on_served)

    def _on_served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("proxy connection failed", exc_info=error)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client and close its connection in every case."""
        asked = ""
        try:
            async with asyncio.timeout(self._limits.greeting_s):
                request = await read_request(reader)
            asked = authority(request.host, request.port)
            await self._handle(request, reader, writer)
        except Cut as refusal:
            self._ledger.refused(asked, refusal.reason)
        except EgressRefused as refusal:
            self._ledger.refused(asked, refusal.reason)
            await self._send_refusal(writer, refusal.reason)
        except TimeoutError:
            self._ledger.refused(asked, "the connection timed out")
        except (OSError, EOFError):
            log.debug("connection to %s broke", asked)
        finally:
            writer.transport.abort()

    async def _send_refusal(self, writer: asyncio.StreamWriter, reason: str) -> None:
        """Send the reason of a refusal."""
        body = f"refused by the sandbox's proxy: {reason}\n".encode()
        head = f"HTTP/1.1 403 Refused\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                writer.write(head.encode() + body)
                await _flush(writer)

    async def _handle(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._over is not None:
            raise EgressRefused(self._over)
        endpoint = self._added.get(authority(request.host, request.port))
        endpoint = endpoint or (await self._allowed()).find(request.host, request.port)
        if endpoint is None:
            raise EgressRefused("the host is not on the allow-list")
        # A tunnel to a plain port, or plain text to a TLS port, is not what was allowed.
        if request.is_tunnel != (endpoint.scheme == "https"):
            raise EgressRefused("the host is not allowed by this scheme")
        if request.is_tunnel:
            await self._tunnel(endpoint, reader, writer)
        else:
            await self._forward(request, endpoint, writer)

    async def _tunnel(
        self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Open a tunnel.

        The ClientHello must name the requested host before anything is connected.
        """
        # The client sends its ClientHello only after this reply.
        writer.write(READY)
        try:
            async with asyncio.timeout(self._limits.greeting_s):
                hello = await read_hello(reader)
            # Many hosts share an address: the name in the greeting decides which one answers.
            _check_server_name(hello, endpoint)
            way = await self._outward.open(endpoint)
            try:
                self._ledger.reached(endpoint.authority)
                self._send(len(hello.raw))
                way.writer.write(hello.raw)
                await self._exchange((reader, writer), (way.reader, way.writer))
            finally:
                way.writer.transport.abort()
        except EgressRefused as refusal:
            # The client expects TLS by now, so a text with the reason would only confuse it.
            raise Cut(refusal.reason) from refusal

    async def _forward(
        self, request: Request, endpoint: Endpoint, writer: asyncio.StreamWriter
    ) -> None:
        """Forward one plain request, for an operator's index over http, and its response."""
        way = await self._outward.open(endpoint)
        try:
            self._ledger.reached(endpoint.authority)
            head = _head_for(request, way)
            self._send(len(head))
            way.writer.write(head)
            async with asyncio.timeout(self._limits.idle_s) as idle:
                await self._pump(way.reader, writer, self._received, idle)
                await _flush(writer)
        finally:
            way.writer.transport.abort()

    async def _exchange(
        self,
        inside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        outside: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Copy in both directions until both have ended or the idle timeout expires."""
        refusal: EgressRefused | None = None
        try:
            async with asyncio.timeout(self._limits.idle_s) as idle, asyncio.TaskGroup() as group:
                group.create_task(self._pump(inside[0], outside[1], self._send, idle))
                group.create_task(self._pump(outside[0], inside[1], self._received, idle))
        except* EgressRefused as several:
            refusal = next(one for one in several.exceptions if isinstance(one, EgressRefused))
        except* (OSError, EOFError):
            log.debug("tunnel broke or timed out")
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
        # The other direction may go on after the end of this one.
        if writer.can_write_eof():
            writer.write_eof()

    def _received(self, size: int) -> None:
        self._spend(self._ledger.received, size)

    def _send(self, size: int) -> None:
        self._spend(self._ledger.sent, size)

    def _spend(self, count: Callable[[int], None], size: int) -> None:
        """Count bytes. Exceeding a limit ends all connections."""
        try:
            count(size)
        except EgressRefused as refusal:
            if self._over is None:
                log.warning("set-up network access ended: %s", refusal.reason)
            self._over = self._over or refusal.reason
            # Not at once: this task is one of those to cancel, and it has to report its refusal.
            asyncio.get_running_loop().call_soon(self._cut, refusal.reason)
            raise


async def _flush(writer: asyncio.StreamWriter) -> None:
    """Wait until the kernel has everything.

    Closing would not do: a closed transport cannot be aborted later.
    """
    writer.transport.set_write_buffer_limits(0)
    await writer.drain()


def _check_server_name(hello: ClientHello, endpoint: Endpoint) -> None:
    """Check the TLS server name. Only an endpoint that is an address may come without one."""
    if endpoint.is_literal and hello.server is None:
        return
    if hello.server is None:
        raise EgressRefused("the TLS ClientHello has no server name")
    if hello.server != endpoint.host:
        raise EgressRefused("the TLS ClientHello names another server")


def _head_for(request: Request, way: OutboundConnection) -> bytes:
    """Return the head of a request: with a path for the host, with the full address for a proxy."""
    if way.upstream is None:
        return request.onward(request.path, {})
    return request.onward(
        f"http://{authority(request.host, request.port)}{request.path}", way.upstream.headers
    )
