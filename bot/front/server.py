"""The service's HTTP server: uvicorn, with limits on resources that unknown clients can use."""

import asyncio
import socket
from functools import partial
from typing import Any, cast

import uvicorn
from typing_extensions import override

from bot.domain.http import HttpLimits
from bot.front.bodies import READ_BYTES
from bot.front.connections import Connections, fit_open_files
from bot.front.protocol import GuardedProtocol
from bot.front.turns import Turns

STOP_S = 15.0
"""Time for open requests when the service stops, in seconds; enough for a body and its answer."""

ACCEPTED = 64
"""Most connections accepted in one pass of the event loop.

asyncio takes the backlog for it, and stops accepting for a second when it runs out of open files.
"""
QUEUED = 2048
"""Connections that the kernel holds until they are accepted."""


class GuardedServer(uvicorn.Server):
    """uvicorn's server with guarded connections.

    Args:
        app: The ASGI application.
        limits: Limits on connections, time and proxies.
        host: Address to listen on.
        port: Port to listen on.
    """

    def __init__(
        self, app: Any, limits: HttpLimits, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.connections = Connections(fit_open_files(limits.connections), now=_now)
        protocol = partial(GuardedProtocol, self.connections, Turns(), limits)
        super().__init__(
            uvicorn.Config(
                app,
                host=host,
                port=port,
                http=cast(type[asyncio.Protocol], protocol),
                # uvloop would read a fast connection up to 32 times before it reads the next one.
                loop="asyncio",
                ws="none",
                backlog=ACCEPTED,
                log_config=None,
                access_log=False,
                # Not None: uvicorn's default trusts every process of this machine.
                proxy_headers=bool(limits.proxies),
                forwarded_allow_ips=list(limits.proxies),
                timeout_graceful_shutdown=int(STOP_S),
            )
        )

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for listener in server.sockets:
                # Connections inherit this limit on the size of one read; the kernel's default
                # buffer
                # grows to megabytes. All ready connections are read before the next answer is sent.
                # The event loop's socket lacks setsockopt, so a copy of the descriptor is used.
                with socket.fromfd(listener.fileno(), listener.family, listener.type) as same:
                    same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BYTES)
                    same.listen(QUEUED)

    @override
    async def on_tick(self, counter: int) -> bool:
        self.connections.tick()
        return await super().on_tick(counter)


def _now() -> float:
    return asyncio.get_running_loop().time()
