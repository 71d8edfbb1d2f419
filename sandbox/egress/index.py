"""Find the hosts that an installer needs: the package index and the file hosts that it links to.

No host name is hard-coded. The index is configured by the operator, or it is the installer's own
default.
"""

import asyncio
import json
import logging
import re
import ssl
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urljoin

import httpx
from typing_extensions import override

from sandbox.egress.allowed import PORTS, Endpoint, parse_endpoint
from sandbox.types import Frozen

log = logging.getLogger(__name__)

PACKAGES = ("pip", "setuptools", "wheel")
"""Packages that almost every index has. The first page found reveals the file hosts."""

ACCEPT = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1"
)
ENDINGS = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2", ".egg")
MAX_PAGE = 8 << 20
MAX_LIST = 256 << 10
MAX_REDIRECTS = 5
MAX_HOSTS = 16
PAGE_S = 15.0
WHOLE_S = 60.0
"""Timeout for all requests together, in seconds: every set-up waits for them."""

ASKED = re.compile(r"https?://[^\s`'\"<>()]{1,2000}")


class IndexAccess(Frozen):
    """Certificates and proxy for fetching index pages from this host."""

    certificates: bytes = b""
    """Trusted authorities as PEM; empty for the library's default."""
    proxy: str | None = None


class Page(Frozen):
    """One page with its redirect chain."""

    came_by: tuple[str, ...]
    kind: str = ""
    content: bytes = b""
    whole: bool = True

    @property
    def url(self) -> str:
        """Return the page's final address."""
        return self.came_by[-1]

    def files(self) -> list[str]:
        """Return the links to distributions. An HTML page may also link to other things."""
        named = (link.partition("#")[0].partition("?")[0] for link in self.links())
        return [link for link in named if "json" in self.kind or link.endswith(ENDINGS)]

    def links(self) -> list[str]:
        """Return the absolute addresses of all links."""
        text = self.content.decode("utf-8", "replace")
        if "json" in self.kind and self.whole:
            return [urljoin(self.url, link) for link in _files(text)]
        reader = _Links()
        reader.feed(text)
        return [urljoin(urljoin(self.url, reader.base), link) for link in reader.links]


class _Links(HTMLParser):
    """Collector of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.base = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect anchors and the base address."""
        target = dict(attrs).get("href")
        if target and tag == "a":
            self.links.append(target)
        elif target and tag == "base":
            self.base = target


def _files(text: str) -> Iterator[str]:
    """Yield the file addresses of a JSON page."""
    try:
        found = json.loads(text)
    except ValueError:
        return
    files = found.get("files") if isinstance(found, dict) else None
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("url"), str):
            yield file["url"]


def find_index_in_output(output: str, package: str) -> str | None:
    """Return the index address from an installer's error message.

    Args:
        output: The output of the installer.
        package: The package that it looked for.
    """
    for url in ASKED.findall(output):
        head, found, _ = url.rpartition(f"/{package}/")
        if found:
            return str(head)
    return None


class Found(NamedTuple):
    """The hosts of an index, and whether one of its pages was read."""

    endpoints: tuple[Endpoint, ...]
    is_complete: bool


async def discover_hosts(index: str, site: IndexAccess, *, own: bool) -> Found:
    """Return the hosts of an index: its own first, then the file hosts on its pages.

    Args:
        index: Its address, without a password.
        site: How to fetch its pages.
        own: Whether the operator named it.
    """
    first = parse_endpoint(index, own=own)
    if first is None:
        return Found((), is_complete=False)
    page: Page | None = None
    try:
        # An index that fails leaves its own host: the installer then reports the error itself.
        async with asyncio.timeout(WHOLE_S), _client(site) as client:
            page = await _any_page(client, index.rstrip("/"))
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        log.warning(
            "reading the package index %s failed: %s",
            first.authority,
            type(error).__name__,
        )
    if page is None:
        return Found((first,), is_complete=False)
    return Found((first, *_file_hosts(first, (*page.came_by, *page.files()))), is_complete=True)


async def discover_redirects(url: str, site: IndexAccess) -> tuple[Endpoint, ...]:
    """Return the hosts that an address redirects to, by TLS on the default port.

    Only HEAD requests are sent.

    Args:
        url: The address.
        site: How to fetch it.
    """
    first = parse_endpoint(url)
    came_by = [url]
    try:
        async with asyncio.timeout(WHOLE_S), _client(site) as client:
            for _ in range(MAX_REDIRECTS):
                response = await client.head(came_by[-1])
                if not response.has_redirect_location:
                    break
                came_by.append(urljoin(came_by[-1], response.headers["location"]))
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        log.info("resolving redirects failed: %s", type(error).__name__)
    return _file_hosts(first, came_by) if first is not None else ()


def _file_hosts(first: Endpoint, urls: Iterable[str]) -> tuple[Endpoint, ...]:
    """Return the allowed hosts of addresses: by TLS on the default port, or like the index."""
    found: dict[tuple[str, int], Endpoint] = {}
    for url in urls:
        endpoint = parse_endpoint(url)
        if (
            endpoint is None
            # A page of the index must not open the way to any number of hosts.
            or len(found) >= MAX_HOSTS
            or (endpoint.host, endpoint.port) == (first.host, first.port)
        ):
            continue
        usual = endpoint.scheme == "https" and endpoint.port == PORTS["https"]
        if usual or (
            endpoint.scheme == first.scheme and endpoint.port in {first.port, PORTS[first.scheme]}
        ):
            found[endpoint.host, endpoint.port] = endpoint
    return tuple(found.values())


def _client(site: IndexAccess) -> httpx.AsyncClient:
    trusted = ssl.create_default_context(cadata=site.certificates.decode("ascii", "ignore") or None)
    # Ignore the environment: proxy and authorities are settings.
    return httpx.AsyncClient(
        verify=trusted,
        proxy=site.proxy,
        timeout=PAGE_S,
        trust_env=False,
        headers={"Connection": "close"},
    )


async def _any_page(client: httpx.AsyncClient, index: str) -> Page | None:
    """Return the page of a common package, or of the first one in the index's list."""
    for package in PACKAGES:
        page = await _fetch(client, f"{index}/{package}/", MAX_PAGE)
        if page is not None and page.files():
            return page
    listed = await _fetch(client, f"{index}/", MAX_LIST)
    link = (
        next((link for link in listed.links() if link.startswith(f"{index}/")), None)
        if listed
        else None
    )
    return await _fetch(client, link, MAX_PAGE) if link else listed


async def _fetch(client: httpx.AsyncClient, url: str, limit: int) -> Page | None:
    """Fetch a page and follow redirects; return None if there is none."""
    came_by = [url]
    for _ in range(MAX_REDIRECTS):
        async with client.stream("GET", came_by[-1], headers={"Accept": ACCEPT}) as response:
            if response.has_redirect_location:
                came_by.append(urljoin(came_by[-1], response.headers["location"]))
                continue
            if response.status_code != httpx.codes.OK:
                return None
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece[: limit - len(content)]
                if len(content) >= limit:
                    break
            kind = response.headers.get("content-type", "")
            whole = len(content) < limit
            return Page(came_by=tuple(came_by), kind=kind, content=bytes(content), whole=whole)
    return None
