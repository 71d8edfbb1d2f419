"""The allow-list: hosts with a port and a scheme, and whether the operator named them."""

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
AUTHORITY = re.compile(r"(\[(?P<v6>[0-9a-fA-F:.]{2,45})\]|(?P<name>[^\s:@/\[\]]+)):(?P<port>[0-9]{1,5})")


class Endpoint(Frozen):
    """One host that may be reached."""

    host: str
    port: int
    scheme: Scheme = "https"
    own: bool = False
    """Named by the operator: its addresses may be private."""

    @property
    def is_literal(self) -> bool:
        """Whether the host is an address: TLS names no server then."""
        return is_address(self.host)

    @property
    def authority(self) -> str:
        """`host:port`, as a request has it."""
        return authority(self.host, self.port)


class AllowList:
    """What may be reached.

    Args:
        endpoints: Every host; what the operator named wins over what was learned.
    """

    def __init__(self, endpoints: Iterable[Endpoint] = ()) -> None:
        self._found: dict[tuple[str, int], Endpoint] = {}
        for endpoint in sorted(endpoints, key=lambda one: one.own):
            self._found[endpoint.host, endpoint.port] = endpoint

    def find(self, host: str, port: int) -> Endpoint | None:
        """The endpoint, or None when it is not listed."""
        return self._found.get((host, port))

    def __len__(self) -> int:
        return len(self._found)

    @override
    def __str__(self) -> str:
        return ", ".join(sorted(endpoint.authority for endpoint in self._found.values()))


def authority(host: str, port: int) -> str:
    """`host:port`, with brackets around a v6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_address(host: str) -> bool:
    """Whether a host is an address and not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def proper_host(text: str) -> str | None:
    """A host in the one form we compare, or None when it is none."""
    host = text.lower()
    if is_address(host):
        return str(ipaddress.ip_address(host))
    last = host.rpartition(".")[2]
    # What ends in a number is an address in a form that resolvers read in different ways (127.1, 0x7f.1).
    if len(host) > MAX_HOST or NAME.fullmatch(host) is None or last[:1].isdigit():
        return None
    return host


def split_authority(text: str) -> tuple[str, int] | None:
    """Host and port out of `host:port`, or None when it is malformed."""
    found = AUTHORITY.fullmatch(text)
    if found is None:
        return None
    host = proper_host(found["v6"] or found["name"])
    port = int(found["port"])
    return (host, port) if host is not None and 0 < port <= MAX_PORT else None


def endpoint_of(url: str, *, own: bool = False) -> Endpoint | None:
    """The endpoint of a web address, or None when it has none we speak with."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme = SCHEMES.get(parts.scheme.lower())
    host = proper_host(parts.hostname or "")
    if host is None or port == 0 or scheme is None:
        return None
    return Endpoint(host=host, port=port or PORTS[scheme], scheme=scheme, own=own)


def configured(entries: Iterable[str]) -> tuple[Endpoint, ...]:
    """The hosts of the setting `sandbox.egress_hosts`: `host`, `host:port` or `http://host:port`.

    Raises:
        SandboxUnavailable: one of them is malformed.
    """
    found = []
    for entry in entries:
        endpoint = endpoint_of(entry if "://" in entry else f"https://{entry}", own=True)
        if endpoint is None:
            raise SandboxUnavailable(
                f"{entry[:100]!r} is not a host.", "Give sandbox.egress_hosts as host, host:port or http://host:port."
            )
        found.append(endpoint)
    return tuple(found)
