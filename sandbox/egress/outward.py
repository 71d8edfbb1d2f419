"""Connects to a host of the allow-list: at the very address that was checked, or through the operator's own proxy."""

import asyncio
import base64
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sandbox.egress.addresses import is_private, refusal
from sandbox.egress.allowed import Endpoint, proper_host
from sandbox.egress.head import read_head
from sandbox.egress.refused import Refused
from sandbox.errors import SandboxUnavailable
from sandbox.types import Frozen

BUFFER = 32 * 1024
CONNECT_S = 10.0
RESOLVE_S = 10.0
MAX_ADDRESSES = 4
LOOKUPS = 2
"""At the same time: each takes one of the few threads that everything else shares."""

ANSWER = "HTTP/1."
MADE = "200"

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port to addresses; raises OSError when the name is unknown."""


class Upstream(Frozen):
    """The operator's own proxy."""

    host: str
    port: int
    authorization: str | None = None

    @classmethod
    def parse(cls, url: str) -> "Upstream":
        """Out of the setting `sandbox.upstream_proxy`.

        Raises:
            SandboxUnavailable: it is not of the form http://[user:password@]host:port.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or 3128
        except ValueError:
            parts, port = urlsplit(""), 0
        host = proper_host(parts.hostname or "")
        if parts.scheme != "http" or host is None or not port:
            raise SandboxUnavailable(
                "The setting sandbox.upstream_proxy cannot be used.",
                "Give sandbox.upstream_proxy as http://[user:password@]host:port.",
            )
        authorization = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
        return cls(host=host, port=port, authorization=authorization)

    @property
    def headers(self) -> dict[str, str]:
        """What a request to it carries."""
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


class Way(NamedTuple):
    """A connection outward."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    upstream: Upstream | None
    """The proxy at its other end; None when that is the host itself."""


async def resolve(host: str, port: int) -> list[str]:
    """The addresses the host's own resolver knows."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Outward:
    """Makes connections outward.

    Args:
        upstream: The operator's own proxy, where there is one.
        resolver: Finds addresses.
    """

    def __init__(self, upstream: Upstream | None = None, resolver: Resolver = resolve) -> None:
        self._upstream = upstream
        self._resolver = resolver
        self._turn = asyncio.Semaphore(LOOKUPS)

    async def open(self, endpoint: Endpoint) -> Way:
        """Connect.

        Raises:
            Refused: none of its addresses may be connected to, or none answers.
        """
        try:
            addresses = await self._addresses(endpoint)
        except (OSError, UnicodeError, TimeoutError) as error:
            if self._upstream is None:
                raise Refused("the name cannot be resolved") from error
            return await self._through(self._upstream, endpoint)
        # The operator's private hosts are not behind the proxy that leads out of his network.
        if self._upstream is not None and not any(is_private(address) for address in addresses):
            return await self._through(self._upstream, endpoint)
        for address in addresses:
            with contextlib.suppress(OSError, TimeoutError):
                reader, writer = await _connect(address, endpoint.port)
                return Way(reader, writer, None)
        raise Refused("it does not answer")

    async def is_direct(self, endpoint: Endpoint) -> bool:
        """Whether a host is reached without the operator's proxy."""
        if self._upstream is None:
            return True
        try:
            return any(is_private(address) for address in await self._addresses(endpoint))
        except (OSError, UnicodeError, TimeoutError, Refused):
            return False

    async def _addresses(self, endpoint: Endpoint) -> list[str]:
        """The addresses that may be connected to."""
        async with self._turn, asyncio.timeout(RESOLVE_S):
            found = [endpoint.host] if endpoint.is_literal else await self._resolver(endpoint.host, endpoint.port)
        reasons = {address: refusal(address, own=endpoint.own) for address in found[:MAX_ADDRESSES]}
        allowed = [address for address, reason in reasons.items() if reason is None]
        if not allowed:
            reason = next((reason for reason in reasons.values() if reason), "none")
            raise Refused(f"its address is {reason}")
        return allowed

    async def _through(self, upstream: Upstream, endpoint: Endpoint) -> Way:
        try:
            reader, writer = await _connect(upstream.host, upstream.port)
        except (OSError, TimeoutError) as error:
            raise Refused("the operator's proxy does not answer") from error
        if endpoint.scheme == "https":
            try:
                await _ask(reader, writer, upstream, endpoint)
            except BaseException:
                writer.transport.abort()
                raise
        return Way(reader, writer, upstream)


async def _connect(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(CONNECT_S):
        return await asyncio.open_connection(host, port, limit=BUFFER)


async def _ask(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: Upstream, endpoint: Endpoint
) -> None:
    """Ask the operator's proxy for a tunnel."""
    lines = [f"CONNECT {endpoint.authority} HTTP/1.1", f"Host: {endpoint.authority}"]
    lines += [f"{name}: {value}" for name, value in upstream.headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    try:
        async with asyncio.timeout(CONNECT_S):
            status = (await read_head(reader))[0]
    except (OSError, EOFError, TimeoutError) as error:
        raise Refused("the operator's proxy does not answer") from error
    if not status.startswith(ANSWER) or status.split(" ")[1:2] != [MADE]:
        raise Refused(f"the operator's proxy said {status[:60]!r}")
