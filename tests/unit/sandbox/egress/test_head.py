"""Heads of requests: two forms, and nothing that hides in them goes on."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.egress.head import Request, read_request
from sandbox.egress.refused import EgressRefused

pytestmark = pytest.mark.anyio


async def read(data: bytes) -> Request:
    """Read from a stream that holds just this."""
    reader = asyncio.StreamReader(limit=32 * 1024)
    reader.feed_data(data)
    reader.feed_eof()
    return await read_request(reader)


async def test_a_tunnel_is_asked_for_by_host_and_port() -> None:
    asked = await read(
        b"CONNECT Files.Example:443 HTTP/1.1\r\nHost: other\r\nProxy-Connection: x\r\n\r\n"
    )
    assert asked.is_tunnel
    assert (asked.host, asked.port) == ("files.example", 443)


async def test_a_plain_request_is_written_anew() -> None:
    head = b"GET http://u:p@Index.Example:8080/simple/x/?a=1#f HTTP/1.1\r\n"
    fields = b"Host: elsewhere\r\nAccept: text/html\r\nCookie: secret\r\nConnection: keep-alive, X-Y\r\nX-Y: z\r\n\r\n"
    asked = await read(head + fields)
    assert not asked.is_tunnel
    assert asked.onward(asked.path, {"Proxy-Authorization": "Basic x"}).decode().split("\r\n") == [
        "GET /simple/x/?a=1 HTTP/1.1",
        "Host: index.example:8080",
        "Connection: close",
        "accept: text/html",
        "Proxy-Authorization: Basic x",
        "",
        "",
    ]


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"CONNECT files.example HTTP/1.1\r\n\r\n",
        b"CONNECT https://files.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT files.example:443 HTTP/2\r\n\r\n",
        b"CONNECT  files.example:443 HTTP/1.1\r\n\r\n",
        b"connect files.example:443 HTTP/1.1\r\n\r\n",
        b"CONNECT files.example:443 HTTP/1.1\r\nno field\r\n\r\n",
        b"CONNECT files.example:443 HTTP/1.1\r\nA: b\nC: d\r\n\r\n",
        b"CONNECT files.example:443 HTTP/1.1\r\nA: b\r\n folded\r\n\r\n",
        b"CONNECT files.example:443 HTTP/1.1\r\n" + b"A: b\r\n" * 65 + b"\r\n",
        b"CONNECT files.example:443 HTTP/1.1\r\nA: " + b"b" * 40_000 + b"\r\n\r\n",
        # Cubic work would take minutes.
        b"CONNECT files.example:443 HTTP/1.1\r\nA:" + b" " * 7_000 + b"\x7f\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: files.example\r\n\r\n",
        b"GET https://files.example/ HTTP/1.1\r\n\r\n",
        b"GET ftp://files.example/ HTTP/1.1\r\n\r\n",
        b"POST http://files.example/ HTTP/1.1\r\n\r\n",
        b"PUT http://files.example/ HTTP/1.1\r\n\r\n",
        b"GET http://files.example/ HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
        b"GET http://files.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET http://files.example/\xff HTTP/1.1\r\n\r\n",
        b"GET http://127.1/ HTTP/1.1\r\n\r\n",
    ],
)
async def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(EgressRefused):
        await read(data)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    for data in (noise + b"\r\n\r\n", b"GET http://a.example/" + noise + b" HTTP/1.1\r\n\r\n"):
        try:
            asked = asyncio.run(read(data))
        except (EgressRefused, asyncio.IncompleteReadError):
            continue
        assert b"\n" not in asked.onward(asked.path, {}).replace(b"\r\n", b"")
