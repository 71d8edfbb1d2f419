"""Connect to an allowed host: at exactly the checked address, or through the operator's proxy."""

import asyncio
import base64
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sandbox.egress.addresses import is_private, refusal
from sandbox.egress.allowed import Endpoint, canonical_host
from sandbox.egress.head import read_head
from sandbox.egress.refused import EgressRefused
from sandbox.errors import SandboxUnavailable
from sandbox.types import Frozen

BUFFER = 32 * 1024
CONNECT_S = 10.0
RESOLVE_S = 10.0
MAX_ADDRESSES = 4
LOOKUPS = 2
"""Limit of parallel lookups: each takes one of the few shared threads."""
KNOWN_S = 60.0
MAX_KNOWN = 1000

ANSWER = "HTTP/1."
MADE = "200"

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Resolve host and port to addresses; raises OSError for an unknown name."""


class Upstream(Frozen):
    """The operator's own proxy."""

    host: str
    port: int
    authorization: str | None = None

    @classmethod
    def parse(cls, url: str) -> "Upstream":
        """Parse the setting `sandbox.upstream_proxy`.

        Raises:
            SandboxUnavailable: The setting does not have the form http://[user:password@]host:port.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or 3128
        except ValueError:
            parts, port = urlsplit(""), 0
        host = canonical_host(parts.hostname or "")
        if parts.scheme != "http" or host is None or not port:
            raise SandboxUnavailable(
                "The setting sandbox.upstream_proxy is malformed.",
                "Give sandbox.upstream_proxy as http://[user:password@]host:port.",
            )
        authorization = None
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
        return cls(host=host, port=port, authorization=authorization)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers for a request to this proxy."""
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


class OutboundConnection(NamedTuple):
    """An outbound connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    upstream: Upstream | None
    """The proxy at the other end; None for a direct connection."""


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses from the host's own resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Outward:
    """Opens outbound connections.

    Args:
        upstream: The operator's own proxy, if any.
        resolver: Resolves names to addresses.
        known_s: How long addresses are used again, in seconds.
    """

    def __init__(
        self,
        upstream: Upstream | None = None,
        resolver: Resolver = resolve,
        *,
        known_s: float = KNOWN_S,
    ) -> None:
        self._upstream = upstream
        self._resolver = resolver
        self._turn = asyncio.Semaphore(LOOKUPS)
        self._known_s = known_s
        self._known: dict[tuple[str, int], tuple[float, list[str]]] = {}

    async def open(self, endpoint: Endpoint) -> OutboundConnection:
        """Connect to an endpoint.

        Raises:
            Refused: None of its addresses is allowed, or none responds.
        """
        try:
            addresses = await self._addresses(endpoint)
        except (OSError, UnicodeError, TimeoutError) as error:
            if self._upstream is None:
                raise EgressRefused("the name cannot be resolved") from error
            return await self._open_through(self._upstream, endpoint)
        # The operator's private hosts are not behind the proxy that leads out of the private
        # network.
        if self._upstream is not None and not any(is_private(address) for address in addresses):
            return await self._open_through(self._upstream, endpoint)
        # Connect to the checked address itself: a second lookup could return another one (DNS
        # rebinding).
        for address in addresses:
            with contextlib.suppress(OSError, TimeoutError):
                reader, writer = await _connect(address, endpoint.port)
                return OutboundConnection(reader, writer, None)
        self._known.pop((endpoint.host, endpoint.port), None)
        raise EgressRefused("it does not respond")

    async def is_direct(self, endpoint: Endpoint) -> bool:
        """Return True if a host is reached without the operator's proxy."""
        if self._upstream is None:
            return True
        try:
            return any(is_private(address) for address in await self._addresses(endpoint))
        except (OSError, UnicodeError, TimeoutError, EgressRefused):
            return False

    async def _addresses(self, endpoint: Endpoint) -> list[str]:
        """Return the allowed addresses of an endpoint."""
        found = [endpoint.host] if endpoint.is_literal else await self._resolve(endpoint)
        reasons = {address: refusal(address, own=endpoint.own) for address in found[:MAX_ADDRESSES]}
        allowed = [address for address, reason in reasons.items() if reason is None]
        if not allowed:
            reason = next((reason for reason in reasons.values() if reason), "none")
            raise EgressRefused(f"its address is {reason}")
        return allowed

    async def _resolve(self, endpoint: Endpoint) -> list[str]:
        """Return the addresses of a name.

        A package manager opens a connection for each of hundreds of packages, and a resolver that
        loses one of their questions lets them wait for seconds.
        """
        if (known := self._find(endpoint)) is not None:
            return known
        async with self._turn:
            # Others may have asked for the same name meanwhile.
            if (known := self._find(endpoint)) is not None:
                return known
            async with asyncio.timeout(RESOLVE_S):
                found = await self._resolver(endpoint.host, endpoint.port)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        ends = asyncio.get_running_loop().time() + self._known_s
        self._known[endpoint.host, endpoint.port] = ends, found
        return found

    def _find(self, endpoint: Endpoint) -> list[str] | None:
        ends, addresses = self._known.get((endpoint.host, endpoint.port), (0.0, []))
        return addresses if asyncio.get_running_loop().time() < ends else None

    async def _open_through(self, upstream: Upstream, endpoint: Endpoint) -> OutboundConnection:
        try:
            reader, writer = await _connect(upstream.host, upstream.port)
        except (OSError, TimeoutError) as error:
            raise EgressRefused("the operator's proxy does not respond") from error
        if endpoint.scheme == "https":
            try:
                await _request_tunnel(reader, writer, upstream, endpoint)
            except BaseException:
                writer.transport.abort()
                raise
        return OutboundConnection(reader, writer, upstream)


async def _connect(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    async with asyncio.timeout(CONNECT_S):
        return await asyncio.open_connection(host, port, limit=BUFFER)


async def _request_tunnel(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    upstream: Upstream,
    endpoint: Endpoint,
) -> None:
    """Request a tunnel from the operator's proxy."""
    lines = [f"CONNECT {endpoint.authority} HTTP/1.1", f"Host: {endpoint.authority}"]
    lines += [f"{name}: {value}" for name, value in upstream.headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    try:
        async with asyncio.timeout(CONNECT_S):
            status = (await read_head(reader))[0]
    except (OSError, EOFError, TimeoutError) as error:
        raise EgressRefused("the operator's proxy does not respond") from error
    if not status.startswith(ANSWER) or status.split(" ")[1:2] != [MADE]:
        raise EgressRefused(f"the operator's proxy replied {status[:60]!r}")
