"""Take in one commit by its SHA: bare fetch, checks, caps, bundle; the only code that runs git, and never on a tree."""

import asyncio
import hashlib
import ipaddress
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from sandbox.diffs import parse_changed_lines
from sandbox.errors import ImportRejected, SandboxUnavailable
from sandbox.spec import GIB, MIB, SandboxSpec
from sandbox.types import Frozen, GitSource, SourceDiff

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.pager=cat",
    "core.sshCommand=/bin/false",
    "core.askPass=/bin/false",
    "core.gitProxy=",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.alternateRefsCommand=",
    "core.bigFileThreshold=1m",
    "core.quotePath=false",
    "protocol.allow=never",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "transfer.bundleURI=false",
    # One pack per fetch, so that the limit on a file's size is a limit on the fetch.
    "fetch.unpackLimit=1",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "safe.bareRepository=explicit",
    "credential.helper=",
    "http.followRedirects=false",
    "uploadpack.packObjectsHook=",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "gpg.program=/bin/false",
    "pack.windowMemory=64m",
    "pack.threads=1",
    # Mistakes of old tools in honest repositories; never hasDot*, hasDotgit, gitmodules*.
    *(
        f"fetch.fsck.{name}=warn"
        for name in ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "missingSpaceBeforeEmail")
    ),
)
# GitPython hands its child the whole environment of this process; this drops all but the named variables and sets the
# limits in the child itself (a preexec_fn may deadlock in a process with threads).
_LAUNCHER = """import os, resource, sys
limits = {resource.RLIMIT_FSIZE: int(sys.argv[1]), resource.RLIMIT_AS: 2 << 30, resource.RLIMIT_CORE: 0}
for which, most in limits.items():
    resource.setrlimit(which, (most, most))
kept = {name: os.environ[name] for name in sys.argv[2].split(",") if name in os.environ}
os.execvpe(sys.argv[3], sys.argv[3:], kept)
"""
_REASONS = (
    (r"authentication failed|could not read (username|password)|error: 40[13]", "the server refuses access to it"),
    (r"not our ref|couldn't find remote ref|no such remote ref|unadvertised object", "the commit is not there"),
    (r"repository .* not found|error: 404|not found", "there is no such repository, or no access to it"),
    (
        r"could not resolve|failed to connect|connection (refused|reset|timed out)|timed out",
        "the server does not answer",
    ),
    (r"unable to update url base|redirect", "the server redirects to another address"),
    (r"file size limit|signal 25|file too large|write error|no space left", "it is larger than the limit"),
    (r"ssl|certificate", "the server's certificate cannot be verified"),
)
_DIFF_BYTES = 32 * MIB
_FETCH_BYTES = 256 * MIB
_MOST_OPEN = 32
_BUNDLE = "repository.bundle"
_REPOSITORY = "repository.git"

Revision = Literal["head", "base"]


class TreeFile(Frozen):
    """One regular file of a commit."""

    oid: str
    mode: Literal["100644", "100755"]
    size: int


class _Git:
    """GitPython as a typed runner: argv is built here, no setting of host or repository counts."""

    def __init__(self, repository: Path, spec: SandboxSpec) -> None:
        self._repository = repository
        self._spec = spec

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, most: int = MIB, scheme: str = "") -> bytes:
        """Run one git command and return what it printed, at most `most` bytes."""
        kept = bytearray()
        for chunk in self.stream(*arguments, env=env, scheme=scheme):
            kept += chunk
            if len(kept) > most:
                raise ImportRejected(f"git {arguments[0]} printed more than {most} bytes.")
        return bytes(kept)

    def stream(
        self, *arguments: str, env: Mapping[str, str] | None = None, stdin: Any = None, scheme: str = ""
    ) -> Generator[bytes]:
        """Run one git command and yield what it prints; closing the iterator kills the command."""
        process = self._start(arguments, {**_ENVIRONMENT, **(env or {}), "GIT_ALLOW_PROTOCOL": scheme}, stdin, scheme)
        errors: list[bytes] = []
        late = threading.Event()

        def stop() -> None:
            if process.returncode is None:
                late.set()
                _kill_group(process.pid)

        watch = threading.Timer(self._spec.fetch_wall_s, stop)
        listener = threading.Thread(target=_drain, args=(process.stderr, errors), daemon=True)
        watch.start()
        listener.start()
        try:
            while chunk := process.stdout.read1(1 << 16):
                yield chunk
            status = process.wait()
        finally:
            watch.cancel()
            if process.returncode is None:
                _kill_group(process.pid)
                process.wait()
            listener.join()
            process.stdout.close()
            process.stderr.close()
        if late.is_set():
            raise ImportRejected(f"git {arguments[0]} took longer than {self._spec.fetch_wall_s:g} s.")
        if status != 0:
            raise ImportRejected(_reason(arguments[0], status, b"".join(errors)))

    def _start(self, arguments: tuple[str, ...], env: dict[str, str], stdin: Any, scheme: str) -> Any:
        try:
            from git import Git
            from git.exc import GitCommandNotFound
        except ImportError as error:
            raise SandboxUnavailable("git is not installed on this host.", "Install git 2.39 or newer.") from error
        settings = [*_SETTINGS, *([f"protocol.{scheme}.allow=always"] if scheme else [])]
        if self._spec.ca_bundle and scheme == "https":
            settings.append(f"http.sslCAInfo={self._spec.ca_bundle}")
        argv = [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(_FETCH_BYTES), ",".join(env), "git"]
        argv += ["--no-pager", "--literal-pathspecs", "--no-optional-locks", f"--git-dir={self._repository}"]
        argv += [part for setting in settings for part in ("-c", setting)]
        try:
            wrapper = Git("/").execute(
                [*argv, *arguments], env=env, istream=stdin, as_process=True, shell=False, start_new_session=True
            )
        except (GitCommandNotFound, OSError) as error:
            raise SandboxUnavailable("git could not be started on this host.", "Install git 2.39 or newer.") from error
        process = wrapper.proc
        wrapper.proc = None  # we end the whole group ourselves
        return process


class ImportedRepository:
    """One red commit and the commit it is compared with, as a bare repository nobody else writes to."""

    def __init__(self, folder: Path, spec: SandboxSpec, head_sha: str, base_sha: str | None) -> None:
        self._spec = spec
        self.head_sha = head_sha
        self.base_sha = base_sha
        self.notes: tuple[str, ...] = ()
        """What was seen and left as it is: submodules, links, odd names."""
        self.files: Mapping[str, TreeFile] = {}
        """Regular files of the head."""
        self._base_files: Mapping[str, TreeFile] = {}
        self.red_diff = SourceDiff()
        self.move(folder)

    def move(self, folder: Path) -> None:
        """The folder was renamed."""
        self._folder = folder
        self._git = _Git(folder / _REPOSITORY, self._spec)

    def check(self) -> None:
        """Walk both trees under the limits, and see what the head changed (blocking)."""
        self.files, self.notes = _walk(self._git, self.head_sha, self._spec)
        if self.base_sha is not None:
            self._base_files, _ = _walk(self._git, self.base_sha, self._spec)
            self.red_diff = _compare(self._git, self.base_sha, self.head_sha)

    def tree(self, revision: Revision) -> Mapping[str, TreeFile]:
        """Regular files of one of the two commits."""
        return self.files if revision == "head" else self._base_files

    def sha(self, revision: Revision) -> str:
        """The commit of a revision.

        Raises:
            ImportRejected: the base is asked for and there is none.
        """
        if revision == "head":
            return self.head_sha
        if self.base_sha is None:
            raise ImportRejected("The commit has no base to compare with.", "Compare with a commit that is reachable.")
        return self.base_sha

    def read(self, oids: Iterable[str]) -> dict[str, bytes]:
        """The contents of blobs by their ids, taken from `tree`; never a name that the repository chose (blocking)."""
        wanted = sorted(set(oids))
        if not wanted:
            return {}
        with tempfile.TemporaryFile() as listing:
            listing.write("".join(f"{oid}\n" for oid in wanted).encode())
            listing.seek(0)
            raw = b"".join(self._git.stream("cat-file", "--batch", stdin=listing))
        contents = {}
        position = 0
        while position < len(raw):
            end = raw.index(b"\n", position)
            oid, _, size = raw[position:end].decode().split(" ")
            contents[oid] = raw[end + 1 : end + 1 + int(size)]
            position = end + 2 + int(size)
        return contents

    def bundle(self) -> bytes:
        """Both commits as one bundle, to be unpacked inside the sandbox (blocking)."""
        return (self._folder / _BUNDLE).read_bytes()

    def shallow(self) -> bytes:
        """Where the history was cut: the sandbox needs it before it can unpack the bundle."""
        path = self._folder / _REPOSITORY / "shallow"
        return path.read_bytes() if path.exists() else b""


class Importer:
    """Fetches commits once and keeps them in a folder, the least recently used go first.

    Args:
        folder: Where to keep them; nothing else may write there.
        spec: Limits of size, number and time.
        keep_bytes: How much to keep.
    """

    def __init__(self, folder: Path, spec: SandboxSpec, *, keep_bytes: int = 2 * GIB) -> None:
        self._folder = folder
        self._spec = spec
        self._keep_bytes = keep_bytes
        self._open: OrderedDict[str, ImportedRepository] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}

    async def fetch(self, source: GitSource) -> ImportedRepository:
        """The commit of a source with the commit it is compared with, fetched or found.

        Raises:
            ImportRejected: it cannot be fetched, is malformed or over a limit.
            SandboxUnavailable: git is missing on this host.
        """
        _check_source(source)
        name = hashlib.sha256(
            "\0".join((source.repository_id, source.url, source.sha, source.base_sha or "")).encode()
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
        if (folder / _BUNDLE).exists():
            os.utime(folder)
            base = (folder / "base").read_text().strip() or None
            repository = ImportedRepository(folder, self._spec, source.sha, base)
            repository.check()
            return repository
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix="fetching-", dir=self._folder))
        try:
            repository = _fetch(fresh, source, self._spec)
            with suppress(OSError):  # another process was faster: theirs is as good
                fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        repository.move(folder)
        self._trim()
        return repository

    def _trim(self) -> None:
        """Drop what was used longest ago until the rest fits; never what this process has open."""
        found = sorted((path for path in self._folder.iterdir() if path.is_dir()), key=lambda p: p.stat().st_mtime)
        sizes = {
            p: sum(f.stat().st_size for f in p.rglob("*") if f.is_file()) for p in found if "fetching-" not in p.name
        }
        total = sum(sizes.values())
        for path, size in sizes.items():
            if total <= self._keep_bytes:
                return
            if path.name not in self._open:
                shutil.rmtree(path, ignore_errors=True)
                total -= size


def _fetch(folder: Path, source: GitSource, spec: SandboxSpec) -> ImportedRepository:
    """Fetch into an empty bare repository, check, and write the bundle last: it marks the import as whole."""
    bare = folder / _REPOSITORY
    git = _Git(bare, spec)
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
    partial.rename(folder / _BUNDLE)
    return repository


def _fetch_commits(git: _Git, source: GitSource) -> str | None:
    """Fetch the commit and the one to compare with; returns the latter."""
    scheme = urlsplit(source.url).scheme
    # Two commits deep, so that the first parent is there to compare with.
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
        # A base that was rewritten away must not stop the mission: then the first parent stands in.
        with suppress(ImportRejected):
            git.run(*command, source.base_sha, env=_authorization(source), scheme=scheme)
            return source.base_sha
    git.run(*command, env=_authorization(source), scheme=scheme)
    header = git.run("cat-file", "commit", source.sha).partition(b"\n\n")[0]
    parent = re.search(rb"^parent ([0-9a-f]{40})$", header, re.MULTILINE)
    return parent[1].decode() if parent else None


def _authorization(source: GitSource) -> dict[str, str]:
    """The token as a setting in the child's environment: not in argv, not in the URL, not in a file."""
    if source.authorization is None:
        return {}
    parts = urlsplit(source.url)
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: {source.authorization.get_secret_value()}",
    }


def _check_source(source: GitSource) -> None:
    """Refuse an address that is not plain https (or http to this very host)."""
    try:
        parts = urlsplit(source.url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise ImportRejected("The repository's address cannot be read.", "Give an https address.") from error
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ImportRejected("The repository's address holds credentials.", "Pass the token beside the address.")
    if not re.fullmatch(r"[A-Za-z0-9._~:/\[\]%-]+", source.url) or not host or parts.query or parts.fragment:
        raise ImportRejected("The repository's address has an odd form.", "Give a plain https address.")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        raise ImportRejected("The repository's address is not https.", "Give an https address.")
    if source.authorization is not None and re.search(r"[\0\r\n]", source.authorization.get_secret_value()):
        raise ImportRejected("The authorization holds a line break.", "Pass one header value.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _reason(command: str, status: int, errors: bytes) -> str:
    """A sentence of our own for what git said; its words come from the server and are not repeated."""
    said = errors.decode("utf-8", "replace").lower()
    if check := re.search(r"(?:error|fsck)[^\n]*?: ([a-z]{4,40}):", said):
        return f"The repository holds a malformed object ({check[1]}) and is not taken in."
    for pattern, reason in _REASONS:
        if re.search(pattern, said):
            return f"The commit could not be fetched: {reason}."
    return f"git {command} failed with status {status}."


def _walk(git: _Git, sha: str, spec: SandboxSpec) -> tuple[dict[str, TreeFile], tuple[str, ...]]:
    """List a commit's files while git prints them, and stop at the first limit."""
    files: dict[str, TreeFile] = {}
    notes: set[str] = set()
    count = total = 0
    listing = git.stream("ls-tree", "-r", "-t", "-z", "-l", "--full-tree", sha)
    try:
        for entry in _records(listing):
            meta, _, name = entry.partition(b"\t")
            mode, kind, oid, size = meta.decode().split()
            count += 1
            total += int(size) if kind == "blob" else 0
            if count > 2 * spec.max_files or len(files) > spec.max_files:
                raise ImportRejected(f"The repository has more than {spec.max_files} files.", "Raise max_files.")
            if kind == "blob" and int(size) > spec.max_blob_bytes:
                raise ImportRejected(f"A file is larger than {spec.max_blob_bytes} bytes.", "Raise max_blob_bytes.")
            if total > spec.max_tree_bytes:
                raise ImportRejected(f"The files are larger than {spec.max_tree_bytes} bytes.", "Raise max_tree_bytes.")
            _note(mode, name, notes)
            if mode in {"100644", "100755"}:
                path = name.decode("utf-8", "surrogateescape")
                files[path] = TreeFile.model_validate({"oid": oid, "mode": mode, "size": int(size)})
    finally:
        listing.close()
    if len({name.casefold() for name in files}) < len(files):
        notes.add("names that differ in case only")
    return files, tuple(sorted(notes))


def _note(mode: str, name: bytes, notes: set[str]) -> None:
    if mode == "160000":
        notes.add("submodules (not fetched)")
    elif mode == "120000":
        notes.add("symbolic links")
    if not re.fullmatch(rb"[\w .,+@=/()\[\]{}#%!-]+", name):
        notes.add("unusual file names")


def _records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split a stream at NUL bytes."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole


def _compare(git: _Git, base: str, head: str) -> SourceDiff:
    """Which lines of the head are new or changed against the base; nothing when the difference is huge."""
    flags = ("-r", "-p", "-U0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
    with suppress(ImportRejected):
        raw = git.run("diff-tree", *flags, "--src-prefix=a/", "--dst-prefix=b/", base, head, "--", most=_DIFF_BYTES)
        return SourceDiff(files=parse_changed_lines(raw))
    return SourceDiff()


def _drain(pipe: Any, kept: list[bytes]) -> None:
    """Read a pipe to its end and keep the first 64 KiB."""
    size = 0
    while chunk := pipe.read1(1 << 14):
        if size < 1 << 16:
            kept.append(chunk)
        size += len(chunk)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
