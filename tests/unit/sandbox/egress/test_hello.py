"""The first message of TLS: whom it names, and what is refused."""

import asyncio
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.egress.hello import MAX_HELLO, read_hello, server_name
from sandbox.egress.refused import EgressRefused

pytestmark = pytest.mark.anyio


def greeting(host: str | None = "files.example") -> bytes:
    """What a real client says first."""
    context = ssl.create_default_context()
    context.check_hostname = host is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def records(message: bytes, size: int) -> bytes:
    """A handshake message in records of a size."""
    pieces = [message[start : start + size] for start in range(0, len(message), size)]
    return b"".join(b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece for piece in pieces)


def block(width: int, content: bytes) -> bytes:
    """A field that says its own length."""
    return len(content).to_bytes(width, "big") + content


def hello(*extensions: tuple[int, bytes]) -> bytes:
    """A message made by hand, without its header."""
    listed = b"".join(kind.to_bytes(2, "big") + block(2, content) for kind, content in extensions)
    return (
        b"\x03\x03"
        + bytes(32)
        + block(1, b"")
        + block(2, b"\x13\x01")
        + block(1, b"\x00")
        + block(2, listed)
    )


def named(name: bytes, kind: int = 0) -> bytes:
    """The content of the extension that names the server."""
    return block(2, bytes([kind]) + block(2, name))


async def read(data: bytes) -> tuple[bytes, str | None]:
    """Read from a stream that holds just this."""
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await read_hello(reader)


async def test_a_real_client_names_its_server() -> None:
    data = greeting()
    assert await read(data) == (data, "files.example")
    assert (await read(greeting(None)))[1] is None


@pytest.mark.parametrize("size", [11, 64, 200, 511])
async def test_a_greeting_may_come_in_pieces_and_goes_on_as_it_came(size: int) -> None:
    data = records(greeting()[5:], size)
    assert await read(data) == (data, "files.example")


async def test_what_follows_the_greeting_stays_in_the_stream() -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(greeting() + b"\x17\x03\x03more")
    await read_hello(reader)
    reader.feed_eof()
    assert await reader.read() == b"\x17\x03\x03more"


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\x80\x2e\x01\x00\x02" + bytes(50),
        b"\x16\x02\x01\x00\x05" + bytes(50),
        b"\x16\x03\x01\x00\x00" * 3,
        b"\x16\x03\x01\xff\xff" + bytes(70_000),
        b"\x17\x03\x03\x00\x05" + bytes(50),
        records(b"\x02\x00\x00\x04abcd", 100),
        records(b"\x01\xff\xff\xff" + bytes(20), 100),
        records(b"\x01" + (MAX_HELLO + 1).to_bytes(3, "big") + bytes(20), 100),
        records(b"\x01\x00\x10\x00" + bytes(4096), 1),
    ],
)
async def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(EgressRefused):
        await read(data)


async def test_more_in_the_record_than_the_greeting_is_refused() -> None:
    message = greeting()[5:]
    with pytest.raises(EgressRefused):
        await read(records(message + b"more", len(message) + 4))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        hello()[:20],
        hello((0, b"")),
        hello((0, named(b"a")), (0, named(b"a"))),
        hello((0, named(b"a") + b"x")),
        hello((0, block(2, b"\x00" + block(2, b"a") + b"\x00" + block(2, b"b")))),
        hello((0, named(b"a", kind=1))),
        hello((0, b"\x00\x09\x00\x00\xffa")),
        hello((0, named("bücher".encode()))),
        hello((0xFE0D, b"\x00")),
        hello((0, named(b"a"))) + b"x",
        hello()[:-2] + b"\xff\xff",
    ],
)
def test_lengths_that_lie_and_names_that_hide_are_refused(body: bytes) -> None:
    with pytest.raises(EgressRefused):
        server_name(body)


def test_names_are_compared_in_lower_case_and_may_be_absent() -> None:
    assert server_name(hello((10, b"\x00"), (0, named(b"Files.Example")))) == "files.example"
    assert server_name(hello((10, b"\x00"))) is None
    assert server_name(hello()[:-2]) is None


@given(st.binary(max_size=400), st.integers(0, 200))
def test_no_bytes_break_the_reader(noise: bytes, at: int) -> None:
    whole = records(b"\x01" + block(3, hello((0, named(b"files.example")))), 40)
    data = whole[:at] + noise + whole[at + len(noise) // 2 :]
    try:
        _, server = asyncio.run(read(data))
    except (EgressRefused, asyncio.IncompleteReadError):
        return
    assert server is None or server.isascii()
