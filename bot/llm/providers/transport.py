"""Send one request to a model server: no redirects, no cookies, bounded size."""

import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from bot.domain.model import ModelTrouble
from bot.llm.providers.replies import HttpReply, RequestFailed

MOST_BYTES = 4 * 1024 * 1024
"""Maximum size of an unpacked answer, in bytes; 100,000 tokens are about a tenth of it."""

CONNECT_S = 10.0

PACKED = frozenset({"gzip", "x-gzip", "deflate"})
PLAIN = frozenset({"", "identity"})


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

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Return the reply to a request with any status.

        Only connecting has a timeout; the caller limits the rest.

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
                    headers={
                        "content-type": "application/json",
                        "accept-encoding": "identity",
                        **headers,
                    },
                    extensions={"trace": watch},
                ) as response,
            ):
                content = await _bound(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # No cause: it refers to the request, which contains the key.
            raise _unreachable(error) from None
        finally:
            for stream in opened:
                await (
                    stream.aclose()
                )  # httpcore leaves it open when it is cancelled while TLS is agreed on
        return HttpReply(
            response.status_code, {k.lower(): v for k, v in response.headers.items()}, content
        )

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


async def _bound(response: httpx.Response) -> bytes:
    """Unpack the body in chunks; httpx would unpack a whole zip bomb before counting it."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in PACKED | PLAIN:
        raise RequestFailed(
            "the answer has an unrequested encoding",
            trouble=ModelTrouble.BAD_RESPONSE,
        )
    raw = _cap(response.aiter_raw())
    if encoding in PLAIN:
        return b"".join([chunk async for chunk in raw])
    # 32 detects a gzip or zlib header.
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    content = bytearray()
    try:
        async for chunk in raw:
            # The second argument bounds the output of each step.
            content += unpacker.decompress(chunk, MOST_BYTES + 1 - len(content))
            if len(content) > MOST_BYTES:
                raise _too_long()
    except zlib.error:
        raise RequestFailed(
            "the answer cannot be unpacked", trouble=ModelTrouble.BAD_RESPONSE
        ) from None
    if not unpacker.eof:
        raise RequestFailed("the answer is incomplete", trouble=ModelTrouble.TRANSPORT)
    return bytes(content)


async def _cap(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > MOST_BYTES:
            raise _too_long()
        yield chunk


def _too_long() -> RequestFailed:
    return RequestFailed(
        f"the answer is longer than {MOST_BYTES} bytes",
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
