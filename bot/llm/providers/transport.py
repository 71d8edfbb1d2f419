"""One request to a model's server, and its answer: no redirects, no cookies, no more bytes than a limit."""

import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from bot.domain.model import ModelTrouble
from bot.llm.providers.replies import Fault, Reply

MOST_BYTES = 4 * 1024 * 1024
"""Of an answer, unpacked; 100,000 tokens are a tenth of it."""

CONNECT_S = 10.0

PACKED = frozenset({"gzip", "x-gzip", "deflate"})
PLAIN = frozenset({"", "identity"})


class Transport:
    """Sends to one server.

    Each request has a connection of its own. A shared pool loses places when requests are cancelled while they wait
    for one (httpcore issue 1093), and a kept connection may be dead when it is used; beside seconds of thinking a
    handshake is nothing.

    Args:
        base_url: `https://host/v1`, checked before.
        ca_bundle: Who is trusted, beside the usual authorities: companies with their own.
    """

    def __init__(self, base_url: str, ca_bundle: Path | None = None) -> None:
        self._base_url = base_url
        self._secure = base_url.startswith("https:")
        self._ca_bundle = ca_bundle
        self._trust: ssl.SSLContext | None = None

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """The answer to one request, whatever its status. Has no time limit but for connecting: the caller has one.

        Raises:
            Fault: there is none.
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
                    trust_env=self._secure,  # a proxy must never see a request in the clear
                ) as client,
                client.stream(
                    "POST",
                    self._base_url + path,
                    content=body,
                    headers={"content-type": "application/json", "accept-encoding": "identity", **headers},
                    extensions={"trace": watch},
                ) as response,
            ):
                content = await _bounded(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Not as its cause: the request hangs on it, and with that the key.
            raise _unreachable(error) from None
        finally:
            for stream in opened:
                await stream.aclose()  # httpcore leaves it open when it is cancelled while TLS is agreed on
        return Reply(response.status_code, {k.lower(): v for k, v in response.headers.items()}, content)

    def _trusted(self) -> ssl.SSLContext | bool:
        if not self._secure:
            return False  # nothing to verify, and half a second saved
        if self._trust is None:
            try:
                trust = httpx.create_ssl_context()
                if self._ca_bundle is not None:
                    trust.load_verify_locations(self._ca_bundle)
                self._trust = trust
            except OSError as error:
                message = f"the certificates cannot be read ({type(error).__name__})"
                raise Fault(message, "check the CA bundle", trouble=ModelTrouble.TRANSPORT, final=True) from error
        return self._trust


async def _bounded(response: httpx.Response) -> bytes:
    """The body, unpacked by hand: a library unpacks all of a bomb before it can be counted."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in PACKED | PLAIN:
        raise Fault("the answer is packed in a way that was not asked for", trouble=ModelTrouble.BAD_RESPONSE)
    raw = _capped(response.aiter_raw())
    if encoding in PLAIN:
        return b"".join([chunk async for chunk in raw])
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    content = bytearray()
    try:
        async for chunk in raw:
            content += unpacker.decompress(chunk, MOST_BYTES + 1 - len(content))
            if len(content) > MOST_BYTES:
                raise _too_long()
    except zlib.error:
        raise Fault("the answer cannot be unpacked", trouble=ModelTrouble.BAD_RESPONSE) from None
    if not unpacker.eof:
        raise Fault("the answer broke off", trouble=ModelTrouble.TRANSPORT)
    return bytes(content)


async def _capped(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > MOST_BYTES:
            raise _too_long()
        yield chunk


def _too_long() -> Fault:
    return Fault(f"the answer is longer than {MOST_BYTES} bytes", trouble=ModelTrouble.BAD_RESPONSE, final=True)


def _unreachable(error: Exception) -> Fault:
    """Never with the library's text: it may quote what was sent."""
    met: BaseException | None = error
    while met is not None and not isinstance(met, ssl.SSLCertVerificationError):
        met = met.__cause__ or met.__context__
    if met is not None:
        message, advice = "the server's certificate is not trusted", "set the CA bundle of the one who signed it"
        return Fault(message, advice, trouble=ModelTrouble.TRANSPORT, final=True)
    if isinstance(error, httpx.TimeoutException):
        return Fault(f"no connection within {CONNECT_S:g} s", trouble=ModelTrouble.TRANSPORT)
    return Fault(f"the connection failed ({type(error).__name__})", trouble=ModelTrouble.TRANSPORT)
