"""Finds out which hosts an installer needs: the package index, and the hosts that its pages link files from.

No host stands in this code. The index is what the operator configured, or what the installer itself asks for.
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

from sandbox.egress.allowed import PORTS, Endpoint, endpoint_of
from sandbox.types import Frozen

log = logging.getLogger(__name__)

PACKAGES = ("pip", "setuptools", "wheel")
"""Names almost every index knows; the first page that is found tells from where files come."""

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
ENDINGS = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2", ".egg")
MAX_PAGE = 8 << 20
MAX_LIST = 256 << 10
MAX_REDIRECTS = 5
MAX_HOSTS = 16
PAGE_S = 15.0
WHOLE_S = 60.0
"""For everything that is asked: everybody who sets up waits for it."""

ASKED = re.compile(r"https?://[^\s`'\"<>()]{1,2000}")


class Site(Frozen):
    """How an index page is fetched from this host."""

    certificates: bytes = b""
    """Of the authorities that are trusted, PEM; the library's own when empty."""
    proxy: str | None = None


class Page(Frozen):
    """One page, and every address it came by."""

    came_by: tuple[str, ...]
    kind: str = ""
    content: bytes = b""
    whole: bool = True

    @property
    def url(self) -> str:
        """Where it stands."""
        return self.came_by[-1]

    def files(self) -> list[str]:
        """The distributions among its links: a page of HTML may link to whatever its makers like."""
        named = (link.partition("#")[0].partition("?")[0] for link in self.links())
        return [link for link in named if "json" in self.kind or link.endswith(ENDINGS)]

    def links(self) -> list[str]:
        """What it links to; addresses of their own."""
        text = self.content.decode("utf-8", "replace")
        if "json" in self.kind and self.whole:
            return [urljoin(self.url, link) for link in _files(text)]
        reader = _Links()
        reader.feed(text)
        return [urljoin(urljoin(self.url, reader.base), link) for link in reader.links]


class _Links(HTMLParser):
    """Collects what a page links to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.base = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Anchors, and the base they are relative to."""
        target = dict(attrs).get("href")
        if target and tag == "a":
            self.links.append(target)
        elif target and tag == "base":
            self.base = target


def _files(text: str) -> Iterator[str]:
    """The addresses of files in a page of JSON."""
    try:
        found = json.loads(text)
    except ValueError:
        return
    files = found.get("files") if isinstance(found, dict) else None
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("url"), str):
            yield file["url"]


def index_asked_for(output: str, package: str) -> str | None:
    """The index out of what an installer says when it cannot reach it.

    Args:
        output: What it printed.
        package: What it was to look for.
    """
    for url in ASKED.findall(output):
        head, found, _ = url.rpartition(f"/{package}/")
        if found:
            return str(head)
    return None


class Found(NamedTuple):
    """The hosts of an index, and whether one of its pages was read for them."""

    endpoints: tuple[Endpoint, ...]
    is_complete: bool


async def hosts_of(index: str, site: Site, *, own: bool) -> Found:
    """The hosts of an index: its own first, then those its pages link files from.

    Args:
        index: Its address, without a password.
        site: How it is fetched.
        own: Whether the operator named it.
    """
    first = endpoint_of(index, own=own)
    if first is None:
        return Found((), is_complete=False)
    page: Page | None = None
    try:
        async with asyncio.timeout(WHOLE_S), _client(site) as client:
            page = await _any_page(client, index.rstrip("/"))
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        log.warning("the package index %s cannot be read from here (%s)", first.authority, type(error).__name__)
    if page is None:
        return Found((first,), is_complete=False)
    return Found((first, *_learned(first, (*page.came_by, *page.files()))), is_complete=True)


async def hosts_led_to(url: str, site: Site) -> tuple[Endpoint, ...]:
    """The hosts that an address redirects to, by TLS on its usual port; only heads are asked for.

    Args:
        url: The address.
        site: How it is fetched.
    """
    first = endpoint_of(url)
    came_by = [url]
    try:
        async with asyncio.timeout(WHOLE_S), _client(site) as client:
            for _ in range(MAX_REDIRECTS):
                response = await client.head(came_by[-1])
                if not response.has_redirect_location:
                    break
                came_by.append(urljoin(came_by[-1], response.headers["location"]))
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
        log.info("where an address leads is not known (%s)", type(error).__name__)
    return _learned(first, came_by) if first is not None else ()


def _learned(first: Endpoint, urls: Iterable[str]) -> tuple[Endpoint, ...]:
    """Hosts of addresses: by TLS on its usual port, or as the index itself is reached."""
    found: dict[tuple[str, int], Endpoint] = {}
    for url in urls:
        endpoint = endpoint_of(url)
        if endpoint is None or len(found) >= MAX_HOSTS or (endpoint.host, endpoint.port) == (first.host, first.port):
            continue
        usual = endpoint.scheme == "https" and endpoint.port == PORTS["https"]
        if usual or (endpoint.scheme == first.scheme and endpoint.port in {first.port, PORTS[first.scheme]}):
            found[endpoint.host, endpoint.port] = endpoint
    return tuple(found.values())


def _client(site: Site) -> httpx.AsyncClient:
    trusted = ssl.create_default_context(cadata=site.certificates.decode("ascii", "ignore") or None)
    # Nothing of the environment: which proxy and which authorities count is a setting.
    return httpx.AsyncClient(
        verify=trusted, proxy=site.proxy, timeout=PAGE_S, trust_env=False, headers={"Connection": "close"}
    )


async def _any_page(client: httpx.AsyncClient, index: str) -> Page | None:
    """The page of a package everybody has, or of the first one in the list of all."""
    for package in PACKAGES:
        page = await _fetch(client, f"{index}/{package}/", MAX_PAGE)
        if page is not None and page.files():
            return page
    listed = await _fetch(client, f"{index}/", MAX_LIST)
    link = next((link for link in listed.links() if link.startswith(f"{index}/")), None) if listed else None
    return await _fetch(client, link, MAX_PAGE) if link else listed


async def _fetch(client: httpx.AsyncClient, url: str, limit: int) -> Page | None:
    """A page, its redirects followed; None when there is none."""
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
