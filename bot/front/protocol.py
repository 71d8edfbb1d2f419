"""uvicorn's HTTP protocol with the limits it lacks: on time, on heads, on trailers and on pipelined requests."""

from asyncio import AbstractEventLoop, Transport
from typing import Any

from typing_extensions import override
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from bot.domain.http import HttpLimits
from bot.front.connections import Connections

HEAD_BYTES = 16 * 1024
"""Largest head. GitHub sends about 1 KiB; nginx accepts 32 KiB and Node.js 16 KiB from clients."""
HEADERS = 100
"""Most header fields and trailer fields of one request, as in Apache."""
PIPELINED = 8
"""Most requests that wait for the answer to an earlier one on the same connection."""
DRAIN_S = 15.0
"""Time limit for the rest of a body after its request was answered. The rest is read and discarded: a client that sends
all before it reads would lose the answer when the connection is closed. nginx takes 30 s."""
GRACE_S = 2.0
"""Added to the time limit of a body, for handlers that answer a slow body themselves."""


class GuardedProtocol(HttpToolsProtocol):
    """One connection within limits.

    Args:
        connections: All connections of the server.
        limits: Time limits.
        config: uvicorn's configuration.
        server_state: uvicorn's state of the server.
        app_state: State of the application.
        _loop: The event loop; uvicorn names it so.
    """

    def __init__(
        self,
        connections: Connections,
        limits: HttpLimits,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = connections
        self._limits = limits
        self._receiving = False
        """A request has begun to arrive and is not complete."""
        self._draining = False
        """The request was answered before its body was complete."""
        self._outside_bodies = 0
        """Bytes since the connection began, a request was complete, or a part of a body arrived."""
        self.headers = []
        self.url = b""

    # --- the connection ---------------------------------------------------------------------------------

    @override
    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._all.admit(self, self._limits.head_s):
            self.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._all.remove(self)
        super().connection_lost(exc)

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

    # --- what arrives -----------------------------------------------------------------------------------

    @override
    def data_received(self, data: bytes) -> None:
        if self._draining and not self._all.may_drain(self, len(data)):
            self.flow.pause_reading()
        # In slices, so that what follows a body in the same read is counted too.
        for start in range(0, len(data), HEAD_BYTES):
            part = data[start : start + HEAD_BYTES]
            self._outside_bodies += len(part)
            super().data_received(part)
            if self.transport.is_closing():
                return
            if self._outside_bodies > HEAD_BYTES:
                # A head, trailers, chunk extensions, empty lines, or what follows an upgrade.
                self._refuse_head()
                return

    @override
    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many pipelined requests")  # uvicorn answers 400 and closes
        super().on_message_begin()
        self._receiving = True
        self._all.wait(self, self._limits.head_s)

    @override
    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come here, too.
        if len(self.headers) >= HEADERS:
            self._refuse_head()
            raise ValueError("too many fields")  # ends the parsing; the answer is on its way
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
            self.cycle.body = bytearray()  # the handler did not read it, and the connection may live on
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
