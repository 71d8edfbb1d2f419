"""A source on its way into a sandbox: a fetched commit or a folder of this host, put into the work tree inside."""

import asyncio
import hashlib
import io
import tarfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from posixpath import dirname
from typing import Protocol

from sandbox.backends.base import Guest
from sandbox.diffs import Original
from sandbox.errors import SandboxError
from sandbox.folder import count_files, read_folder
from sandbox.importer import ImportedRepository, Revision, changes_of_folder, check_revision
from sandbox.setup.install import pack
from sandbox.spec import SYSTEM_PATH, RunLimits, SandboxSpec
from sandbox.types import SourceDiff

_GIT_ENV = {
    # A package of the environment may bring a program called git: ours is the system's.
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
# No template means no hooks. The attributes switch off every conversion, so that the work tree holds the very bytes
# of the commit; the history is cut where the import cut it, and a bundle can only be unpacked where git knows that.
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
"""When files of a folder were changed, as the sandbox sees it: any fixed moment that zip files can hold."""
_RELEVANT_BYTES = 1 << 20
_SMALL_BYTES = 64 << 20


class Source(Protocol):
    """What a workspace is opened on."""

    @property
    def head_sha(self) -> str | None:
        """The red commit."""
        ...

    @property
    def base_sha(self) -> str | None:
        """The commit it is compared with."""
        ...

    @property
    def red_diff(self) -> SourceDiff:
        """What the head changed against the base."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was seen and left as it is."""
        ...

    def names(self) -> Collection[str]:
        """Every regular file of the head; the recipe is made from it, also for the base."""
        ...

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Contents of files of the head, the too large ones left out."""
        ...

    async def originals(self, names: Iterable[str]) -> dict[str, Original]:
        """Files as they were placed, for comparing with what became of them."""
        ...

    async def archive(self) -> bytes:
        """What is placed, as a tar archive of regular files."""
        ...

    async def digest(self) -> str:
        """Return a digest of everything that `place` puts into a guest, history included."""
        ...

    async def place(self, guest: Guest) -> None:
        """Put the work tree into a guest's work folder, in place of whatever is there."""
        ...

    async def restore(self, guest: Guest) -> None:
        """Let git inside the guest restore the work tree; whoever calls it looks whether it did."""
        ...


class CommitSource:
    """A commit of an imported repository.

    Args:
        repository: The import.
        revision: Which of its two commits stands in the work tree.
    """

    def __init__(self, repository: ImportedRepository, revision: Revision) -> None:
        self._repository = repository
        self._revision: Revision = revision
        self._sha = repository.sha(revision)

    @property
    def head_sha(self) -> str | None:
        """The red commit."""
        return self._repository.head_sha

    @property
    def base_sha(self) -> str | None:
        """The commit it is compared with."""
        return self._repository.base_sha

    @property
    def red_diff(self) -> SourceDiff:
        """What the head changed against the base."""
        return self._repository.red_diff

    @property
    def notes(self) -> tuple[str, ...]:
        """What was seen and left as it is."""
        return self._repository.notes

    def names(self) -> Collection[str]:
        """Every regular file of the head."""
        return self._repository.files.keys()

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Contents of files of the head."""
        files = self._repository.files
        oids = {name: files[name].oid for name in names if name in files and files[name].size <= _RELEVANT_BYTES}
        blobs = await asyncio.to_thread(self._repository.read, oids.values())
        return {name: blobs[oid] for name, oid in oids.items()}

    async def originals(self, names: Iterable[str]) -> dict[str, Original]:
        """Files of the commit in the work tree."""
        tree = self._repository.tree(self._revision)
        known = {name: tree[name] for name in names if name in tree}
        blobs = await asyncio.to_thread(self._repository.read, [file.oid for file in known.values()])
        return {name: Original(content=blobs[file.oid], mode=file.mode) for name, file in known.items()}

    async def archive(self) -> bytes:
        """The commit as a tar archive; links and submodules are left out."""
        files = await self.originals(self._repository.tree(self._revision))
        return await asyncio.to_thread(_archive, files)

    async def digest(self) -> str:
        """Return a digest of the commit in the work tree and of the history that comes with it.

        A tree's id would not do: commands can also read messages, authors and the commit to compare with. Both
        commits and the places where the history is cut decide what is in the bundle.
        """
        repository = self._repository
        cuts = sorted(repository.shallow().decode().split())
        placed = (self._sha, repository.head_sha, repository.base_sha or "", *cuts)
        return hashlib.sha256("\n".join(placed).encode()).hexdigest()

    async def place(self, guest: Guest) -> None:
        """Unpack the bundle inside and check the commit out there."""
        bundle = await asyncio.to_thread(self._repository.bundle)
        folder = f"{dirname(guest.workdir)}/import"
        archive = pack({"repository.bundle": bundle, "shallow": self._repository.shallow()})
        await guest.unpack(archive, folder)
        await _script(guest, _EMPTY + _PLACE_COMMIT, guest.workdir, self._sha, folder)

    async def restore(self, guest: Guest) -> None:
        """Reset to the commit and remove everything else."""
        await _script(guest, _RESTORE, guest.workdir, self._sha)


class FolderSource:
    """A folder of this host as it stands, taken in without running anything in it.

    Args:
        archive: Its files.
        files: The same, by name.
        notes: What was left out.
        red_diff: What changed in it.
    """

    head_sha: str | None = None
    base_sha: str | None = None

    def __init__(
        self, archive: bytes, files: Mapping[str, Original], notes: tuple[str, ...], red_diff: SourceDiff
    ) -> None:
        self._archive = archive
        self._files = files
        self.notes = notes
        self.red_diff = red_diff

    @classmethod
    def of(
        cls, files: Mapping[str, Original], notes: tuple[str, ...] = (), red_diff: SourceDiff | None = None
    ) -> "FolderSource":
        """A folder of these files."""
        return cls(_archive(files), files, notes, red_diff or SourceDiff())

    def names(self) -> Collection[str]:
        """Every regular file taken in."""
        return self._files.keys()

    async def read(self, names: Iterable[str]) -> dict[str, bytes]:
        """Contents of files."""
        found = await self.originals(names)
        return {name: file.content for name, file in found.items() if len(file.content) <= _RELEVANT_BYTES}

    async def originals(self, names: Iterable[str]) -> dict[str, Original]:
        """Files as they were taken in."""
        return {name: self._files[name] for name in names if name in self._files}

    async def archive(self) -> bytes:
        """The folder as it was taken in."""
        return self._archive

    async def digest(self) -> str:
        """Return a digest of the files that were taken in, local changes included."""
        return (await asyncio.to_thread(hashlib.sha256, self._archive)).hexdigest()

    async def place(self, guest: Guest) -> None:
        """Unpack the files inside, and commit them there for tools that ask git."""
        await _script(guest, _EMPTY, guest.workdir)
        await guest.unpack(self._archive, guest.workdir)
        # Packing costs more time than all the rest, and saves room in a memory that has plenty for a small folder.
        compression = "0" if len(self._archive) < _SMALL_BYTES else "1"
        await _script(guest, f"set -eu{_PLACE_FOLDER}", guest.workdir, compression)

    async def restore(self, guest: Guest) -> None:
        """Reset to what was committed and remove everything else."""
        await _script(guest, _RESTORE, guest.workdir, "refs/heads/main")


async def take_folder(path: str, spec: SandboxSpec, *, since: str | None = None) -> FolderSource:
    """Read a folder: regular files only, no link followed, virtual environments and caches left out.

    Args:
        path: The folder.
        spec: Limits.
        since: What its lines are compared with, where it is a git checkout; None chooses.

    Raises:
        ImportRejected: it is not a folder, or over a limit, or there is no such commit.
    """
    return await asyncio.to_thread(_take_folder, Path(path), spec, since)


def _take_folder(root: Path, spec: SandboxSpec, since: str | None) -> FolderSource:
    files, notes = read_folder(root, spec)
    red_diff, trouble = changes_of_folder(root.resolve(), files, since, spec)
    return FolderSource.of(files, tuple(sorted({*notes, trouble} - {""})), red_diff)


def check_folder(path: str, spec: SandboxSpec, *, since: str | None = None) -> int:
    """Count the files that would be taken in, without reading them.

    Args:
        path: The folder.
        spec: Limits.
        since: A revision that has to be there.

    Raises:
        ImportRejected: it is over a limit, or there is no such commit.
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


async def _script(guest: Guest, script: str, *arguments: str) -> None:
    """Run a script of ours inside."""
    argv = ("/bin/sh", "-c", script, "sh", *arguments)
    done = await guest.run(argv, limits=RunLimits(), cwd="/", env=_GIT_ENV)
    if not done.ok:
        raise SandboxError(f"The work tree could not be made in the sandbox: {done.stderr[-300:].strip()}")
