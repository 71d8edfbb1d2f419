"""What a working folder changed since a commit of its own history, read without running anything of its repository.

Its objects are lent to a bare repository of ours; its names of commits are read as text. No configuration, hook, filter
or index of the folder is looked at.
"""

import itertools
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from pathlib import Path

from sandbox.changes.protected import protected_class
from sandbox.diffs import Original
from sandbox.errors import ImportRejected, SandboxError
from sandbox.importer.git_runner import GitRunner
from sandbox.importer.repository import TreeFile, compare, walk
from sandbox.spec import MIB, SandboxSpec
from sandbox.types import SourceDiff

_OURS = "[core]\n\tcommitGraph = false\n\tmultiPackIndex = false\n"
_POINTER = re.compile(r"gitdir: (/?[^\0\n]{1,4000})\n?")
_HEAD = re.compile(r"ref: refs/heads/[!-~]{1,250}\n?|[0-9a-f]{40}\n?")
_PACKED = re.compile(r"^([0-9a-f]{40}) (refs/(?:heads|tags|remotes)/[!-~]{1,250})$", re.MULTILINE)
_SHA = re.compile(r"[0-9a-f]{40}\n?")
_REVISION = re.compile(r"(?!-)[\w./@^~{}+-]{1,250}")
_MOST_NAMES = 5000
_NAME_BYTES = 256
_NO_COMMIT = "Name a commit, branch or tag of the folder's repository."

Files = Mapping[str, Original]
Tree = Mapping[str, TreeFile]


def changes_since(folder: Path, files: Files, since: str | None, spec: SandboxSpec) -> SourceDiff | None:
    """The lines that may have turned the folder red, and what stood there; None when it is no git checkout.

    Args:
        folder: May be a part of the checkout.
        files: What was taken of it. Of these, only files that git knows count.
        since: A revision; None takes the first parent of `HEAD`, and `HEAD` too when sources differ from it.
        spec: Limits.

    Raises:
        ImportRejected: it is none, and a revision was named; or there is no such commit, or it is over a limit.
        SandboxUnavailable: git is missing on this host.
    """
    root = _checkout_of(folder)
    if root is None:
        if since is not None:
            raise _no_checkout(folder)
        return None
    with tempfile.TemporaryDirectory(prefix="history-") as scratch:
        history = _History(root / ".git", Path(scratch), spec)
        part = folder.relative_to(root).as_posix()
        return _compared(history, "" if part == "." else part, files, since)


def check_revision(folder: Path, revision: str, spec: SandboxSpec) -> None:
    """See that a revision names a commit of the folder's repository.

    Args:
        folder: May be a part of the checkout.
        revision: A commit, branch or tag.
        spec: Limits.

    Raises:
        ImportRejected: it names none.
        SandboxUnavailable: git is missing on this host.
    """
    root = _checkout_of(folder)
    if root is None:
        raise _no_checkout(folder)
    with tempfile.TemporaryDirectory(prefix="history-") as scratch:
        _History(root / ".git", Path(scratch), spec).commit(revision)


def _checkout_of(folder: Path) -> Path | None:
    """Return the root of the checkout a folder is in."""
    return next((path for path in (folder, *folder.parents) if _exists(path / ".git")), None)


def _no_checkout(folder: Path) -> ImportRejected:
    return ImportRejected(f"{folder} is not in a git checkout.", "Leave --since out.")


class _NoCommitError(ImportRejected):
    """There is no such commit: no trouble where nobody asked for one."""


class _History:
    """Commits of a repository, under a git directory of ours.

    Args:
        marker: `.git` of a checkout: a folder, or a file that names one.
        scratch: An empty folder.
        spec: Limits.
    """

    def __init__(self, marker: Path, scratch: Path, spec: SandboxSpec) -> None:
        self._spec = spec
        self._scratch = scratch
        bare = scratch / "repository.git"
        self.git = GitRunner(bare, spec)
        self.git.run("init", "-q", "--bare", "--template=", "--initial-branch=none", str(bare))
        own = _named_by(marker)
        common = (own / (_text(own / "commondir") or ".").strip()).resolve()
        if marker.is_symlink() or _borrows(common):
            raise ImportRejected("The folder's .git has links in it, or borrows from another.", "Leave --since out.")
        head = _text(own / "HEAD") or ""
        if not _HEAD.fullmatch(head) or "\n" in str(common):
            raise _NoCommitError("The folder's repository has no commit.", _NO_COMMIT)
        with (bare / "config").open("a") as config:
            config.write(_OURS)
        (bare / "objects" / "info").mkdir(exist_ok=True)
        (bare / "objects" / "info" / "alternates").write_text(f"{common / 'objects'}\n")
        (bare / "packed-refs").write_text("".join(f"{sha} {name}\n" for name, sha in sorted(_names(common).items())))
        (bare / "HEAD").write_text(head)
        if cut := re.findall(r"^[0-9a-f]{40}$", _text(common / "shallow") or "", re.MULTILINE):
            (bare / "shallow").write_text("".join(f"{sha}\n" for sha in cut))

    def commit(self, revision: str) -> str:
        """The commit a revision names."""
        if _REVISION.fullmatch(revision):
            with suppress(ImportRejected):
                found = self.git.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
                if _SHA.fullmatch(found):
                    return found
        raise _NoCommitError(f"There is no commit {revision[:100]!r} in the folder's repository.", _NO_COMMIT)

    def tree(self, commit: str, part: str) -> Tree:
        """The files of a commit below a folder; none when it was not there."""
        try:
            self.git.run("rev-parse", "--verify", "--quiet", f"{commit}:{part}")
        except ImportRejected:
            return {}
        return walk(self.git, f"{commit}:{part}", self._spec)[0]

    def difference(self, commit: str, part: str, changed: Files) -> SourceDiff:
        """The changed files against a commit."""
        index = {"GIT_INDEX_FILE": str(self._scratch / "index")}
        base = self.git.run("rev-parse", "--verify", f"{commit}:{part}").decode().strip()
        for number, file in enumerate(changed.values()):
            (self._scratch / f"{number}").write_bytes(file.content)
        with tempfile.TemporaryFile() as listing:
            listing.write("".join(f"{self._scratch / str(number)}\n" for number in range(len(changed))).encode())
            listing.seek(0)
            oids = self.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listing).decode().split()
        self.git.run("read-tree", base, env=index)
        with tempfile.TemporaryFile() as listing:
            for (name, file), oid in zip(changed.items(), oids, strict=True):
                listing.write(f"{file.mode} {oid}\t".encode() + name.encode("utf-8", "surrogateescape") + b"\0")
            listing.seek(0)
            self.git.run("update-index", "-z", "--index-info", env=index, stdin=listing)
        return compare(self.git, base, self.git.run("write-tree", env=index).decode().strip())


def _compared(history: _History, part: str, files: Files, since: str | None) -> SourceDiff:
    """Compare with a revision; without one with `HEAD` and with its parent, for either may hold the cause."""
    head = history.commit("HEAD")
    now = history.tree(head, part)

    def against(base: str) -> tuple[dict[str, Original], SourceDiff]:
        changed = _changed(files, now, now if base == head else history.tree(base, part))
        return changed, history.difference(base, part, changed) if changed else SourceDiff()

    if since is not None:
        return against(history.commit(since))[1]
    uncommitted, found = against(head)
    sources_differ = any(protected_class(name) is None for name in uncommitted)
    try:
        _, last = against(history.commit(f"{head}^"))
    except ImportRejected:
        if sources_differ:
            return found
        raise
    return _joined(found, last) if sources_differ else last


def _joined(first: SourceDiff, second: SourceDiff) -> SourceDiff:
    """Return both differences as one, the hunks of the first in front."""
    paths = first.files.keys() | second.files.keys()
    files = {p: tuple(sorted({*first.files.get(p, ()), *second.files.get(p, ())})) for p in sorted(paths)}
    return SourceDiff(files=files, hunks=tuple(dict.fromkeys((*first.hunks, *second.hunks))))


def _changed(files: Files, now: Tree, base: Tree) -> dict[str, Original]:
    """The files that git knows and that are not as they were; ends of lines do not count."""
    found = {}
    for name, file in files.items():
        was = base.get(name)
        if was is None and name not in now:
            continue
        plain = file.content.replace(b"\r\n", b"\n")
        if was is None or was.oid not in (_oid(file.content), _oid(plain)):
            found[name] = file if was is None or b"\0" in plain else Original(content=plain, mode=was.mode)
    return found


def _oid(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _named_by(marker: Path) -> Path:
    """The git directory of a checkout; one elsewhere has to know it: nobody points to another's repository."""
    if marker.is_dir():
        return marker
    pointer = _POINTER.fullmatch(_text(marker) or "")
    named = (marker.parent / pointer[1]).resolve() if pointer is not None else marker
    back = (_text(named / "gitdir") or "").strip()
    if any(named.is_relative_to(above / ".git" / "modules") for above in marker.parent.parents):
        return named
    if not back or (named / back).resolve() != marker.resolve():
        raise ImportRejected("The folder's .git cannot be read.", "Leave --since out.")
    return named


def _borrows(common: Path) -> bool:
    """Whether what is read there may be another repository's."""
    folders = (common / "objects", common / "objects" / "pack", common / "objects" / "info")
    within = itertools.chain.from_iterable(folder.glob("*") for folder in folders)
    linked = any(path.is_symlink() for path in (common / "refs", *folders, *within))
    return linked or _exists(folders[-1] / "alternates")


def _names(common: Path) -> dict[str, str]:
    """Branches and tags, by their full names."""
    names = {name: sha for sha, name in _PACKED.findall(_text(common / "packed-refs") or "")[:_MOST_NAMES]}
    for path in itertools.islice(_below(common / "refs"), _MOST_NAMES):
        name, text = path.relative_to(common).as_posix(), _text(path, _NAME_BYTES) or ""
        if _SHA.fullmatch(text) and _PACKED.fullmatch(f"{text.strip()} {name}"):
            names[name] = text.strip()
    return names


def _below(folder: Path) -> Iterator[Path]:
    """Files below a folder; no link is followed."""
    for parent, _, files in os.walk(folder):
        yield from (Path(parent) / name for name in files)


def _exists(path: Path) -> bool:
    with suppress(OSError):
        return path.exists()
    return False


def _text(path: Path, most: int = 16 * MIB) -> str | None:
    """A small regular file; None when it is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return None


def changes_of_folder(folder: Path, files: Files, since: str | None, spec: SandboxSpec) -> tuple[SourceDiff, str]:
    """The same, and a note when nobody asked for it and it cannot be had.

    Raises:
        SandboxError: a revision was named, and there is no difference with it to be had.
    """
    try:
        return changes_since(folder, files, since, spec) or SourceDiff(), ""
    except (SandboxError, OSError) as error:
        if since is not None:
            raise
        if isinstance(error, _NoCommitError):
            return SourceDiff(), ""
        reason = error.message if isinstance(error, SandboxError) else "it cannot be read"
        return SourceDiff(), f"what changed since the last commit ({reason.rstrip('.')})"
