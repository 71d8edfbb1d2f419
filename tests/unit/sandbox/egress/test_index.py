"""Which hosts an index needs, out of what it serves and of what an installer says."""

import json
import ssl
from pathlib import Path

import pytest

from sandbox.egress.allowed import Endpoint
from sandbox.egress.index import (
    IndexAccess,
    discover_hosts,
    discover_redirects,
    find_index_in_output,
)
from tests.web_site import Trust, WebSite, make_trust, serving

pytestmark = pytest.mark.anyio

JSON = "application/vnd.pypi.simple.v1+json"
HTML = "text/html; charset=utf-8"


def page_of(*urls: str) -> bytes:
    """A page of JSON."""
    return json.dumps(
        {"meta": {"api-version": "1.0"}, "files": [{"url": url, "filename": "x"} for url in urls]}
    ).encode()


async def found(
    site: WebSite, path: str = "/simple", *, own: bool = True
) -> tuple[list[str], bool]:
    """The hosts of a plain index on loopback."""
    endpoints, complete = await discover_hosts(
        f"http://127.0.0.1:{site.port}{path}", IndexAccess(), own=own
    )
    assert endpoints[0] == Endpoint(host="127.0.0.1", port=site.port, scheme="http", own=own)
    assert not any(endpoint.own for endpoint in endpoints[1:])
    return [f"{one.scheme}://{one.authority}" for one in endpoints[1:]], complete


async def test_the_files_of_a_page_of_json_name_their_hosts() -> None:
    urls = (
        "https://files.example/a.whl",
        "https://Files.Example:443/b.whl",
        "../../files/c.whl",
        "https://x.example/c",
    )
    async with serving(WebSite({"/simple/pip/": (JSON, page_of(*urls))})) as site:
        assert await found(site) == (["https://files.example:443", "https://x.example:443"], True)
        assert site.asked == ["GET /simple/pip/ HTTP/1.1"]


async def test_so_do_the_links_of_a_page_of_html_and_its_base() -> None:
    page = (
        b'<base href="https://base.example/x/"><a href="a.whl#sha256=0">a</a><a HREF=https://other.example/b.tar.gz?x=1>b</a>'
        b'<a href="https://their.site/about">about us</a><a>'
    )
    async with serving(WebSite({"/simple/pip/": (HTML, page)})) as site:
        assert await found(site, "/simple/") == (
            ["https://base.example:443", "https://other.example:443"],
            True,
        )


async def test_odd_ports_and_other_schemes_are_not_learned() -> None:
    urls = (
        "https://files.example:8443/a",
        "ftp://files.example/a",
        "https://127.1/a",
        "file:///etc/passwd",
        "x:y",
    )
    async with serving(
        WebSite({"/simple/pip/": (JSON, page_of(*urls, "https://good.example/a"))})
    ) as site:
        assert await found(site) == (["https://good.example:443"], True)


async def test_a_plain_index_may_link_plain_hosts_and_one_with_tls_may_not(tmp_path: Path) -> None:
    pages = {"/simple/pip/": (JSON, page_of("http://plain.example/a"))}
    async with serving(WebSite(pages)) as site:
        assert await found(site) == (["http://plain.example:80"], True)
    trust = make_trust(tmp_path, "127.0.0.1")
    async with serving(WebSite(pages), trust) as site:
        endpoints, complete = await discover_hosts(
            f"https://127.0.0.1:{site.port}/simple",
            IndexAccess(certificates=trust.bundle),
            own=True,
        )
        assert (len(endpoints), complete) == (1, True)


async def test_an_index_without_the_usual_packages_is_asked_for_its_list() -> None:
    pages: dict[str, tuple[str, bytes | None]] = {
        "/simple/": (HTML, b'<a href="/about">about</a><a href="/simple/mine/">mine</a>'),
        "/simple/mine/": (HTML, b'<a href="https://files.example/mine.whl">mine</a>'),
    }
    async with serving(WebSite(pages)) as site:
        assert await found(site) == (["https://files.example:443"], True)
        assert len(site.asked) == 5


async def test_redirects_are_followed_a_few_times_and_count() -> None:
    pages: dict[str, tuple[str, bytes | None]] = {
        "/simple/pip/": ("/other/pip/", None),
        "/other/pip/": (JSON, page_of("https://files.example/a")),
    }
    async with serving(WebSite(pages)) as site:
        assert await found(site) == (["https://files.example:443"], True)
    pages = {
        f"/simple/{name}": (f"/simple/{name}", None)
        for name in ("pip/", "setuptools/", "wheel/", "")
    }
    async with serving(WebSite(pages)) as site:
        assert await found(site) == ([], False)
        assert len(site.asked) == 20


async def test_an_address_leads_to_hosts_by_its_redirects_and_nothing_is_fetched(
    tmp_path: Path,
) -> None:
    trust = make_trust(tmp_path, "127.0.0.1")
    pages: dict[str, tuple[str, bytes | None]] = {
        "/a": ("/b", None),
        "/b": ("https://[::1]/c?signed=1", None),
        "/plain": ("http://plain.example/", None),
        "/here": ("text/plain", b"x"),
    }
    async with serving(WebSite(pages), trust) as site:
        where, trusted = f"https://127.0.0.1:{site.port}", IndexAccess(certificates=trust.bundle)
        assert await discover_redirects(f"{where}/a", trusted) == (Endpoint(host="::1", port=443),)
        assert await discover_redirects(f"{where}/here", trusted) == ()
        assert await discover_redirects(f"{where}/plain", trusted) == ()
        assert {line.split(" ")[0] for line in site.asked} == {"HEAD"}
        assert await discover_redirects(f"{where}/a", IndexAccess()) == (), (
            "nobody vouches for the site"
        )
    assert await discover_redirects("nonsense", IndexAccess()) == ()


async def test_a_flood_of_a_page_is_cut() -> None:
    endless = b'<a href="https://files.example/a.whl">a</a>' + b" " * (20 << 20)
    async with serving(WebSite({"/simple/pip/": (HTML, endless)})) as site:
        assert await found(site) == (["https://files.example:443"], True)


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[1]", b'{"files": 3}', b'{"files": [3, {"url": 3}]}', b"\xff\xfe"]
)
async def test_a_broken_page_teaches_nothing(body: bytes) -> None:
    async with serving(WebSite({"/simple/pip/": (JSON, body)})) as site:
        assert await found(site) == ([], False)


async def test_an_index_that_cannot_be_read_has_its_own_host_all_the_same(tmp_path: Path) -> None:
    trust: Trust = make_trust(tmp_path, "127.0.0.1")
    async with serving(WebSite(), trust) as site:  # an authority that nobody named
        endpoints, complete = await discover_hosts(
            f"https://127.0.0.1:{site.port}/", IndexAccess(), own=False
        )
    assert ([one.port for one in endpoints], complete) == ([site.port], False)
    endpoints, complete = await discover_hosts(
        f"http://127.0.0.1:{site.port}/", IndexAccess(), own=False
    )
    assert ([one.port for one in endpoints], complete) == ([site.port], False)
    assert await discover_hosts("file:///srv/index", IndexAccess(), own=True) == ((), False)


async def test_certificates_that_are_none_are_no_trust(tmp_path: Path) -> None:
    trust = make_trust(tmp_path, "127.0.0.1")
    async with serving(WebSite(), trust) as site:
        with pytest.raises(ssl.SSLError):
            ssl.create_default_context(cadata="nonsense")
        endpoints, complete = await discover_hosts(
            f"https://127.0.0.1:{site.port}/", IndexAccess(certificates=b"nonsense"), own=True
        )
    assert (len(endpoints), complete) == (1, False)


def test_an_installers_complaint_names_its_index() -> None:
    said = "error: Failed to fetch: `https://index.example/simple/pip/`\n  cause: error sending request for url (x)"
    assert find_index_in_output(said, "pip") == "https://index.example/simple"
    assert find_index_in_output(said.replace("`", ""), "pip") == "https://index.example/simple"
    assert find_index_in_output("see https://docs.example/pip and try again", "pip") is None
    assert find_index_in_output("", "pip") is None
