"""An index is asked for source distributions, and believed only when the bytes are what it says."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from sandbox.guest.source_index import Index, NotGiven, SourceDistribution, may_fit, parse_version

SOURCE = b"a source distribution"
DIGEST = hashlib.sha256(SOURCE).hexdigest()


class Pages(BaseHTTPRequestHandler):
    """An index of one project in two forms."""

    def do_GET(self) -> None:
        kind, body = "text/html", b""
        if self.path.startswith("/files/"):
            body = SOURCE
        elif self.path == "/html/odd-name/":
            body = (
                f'<a href="../../files/odd_name-1.0.tar.gz#sha256={DIGEST}" data-requires-python="&gt;=3.8">1</a>'
                '<a href="../../files/odd.name-2.0.zip" data-yanked="">2</a><a>nothing</a>'
                '<a href="../../files/odd_name-3.0-py3-none-any.whl">3</a><a href="../../files/odd_name-3.0.tar.gz">3</a>'
            ).encode()
        elif self.path == "/json/odd-name/":
            kind = "application/vnd.pypi.simple.v1+json"
            file = {
                "filename": "odd-name-1.0.tar.gz",
                "url": "/files/odd-name-1.0.tar.gz",
                "hashes": {"sha256": DIGEST},
            }
            windows = {"filename": "odd_name-1.0-cp39-cp39-win32.whl", "url": "/w", "hashes": {}}
            body = json.dumps({"files": [file, windows]}).encode()
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_page_in_html_is_read(url: str) -> None:
    one, two = Index(f"{url}/html/").sources("odd-name")
    assert (one.version, one.hashes, one.requires_python, one.yanked) == (
        "1.0",
        {"sha256": DIGEST},
        ">=3.8",
        False,
    )
    assert (two.version, two.file, two.yanked) == (
        "2.0",
        "odd.name-2.0.zip",
        True,
    )  # 3.0 has a wheel


def test_a_page_in_json_is_read_and_its_file_fetched(url: str, tmp_path: Path) -> None:
    index = Index(f"{url}/json")
    (source,) = index.sources("odd-name")
    index.fetch(source, str(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == SOURCE


def test_a_file_that_is_not_what_the_index_says_is_refused(url: str, tmp_path: Path) -> None:
    index = Index(f"{url}/json")
    (source,) = index.sources("odd-name")
    with pytest.raises(NotGiven, match="does not match its hash"):
        index.fetch(source._replace(hashes={"sha256": "0" * 64}), str(tmp_path / "file"))


@pytest.mark.parametrize("path", ["missing", "files"])
def test_an_index_that_has_no_such_page_is_said(url: str, path: str) -> None:
    if path == "files":
        assert Index(f"{url}/files").sources("x") == []
        return
    with pytest.raises(NotGiven, match="404"):
        Index(f"{url}/{path}").sources("x")


def test_only_the_web_is_read(tmp_path: Path) -> None:
    source = SourceDistribution("x", "1", "x-1.zip", "file:///etc/passwd", {}, "", yanked=False)
    with pytest.raises(NotGiven, match="not http"):
        Index("http://127.0.0.1:9/").fetch(source, str(tmp_path / "x"))


@pytest.mark.parametrize(
    ("file", "name", "version"),
    [
        ("docopt-0.6.2.tar.gz", "docopt", "0.6.2"),
        ("Flask-SQLAlchemy-2.1.tar.gz", "flask-sqlalchemy", "2.1"),
        ("zope.interface-5.0.zip", "zope-interface", "5.0"),
        ("x-1.0-1.tar.gz", "x", "1.0.post1"),
        ("x-1.0-beta.tgz", "x", "1.0.beta"),
        ("x-1.0-py3-none-any.whl", "x", None),
        ("y-1.0.tar.gz", "x", None),
        ("x-.tar.gz", "x", None),
        ("a/x-1.tar.gz", "x", None),
    ],
)
def test_versions_are_read_from_file_names(file: str, name: str, version: str | None) -> None:
    assert parse_version(file, name) == version


@pytest.mark.parametrize(
    ("wheel", "may"),
    [
        ("x-1-py3-none-any.whl", True),
        ("x-1-py2.py3-none-any.whl", True),
        ("x-1-py2-none-any.whl", False),
        ("x-1-cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("x-1-cp311-cp311-win_amd64.whl", False),
        ("x-1.whl", False),
    ],
)
def test_wheels_for_other_machines_do_not_count(wheel: str, may: bool) -> None:  # noqa: FBT001
    import os

    machine = os.uname().machine
    assert may_fit(wheel.replace("x86_64", machine)) == may
