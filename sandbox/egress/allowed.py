"""The allow-list: hosts with port and scheme, and whether the operator named them."""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from typing_extensions import override

from sandbox.errors import SandboxUnavailable
from sandbox.types import Frozen

Scheme = Literal["https", "http"]

SCHEMES: Mapping[str, Scheme] = MappingProxyType({"https": "https", "http": "http"})
PORTS: Mapping[Scheme, int] = MappingProxyType({"https": 443, "http": 80})
MAX_PORT = 65_535
MAX_HOST = 253
NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
AUTHORITY = re.compile(
    r"(\[(?P<v6>[0-9a-fA-F:.]{2,45})\]|(?P<name>[^\s:@/\[\]]+)):(?P<port>[0-9]{1,5})"
)


class Endpoint(Frozen):
    """One host that may be reached."""

    host: str
    port: int
    scheme: Scheme = "https"
    own: bool = False
    """Named by the operator: its addresses may be private."""

    @property
    def is_literal(self) -> bool:
        """Return True if the host is an address; TLS then sends no server name."""
        return is_address(self.host)

    @property
    def authority(self) -> str:
        """Return `host:port`, as a request contains it."""
        return authority(self.host, self.port)


class AllowList:
    """The hosts that may be reached.

    Args:
        endpoints: Every host. Entries of the operator take precedence over discovered ones.
    """

    def __init__(self, endpoints: Iterable[Endpoint] = ()) -> None:
        self._found: dict[tuple[str, int], Endpoint] = {}
        for endpoint in sorted(endpoints, key=lambda one: one.own):
            self._found[endpoint.host, endpoint.port] = endpoint

    def find(self, host: str, port: int) -> Endpoint | None:
        """Return the endpoint, or None if it is not listed."""
        return self._found.get((host, port))

    def __len__(self) -> int:
        return len(self._found)

    @override
    def __str__(self) -> str:
        return ", ".join(sorted(endpoint.authority for endpoint in self._found.values()))


def authority(host: str, port: int) -> str:
    """Return `host:port`, with brackets around a v6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_address(host: str) -> bool:
    """Return True if a host is an address and not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def canonical_host(text: str) -> str | None:
    """Return a host in canonical form, or None if it is malformed."""
    host = text.lower()
    if is_address(host):
        return str(ipaddress.ip_address(host))
    last = host.rpartition(".")[2]
    # Resolvers disagree on addresses in other forms (127.1, 0x7f.1). Each of them ends in a number.
    if len(host) > MAX_HOST or NAME.fullmatch(host) is None or last[:1].isdigit():
        return None
    return host


def split_authority(text: str) -> tuple[str, int] | None:
    """Split `host:port`; return None if it is malformed."""
    found = AUTHORITY.fullmatch(text)
    if found is None:
        return None
    host = canonical_host(found["v6"] or found["name"])
    port = int(found["port"])
    return (host, port) if host is not None and 0 < port <= MAX_PORT else None


def parse_endpoint(url: str, *, own: bool = False) -> Endpoint | None:
    """Return the endpoint of a URL, or None if the scheme is unsupported or the URL malformed."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme = SCHEMES.get(parts.scheme.lower())
    host = canonical_host(parts.hostname or "")
    if host is None or port == 0 or scheme is None:
        return None
    return Endpoint(host=host, port=port or PORTS[scheme], scheme=scheme, own=own)


def parse_hosts(entries: Iterable[str]) -> tuple[Endpoint, ...]:
    """Return the hosts of `sandbox.egress_hosts`: `host`, `host:port` or `http://host:port`.

    Raises:
        SandboxUnavailable: An entry is malformed.
    """
    found = []
    for entry in entries:
        endpoint = parse_endpoint(entry if "://" in entry else f"https://{entry}", own=True)
        if endpoint is None:
            raise SandboxUnavailable(
                f"{entry[:100]!r} is not a host.",
                "Give sandbox.egress_hosts as host, host:port or http://host:port.",
            )
        found.append(endpoint)
    return tuple(found)
