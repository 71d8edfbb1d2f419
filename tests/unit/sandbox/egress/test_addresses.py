"""Which addresses the proxy connects to."""

import pytest

from sandbox.egress.addresses import refusal

PRIVATE = [
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
]
PRIVATE += [
    "100.64.0.1",
    "100.127.255.255",
    "198.18.0.1",
    "fc00::1",
    "fd12:3456::1",
    "64:ff9b::a00:1",
]
NEVER = [
    "0.0.0.1",
    "0.1.2.3",
    "::",
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "100.100.100.200",
]
NEVER += [
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "224.0.0.1",
    "255.255.255.255",
    "ff02::1",
    "240.0.0.1",
]
NEVER += [
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:0:127.0.0.1",
    "2002:7f00:1::",
    "2001:0:1::",
    "192.88.99.1",
]
NEVER += ["64:ff9b::a9fe:a9fe", "nonsense", "", "127.1", "0x7f000001"]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "203.0.113.80",
    "198.51.100.7",
    "192.0.2.1",
    "2606:4700::1",
    "2001:db8::1",
]
PUBLIC += ["172.32.0.1", "100.128.0.1", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_belongs_to_hosts_the_operator_named_only(address: str) -> None:
    assert refusal(address, own=False)
    assert refusal(address, own=True) is None


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_nobodys_index(address: str) -> None:
    assert refusal(address, own=False)
    assert refusal(address, own=True)


@pytest.mark.parametrize("address", PUBLIC)
def test_the_public_network_may_be_reached_and_so_may_the_ranges_of_the_documentation(
    address: str,
) -> None:
    assert refusal(address, own=False) is None


@pytest.mark.parametrize("address", ["4000::1", "::8.8.8.8", "64:ff9b:1::1"])
def test_v6_outside_the_public_network_is_refused(address: str) -> None:
    assert refusal(address, own=False)
