"""An imported commit: its files, the commit to compare with, and their difference."""

import re
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from sandbox.diffs import parse_changed_lines, parse_hunks
from sandbox.errors import ImportRejected
from sandbox.importer.git_runner import GitRunner
from sandbox.spec import MIB, SandboxSpec
from sandbox.types import Frozen, SourceDiff

BUNDLE = "repository.bundle"
"""The file that is written last. It marks an import as complete."""

REPOSITORY = "repository.git"
_DIFF_BYTES = 32 * MIB

Revision = Literal["head", "base"]


class TreeFile(Frozen):
    """One regular file of a commit."""

    oid: str
    mode: Literal["100644", "100755"]
    size: int


class ImportedRepository:
    """A red commit and the commit to compare with, in a bare repository of ours."""

    def __init__(
        self, folder: Path, spec: SandboxSpec, head_sha: str, base_sha: str | None
    ) -> None:
        self._spec = spec
        self.head_sha = head_sha
        self.base_sha = base_sha
        self.notes: tuple[str, ...] = ()
        """Notes on what was found and left unchanged: submodules, links, unusual names."""
        self.files: Mapping[str, TreeFile] = {}
        """Regular files of the head."""
        self._base_files: Mapping[str, TreeFile] = {}
        self.red_diff = SourceDiff()
        self.move(folder)

    def move(self, folder: Path) -> None:
        """Use a new folder after a rename."""
        self._folder = folder
        self._git = GitRunner(folder / REPOSITORY, self._spec)

    def check(self) -> None:
        """Walk both trees within the limits and compute the difference (blocking)."""
        self.files, self.notes = walk(self._git, self.head_sha, self._spec)
        if self.base_sha is not None:
            self._base_files, _ = walk(self._git, self.base_sha, self._spec)
            self.red_diff = compare(self._git, self.base_sha, self.head_sha)

    def tree(self, revision: Revision) -> Mapping[str, TreeFile]:
        """Return the regular files of one of the two commits."""
        return self.files if revision == "head" else self._base_files

    def sha(self, revision: Revision) -> str:
        """Return the commit of a revision.

        Raises:
            ImportRejected: There is no base.
        """
        if revision == "head":
            return self.head_sha
        if self.base_sha is None:
            raise ImportRejected(
                "The commit has no base to compare with.",
                "Compare with a commit that is reachable.",
            )
        return self.base_sha

    def read(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Read blobs by their ids, never by a name that the repository chose (blocking)."""
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
            # `cat-file --batch` prints `<oid> <type> <size>`, a newline, the content, a newline.
            end = raw.index(b"\n", position)
            oid, _, size = raw[position:end].decode().split(" ")
            contents[oid] = raw[end + 1 : end + 1 + int(size)]
            position = end + 2 + int(size)
        return contents

    def bundle(self) -> bytes:
        """Return both commits as one bundle, for the sandbox (blocking)."""
        return (self._folder / BUNDLE).read_bytes()

    def shallow(self) -> bytes:
        """Return where the history was cut. The sandbox needs it to unpack the bundle."""
        path = self._folder / REPOSITORY / "shallow"
        return path.read_bytes() if path.exists() else b""


def walk(
    git: GitRunner, sha: str, spec: SandboxSpec
) -> tuple[dict[str, TreeFile], tuple[str, ...]]:
    """List the files of a commit or tree while git prints them, and stop at the first limit."""
    files: dict[str, TreeFile] = {}
    notes: set[str] = set()
    count = total = 0
    listing = git.stream("ls-tree", "-r", "-t", "-z", "-l", "--full-tree", sha)
    try:
        for entry in _records(listing):
            meta, _, name = entry.partition(b"\t")
            mode, kind, oid, size = meta.decode().split()
            count += 1
            if kind == "blob" and not size.isdigit():
                raise ImportRejected(
                    "A part of the repository is missing.", "Fetch the complete repository."
                )
            total += int(size) if kind == "blob" else 0
            if count > 2 * spec.max_files or len(files) > spec.max_files:
                raise ImportRejected(
                    f"The repository has more than {spec.max_files} files.", "Raise max_files."
                )
            if kind == "blob" and int(size) > spec.max_blob_bytes:
                raise ImportRejected(
                    f"A file is larger than {spec.max_blob_bytes} bytes.", "Raise max_blob_bytes."
                )
            if total > spec.max_tree_bytes:
                raise ImportRejected(
                    f"The files are larger than {spec.max_tree_bytes} bytes.",
                    "Raise max_tree_bytes.",
                )
            _note(mode, name, notes)
            if mode in {"100644", "100755"}:
                path = name.decode("utf-8", "surrogateescape")
                files[path] = TreeFile.model_validate({"oid": oid, "mode": mode, "size": int(size)})
    finally:
        listing.close()
    # Such names collide on macOS and Windows.
    if len({unicodedata.normalize("NFC", name).casefold() for name in files}) < len(files):
        notes.add("names that differ only in case or Unicode form")
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


def compare(git: GitRunner, base: str, head: str) -> SourceDiff:
    """Return the new or changed lines of the head; nothing if the difference is huge."""
    flags = (
        "-r",
        "-p",
        "-U0",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--full-index",
    )
    with suppress(ImportRejected):
        raw = git.run(
            "diff-tree",
            *flags,
            "--src-prefix=a/",
            "--dst-prefix=b/",
            base,
            head,
            "--",
            most=_DIFF_BYTES,
        )
        return SourceDiff(files=parse_changed_lines(raw), hunks=parse_hunks(raw))
    return SourceDiff()
