"""Changes of a working folder since a commit of its history, read without running its code.

A bare repository of ours borrows the folder's objects and reads its refs as text. The folder's
configuration, hooks, filters and index are ignored.
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
from sandbox.languages import is_test_file
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


def changes_since(
    folder: Path, files: Files, since: str | None, spec: SandboxSpec
) -> SourceDiff | None:
    """Return the lines that may have turned the folder red; None outside a git checkout.

    Args:
        folder: The checkout or a part of it.
        files: Its files. Only files that git tracks count.
        since: A revision. None takes the first parent of `HEAD`, and also `HEAD` if sources differ
            from it. If only tests differ from `HEAD`, its parent is left out.
        spec: Limits.

    Raises:
        ImportRejected: A revision is given outside a checkout, the commit does not exist, or a
            limit is exceeded.
        SandboxUnavailable: git is missing on this host.
    """
    root = _find_checkout(folder)
    if root is None:
        if since is not None:
            raise _no_checkout(folder)
        return None
    with tempfile.TemporaryDirectory(prefix="history-") as scratch:
        history = _History(root / ".git", Path(scratch), spec)
        part = folder.relative_to(root).as_posix()
        return _compare(history, "" if part == "." else part, files, since)


def check_revision(folder: Path, revision: str, spec: SandboxSpec) -> None:
    """Check that a revision names a commit of the folder's repository.

    Args:
        folder: The checkout or a part of it.
        revision: A commit, branch or tag.
        spec: Limits.

    Raises:
        ImportRejected: The revision does not exist.
        SandboxUnavailable: git is missing on this host.
    """
    root = _find_checkout(folder)
    if root is None:
        raise _no_checkout(folder)
    with tempfile.TemporaryDirectory(prefix="history-") as scratch:
        _History(root / ".git", Path(scratch), spec).commit(revision)


def _find_checkout(folder: Path) -> Path | None:
    """Return the root of the checkout a folder is in."""
    return next((path for path in (folder, *folder.parents) if _exists(path / ".git")), None)


def _no_checkout(folder: Path) -> ImportRejected:
    return ImportRejected(f"{folder} is not in a git checkout.", "Leave --since out.")


class _NoCommitError(ImportRejected):
    """The commit does not exist. This is only an error if the user requested the commit."""


class _History:
    """Commits of a repository, read through a git directory of ours.

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
        own = _git_directory(marker)
        common = (own / (_text(own / "commondir") or ".").strip()).resolve()
        # Links could make us read objects of any repository of this host.
        if marker.is_symlink() or _borrows(common):
            raise ImportRejected(
                "The folder's .git contains links or borrows from another repository.",
                "Leave --since out.",
            )
        head = _text(own / "HEAD") or ""
        if not _HEAD.fullmatch(head) or "\n" in str(common):
            raise _NoCommitError("The folder's repository has no commit.", _NO_COMMIT)
        with (bare / "config").open("a") as config:
            config.write(_OURS)
        (bare / "objects" / "info").mkdir(exist_ok=True)
        # Alternates lend the folder's objects without a copy.
        (bare / "objects" / "info" / "alternates").write_text(f"{common / 'objects'}\n")
        (bare / "packed-refs").write_text(
            "".join(f"{sha} {name}\n" for name, sha in sorted(_names(common).items()))
        )
        (bare / "HEAD").write_text(head)
        if cut := re.findall(r"^[0-9a-f]{40}$", _text(common / "shallow") or "", re.MULTILINE):
            (bare / "shallow").write_text("".join(f"{sha}\n" for sha in cut))

    def commit(self, revision: str) -> str:
        """Return the commit that a revision names."""
        if _REVISION.fullmatch(revision):
            with suppress(ImportRejected):
                found = (
                    self.git.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
                    .decode()
                    .strip()
                )
                if _SHA.fullmatch(found):
                    return found
        raise _NoCommitError(
            f"There is no commit {revision[:100]!r} in the folder's repository.", _NO_COMMIT
        )

    def tree(self, commit: str, part: str) -> Tree:
        """Return the files of a commit below a folder; none if the folder did not exist."""
        try:
            self.git.run("rev-parse", "--verify", "--quiet", f"{commit}:{part}")
        except ImportRejected:
            return {}
        return walk(self.git, f"{commit}:{part}", self._spec)[0]

    def difference(self, commit: str, part: str, changed: Files) -> SourceDiff:
        """Return the difference of the changed files to a commit."""
        index = {"GIT_INDEX_FILE": str(self._scratch / "index")}
        base = self.git.run("rev-parse", "--verify", f"{commit}:{part}").decode().strip()
        for number, file in enumerate(changed.values()):
            (self._scratch / f"{number}").write_bytes(file.content)
        with tempfile.TemporaryFile() as listing:
            listing.write(
                "".join(
                    f"{self._scratch / str(number)}\n" for number in range(len(changed))
                ).encode()
            )
            listing.seek(0)
            oids = (
                self.git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=listing)
                .decode()
                .split()
            )
        self.git.run("read-tree", base, env=index)
        with tempfile.TemporaryFile() as listing:
            for (name, file), oid in zip(changed.items(), oids, strict=True):
                listing.write(
                    f"{file.mode} {oid}\t".encode()
                    + name.encode("utf-8", "surrogateescape")
                    + b"\0"
                )
            listing.seek(0)
            self.git.run("update-index", "-z", "--index-info", env=index, stdin=listing)
        return compare(self.git, base, self.git.run("write-tree", env=index).decode().strip())


def _compare(history: _History, part: str, files: Files, since: str | None) -> SourceDiff:
    """Compare with a revision; without one, with `HEAD` and its parent.

    Either may hold the cause, unless only tests differ from `HEAD`: then these turned it red.
    """
    head = history.commit("HEAD")
    now = history.tree(head, part)

    def against(base: str) -> tuple[dict[str, Original], SourceDiff]:
        changed = _changed_files(files, now, now if base == head else history.tree(base, part))
        return changed, history.difference(base, part, changed) if changed else SourceDiff()

    if since is not None:
        return against(history.commit(since))[1]
    uncommitted, found = against(head)
    sources_differ = any(protected_class(name) is None for name in uncommitted)
    tests_differ = any(is_test_file(name) for name in (*uncommitted, *(files.keys() - now.keys())))
    if tests_differ and not sources_differ:
        return found
    try:
        _, last = against(history.commit(f"{head}^"))
    except ImportRejected:
        if sources_differ:
            return found
        raise
    return _merge_diffs(found, last) if sources_differ else last


def _merge_diffs(first: SourceDiff, second: SourceDiff) -> SourceDiff:
    """Merge two differences, the hunks of the first one in front."""
    paths = first.files.keys() | second.files.keys()
    files = {
        p: tuple(sorted({*first.files.get(p, ()), *second.files.get(p, ())})) for p in sorted(paths)
    }
    return SourceDiff(files=files, hunks=tuple(dict.fromkeys((*first.hunks, *second.hunks))))


def _changed_files(files: Files, now: Tree, base: Tree) -> dict[str, Original]:
    """Return the tracked files that changed, ignoring line endings."""
    found = {}
    for name, file in files.items():
        was = base.get(name)
        if was is None and name not in now:
            continue
        plain = file.content.replace(b"\r\n", b"\n")
        if was is None or was.oid not in (_oid(file.content), _oid(plain)):
            found[name] = (
                file if was is None or b"\0" in plain else Original(content=plain, mode=was.mode)
            )
    return found


def _oid(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _git_directory(marker: Path) -> Path:
    """Return the git directory of a checkout.

    A git directory elsewhere must point back: a checkout may not name another project's repository.
    """
    if marker.is_dir():
        return marker
    pointer = _POINTER.fullmatch(_text(marker) or "")
    named = (marker.parent / pointer[1]).resolve() if pointer is not None else marker
    back = (_text(named / "gitdir") or "").strip()
    # The git directory of a submodule is below its parent's `.git/modules`.
    if any(named.is_relative_to(above / ".git" / "modules") for above in marker.parent.parents):
        return named
    if not back or (named / back).resolve() != marker.resolve():
        raise ImportRejected("The folder's .git cannot be read.", "Leave --since out.")
    return named


def _borrows(common: Path) -> bool:
    """Return True if the repository may read another repository's objects or refs."""
    folders = (common / "objects", common / "objects" / "pack", common / "objects" / "info")
    within = itertools.chain.from_iterable(folder.glob("*") for folder in folders)
    linked = any(path.is_symlink() for path in (common / "refs", *folders, *within))
    return linked or _exists(folders[-1] / "alternates")


def _names(common: Path) -> dict[str, str]:
    """Return branches and tags by their full names."""
    names = {
        name: sha
        for sha, name in _PACKED.findall(_text(common / "packed-refs") or "")[:_MOST_NAMES]
    }
    for path in itertools.islice(_below(common / "refs"), _MOST_NAMES):
        # A loose ref replaces a packed one of the same name, as in git.
        name, text = path.relative_to(common).as_posix(), _text(path, _NAME_BYTES) or ""
        if _SHA.fullmatch(text) and _PACKED.fullmatch(f"{text.strip()} {name}"):
            names[name] = text.strip()
    return names


def _below(folder: Path) -> Iterator[Path]:
    """Yield files below a folder without following links."""
    for parent, _, files in os.walk(folder):
        yield from (Path(parent) / name for name in files)


def _exists(path: Path) -> bool:
    with suppress(OSError):
        return path.exists()
    return False


def _text(path: Path, most: int = 16 * MIB) -> str | None:
    """Read a small regular file; return None if it is not one."""
    try:
        # Neither a link nor a pipe: a link could leave the checkout, and a pipe would block.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return None


def changes_of_folder(
    folder: Path, files: Files, since: str | None, spec: SandboxSpec
) -> tuple[SourceDiff, str]:
    """Return the changes of a folder, or a note if they are unavailable and not requested.

    Raises:
        SandboxError: A revision was requested and the difference to it is unavailable.
    """
    try:
        return changes_since(folder, files, since, spec) or SourceDiff(), ""
    except (SandboxError, OSError) as error:
        if since is not None:
            raise
        # A new repository has no changes to show, which is nothing to report.
        if isinstance(error, _NoCommitError):
            return SourceDiff(), ""
        reason = error.message if isinstance(error, SandboxError) else "it is unreadable"
        return SourceDiff(), f"what changed since the last commit ({reason.rstrip('.')})"
