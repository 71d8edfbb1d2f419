"""The head of a proxy request: bounded, strictly parsed, and rewritten before it is forwarded."""

import asyncio
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from sandbox.egress.allowed import PORTS, authority, parse_endpoint, split_authority
from sandbox.egress.refused import EgressRefused
from sandbox.types import Frozen

END = b"\r\n\r\n"
MAX_HEADERS = 64
LINE = re.compile(r"(?P<method>[A-Z]{1,20}) (?P<target>[\x21-\x7e]{1,8000}) HTTP/1\.[01]")
FIELD = re.compile(r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}):(?P<value>[\x20-\x7e\t]{0,8000})")
KEPT = frozenset(
    {
        "accept",
        "accept-encoding",
        "user-agent",
        "if-none-match",
        "if-modified-since",
        "range",
        "if-range",
    }
)
"""Forwarded headers of a plain request.

Cookies, credentials and connection headers are not among them.
"""


class Request(Frozen):
    """A client's request to the proxy."""

    method: str
    host: str
    port: int
    path: str = ""
    """The path of a plain request; empty for CONNECT."""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def is_tunnel(self) -> bool:
        """Return True if the request is for a tunnel."""
        return self.method == "CONNECT"

    def onward(self, target: str, more: Mapping[str, str]) -> bytes:
        """Return the head to forward: one plain request per connection.

        Args:
            target: The target in its first line.
            more: Additional headers.
        """
        host = authority(self.host, self.port).removesuffix(f":{PORTS['http']}")
        lines = [f"{self.method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in (*self.headers, *more.items())]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


async def read_head(reader: asyncio.StreamReader) -> list[str]:
    """Read the lines of a head.

    Raises:
        Refused: The head is too long or not ASCII.
        asyncio.IncompleteReadError: The peer closed the connection.
    """
    try:
        head = await reader.readuntil(END)
        return head[: -len(END)].decode("ascii").split("\r\n")
    except asyncio.LimitOverrunError as error:
        raise EgressRefused("the request is too long") from error
    except UnicodeDecodeError as error:
        raise EgressRefused("the request is malformed") from error


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read one request.

    Raises:
        Refused: The request is neither CONNECT nor a plain GET or HEAD.
    """
    first, *rest = await read_head(reader)
    line = LINE.fullmatch(first)
    fields = [FIELD.fullmatch(text) for text in rest]
    if line is None or None in fields or len(fields) > MAX_HEADERS:
        raise EgressRefused("the request is malformed")
    known = [field for field in fields if field is not None]
    headers = [(field["name"].lower(), field["value"].strip(" \t")) for field in known]
    if line["method"] == "CONNECT":
        where = split_authority(line["target"])
        if where is None:
            raise EgressRefused("host and port are malformed")
        return Request(method="CONNECT", host=where[0], port=where[1])
    return _parse_plain(line["method"], line["target"], headers)


def _parse_plain(method: str, target: str, headers: list[tuple[str, str]]) -> Request:
    endpoint = parse_endpoint(target)
    if endpoint is None or endpoint.scheme != "http":
        raise EgressRefused("the web address is malformed")
    # A request with a body would send data in clear text.
    if method not in {"GET", "HEAD"} or {"content-length", "transfer-encoding"} & {
        name for name, _ in headers
    }:
        raise EgressRefused("sending data requires TLS")
    parts = urlsplit(target)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = tuple((name, value) for name, value in headers if name in KEPT)
    return Request(method=method, host=endpoint.host, port=endpoint.port, path=path, headers=kept)
