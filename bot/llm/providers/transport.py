"""Send one request to a model server: no redirects, no cookies, bounded size."""

import json
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx

from bot.domain.model import ModelTrouble
from bot.llm.providers.events import Assembler, EventReader
from bot.llm.providers.replies import INVALID, HttpReply, RequestFailed

MOST_BYTES = 4 * 1024 * 1024
"""Maximum size of an unpacked answer, in bytes; 100,000 tokens are about a tenth of it."""

MOST_STREAMED_BYTES = 4 * MOST_BYTES
"""Maximum size of an answer in events, which repeat names around every few characters."""

EVENT_STREAM = "text/event-stream"
EVENT_BEGINNINGS = (b"data:", b"event:", b":")
HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}
CONNECT_S = 10.0

PACKED = frozenset({"gzip", "x-gzip", "deflate"})
PLAIN = frozenset({"", "identity"})


def _do_nothing() -> None:
    """Ignore bytes that arrive."""


class Transport:
    """Connection to a server.

    Each request opens a new connection. A shared pool loses slots when waiting requests are
    cancelled (httpcore issue 1093), and a kept connection may be dead. The handshake is short
    compared to the model's answer.

    Args:
        base_url: Validated address, `https://host/v1`.
        ca_bundle: Certificates trusted in addition to the usual authorities, such as a company's.
    """

    def __init__(self, base_url: str, ca_bundle: Path | None = None) -> None:
        self._base_url = base_url
        self._secure = base_url.startswith("https:")
        self._ca_bundle = ca_bundle
        self._trust: ssl.SSLContext | None = None

    async def post(
        self,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        assembler: Assembler | None = None,
        on_bytes: Callable[[], None] = _do_nothing,
    ) -> HttpReply:
        """Return the reply to a request with any status.

        Only connecting has a timeout; the caller limits the rest.

        Args:
            path: Path below the base URL.
            headers: Further headers.
            body: The request.
            assembler: Assembles the events of a stream to its plain form; None keeps a stream as it
                is.
            on_bytes: Called whenever bytes of a stream arrive after its first part of the answer.

        Raises:
            RequestFailed: There was no reply.
        """
        trust = self._trusted()
        opened: list[Any] = []

        async def watch(event: str, details: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                opened.append(details["return_value"])

        try:
            async with (
                httpx.AsyncClient(
                    verify=trust,
                    timeout=httpx.Timeout(None, connect=CONNECT_S),
                    # an environment's proxy must not see unencrypted requests
                    trust_env=self._secure,
                ) as client,
                client.stream(
                    "POST",
                    self._base_url + path,
                    content=body,
                    headers={**HEADERS, **headers},
                    extensions={"trace": watch},
                ) as response,
            ):
                return await _receive(response, assembler, on_bytes)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # No cause: it refers to the request, which contains the key.
            raise _unreachable(error) from None
        finally:
            for stream in opened:
                await (
                    stream.aclose()
                )  # httpcore leaves it open when it is cancelled while TLS is agreed on

    def _trusted(self) -> ssl.SSLContext | bool:
        if not self._secure:
            return False  # no TLS to verify; saves half a second
        if self._trust is None:
            try:
                trust = httpx.create_ssl_context()
                if self._ca_bundle is not None:
                    trust.load_verify_locations(self._ca_bundle)
                self._trust = trust
            except OSError as error:
                message = f"the certificates cannot be read ({type(error).__name__})"
                raise RequestFailed(
                    message, "check the CA bundle", trouble=ModelTrouble.TRANSPORT, final=True
                ) from error
        return self._trust


async def _receive(
    response: httpx.Response, assembler: Assembler | None, on_bytes: Callable[[], None]
) -> HttpReply:
    """Read a reply; a stream is assembled to its plain form, if it can be."""
    status = response.status_code
    headers = {name.lower(): value for name, value in response.headers.items()}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if assembler is not None and status == httpx.codes.OK and kind == EVENT_STREAM:
        async with aclosing(_unpacked(response, MOST_STREAMED_BYTES)) as chunks:
            content = await _assembled(chunks, assembler, on_bytes)
            return HttpReply(status, headers, content, streamed=True)
    async with aclosing(_unpacked(response, MOST_BYTES)) as chunks:
        content = b"".join([chunk async for chunk in chunks])
    is_stream = status == httpx.codes.OK and content.startswith(EVENT_BEGINNINGS)
    if assembler is not None and is_stream:
        # A gateway may give a stream another content type.
        return HttpReply(status, headers, await _assembled(_one(content), assembler), streamed=True)
    return HttpReply(status, headers, content)


async def _one(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


async def _assembled(
    chunks: AsyncIterator[bytes],
    assembler: Assembler,
    on_bytes: Callable[[], None] = _do_nothing,
) -> bytes:
    """Return the plain form of a stream; one that ends before the answer's end is an error."""
    events = EventReader()
    try:
        async for chunk in chunks:
            # A server may keep the connection open after the end of its answer.
            if any(map(assembler.add, events.feed(chunk))):
                break
            if assembler.has_begun:
                on_bytes()
        answer = assembler.build()
        content = json.dumps(answer).encode()
    except INVALID:
        raise RequestFailed(
            "an event of the answer has an unexpected format", trouble=ModelTrouble.BAD_RESPONSE
        ) from None
    if answer is None:
        raise RequestFailed("the answer broke off", trouble=ModelTrouble.TRANSPORT)
    if len(content) > MOST_BYTES:
        raise _too_long(MOST_BYTES)
    return content


async def _unpacked(response: httpx.Response, most: int) -> AsyncGenerator[bytes, None]:
    """Unpack the body in chunks; httpx would unpack a whole zip bomb before counting it."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in PACKED | PLAIN:
        raise RequestFailed(
            "the answer has an unrequested encoding",
            trouble=ModelTrouble.BAD_RESPONSE,
        )
    # 32 detects a gzip or zlib header.
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in PACKED else None
    packed = unpacked = 0
    try:
        async for chunk in response.aiter_raw():
            packed += len(chunk)
            # The second argument bounds the output of each step.
            part = unpacker.decompress(chunk, most + 1 - unpacked) if unpacker else chunk
            unpacked += len(part)
            if max(packed, unpacked) > most:
                raise _too_long(most)
            yield part
    except zlib.error:
        raise RequestFailed(
            "the answer cannot be unpacked", trouble=ModelTrouble.BAD_RESPONSE
        ) from None
    if unpacker is not None and not unpacker.eof:
        raise RequestFailed("the answer is incomplete", trouble=ModelTrouble.TRANSPORT)


def _too_long(most: int) -> RequestFailed:
    return RequestFailed(
        f"the answer is longer than {most} bytes",
        trouble=ModelTrouble.BAD_RESPONSE,
        final=True,
    )


def _unreachable(error: Exception) -> RequestFailed:
    """Convert a connection error without the library's text, which may quote the request."""
    met: BaseException | None = error
    while met is not None and not isinstance(met, ssl.SSLCertVerificationError):
        met = met.__cause__ or met.__context__
    if met is not None:
        message, advice = (
            "the server's certificate is not trusted",
            "set a CA bundle with its authority",
        )
        return RequestFailed(message, advice, trouble=ModelTrouble.TRANSPORT, final=True)
    if isinstance(error, httpx.TimeoutException):
        return RequestFailed(
            f"no connection within {CONNECT_S:g} s", trouble=ModelTrouble.TRANSPORT
        )
    return RequestFailed(
        f"the connection failed ({type(error).__name__})", trouble=ModelTrouble.TRANSPORT
    )
