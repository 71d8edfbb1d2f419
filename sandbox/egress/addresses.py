"""Addresses that the proxy may connect to: public ones, and private ones of the operator's hosts.

Python's own `is_private` is not used: it counts the documentation ranges as private, and some
networks have a package index at such an address.
"""

import ipaddress
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

NEVER: Sequence[tuple[str, tuple[str, ...]]] = (
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    (
        "a cloud's metadata service",
        ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128"),
    ),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    ("reserved", ("240.0.0.0/4", "192.0.0.0/24", "100::/64", "fec0::/10")),
    (
        "an embedded v4 address",
        ("::ffff:0:0/96", "::ffff:0:0:0/96", "2002::/16", "2001::/32", "192.88.99.0/24"),
    ),
)
"""Refused in every case."""

PRIVATE: Sequence[tuple[str, tuple[str, ...]]] = (
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    ("shared by a carrier (CGNAT)", ("100.64.0.0/10",)),
    ("reserved for benchmarks", ("198.18.0.0/15",)),
)
"""Refused unless the operator named the host."""

TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""NAT64: the last 32 bits are the IPv4 address that counts."""

GLOBAL = ipaddress.IPv6Network("2000::/3")


def refusal(text: str, *, own: bool) -> str | None:
    """Return why an address is refused; None if it is allowed.

    Args:
        text: The address, as the resolver returned it.
        own: Whether the operator named its host.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "malformed"
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return "link-local"
        if address in TRANSLATED:
            address = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return _kind(address, NEVER) or _check_private(address, own=own)


def is_private(text: str) -> bool:
    """Return True if an address belongs to a private network."""
    return _kind(ipaddress.ip_address(text.partition("%")[0]), PRIVATE) is not None


def _check_private(address: Address, *, own: bool) -> str | None:
    kind = _kind(address, PRIVATE)
    if kind is not None:
        return None if own else kind
    if isinstance(address, ipaddress.IPv6Address) and address not in GLOBAL:
        return "outside the public network"
    return None


def _kind(address: Address, table: Sequence[tuple[str, tuple[str, ...]]]) -> str | None:
    for kind, networks in table:
        if any(address in ipaddress.ip_network(network) for network in networks):
            return kind
    return None
