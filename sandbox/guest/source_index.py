"""Read a package index for source distributions: their versions, and how to fetch a file."""

import hashlib
import json
import os
import re
import sys
import urllib.parse
import urllib.request
from html.parser import HTMLParser
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

ACCEPT = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, "
    "text/html;q=0.1"
)
MAX_PAGE = 64 << 20
MAX_FILE = 480 << 20
ENDINGS = (".tar.gz", ".zip", ".tgz")
HASHES = ("sha512", "sha384", "sha256", "sha224", "sha1", "md5")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.!+_]{0,100}")
REQUEST_S = 30.0


class SourceDistribution(NamedTuple):
    """One source distribution of an index."""

    name: str
    version: str
    file: str
    url: str
    hashes: Dict[str, str]
    requires_python: str
    yanked: bool


class NotGiven(Exception):
    """The index does not provide the file or page."""


def normal_name(name: str) -> str:
    """Normalize a distribution's name as indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_version(file: str, name: str) -> Optional[str]:
    """Return the version in a source distribution's name; None for other files."""
    ending = next((ending for ending in ENDINGS if file.endswith(ending)), None)
    if ending is None or "/" in file:
        return None
    pieces = file[: -len(ending)].split("-")
    for cut in range(1, len(pieces)):
        if normal_name("-".join(pieces[:cut])) == name:
            version = re.sub(r"-(\d+)$", r".post\1", "-".join(pieces[cut:])).replace("-", ".")
            return version if _VERSION.fullmatch(version) else None
    return None


def may_fit(wheel: str) -> bool:
    """Return True if a wheel may fit this machine and Python, by its name; in doubt, True."""
    tags = wheel[: -len(".whl")].split("-")[-3:]
    if len(tags) != 3:  # noqa: PLR2004 (Python, ABI, platform)
        return False
    python, abi, platform = tags
    if platform != "any" and not ("linux" in platform and os.uname().machine in platform):
        return False
    own = "cp%d%d" % sys.version_info[:2]
    return "py3" in python.split(".") or own in python.split(".") or abi == "abi3"


class _Links(HTMLParser):
    """The files of an HTML page."""

    def __init__(self) -> None:
        HTMLParser.__init__(self)
        self.files: List[Dict[str, Any]] = []

    def handle_starttag(  # type: ignore[explicit-override]  # no `override` in 3.8
        self, tag: str, attrs: List[Tuple[str, Optional[str]]]
    ) -> None:
        """Add an anchor as a file."""
        found = dict(attrs)
        link = found.get("href")
        if tag != "a" or not link:
            return
        url, _, fragment = link.partition("#")
        kind, _, value = fragment.partition("=")
        entry = {"url": url, "filename": urllib.parse.unquote(url.split("?")[0].rpartition("/")[2])}
        entry["hashes"] = {kind: value} if kind in HASHES else {}  # type: ignore[assignment]
        entry["requires-python"] = found.get("data-requires-python") or ""
        entry["yanked"] = "data-yanked" in found  # type: ignore[assignment]
        self.files.append(entry)


class Index:
    """A package index.

    Args:
        url: Its address without a password, because no secret enters a sandbox.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def _open(self, url: str, accept: str) -> Any:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"https", "http"}:
            raise NotGiven("an address that is not http: %r" % url[:200])
        headers = {"Accept": accept, "User-Agent": "metaagent"}
        try:
            return urllib.request.urlopen(
                urllib.request.Request(url, headers=headers), timeout=REQUEST_S
            )
        except (OSError, ValueError) as error:
            raise NotGiven("%s: %s" % (parts.hostname, error)) from error

    def _page(self, name: str) -> List[Dict[str, Any]]:
        with self._open("%s/%s/" % (self._url, name), ACCEPT) as answer:
            base, kind = answer.geturl(), answer.headers.get("Content-Type", "")
            text = answer.read(MAX_PAGE).decode("utf-8", "replace")
        if "json" in kind:
            files = json.loads(text).get("files", [])
        else:
            reader = _Links()
            reader.feed(text)
            files = reader.files
        return [dict(file, url=urllib.parse.urljoin(base, file["url"])) for file in files]

    def sources(self, name: str) -> List[SourceDistribution]:
        """Return the source distributions of versions without a wheel for this machine.

        Raises:
            NotGiven: The index does not respond, or its page is malformed.
        """
        try:
            files = self._page(name)
            wheels = {
                file["filename"].split("-")[1]
                for file in files
                if _is_wheel(file) and may_fit(file["filename"])
            }
            found = {}
            for file in files:
                version = parse_version(file["filename"], name)
                if version is not None and version not in wheels and version not in found:
                    hashes = {
                        kind: str(file["hashes"][kind])
                        for kind in HASHES
                        if kind in (file.get("hashes") or {})
                    }
                    wanted = str(file.get("requires-python") or "").replace("\n", " ")
                    yanked = bool(file.get("yanked"))
                    found[version] = SourceDistribution(
                        name, version, file["filename"], file["url"], hashes, wanted, yanked
                    )
            return list(found.values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NotGiven("the page of %s is unreadable: %s" % (name, error)) from error

    def fetch(self, source: SourceDistribution, path: str) -> None:
        """Write a source distribution to a path, and verify its hashes.

        Raises:
            NotGiven: The file cannot be fetched, or differs from its hash.
        """
        digests = {kind: hashlib.new(kind) for kind in source.hashes}
        size = 0
        with self._open(source.url, "*/*") as answer, open(path, "wb") as file:
            while True:
                data = answer.read(1 << 16)
                if not data:
                    break
                size += len(data)
                if size > MAX_FILE:
                    raise NotGiven("%s is larger than %d bytes" % (source.file, MAX_FILE))
                file.write(data)
                for digest in digests.values():
                    digest.update(data)
        for kind, digest in digests.items():
            if digest.hexdigest() != source.hashes[kind].lower():
                raise NotGiven("%s does not match its hash (%s)" % (source.file, kind))


def _is_wheel(file: Dict[str, Any]) -> bool:
    name = str(file["filename"])
    # A wheel's name has at least five parts (PEP 427).
    return name.endswith(".whl") and name.count("-") >= 4  # noqa: PLR2004
