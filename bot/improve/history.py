"""Iteration directories, their archive, and the history with exactly one line for each cycle."""

import fcntl
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from bot.errors import UsageError
from bot.improve.promotion import hash_of, write_durably
from bot.improve.target import MARKER
from bot.improve.values import CycleRecord, CycleStatus
from bot.private import make_private_folder
from sandbox.diffs import Original

COPY = "version.tar"
"""The working copy of a cycle, packed."""
_RECORD = "cycle.json"
_KEPT = 100
"""Number of archived iterations that are kept."""


class History:
    """The folder of all improvements.

    Args:
        folder: It; made when it is first written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "improvement_history.jsonl"
        self.fallback_versions = folder / "fallback_versions"
        self._iterations = folder / "iterations"
        self._archive = folder / "archive"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out, and finish what a crashed one left.

        Raises:
            UsageError: another run is active.
        """
        for one in (self.folder, self.fallback_versions, self._iterations, self._archive):
            make_private_folder(one)
        with (self.folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError("another improvement is active", "wait for its end") from error
            self._recover()
            yield

    def begin(self, now: datetime, cycle: int) -> Path:
        """Make the iteration directory of a cycle; its name is the cycle's id."""
        base = f"{now:%Y%m%dT%H%M%S.%f}Z-{cycle}"
        name = next(
            name
            for name in (base, *(f"{base}-{number}" for number in range(1, 1_000)))
            if not (self._iterations / name).exists() and not (self._archive / name).exists()
        )
        make_private_folder(self._iterations / name)
        return self._iterations / name

    def note(self, iteration: Path, record: CycleRecord) -> None:
        """Store the state of an unfinished cycle, for the case of a crash."""
        write_durably(iteration / _RECORD, record.model_dump_json().encode())

    def end(self, iteration: Path, record: CycleRecord) -> None:
        """Append the cycle's line and archive its directory."""
        self.note(iteration, record)
        self._append(record)
        self._store(iteration)

    def records(self) -> tuple[CycleRecord, ...]:
        """Return all cycles, oldest first; unreadable lines are left out."""
        try:
            lines = self.file.read_bytes().split(b"\n")
        except OSError:
            return ()
        found = []
        for line in lines:
            with suppress(ValidationError):
                found.append(CycleRecord.model_validate_json(line))
        return tuple(found)

    def _append(self, record: CycleRecord) -> None:
        with self.file.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            # A crash may have left the beginning of a line.
            whole = file.read().rfind(b"\n") + 1
            if whole != size:
                file.truncate(whole)
            file.write(record.model_dump_json().encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _recover(self) -> None:
        """Give every cycle that a crash interrupted its line."""
        known = {record.id for record in self.records()}
        for iteration in sorted(self._iterations.iterdir()):
            try:
                record = CycleRecord.model_validate_json((iteration / _RECORD).read_bytes())
            except (OSError, ValidationError):
                shutil.rmtree(iteration, ignore_errors=True)  # the crash came before its first step
                continue
            if record.id not in known:
                self._append(_interrupted(record))
            self._store(iteration)

    def _store(self, iteration: Path) -> None:
        # The working copy is large, and the history names its content.
        (iteration / COPY).unlink(missing_ok=True)
        iteration.rename(self._archive / iteration.name)
        for old in sorted(self._archive.iterdir())[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)


def _interrupted(record: CycleRecord) -> CycleRecord:
    """Return the end of a cycle whose process died; the file shows whether it was promoted."""
    if record.status is not CycleStatus.FAILURE or not record.new_sha256:
        return record
    content = b""
    with suppress(OSError):
        content = Path(record.file).read_bytes()
    if hash_of(content) == record.new_sha256:
        return record.with_(
            status=CycleStatus.SUCCESS_PROMOTED, reason="interrupted after the promotion"
        )
    return record


def pack(tree: Mapping[str, Original]) -> bytes:
    """Return the working copy of a cycle as a tar archive, which is unpacked in a sandbox only.

    Args:
        tree: All files of the project.
    """
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, original in sorted({**tree, MARKER: Original(content=b"")}.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(original.content), int(original.mode[-3:], 8)
            archive.addfile(entry, io.BytesIO(original.content))
    return raw.getvalue()


def write_context(iteration: Path, earlier: tuple[CycleRecord, ...], context: str) -> None:
    """Store the context of a cycle: the user's text and the earlier cycles of the run."""
    cycles = [record.model_dump(mode="json", exclude_defaults=True) for record in earlier]
    text = json.dumps({"context": context, "cycles": cycles}, indent=1)
    write_durably(iteration / "context.json", text.encode())
