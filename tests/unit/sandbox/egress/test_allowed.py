"""Hosts, in the one form in which they are compared."""

import pytest

from sandbox.egress.allowed import (
    AllowList,
    Endpoint,
    canonical_host,
    parse_endpoint,
    parse_hosts,
    split_authority,
)
from sandbox.errors import SandboxUnavailable


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Files.Example", "files.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("FD00::0001", "fd00::1"),
        ("a_b.c-d", "a_b.c-d"),
    ],
)
def test_a_host_has_one_form(text: str, host: str) -> None:
    assert canonical_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a..b",
        ".a",
        "a.",
        "-a.b",
        "a b",
        "a@b",
        "a/b",
        "bücher.example",
        "127.1",
        "0x7f.1",
        "a.0",
        "a" * 300,
        "a\n",
    ],
)
def test_what_is_no_host_is_none(text: str) -> None:
    assert canonical_host(text) is None


@pytest.mark.parametrize("text", ["2130706433", "0177.0.0.1", "a%2eb", "[::1]", "a:b", "\x00"])
def test_neither_is_an_address_in_disguise(text: str) -> None:
    assert canonical_host(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("files.example:443", ("files.example", 443)),
        ("[::1]:8443", ("::1", 8443)),
        ("files.example", None),
        ("files.example:", None),
        ("files.example:0", None),
        ("files.example:65536", None),
        ("files.example:+443", None),
        ("files.example:443:443", None),
        ("user@files.example:443", None),
        ("::1:443", None),
        ("files.example:\uff14\uff14\uff13", None),
    ],
)
def test_host_and_port(text: str, found: tuple[str, int] | None) -> None:
    assert split_authority(text) == found


def test_the_operators_entries_take_three_forms() -> None:
    assert parse_hosts(["a.example", "b.example:8443", "http://c.example:8080", "10.1.2.3"]) == (
        Endpoint(host="a.example", port=443, own=True),
        Endpoint(host="b.example", port=8443, own=True),
        Endpoint(host="c.example", port=8080, scheme="http", own=True),
        Endpoint(host="10.1.2.3", port=443, own=True),
    )
    for wrong in ("", "ftp://a.example", "a b", "a.example:x"):
        with pytest.raises(SandboxUnavailable, match="not a host"):
            parse_hosts([wrong])


def test_what_the_operator_named_wins_over_what_was_learned() -> None:
    learned, own = Endpoint(host="a", port=443), Endpoint(host="a", port=443, own=True)
    for order in ((learned, own), (own, learned)):
        found = AllowList(order).find("a", 443)
        assert found is not None
        assert found.own
    assert AllowList([learned]).find("a", 80) is None
    assert str(AllowList([learned, Endpoint(host="::1", port=1)])) == "[::1]:1, a:443"


@pytest.mark.parametrize(
    "url", ["ftp://a/x", "file:///a", "//a/b", "https:///x", "https://a:99999/", "https://[x/", ""]
)
def test_an_address_of_another_kind_has_no_endpoint(url: str) -> None:
    assert parse_endpoint(url) is None
