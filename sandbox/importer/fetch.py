"""Fetch one commit by its SHA into a bare repository, check it, and cache it."""

import asyncio
import hashlib
import ipaddress
import os
import re
import shutil
import tempfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.backends import owners
from sandbox.errors import ImportRejected
from sandbox.importer.git_runner import GitRunner
from sandbox.importer.repository import BUNDLE, REPOSITORY, ImportedRepository
from sandbox.spec import GIB, SandboxSpec
from sandbox.types import GitSource

_MOST_OPEN = 32
_UNFINISHED = "fetching-"
"""Name prefix of unfinished fetches. The next fetch removes those of dead processes."""


class Importer:
    """Cache of fetched commits in a folder; the least recently used ones are removed first.

    Args:
        folder: The cache folder; nothing else may write there.
        spec: Limits of size, number and time.
        keep_bytes: Size limit of the cache.
    """

    def __init__(self, folder: Path, spec: SandboxSpec, *, keep_bytes: int = 2 * GIB) -> None:
        self._folder = folder
        self._spec = spec
        self._keep_bytes = keep_bytes
        self._open: OrderedDict[str, ImportedRepository] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def fetch(self, source: GitSource) -> ImportedRepository:
        """Return the commit of a source with the commit to compare it with, fetched or cached.

        Raises:
            ImportRejected: The commit cannot be fetched, is malformed or exceeds a limit.
            SandboxUnavailable: git is missing on this host.
        """
        _check_source(source)
        # The authorization is not part of the name, because tokens change.
        name = hashlib.sha256(
            "\0".join(
                (source.repository_id, source.url, source.sha, source.base_sha or "")
            ).encode()
        ).hexdigest()[:40]
        async with self._locks.setdefault(name, asyncio.Lock()):
            if name not in self._open:
                self._open[name] = await asyncio.to_thread(self._find_or_fetch, name, source)
            self._open.move_to_end(name)
            found = self._open[name]
        while len(self._open) > _MOST_OPEN:
            self._open.popitem(last=False)
        return found

    def _find_or_fetch(self, name: str, source: GitSource) -> ImportedRepository:
        folder = self._folder / name
        if (folder / BUNDLE).exists():
            os.utime(folder)
            base = (folder / "base").read_text().strip() or None
            repository = ImportedRepository(folder, self._spec, source.sha, base)
            repository.check()
            return repository
        for above in (*reversed(self._folder.parents), self._folder):
            if not above.is_dir():  # `parents=True` would leave the parents open to other users
                above.mkdir(mode=0o700, exist_ok=True)
        owners.sweep(self._folder, f"{_UNFINISHED}*")
        fresh = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self._folder))
        try:
            owners.mark(fresh)
            repository = _fetch(fresh, source, self._spec)
            with suppress(OSError):  # another process was faster: its import is equivalent
                fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        repository.move(folder)
        self._trim()
        return repository

    def _trim(self) -> None:
        """Remove the least recently used imports, except open ones, until the rest fits."""
        found = sorted(
            (path for path in self._folder.iterdir() if path.is_dir()),
            key=lambda p: p.stat().st_mtime,
        )
        sizes = {
            p: sum(f.stat().st_size for f in p.rglob("*") if f.is_file())
            for p in found
            if not p.name.startswith(_UNFINISHED)
        }
        total = sum(sizes.values())
        for path, size in sizes.items():
            if total <= self._keep_bytes:
                return
            if path.name not in self._open:
                shutil.rmtree(path, ignore_errors=True)
                total -= size


def _fetch(folder: Path, source: GitSource, spec: SandboxSpec) -> ImportedRepository:
    """Fetch into an empty bare repository and check it.

    The bundle is written last: it marks completion.
    """
    bare = folder / REPOSITORY
    git = GitRunner(bare, spec)
    git.run("init", "-q", "--bare", "--template=", "--initial-branch=none", str(bare))
    base = _fetch_commits(git, source)
    repository = ImportedRepository(folder, spec, source.sha, base)
    repository.check()
    refs = {"refs/heads/red": source.sha, **({"refs/heads/base": base} if base else {})}
    for name, sha in refs.items():
        (bare / name).write_text(f"{sha}\n")
    (folder / "base").write_text(base or "")
    partial = folder / "partial"
    with partial.open("wb") as file:
        file.writelines(git.stream("bundle", "create", "-q", "-", *refs))
    partial.rename(folder / BUNDLE)
    return repository


def _fetch_commits(git: GitRunner, source: GitSource) -> str | None:
    """Fetch the commit and the commit to compare with; return the latter."""
    scheme = urlsplit(source.url).scheme
    # Two commits deep, to include the first parent for the comparison.
    flags = (
        "-q",
        "--no-tags",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--no-write-fetch-head",
        "--depth=2",
    )
    command = ("fetch", *flags, "--upload-pack=git-upload-pack", "--", source.url, source.sha)
    if source.base_sha is not None:
        # A rewritten base must not stop the mission: compare with the first parent instead.
        with suppress(ImportRejected):
            git.run(*command, source.base_sha, env=_authorization(source), scheme=scheme)
            return source.base_sha
    git.run(*command, env=_authorization(source), scheme=scheme)
    header = git.run("cat-file", "commit", source.sha).partition(b"\n\n")[0]
    parent = re.search(rb"^parent ([0-9a-f]{40})$", header, re.MULTILINE)
    return parent[1].decode() if parent else None


def _authorization(source: GitSource) -> dict[str, str]:
    """Return git settings with the token for the child's environment.

    The token is not in argv, URL or a file.
    """
    if source.authorization is None:
        return {}
    parts = urlsplit(source.url)
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: {source.authorization.get_secret_value()}",
    }


def _check_source(source: GitSource) -> None:
    """Reject an address that is not plain https (or http on loopback)."""
    try:
        parts = urlsplit(source.url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise ImportRejected(
            "The repository's address is malformed.", "Give an https address."
        ) from error
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ImportRejected(
            "The repository's address contains credentials.", "Pass the token separately."
        )
    if (
        not re.fullmatch(r"[A-Za-z0-9._~:/\[\]%-]+", source.url)
        or not host
        or parts.query
        or parts.fragment
    ):
        raise ImportRejected(
            "The repository's address has an unsupported form.", "Give a plain https address."
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise ImportRejected("The repository's address is not https.", "Give an https address.")
    if source.authorization is not None and re.search(
        r"[\0\r\n]", source.authorization.get_secret_value()
    ):
        raise ImportRejected("The authorization contains a line break.", "Pass one header value.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
