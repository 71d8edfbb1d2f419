"""Which addresses the proxy may connect to: the public network, and private ones only where the operator named them.

Python's own `is_private` is not asked: it counts the ranges kept for documentation as private, and networks exist whose
package index has such an address.
"""

import ipaddress
from collections.abc import Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

NEVER: Sequence[tuple[str, tuple[str, ...]]] = (
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("link-local", ("169.254.0.0/16", "fe80::/10")),
    ("a cloud's metadata service", ("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::254/128")),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    ("reserved", ("240.0.0.0/4", "192.0.0.0/24", "100::/64", "fec0::/10")),
    ("a v4 address in disguise", ("::ffff:0:0/96", "::ffff:0:0:0/96", "2002::/16", "2001::/32", "192.88.99.0/24")),
)
"""Refused whoever named the host."""

PRIVATE: Sequence[tuple[str, tuple[str, ...]]] = (
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")),
    ("shared by a carrier", ("100.64.0.0/10",)),
    ("kept for measurements", ("198.18.0.0/15",)),
)
"""Refused unless the operator named the host."""

TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""The v4 address is in the last 32 bits, and the one that counts."""

GLOBAL = ipaddress.IPv6Network("2000::/3")


def refusal(text: str, *, own: bool) -> str | None:
    """Why an address is not connected to; None when it may be.

    Args:
        text: The address, as the resolver gave it.
        own: Whether the operator named the host it belongs to.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return "no address"
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            return "link-local"
        if address in TRANSLATED:
            address = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return _kind(address, NEVER) or _refused_as_private(address, own=own)


def is_private(text: str) -> bool:
    """Whether an address belongs to a network of somebody's own."""
    return _kind(ipaddress.ip_address(text.partition("%")[0]), PRIVATE) is not None


def _refused_as_private(address: Address, *, own: bool) -> str | None:
    kind = _kind(address, PRIVATE)
    if kind is not None:
        return None if own else kind
    if isinstance(address, ipaddress.IPv6Address) and address not in GLOBAL:
        return "not of the public network"
    return None


def _kind(address: Address, table: Sequence[tuple[str, tuple[str, ...]]]) -> str | None:
    for kind, networks in table:
        if any(address in ipaddress.ip_network(network) for network in networks):
            return kind
    return None
