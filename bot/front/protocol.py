"""uvicorn's HTTP protocol with additional limits on time, heads, trailers and pipelining."""

from asyncio import AbstractEventLoop, Transport
from typing import Any

import httptools
from typing_extensions import override
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from bot.domain.http import HttpLimits
from bot.front.connections import Connections
from bot.front.turns import Turns

HEAD_BYTES = 16 * 1024
"""Largest head, in bytes. GitHub sends about 1 KiB; nginx accepts 32 KiB and Node.js 16 KiB."""
HEADERS = 100
"""Most header and trailer fields of a request, as in Apache."""
PIPELINED = 8
"""Most pipelined requests that wait for an earlier answer."""
DRAIN_S = 15.0
"""Time limit for discarding the rest of a body after its answer, in seconds; nginx takes 30.

Closing at once would lose the answer of a client that sends everything before it reads.
"""
GRACE_S = 2.0
"""Added to a body's time limit, in seconds, for handlers that answer a slow body themselves."""

_BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})


class GuardedProtocol(HttpToolsProtocol):
    """A connection with limits.

    Args:
        connections: All connections of the server.
        turns: The server's requests that wait for their start.
        limits: The limits.
        config: uvicorn's configuration.
        server_state: uvicorn's server state.
        app_state: The application's state.
        _loop: The event loop; the name is uvicorn's.
    """

    def __init__(
        self,
        connections: Connections,
        turns: Turns,
        limits: HttpLimits,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = connections
        self._turns = turns
        self._limits = limits
        self._application = self.app
        self.app = self._run_in_turn
        self._receiving = False
        """True while a request arrives."""
        self._draining = False
        """True if the request was answered before its body was complete."""
        self._outside_bodies = 0
        """Bytes since the start, the last complete request, or the last part of a body."""
        self.headers = []
        self.url = b""

    # --- connection -------------------------------------------------------------------------------

    @override
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._all.admit(self, self._limits.head_s):
            self.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        super().connection_lost(exc)
        self._turns.drop(self)

    def abort(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def resume(self) -> None:
        """Read from the connection again."""
        if not self.transport.is_closing():
            self.flow.resume_reading()

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._all.wait(self, self._limits.body_s)  # the client does not read its answers

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._receiving and not self.cycle.response_complete:
            self._all.serve(self)

    async def _run_in_turn(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the application; for a request with a body, when it is its turn.

        A closed connection gets an empty answer, because no other one could be sent.
        """
        has_body = any(name in _BODY_HEADERS for name, _ in scope["headers"])
        is_on = not self.transport.is_closing() and (not has_body or await self._turns.wait(self))
        if is_on and not self.transport.is_closing():
            await self._application(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body"})

    # --- received data ----------------------------------------------------------------------------

    @override
    def data_received(self, data: bytes) -> None:
        if self._draining and not self._all.may_drain(self, len(data)):
            self.flow.pause_reading()
        # In slices, to count what follows a body in the same read.
        for start in range(0, len(data), HEAD_BYTES):
            part = data[start : start + HEAD_BYTES]
            self._outside_bodies += len(part)
            self._parse(part)
            if self.transport.is_closing():
                return
            if self._outside_bodies > HEAD_BYTES:
                # A head, trailers, chunk extensions, empty lines, or data after an upgrade.
                self._refuse_head()
                return

    def _parse(self, part: bytes) -> None:
        """Parse data as uvicorn does, but without a log line for each refusal.

        Unknown clients could fill the log, and its lines took a third of the time of a refusal.
        """
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserError:
            self._all.count_malformed()
            self.send_400_response("Invalid HTTP request received.")
        except httptools.HttpParserUpgrade:
            return  # no upgrade is supported; the request itself is answered

    @override
    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many pipelined requests")  # uvicorn answers 400 and closes
        super().on_message_begin()
        self._receiving = True
        self._all.wait(self, self._limits.head_s)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Also called for trailers.
        if len(self.headers) >= HEADERS:
            self._refuse_head()
            raise ValueError("too many fields")  # ends the parsing; the answer was sent
        super().on_header(name, value)

    @override
    def on_headers_complete(self) -> None:
        if self._outside_bodies > HEAD_BYTES and self._head_size() > HEAD_BYTES:
            self._refuse_head()
            raise ValueError("the head is too large")
        super().on_headers_complete()
        self._all.wait(self, self._limits.body_s + GRACE_S)

    @override
    def on_body(self, body: bytes) -> None:
        self._outside_bodies = 0
        super().on_body(body)

    @override
    def on_message_complete(self) -> None:
        self._receiving = self._draining = False
        self._outside_bodies = 0
        super().on_message_complete()
        if self.cycle.response_complete:
            self._all.wait(self, self._limits.head_s)
        else:
            self._all.serve(self)

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # no pipelined request follows
            self.cycle.body = bytearray()  # unread by the handler; the connection may live on
            self._draining = self._receiving
            self._all.wait(self, DRAIN_S if self._draining else self._limits.head_s)

    @override
    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            super().send_400_response(msg)

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse_head(self) -> None:
        self.headers.clear()
        self.transport.write(STATUS_LINE[431] + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
