"""Sources of a work tree: a fetched commit or a folder of this host, placed in a sandbox."""

import asyncio
import hashlib
import io
import tarfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from sandbox.backends.base import Guest
from sandbox.diffs import Original
from sandbox.errors import SandboxError
from sandbox.folder import count_files, read_folder
from sandbox.importer import ImportedRepository, Revision, changes_of_folder, check_revision
from sandbox.setup.node.layout import LOCK_FILES
from sandbox.setup.shell import pack
from sandbox.spec import SYSTEM_PATH, RunLimits, SandboxSpec
from sandbox.types import SourceDiff, beside

_GIT_ENV = {
    # A package of the environment may install a program called git. Only use the system's.
    "PATH": SYSTEM_PATH,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "MetaAgent",
    "GIT_AUTHOR_EMAIL": "metaagent@localhost",
    "GIT_COMMITTER_NAME": "MetaAgent",
    "GIT_COMMITTER_EMAIL": "metaagent@localhost",
}
_EMPTY = """set -eu
cd /
chmod -R u+rwX "$1" 2> /dev/null || true
find "$1" -mindepth 1 -delete
"""
# No template means no hooks. The attributes disable every conversion, so that the work tree has the
# exact bytes of the commit. The history is cut where the import cut it, and git needs `shallow` to
# unpack the bundle.
_PLACE_COMMIT = """
cd "$1"
git init -q --template= -b main .
mkdir -p .git/info
echo '* -text -eol -ident -filter -working-tree-encoding -merge -diff' > .git/info/attributes
if [ -s "$3/shallow" ]; then cp "$3/shallow" .git/shallow; fi
git bundle unbundle "$3/repository.bundle" > /dev/null
git update-ref refs/heads/main "$2"
git reset -q --hard
rm -rf "$3"
"""
# Tools look up whose repository this is; nothing can be fetched from it.
_ADD_ORIGIN = """
cd "$1"
git remote add origin "https://github.com/$2"
"""
_PLACE_FOLDER = """
cd "$1"
git init -q --template= -b main .
git -c core.compression="$2" add -A -f .
git -c commit.gpgSign=false commit -q --no-verify --allow-empty -m 'The folder as it was taken in'
"""
_RESTORE = """set -eu
cd "$1"
rm -f .git/index.lock
git -c core.fsmonitor=false -c core.hooksPath=/dev/null reset -q --hard "$2"
git -c core.fsmonitor=false clean -ffdxq
"""
_WHEN = 946_684_800
"""Modification time of a folder's files inside the sandbox: a fixed moment that zip files can
represent.
"""
_RELEVANT_BYTES = 1 << 20
_LOCK_BYTES = 8 << 20
"""Maximum size of a lock file of Node.js packages, which has 2 MiB in many a workspace."""
_LOCKS_BYTES = 32 << 20
"""Maximum size of all lock files that are larger than other files may be."""
_LOCKS = frozenset(name for names in LOCK_FILES.values() for name in names)
_SMALL_BYTES = 64 << 20


def _readable(sizes: Mapping[str, int]) -> list[str]:
    """Return the files that are small enough to be read; lock files near the top come first.

    Args:
        sizes: Sizes of files in bytes, by path.
    """
    found: list[str] = []
    left = _LOCKS_BYTES
    for name in sorted(sizes, key=lambda name: (name.count("/"), name)):
        size = sizes[name]
        if size > _RELEVANT_BYTES and name.rpartition("/")[2] in _LOCKS:
            if size > min(_LOCK_BYTES, left):
                continue
            left -= size
        elif size > _RELEVANT_BYTES:
            continue
        found.append(name)
    return found


class CheckoutSource(Protocol):
    """The source of a workspace's files."""

    origin: str | None
    """The repository that the remote `origin` names, `owner/name`; None adds no remote."""

    @property
    def head_sha(self) -> str | None:
        """Return the red commit."""
        ...

    @property
    def base_sha(self) -> str | None:
        """Return the commit that the head is compared with."""
        ...

    @property
    def red_diff(self) -> SourceDiff:
        """Return what the head changed against the base."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on what was found and left unchanged."""
        ...

    def names(self) -> Collection[str]:
        """Return the regular files of the head.

        The recipe is planned from them, also for the base.
        """
        ...

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Read files of the head; too large ones are left out."""
        ...

    async def originals(self, names: Iterable[str]) -> dict[str, Original]:
        """Return files as they were placed, to compare them with the edited ones."""
        ...

    async def archive(self) -> bytes:
        """Return the placed files as a tar archive of regular files."""
        ...

    async def digest(self) -> str:
        """Return a digest of everything that `place` puts into a guest, history included."""
        ...

    async def place(self, guest: Guest) -> None:
        """Put the work tree into a guest's work folder, in place of whatever is there."""
        ...

    async def restore(self, guest: Guest) -> None:
        """Restore the work tree with git inside the guest. The caller must verify the result."""
        ...


class CommitSource:
    """A commit of an imported repository.

    Args:
        repository: The import.
        revision: Which of its two commits is in the work tree.
    """

    origin: str | None = None

    def __init__(self, repository: ImportedRepository, revision: Revision) -> None:
        self._repository = repository
        self._revision: Revision = revision
        self._sha = repository.sha(revision)

    @property
    def head_sha(self) -> str | None:
        """Return the red commit."""
        return self._repository.head_sha

    @property
    def base_sha(self) -> str | None:
        """Return the commit that the head is compared with."""
        return self._repository.base_sha

    @property
    def red_diff(self) -> SourceDiff:
        """Return what the head changed against the base."""
        return self._repository.red_diff

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes on what was found and left unchanged."""
        return self._repository.notes

    def names(self) -> Collection[str]:
        """Return the regular files of the head."""
        return self._repository.files.keys()

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Read files of the head."""
        files = self._repository.files
        sizes = {name: files[name].size for name in names if name in files}
        oids = {name: files[name].oid for name in _readable(sizes)}
        blobs = await asyncio.to_thread(self._repository.read, oids.values())
        return {name: blobs[oid] for name, oid in oids.items()}

    async def originals(self, names: Iterable[str]) -> dict[str, Original]:
        """Return files of the commit in the work tree."""
        tree = self._repository.tree(self._revision)
        known = {name: tree[name] for name in names if name in tree}
        blobs = await asyncio.to_thread(
            self._repository.read, [file.oid for file in known.values()]
        )
        return {
            name: Original(content=blobs[file.oid], mode=file.mode) for name, file in known.items()
        }

    async def archive(self) -> bytes:
        """Return the commit as a tar archive without links and submodules."""
        files = await self.originals(self._repository.tree(self._revision))
        return await asyncio.to_thread(_archive, files)

    async def digest(self) -> str:
        """Return a digest of the commit in the work tree and of the history that comes with it.

        A tree's id is not enough: commands can also read messages, authors and the commit to
        compare with. Both commits and the cuts of the history determine the content of the bundle.
        """
        repository = self._repository
        cuts = sorted(repository.shallow().decode().split())
        commits = (self._sha, repository.head_sha, repository.base_sha or "")
        placed = (self.origin or "", *commits, *cuts)
        return hashlib.sha256("\n".join(placed).encode()).hexdigest()

    async def place(self, guest: Guest) -> None:
        """Unpack the bundle in the guest and check the commit out."""
        bundle = await asyncio.to_thread(self._repository.bundle)
        folder = beside(guest.workdir, "import")
        archive = pack({"repository.bundle": bundle, "shallow": self._repository.shallow()})
        await guest.unpack(archive, folder)
        await _script(guest, _EMPTY + _PLACE_COMMIT, guest.workdir, self._sha, folder)
        await _add_origin(guest, self.origin)

    async def restore(self, guest: Guest) -> None:
        """Reset to the commit and remove everything else."""
        await _script(guest, _RESTORE, guest.workdir, self._sha)


class FolderContents:
    """A folder of this host, read without running anything in it.

    Args:
        archive: Its files as a tar archive.
        files: The same files by name.
        notes: What was left out.
        red_diff: What changed in it.
    """

    head_sha: str | None = None
    base_sha: str | None = None
    origin: str | None = None

    def __init__(
        self,
        archive: bytes,
        files: Mapping[str, Original],
        notes: tuple[str, ...],
        red_diff: SourceDiff,
    ) -> None:
        self._archive = archive
        self._files = files
        self.notes = notes
        self.red_diff = red_diff

    @classmethod
    def of(
        cls,
        files: Mapping[str, Original],
        notes: tuple[str, ...] = (),
        red_diff: SourceDiff | None = None,
    ) -> "FolderContents":
        """Create a folder from files."""
        return cls(_archive(files), files, notes, red_diff or SourceDiff())

    def names(self) -> Collection[str]:
        """Return the names of all files that were read."""
        return self._files.keys()

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Read files of the folder."""
        found = await self.originals(names)
        sizes = {name: len(file.content) for name, file in found.items()}
        return {name: found[name].content for name in _readable(sizes)}

    async def originals(self, names: Iterable[str]) -> dict[str, Original]:
        """Return files as they were read."""
        return {name: self._files[name] for name in names if name in self._files}

    async def archive(self) -> bytes:
        """Return the folder as it was read."""
        return self._archive

    async def digest(self) -> str:
        """Return a digest of the files that were read, local changes included."""
        digest = await asyncio.to_thread(hashlib.sha256, self._archive)
        digest.update((self.origin or "").encode())
        return digest.hexdigest()

    async def place(self, guest: Guest) -> None:
        """Unpack the files in the guest and commit them, for tools that call git."""
        await _script(guest, _EMPTY, guest.workdir)
        await guest.unpack(self._archive, guest.workdir)
        # Compression takes longer than everything else. A small folder does not need the memory
        # that it saves.
        compression = "0" if len(self._archive) < _SMALL_BYTES else "1"
        await _script(guest, f"set -eu{_PLACE_FOLDER}", guest.workdir, compression)
        await _add_origin(guest, self.origin)

    async def restore(self, guest: Guest) -> None:
        """Reset to the commit of the folder and remove everything else."""
        await _script(guest, _RESTORE, guest.workdir, "refs/heads/main")


async def take_folder(path: str, spec: SandboxSpec, *, since: str | None = None) -> FolderContents:
    """Read a folder without following links, leaving out virtual environments and caches.

    Args:
        path: The folder.
        spec: The limits.
        since: The revision to compare with, for a git checkout; None chooses one.

    Raises:
        ImportRejected: The path is not a folder, a limit is exceeded, or the revision does not
            exist.
    """
    return await asyncio.to_thread(_take_folder, Path(path), spec, since)


def _take_folder(root: Path, spec: SandboxSpec, since: str | None) -> FolderContents:
    files, notes = read_folder(root, spec)
    red_diff, trouble = changes_of_folder(root.resolve(), files, since, spec)
    return FolderContents.of(files, tuple(sorted({*notes, trouble} - {""})), red_diff)


def check_folder(path: str, spec: SandboxSpec, *, since: str | None = None) -> int:
    """Count the files that would be read.

    Args:
        path: The folder.
        spec: The limits.
        since: A revision that must exist.

    Raises:
        ImportRejected: A limit is exceeded, or the revision does not exist.
    """
    root = Path(path)
    count = count_files(root, spec)
    if since is not None:
        check_revision(root.resolve(), since, spec)
    return count


def _archive(files: Mapping[str, Original]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, file in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(file.content), int(file.mode[-3:], 8), _WHEN
            archive.addfile(entry, io.BytesIO(file.content))
    return raw.getvalue()


async def _add_origin(guest: Guest, origin: str | None) -> None:
    if origin is not None:
        await _script(guest, f"set -eu{_ADD_ORIGIN}", guest.workdir, origin)


async def _script(guest: Guest, script: str, *arguments: str) -> None:
    """Run one of our scripts in the guest."""
    argv = ("/bin/sh", "-c", script, "sh", *arguments)
    done = await guest.run(argv, limits=RunLimits(), cwd="/", env=_GIT_ENV)
    if not done.ok:
        raise SandboxError(
            f"The work tree could not be created in the sandbox: {done.stderr[-300:].strip()}"
        )
