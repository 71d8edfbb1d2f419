"""The head of a request to the proxy: bounded, strict, and rewritten before it goes on."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from sandbox.egress.allowed import PORTS, authority, endpoint_of, split_authority
from sandbox.egress.refused import Refused
from sandbox.types import Frozen

END = b"\r\n\r\n"
MAX_HEADERS = 64
LINE = re.compile(r"(?P<method>[A-Z]{1,20}) (?P<target>[\x21-\x7e]{1,8000}) HTTP/1\.[01]")
FIELD = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}):[ \t]*(?P<value>[\x20-\x7e\t]{0,8000}?)[ \t]*")
KEPT = frozenset({"accept", "accept-encoding", "user-agent", "if-none-match", "if-modified-since", "range", "if-range"})
"""What of a plain request goes on. No cookie, no password, nothing about the connection."""


class Request(Frozen):
    """What a client asks the proxy for."""

    method: str
    host: str
    port: int
    path: str = ""
    """Of a plain request; empty for CONNECT."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_tunnel(self) -> bool:
        """Whether a tunnel is asked for."""
        return self.method == "CONNECT"

    def onward(self, target: str, more: Mapping[str, str]) -> bytes:
        """The head as it is sent on: a plain request, one per connection.

        Args:
            target: What stands in its first line.
            more: Headers of ours.
        """
        host = authority(self.host, self.port).removesuffix(f":{PORTS['http']}")
        lines = [f"{self.method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in (*self.headers, *more.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


async def read_head(reader: asyncio.StreamReader) -> list[str]:
    """The lines of a head.

    Raises:
        Refused: it is too long, or not text.
        asyncio.IncompleteReadError: the other side hung up.
    """
    try:
        head = await reader.readuntil(END)
        return head[: -len(END)].decode("ascii").split("\r\n")
    except asyncio.LimitOverrunError as error:
        raise Refused("a request that is too long") from error
    except UnicodeDecodeError as error:
        raise Refused("no proper request") from error


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read one request.

    Raises:
        Refused: it is none of the two forms there are, CONNECT and a plain GET or HEAD.
    """
    first, *rest = await read_head(reader)
    line = LINE.fullmatch(first)
    fields = [FIELD.fullmatch(text) for text in rest]
    if line is None or None in fields or len(fields) > MAX_HEADERS:
        raise Refused("no proper request")
    headers = [(field["name"].lower(), field["value"]) for field in fields if field is not None]
    if line["method"] == "CONNECT":
        where = split_authority(line["target"])
        if where is None:
            raise Refused("no proper host and port")
        return Request(method="CONNECT", host=where[0], port=where[1])
    return _plain(line["method"], line["target"], headers)


def _plain(method: str, target: str, headers: list[tuple[str, str]]) -> Request:
    endpoint = endpoint_of(target)
    if endpoint is None or endpoint.scheme != "http":
        raise Refused("no proper web address")
    if method not in {"GET", "HEAD"} or {"content-length", "transfer-encoding"} & {name for name, _ in headers}:
        raise Refused("nothing is sent without TLS")
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = tuple((name, value) for name, value in headers if name in KEPT)
    return Request(method=method, host=endpoint.host, port=endpoint.port, path=path, headers=kept)
