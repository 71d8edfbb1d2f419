"""The proxy over real sockets: what it lets through, what it refuses, and that its budgets end it."""

import asyncio
import contextlib
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from sandbox.egress.allowed import AllowList, Endpoint
from sandbox.egress.outward import Outward, Upstream
from sandbox.egress.proxy import EgressLimits, EgressProxy
from sandbox.egress.refused import EgressRefused
from tests.patience import HANG_S
from tests.web_site import Trust, WebSite, make_trust, serving

pytestmark = pytest.mark.anyio

HOST, OTHER, PLAIN, HOSTILE = "files.example", "other.example", "plain.example", "rebound.example"
BIG = b"x" * (3 << 20)


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return make_trust(tmp_path_factory.mktemp("trust"), HOST, OTHER, "127.0.0.1")


class World:
    """Two sites, one with TLS and one without, a proxy before them, and names that lead to both."""

    def __init__(self, folder: Path, trust: Trust) -> None:
        self.path = folder / "proxy.sock"
        self.trust = trust
        self.safe = WebSite({"/": ("text/plain", b"safe"), "/big": ("text/plain", BIG)})
        self.plain = WebSite({"/": ("text/plain", b"plain"), "/big": ("text/plain", BIG)})
        self.asked: list[str] = []
        self.addresses = {
            HOST: "127.0.0.1",
            OTHER: "127.0.0.1",
            PLAIN: "127.0.0.1",
            HOSTILE: "169.254.169.254",
        }
        self.extra: list[Endpoint] = []
        self.lists = 0

    async def resolver(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return [self.addresses[host]]

    async def allowed(self) -> AllowList:
        self.lists += 1
        port = self.safe.port
        names = [Endpoint(host=name, port=port, own=True) for name in (HOST, HOSTILE, "127.0.0.1")]
        learned = [
            Endpoint(host="loopback.example", port=port),
            Endpoint(host="127.0.0.2", port=port),
        ]
        plain = Endpoint(host=PLAIN, port=self.plain.port, scheme="http", own=True)
        return AllowList([*names, *learned, plain, *self.extra])

    @asynccontextmanager
    async def running(
        self, upstream: Upstream | None = None, **limits: float
    ) -> AsyncIterator[EgressProxy]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(serving(self.safe, self.trust))
            await stack.enter_async_context(serving(self.plain))
            values = EgressLimits.model_validate(limits)
            proxy = EgressProxy(self.path, self.allowed, Outward(upstream, self.resolver), values)
            await proxy.start()
            try:
                yield proxy
            finally:
                await proxy.close()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_unix_connection(self.path)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def said(self, data: bytes) -> str:
        """What the proxy says to raw bytes, to its end."""
        async with self.connected() as (reader, writer):
            with contextlib.suppress(OSError):
                writer.write(data)
                await writer.drain()
            return (await _everything(reader)).decode("latin-1")

    async def tunnel(self, host: str = HOST, port: int | None = None) -> str:
        """The first line of the answer to CONNECT, after which the client hangs up."""
        async with self.connected() as (reader, writer):
            writer.write(f"CONNECT {host}:{port or self.safe.port} HTTP/1.1\r\n\r\n".encode())
            return (await reader.readline()).decode().strip()

    async def fetch(
        self, path: str = "/", host: str = HOST, server: str | None = HOST, port: int | None = None
    ) -> bytes:
        """The answer to one request by TLS through a tunnel, to its end.

        Raises:
            ConnectionError: the tunnel was not made, or broke.
        """
        async with self.connected() as (reader, writer):
            writer.write(f"CONNECT {host}:{port or self.safe.port} HTTP/1.1\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head:
                raise ConnectionError(head.decode())
            context = self.trust.client
            context.check_hostname = False
            await writer.start_tls(context, server_hostname=server)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            return await _everything(reader)


async def test_an_answer_that_is_read_slowly_arrives_whole_and_ends_in_silence(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    loop, answer = asyncio.get_running_loop(), bytearray()
    async with world.running():
        with socket.socket(socket.AF_UNIX) as client:
            client.setblocking(False)  # noqa: FBT003 (a stream would read ahead)
            await loop.sock_connect(client, str(world.path))
            await loop.sock_sendall(
                client, f"GET http://{PLAIN}:{world.plain.port}/big HTTP/1.1\r\n\r\n".encode()
            )
            while piece := await loop.sock_recv(client, 1 << 16):
                answer += piece
                await asyncio.sleep(0.002)
    assert answer.endswith(BIG)
    assert "failed at a connection" not in caplog.text


@pytest.fixture
def world(tmp_path: Path, trust: Trust) -> World:
    return World(tmp_path, trust)


async def _everything(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except OSError:
        return b""


async def broken(world: World, **arguments: str) -> None:
    """A tunnel that is granted and then cut, before anything of the other side is seen."""
    before = world.safe.connections
    with pytest.raises((OSError, EOFError, ssl.SSLError)):
        await world.fetch(**arguments)  # type: ignore[arg-type]
    assert world.safe.connections == before


async def until(condition: Iterable[bool]) -> None:
    """Wait a moment for something that happens in another task."""
    end = time.monotonic() + HANG_S
    for holds in condition:
        if holds:
            return
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def test_a_listed_host_is_reached_by_tls_and_written_down(world: World) -> None:
    async with world.running() as proxy:
        assert (await world.fetch()).endswith(b"safe")
        assert (await world.fetch("/big")).endswith(BIG)
        egress = await proxy.end()
    assert egress.hosts == (f"{HOST}:{world.safe.port}",)
    assert egress.refused == ()
    assert len(BIG) < egress.received_bytes < len(BIG) * 1.1
    assert not world.path.exists()


async def test_everybody_in_the_folder_may_connect(world: World) -> None:
    async with world.running():
        assert world.path.stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize(
    "host", [OTHER, "canary.invalid", f"sub.{HOST}", f"{HOST}.evil.example", "xfiles.example"]
)
async def test_a_host_that_is_not_listed_is_refused_and_not_even_looked_up(
    world: World, host: str
) -> None:
    async with world.running() as proxy:
        assert await world.tunnel(host) == "HTTP/1.1 403 Refused"
        assert (await proxy.end()).refused == (f"{host}:{world.safe.port}",)
    assert world.asked == []
    assert world.safe.connections == 0


async def test_another_port_of_a_listed_host_is_refused(world: World) -> None:
    async with world.running():
        assert await world.tunnel(HOST, 22) == "HTTP/1.1 403 Refused"
        assert await world.tunnel(HOST, 443) == "HTTP/1.1 403 Refused"
        assert await world.tunnel(HOST) == "HTTP/1.1 200 Connection established"


async def test_a_tunnel_to_a_plain_host_and_a_plain_request_to_one_with_tls_are_refused(
    world: World,
) -> None:
    async with world.running():
        assert await world.tunnel(PLAIN, world.plain.port) == "HTTP/1.1 403 Refused"
        assert (
            await world.said(f"GET http://{HOST}:{world.safe.port}/ HTTP/1.1\r\n\r\n".encode())
        ).startswith("HTTP/1.1 403")
    assert (world.plain.connections, world.safe.connections) == (0, 0)


async def test_a_plain_index_is_asked_plainly_and_only_to_read(world: World) -> None:
    async with world.running() as proxy:
        where = f"http://{PLAIN}:{world.plain.port}"
        said = await world.said(
            f"GET {where}/ HTTP/1.1\r\nCookie: x\r\n\r\nGET {where}/big HTTP/1.1\r\n\r\n".encode()
        )
        assert said.endswith("\r\n\r\nplain")
        assert world.plain.asked == ["GET / HTTP/1.1"]
        assert "cookie" not in world.plain.heads[0].lower()
        assert len(await world.said(f"GET {where}/big HTTP/1.1\r\n\r\n".encode())) > len(BIG)
        for method in ("POST", "PUT", "DELETE"):
            assert "403" in await world.said(f"{method} {where}/ HTTP/1.1\r\n\r\n".encode())
        assert len(world.plain.asked) == 2
        assert (await proxy.end()).hosts == (f"{PLAIN}:{world.plain.port}",)


async def test_the_greeting_must_name_the_host_of_the_tunnel(world: World) -> None:
    async with world.running() as proxy:
        await broken(world, server=OTHER)
        await broken(world, server="")
        assert (await proxy.end()).refused == (f"{HOST}:{world.safe.port}",)
    assert world.asked == []


async def test_a_host_that_is_an_address_has_no_name_to_compare(world: World) -> None:
    async with world.running():
        assert (await world.fetch(host="127.0.0.1", server="127.0.0.1")).endswith(b"safe")
        await broken(world, host="127.0.0.1", server=HOST)


async def test_whatever_is_no_tls_is_cut_before_anything_is_connected(world: World) -> None:
    async with world.running():
        connect = f"CONNECT {HOST}:{world.safe.port} HTTP/1.1\r\n\r\n"
        for data in (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            b"SSH-2.0-x\r\n",
            bytes(600),
            b"\x16\x03\x01\xff\xff" + bytes(9),
        ):
            said = await world.said(connect.encode() + data)
            assert said in {"HTTP/1.1 200 Connection established\r\n\r\n", ""}
    assert world.safe.connections == 0


@pytest.mark.parametrize("host", [HOSTILE, "loopback.example", "127.0.0.2"])
async def test_a_listed_host_with_a_forbidden_address_is_not_connected(
    world: World, host: str
) -> None:
    world.addresses["loopback.example"] = "127.0.0.1"
    async with world.running():
        await broken(world, host=host, server=host)


async def test_a_name_that_changes_its_address_keeps_the_checked_one(world: World) -> None:
    async with world.running():
        assert (await world.fetch()).endswith(b"safe")
        world.addresses[HOST] = "169.254.169.254"
        assert (await world.fetch()).endswith(b"safe")
    assert world.asked == [HOST]


async def test_a_host_may_be_added_for_one_sandbox_and_its_address_is_checked(world: World) -> None:
    async with world.running() as proxy:
        proxy.allow(Endpoint(host=OTHER, port=world.safe.port, own=True))
        assert (await world.fetch(host=OTHER, server=OTHER)).endswith(b"safe")
        assert world.lists == 0
        proxy.allow(Endpoint(host=OTHER, port=world.safe.port))
        await broken(world, host=OTHER, server=OTHER)


async def test_through_the_operators_proxy_the_same_rules_hold(world: World) -> None:
    asked: list[str] = []

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A proxy of the usual kind, which resolves every name to the sites of this test."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head.split("\r\n")[0])
        port = world.safe.port if head.startswith("CONNECT") else world.plain.port
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        if head.startswith("CONNECT"):
            writer.write(b"HTTP/1.1 200 Fine\r\n\r\n")
        else:
            far_writer.write(head.replace(f"http://{PLAIN}:{world.plain.port}", "").encode())

        async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                while data := await source.read(1 << 16):
                    target.write(data)
                    await target.drain()
            target.close()

        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    upstream = Upstream(
        host="127.0.0.1", port=server.sockets[0].getsockname()[1], authorization="Basic c2VjcmV0"
    )
    world.addresses |= {
        HOST: "203.0.113.7",
        PLAIN: "203.0.113.8",
    }  # what the operator's proxy alone can reach
    try:
        async with world.running(upstream=upstream) as proxy:
            assert (await world.fetch()).endswith(b"safe")
            assert (await world.fetch("/big")).endswith(BIG)
            plain = await world.said(
                f"GET http://{PLAIN}:{world.plain.port}/ HTTP/1.1\r\n\r\n".encode()
            )
            assert plain.endswith("plain")
            assert "Proxy-Authorization: Basic c2VjcmV0" in world.plain.heads[0]
            assert await world.tunnel(OTHER) == "HTTP/1.1 403 Refused"
            await broken(world, server=OTHER)
            await broken(world, host=HOSTILE, server=HOSTILE)
            assert len((await proxy.end()).hosts) == 2
    finally:
        server.close()
        await server.wait_closed()
    tunnel = f"CONNECT {HOST}:{world.safe.port} HTTP/1.1"
    assert asked == [tunnel, tunnel, f"GET http://{PLAIN}:{world.plain.port}/ HTTP/1.1"]


async def test_more_bytes_than_the_budget_end_everything_for_all(world: World) -> None:
    world.safe.pause_s = 0.05
    async with world.running(received_bytes=1 << 20) as proxy:
        first, second = await asyncio.gather(
            world.fetch("/big"), world.fetch("/big"), return_exceptions=True
        )
        for got in (first, second):
            assert isinstance(got, BaseException) or len(got) < len(BIG)
        assert await world.tunnel() == "HTTP/1.1 403 Refused"
        assert (await proxy.end()).received_bytes <= (1 << 20) + (4 << 16)


async def test_what_goes_out_has_a_budget_too(world: World) -> None:
    async with world.running(), world.connected() as (reader, writer):
        writer.write(f"CONNECT {HOST}:{world.safe.port} HTTP/1.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await writer.start_tls(world.trust.client, server_hostname=HOST)
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 200:
                writer.write(b"GET /" + bytes(1 << 20))
                await writer.drain()
                sent += 1
                await asyncio.sleep(0)
        assert 60 < sent < 80
        assert await world.tunnel() == "HTTP/1.1 403 Refused"


async def test_time_over_cuts_what_is_under_way(world: World) -> None:
    world.safe.pause_s = 0.2
    async with world.running(wall_s=0.6) as proxy:
        with contextlib.suppress(OSError, EOFError):
            assert len(await world.fetch("/big")) < len(BIG)
        assert await world.tunnel() == "HTTP/1.1 403 Refused"
        assert (await proxy.end()).hosts


async def test_the_end_cuts_what_is_under_way_and_lasts(world: World) -> None:
    world.safe.pause_s = 0.2
    async with world.running() as proxy:
        going = asyncio.ensure_future(world.fetch("/big"))
        await until(bool(world.safe.heads) for _ in range(10_000))
        first = await proxy.end()
        with contextlib.suppress(OSError, EOFError):
            assert len(await going) < len(BIG)
        proxy.allow(Endpoint(host=HOST, port=world.safe.port, own=True))
        for _ in range(3):
            assert await world.tunnel() == "HTTP/1.1 403 Refused"
        assert "403" in await world.said(
            f"GET http://{PLAIN}:{world.plain.port}/ HTTP/1.1\r\n\r\n".encode()
        )
        again = await proxy.end()
    assert again.hosts == first.hosts == (f"{HOST}:{world.safe.port}",)
    assert again.received_bytes == first.received_bytes > 0
    assert len(again.refused) == 2
    assert world.safe.connections == 1


async def test_a_tunnel_that_waits_for_its_greeting_ends_with_the_rest(world: World) -> None:
    async with world.running() as proxy, world.connected() as (reader, writer):
        writer.write(f"CONNECT {HOST}:{world.safe.port} HTTP/1.1\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        await proxy.end()
        assert await _everything(reader) == b""


async def test_who_is_slow_is_cut(world: World) -> None:
    connect = b"CONNECT files.example:443 HTTP/1.1\r\n"
    async with world.running(greeting_s=0.3):
        started = time.monotonic()
        async with world.connected() as (reader, writer):
            for byte in connect:
                with contextlib.suppress(OSError):
                    writer.write(bytes([byte]))
                    await writer.drain()
                await asyncio.sleep(0.03)
            assert await _everything(reader) == b""
        async with world.connected() as (reader, writer):  # a greeting that never ends
            writer.write(
                f"CONNECT {HOST}:{world.safe.port} HTTP/1.1\r\n\r\n\x16\x03\x01\x02\x00".encode()
            )
            await _everything(reader)
        assert time.monotonic() - started < 9  # a greeting may take ten seconds elsewhere
    assert world.safe.connections == 0


async def test_a_tunnel_in_which_nothing_moves_ends_without_being_a_refusal(world: World) -> None:
    world.safe.pause_s = 1.5
    async with world.running(idle_s=0.2) as proxy:
        with contextlib.suppress(OSError, EOFError):
            assert len(await world.fetch("/big")) < len(BIG)
        assert (await proxy.end()).refused == ()


@pytest.mark.parametrize(
    "data",
    [b"\x00" * 50_000, b"A" * 100_000, b"\r\n\r\n", b"CONNECT\r\n\r\n", b"\xff\r\n\r\n", b"G"],
)
async def test_garbage_is_answered_or_cut_and_the_next_one_is_served(
    world: World, data: bytes
) -> None:
    async with world.running(greeting_s=0.5) as proxy:
        assert (await world.said(data)).split("\r\n")[0] in {"HTTP/1.1 403 Refused", ""}
        assert (await world.fetch()).endswith(b"safe")
        assert (await proxy.end()).hosts


async def test_thousands_of_connections_cost_little_and_the_next_one_is_served(
    world: World,
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with world.running(connections=20):
        for _ in range(20):
            writers = []
            for _ in range(100):
                _, writer = await asyncio.open_unix_connection(world.path)
                writers.append(writer)
            for writer in writers:
                writer.transport.abort()
        await asyncio.sleep(0.1)
        assert (await world.fetch()).endswith(b"safe")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


async def test_many_refused_names_are_remembered_up_to_a_number(world: World) -> None:
    async with world.running() as proxy:
        for number in range(250):
            await world.tunnel(f"n{number}.example")
        assert len((await proxy.end()).refused) == 200


async def test_a_list_that_cannot_be_found_is_a_refusal(world: World) -> None:
    async def nothing() -> AllowList:
        raise EgressRefused("the index is not known")

    proxy = EgressProxy(world.path, nothing, Outward(), EgressLimits())
    await proxy.start()
    try:
        assert "the index is not known" in await world.said(
            b"CONNECT a.example:443 HTTP/1.1\r\n\r\n"
        )
    finally:
        await proxy.close()
