"""The server in front, over real connections: heads, trailers, pipelines, waits, proxies."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from socket import SHUT_WR, create_connection, create_server, socket

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import ValidationError

from bot.domain.http import HttpLimits
from bot.front.protocol import HEAD_BYTES, HEADERS, PIPELINED
from bot.front.server import GuardedServer

OK = b"GET /scheme HTTP/1.1\r\nhost: x\r\n\r\n"
PATIENCE_S = 30.0
"""Longer than any limit of these tests, also on a busy machine."""


def application() -> FastAPI:
    app = FastAPI()

    @app.get("/scheme")
    async def scheme(request: Request) -> JSONResponse:
        return JSONResponse(
            {
                "scheme": request.url.scheme,
                "client": request.client.host if request.client else None,
            }
        )

    @app.post("/length")
    async def length(request: Request) -> JSONResponse:
        return JSONResponse(len(await request.body()))

    @app.post("/ignored")
    async def ignored() -> JSONResponse:
        return JSONResponse("not read", 401)

    @app.get("/large")
    async def large() -> Response:
        return Response(b"x" * (16 << 20))

    return app


@contextmanager
def serving(app: FastAPI | None = None, **limits: object) -> Iterator[Callable[[], socket]]:
    """A server in a thread; calling it opens a connection."""
    server = GuardedServer(app or application(), HttpLimits.model_validate(limits))
    opened: list[socket] = []
    with create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()

        def connect() -> socket:
            opened.append(create_connection(address, timeout=PATIENCE_S))
            return opened[-1]

        try:
            yield connect
        finally:
            for one in opened:
                one.close()
            server.should_exit = True
            thread.join(timeout=PATIENCE_S)


def answer(connection: socket, *parts: bytes) -> bytes:
    """Everything that comes back until the server closes; what it no longer reads does not matter."""
    with contextlib.suppress(ConnectionError):
        for part in parts:
            connection.sendall(part)
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(65_536):
            received += data
    return received


def status(received: bytes) -> int:
    return int(received.split(b" ", 2)[1])


def asked(connection: socket, request: bytes = OK) -> bytes:
    """The answer to one request; the connection stays open."""
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received:
        data = connection.recv(65_536)
        assert data, "the server closed the connection"
        received += data
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HT",
        b"GET / HTTP/1.1\r\nx-a: ",
        b"\r\n",
        b"POST /length HTTP/1.1\r\ncontent-length: 10\r\n\r\nabc",
    ],
    ids=["nothing", "half a line", "half a head", "an empty line", "half a body"],
)
def test_who_does_not_go_on_is_closed(sent: bytes) -> None:
    with serving(head_s=0.3, body_s=0.3) as connect:
        assert answer(connect(), sent) == b""


def test_an_idle_connection_is_closed_and_an_active_one_is_not() -> None:
    with serving(head_s=1.0) as connect:
        connection = connect()
        for _ in range(3):
            assert status(asked(connection)) == 200
        assert answer(connection) == b""


def test_a_client_that_does_not_read_its_answer_is_closed() -> None:
    with serving(head_s=0.3, body_s=0.3) as connect:
        connection = connect()
        connection.sendall(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        for _ in range(
            3
        ):  # the server closes in the order of deadlines: those that come later show that it was this one's turn
            assert answer(connect()) == b""
        connection.shutdown(SHUT_WR)
        assert len(answer(connection)) < 16 << 20


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nx-a: " + b"a" * HEAD_BYTES + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nx-a: " + b"a" * HEAD_BYTES,
        b"GET / HTTP/1.1\r\n" + b"a" * HEAD_BYTES,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (HEADERS + 1) + b"\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * (HEADERS + 2),
        b"POST /length HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
        + b"a: b\r\n" * (HEADERS + 2),
        b"POST /length HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx-a: "
        + b"a" * 2 * HEAD_BYTES,
        b"POST /length HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1;" + b"a" * 2 * HEAD_BYTES,
        b"\r\n" * HEAD_BYTES,
        b"POST /length HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc"
        b"GET / HTTP/1.1\r\nx-a: " + b"a" * 2 * HEAD_BYTES,
    ],
    ids=[
        "long address",
        "long field",
        "endless field",
        "endless name",
        "many fields",
        "endless fields",
        "many trailers",
        "endless trailer",
        "endless chunk extension",
        "empty lines",
        "endless second head",
    ],
)
def test_a_head_or_trailer_that_is_too_large_is_refused_at_once(head: bytes) -> None:
    with serving(head_s=60.0, body_s=60.0) as connect:
        received = answer(connect(), head)
    assert b" 431 " in received or b" 400 " in received


def test_a_refused_request_never_reaches_the_application() -> None:
    asked_for: list[str] = []
    app = FastAPI()

    @app.post("/body")
    async def body(request: Request) -> JSONResponse:
        asked_for.append(request.url.path)
        return JSONResponse("ok")

    trailers = b"a: b\r\n" * (HEADERS + 2)
    head = b"POST /body HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n"
    with serving(app) as connect:
        assert status(answer(connect(), head + trailers)) == 431
        assert asked_for == []
        assert status(asked(connect(), head + b"a: b\r\n\r\n")) == 200
    assert asked_for == ["/body"]


@pytest.mark.parametrize(
    "sent", [b"\0\r\n\r\n", b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"]
)
def test_strangers_cannot_fill_the_log(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving(head_s=0.3) as connect:
        opened = [connect() for _ in range(5)]
        for one in opened:
            one.sendall(sent)
        assert {status(answer(one)) for one in opened} <= {400, 404}
    lines = [record.getMessage() for record in caplog.records]
    assert not [line for line in lines if "Invalid HTTP" in line or "upgrade" in line.lower()]


def test_a_head_of_usual_size_is_read_however_it_is_cut() -> None:
    fields = b"".join(b"x-%d: %b\r\n" % (number, b"v" * 100) for number in range(90))
    head = b"GET /scheme HTTP/1.1\r\nhost: x\r\n" + fields + b"\r\n"
    with serving() as connect:
        connection = connect()
        for start in range(0, len(head) - 500, 500):
            connection.sendall(head[start : start + 500])
        assert status(asked(connection, head[(len(head) - 501) // 500 * 500 + 500 :] or b"")) == 200
        assert status(asked(connection, head)) == 200


@pytest.mark.parametrize("size", [1, 100, 5_000, 3_000_000])
def test_a_body_in_chunks_of_any_size_is_read(size: int) -> None:
    total = min(3_000_000, size * 3_000)
    chunks = (b"%x\r\n%b\r\n" % (size, b"x" * size)) * (total // size) + b"0\r\n\r\n"
    with serving() as connect:
        received = asked(
            connect(),
            b"POST /length HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + chunks,
        )
    assert (status(received), received.rpartition(b"\r\n\r\n")[2]) == (200, b"%d" % total)


def test_a_few_pipelined_requests_are_answered_and_many_are_not() -> None:
    with serving(head_s=1.0) as connect:
        assert answer(connect(), OK * PIPELINED).count(b"200 OK") == PIPELINED
        assert answer(connect(), OK * 400).count(b"200 OK") <= PIPELINED


def test_the_rest_of_a_refused_body_is_read_and_the_connection_goes_on() -> None:
    with serving() as connect:
        connection = connect()
        connection.sendall(b"POST /ignored HTTP/1.1\r\nhost: x\r\ncontent-length: 8000000\r\n\r\n")
        assert status(asked(connection, b"x" * 8_000_000)) == 401
        assert b'"http"' in asked(connection)


def test_a_new_connection_is_served_while_all_others_wait() -> None:
    with serving(connections=16, head_s=60.0, body_s=60.0) as connect:
        halves = [connect() for _ in range(40)]
        for half in halves:
            with contextlib.suppress(ConnectionError):  # closed by now, for the next ones
                half.sendall(b"GET / HTTP/1.1\r\n")
        with closing(connect()) as connection:
            assert status(asked(connection)) == 200
        assert answer(halves[0]) == b"", "the oldest was closed"
        halves[-1].sendall(OK.partition(b"\r\n")[2])
        assert status(asked(halves[-1], b"")) == 404, "the youngest goes on"


FORWARDED = b"GET /scheme HTTP/1.1\r\nhost: x\r\nx-forwarded-proto: https\r\nx-forwarded-for: 203.0.113.9\r\n\r\n"


@pytest.mark.parametrize("proxies", ["", "10.0.0.0/8", "127.0.0.2 ::1", "::ffff:127.0.0.1"])
def test_forwarded_headers_of_anyone_are_not_believed(
    proxies: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # the server library's own switch
    with serving(proxies=proxies) as connect:
        assert asked(connect(), FORWARDED).endswith(b'{"scheme":"http","client":"127.0.0.1"}')


@pytest.mark.parametrize("proxies", ["127.0.0.1", "10.0.0.0/8, 127.0.0.0/8", "127.0.0.5/8"])
def test_forwarded_headers_of_a_configured_proxy_count(proxies: str) -> None:
    with serving(proxies=proxies) as connect:
        assert asked(connect(), FORWARDED).endswith(b'{"scheme":"https","client":"203.0.113.9"}')


@pytest.mark.parametrize("wrong", ["*", "localhost", "10.0.0.0/33", "proxy.example.com"])
def test_a_proxy_that_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError):
        HttpLimits(proxies=(wrong,))


def test_a_request_without_a_body_does_not_wait_for_bodies() -> None:
    """A hundred bodies arrive at once; a health check after them is answered before most of them."""
    order: list[str] = []
    app = FastAPI()

    @app.get("/health")
    async def health() -> JSONResponse:
        order.append("health")
        return JSONResponse("ok")

    @app.post("/body")
    async def body(request: Request) -> JSONResponse:
        order.append("body")
        return JSONResponse(len(await request.body()))

    async def answered(client: socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        assert (await reader.readline()).split()[1] == b"200"
        writer.close()

    async def flood() -> None:
        server = GuardedServer(app, HttpLimits())
        with create_server(("127.0.0.1", 0), backlog=128) as listener:
            # All connect and send before the server runs.
            clients = [create_connection(listener.getsockname()) for _ in range(101)]
            for client in clients[:-1]:
                client.sendall(b"POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx")
            clients[-1].sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            await asyncio.gather(*map(answered, clients))
            server.should_exit = True
            await serving

    asyncio.run(asyncio.wait_for(flood(), PATIENCE_S))
    assert len(order) == 101
    assert order.index("health") < 50
