"""Connections outward: only to addresses that were checked, or through the operator's own proxy."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sandbox.egress.allowed import Endpoint
from sandbox.egress.outward import Outward, Upstream, resolve
from sandbox.egress.refused import EgressRefused
from sandbox.errors import SandboxUnavailable
from tests.web_site import WebSite, serving

pytestmark = pytest.mark.anyio


class Names:
    """A resolver that answers from a list, one answer after the other."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        if not self.answers:
            raise OSError("unknown")
        return self.answers.pop(0)


class Proxy:
    """The operator's proxy: notes what it is asked and says one thing."""

    def __init__(self, says: bytes) -> None:
        self.says = says
        self.heads: list[str] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self.says)
        writer.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            await server.wait_closed()


def own(host: str, port: int, scheme: str = "https") -> Endpoint:
    return Endpoint.model_validate({"host": host, "port": port, "scheme": scheme, "own": True})


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "0.0.0.1"]
)
async def test_a_learned_name_with_such_an_address_is_refused(address: str) -> None:
    with pytest.raises(EgressRefused, match="its address is"):
        await Outward(resolver=Names([address])).open(Endpoint(host="files.example", port=443))


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:127.0.0.1"])
async def test_so_is_a_host_of_the_operators_with_one_that_nobody_means(address: str) -> None:
    with pytest.raises(EgressRefused, match="its address is"):
        await Outward(resolver=Names([address])).open(own("index.example", 443))


async def test_a_literal_address_is_checked_too() -> None:
    with pytest.raises(EgressRefused, match="loopback"):
        await Outward().open(Endpoint(host="127.0.0.1", port=443))


async def test_the_connection_goes_to_the_address_that_was_checked_and_the_name_is_asked_once() -> (
    None
):
    names = Names(["169.254.169.254", "127.0.0.1"], ["169.254.169.254"])
    async with serving(WebSite()) as site:
        way = await Outward(resolver=names).open(own("index.example", site.port))
        assert way.writer.get_extra_info("peername") == ("127.0.0.1", site.port)
        way.writer.transport.abort()
    assert names.asked == ["index.example"]


async def test_connections_to_a_host_share_a_lookup_for_a_while() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with serving(WebSite()) as site:
        host = own("index.example", site.port)
        outward = Outward(resolver=names)
        ways = [await outward.open(host) for _ in range(3)]
        for way in ways:
            way.writer.transport.abort()
    assert len(names.asked) == 1


async def test_a_name_is_looked_up_and_checked_again_afterwards() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with serving(WebSite()) as site:
        host = own("index.example", site.port)
        outward = Outward(resolver=names, known_s=0.0)
        way = await outward.open(host)
        with pytest.raises(EgressRefused, match="its address is"):
            await outward.open(host)
        way.writer.transport.abort()


async def test_a_host_that_does_not_answer_is_looked_up_again() -> None:
    async with serving(WebSite()) as site:
        port = site.port
    names = Names(["127.0.0.1"], ["127.0.0.1"])
    outward = Outward(resolver=names)
    for _ in range(2):
        with pytest.raises(EgressRefused, match="does not respond"):
            await outward.open(own("index.example", port))
    assert len(names.asked) == 2


async def test_a_name_nobody_knows_and_a_host_that_does_not_answer_are_refused() -> None:
    with pytest.raises(EgressRefused, match="cannot be resolved"):
        await Outward(resolver=Names()).open(own("index.example", 443))
    async with serving(WebSite()) as site:
        port = site.port
    with pytest.raises(EgressRefused, match="does not respond"):
        await Outward(resolver=Names(["127.0.0.1"])).open(own("index.example", port))
    with pytest.raises(EgressRefused, match="its address is none"):
        await Outward(resolver=Names([])).open(own("index.example", port))


async def test_the_hosts_own_resolver_gives_each_address_once() -> None:
    found = await resolve("localhost", 80)
    assert "127.0.0.1" in found
    assert len(set(found)) == len(found)


async def test_the_operators_proxy_is_asked_by_name_and_with_its_password() -> None:
    proxy = Proxy(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\n")
    async with proxy.running() as where:
        upstream = Upstream.parse(f"http://us%40er:pass@{where}")
        way = await Outward(upstream, Names(["203.0.113.9"])).open(
            Endpoint(host="files.example", port=443)
        )
        way.writer.transport.abort()
    secret = base64.b64encode(b"us@er:pass").decode()
    (head,) = proxy.heads
    assert head.split("\r\n") == [
        "CONNECT files.example:443 HTTP/1.1",
        "Host: files.example:443",
        f"Proxy-Authorization: Basic {secret}",
        "",
        "",
    ]


async def test_it_knows_names_that_we_do_not_but_never_hides_a_private_address() -> None:
    proxy = Proxy(b"HTTP/1.1 200 OK\r\n\r\n")
    async with proxy.running() as where:
        upstream = Upstream.parse(f"http://{where}")
        way = await Outward(upstream, Names()).open(Endpoint(host="files.example", port=443))
        way.writer.transport.abort()
        with pytest.raises(EgressRefused, match="private"):
            await Outward(upstream, Names(["10.0.0.1"])).open(
                Endpoint(host="files.example", port=443)
            )
    assert len(proxy.heads) == 1


async def test_a_private_host_of_the_operators_is_reached_without_it() -> None:
    proxy = Proxy(b"")
    async with proxy.running() as where, serving(WebSite()) as site:
        outward = Outward(
            Upstream.parse(f"http://{where}"),
            Names(["127.0.0.1"], ["127.0.0.1"], ["203.0.113.1"]),
            known_s=0.0,
        )
        endpoint = own("index.example", site.port)
        way = await outward.open(endpoint)
        assert way.upstream is None
        way.writer.transport.abort()
        assert await outward.is_direct(endpoint)
        assert not await outward.is_direct(endpoint)
        assert not await outward.is_direct(endpoint)  # unknown by now
    assert proxy.heads == []
    assert await Outward().is_direct(own("index.example", 443))


@pytest.mark.parametrize(
    "says",
    [b"HTTP/1.1 403 No\r\n\r\n", b"HTTP/1.1 2000 x\r\n\r\n", b"SSH-2.0\r\n\r\n", b"", b"\xff" * 99],
)
async def test_a_proxy_that_does_not_agree_is_a_refusal(says: bytes) -> None:
    proxy = Proxy(says)
    async with proxy.running() as where:
        outward = Outward(Upstream.parse(f"http://{where}"), Names(["203.0.113.9"]))
        with pytest.raises(EgressRefused):
            await outward.open(Endpoint(host="files.example", port=443))


async def test_a_proxy_that_is_not_there_is_a_refusal() -> None:
    async with Proxy(b"").running() as where:
        upstream = Upstream.parse(f"http://{where}")
    with pytest.raises(EgressRefused, match="operator's proxy"):
        await Outward(upstream, Names(["203.0.113.9"])).open(
            Endpoint(host="files.example", port=443)
        )


@pytest.mark.parametrize(
    "url",
    [
        "https://proxy.example:1",
        "socks5://p:1",
        "proxy:3128",
        "http://",
        "http://p:x",
        "http://u:hunter2@p:99999",
    ],
)
def test_a_proxy_of_another_kind_is_the_operators_matter(url: str) -> None:
    with pytest.raises(SandboxUnavailable, match=r"sandbox\.upstream_proxy") as refused:
        Upstream.parse(url)
    assert "hunter2" not in refused.value.message
