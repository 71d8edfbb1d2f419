"""The shelf that is a bucket: what goes wrong there is one trouble, told without what must not be seen."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic import SecretStr
from typing_extensions import override

from bot.blobs import bucket
from bot.blobs.bucket import BucketShelf
from bot.domain.storage import StorageSpec
from bot.errors import StoreError

KEY = "wJalrXUtnFEMIexample"
REFUSED = f"<Error><Code>SignatureDoesNotMatch</Code><StringToSign>{KEY}</StringToSign></Error>"


def spec(endpoint: str) -> StorageSpec:
    return StorageSpec(
        url="s3://blobs/here", endpoint=endpoint, key_id=SecretStr("AKID"), key=SecretStr(KEY)
    )


@contextmanager
def answering(status: int, body: str = REFUSED) -> Iterator[tuple[str, list[str]]]:
    """A server that gives one answer to everything; its address, and the headers that came."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            seen.append(str(self.headers))
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

        @override
        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("status", [403, 404, 400])
def test_a_refusal_names_its_status_and_neither_the_key_nor_the_servers_words(status: int) -> None:
    with answering(status) as (endpoint, seen):
        shelf = BucketShelf(spec(endpoint))
        for call in (
            lambda: shelf.write("steps/m/1", b"x"),
            lambda: shelf.read("steps/m/1", 10),
            lambda: list(shelf.entries("steps")),
            lambda: shelf.remove(["steps/m/1"]),
        ):
            with pytest.raises(
                StoreError, match=f"s3://blobs/here cannot be .* \\(status {status}\\)"
            ) as raised:
                call()
            text = f"{raised.value.message} {raised.value.advice} {raised.value.__cause__!r}"
            assert KEY not in text
            assert "Signature" not in text
    assert KEY not in "".join(seen), "a key signs; it is not sent"
    assert KEY not in repr(shelf) + repr(spec(endpoint)) + str(vars(shelf))


def test_a_server_that_is_not_there_is_told_after_a_few_tries() -> None:
    with answering(200) as (endpoint, _):
        pass
    shelf = BucketShelf(spec(endpoint), retries=1)
    with pytest.raises(StoreError, match="cannot be written"):
        shelf.write("steps/m/1", b"x")


def test_a_server_that_fails_is_asked_again() -> None:
    with answering(503) as (endpoint, seen):
        with pytest.raises(StoreError, match="cannot be read"):
            BucketShelf(spec(endpoint), retries=2).read("steps/m/1", 10)
        assert len(seen) == 3


def test_an_unsafe_connection_is_made_only_to_an_address_that_says_so() -> None:
    assert bucket.client_options(spec("https://s3.example.com"), None)["allow_http"] is False
    assert bucket.client_options(StorageSpec(url="s3://blobs"), None)["allow_http"] is False
    assert bucket.client_options(spec("http://127.0.0.1:9000"), None)["allow_http"] is True
