"""Import of the first releases' SQLite files: rows are copied once, then files are renamed."""

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bot.errors import StoreError

OLD_FILES = {
    "registry.sqlite": ("live", "attempt", "fix", "proposal", "switch", "installation"),
    "ledger.sqlite": ("call",),
    "lessons.sqlite": ("lesson", "lesson_words"),
    "inbox.sqlite": ("delivery",),
}
"""The files with their tables, which have the same names and columns here."""
NUMBERED = {"call": "id"}
"""Columns of row numbers, which are assigned again."""
DERIVED = {
    "call": "UPDATE call SET counted_tokens = input_tokens + output_tokens WHERE counted_tokens = 0"
}
"""Updates of new columns that old rows lack."""
WORDS = "lesson_words"
"""The full-text table, which does not support ON CONFLICT in SQLite."""
SUFFIX = ".taken-over"
AT_ONCE = 500
WAIT_S = 2.0
"""Longest wait for a file in use, in seconds."""


def take_over(engine: Any, folder: Path) -> None:
    """Copy the rows of old files in a folder, and rename each file after its rows are stored.

    An interrupted import resumes at the next start, and copies no row twice.

    Args:
        engine: The SQLAlchemy engine of a migrated database.
        folder: The folder that may hold old files.

    Raises:
        StoreError: a process of the previous version uses a file, or it cannot be read.
    """
    if not any((folder / name).exists() for name in OLD_FILES):
        return
    with _alone_in(folder):
        for name, tables in OLD_FILES.items():
            path = folder / name
            if not path.exists():
                continue
            try:
                _copy(engine, path, tables)
                _rename(path)
            except (sqlite3.Error, OSError) as error:
                raise StoreError(f"{path} cannot be imported ({error})", _advice(error)) from error


def _advice(error: Exception) -> str:
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "stop every process of the previous version; it must not write there any more"
    return "restore it from a backup, or move it away to start without its data"


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder with flock, which the kernel releases with the process."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _copy(engine: Any, path: Path, tables: Sequence[str]) -> None:
    with closing(sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)) as old:
        # Fails while another process has the file open, and checkpoints its write-ahead log.
        old.execute("PRAGMA journal_mode=DELETE")
        mark = f"{path.name} {_mark(old)}"
        old.execute("BEGIN EXCLUSIVE")
        with engine.begin() as new:
            if (
                new.execute(
                    _text("SELECT 1 FROM taken_over WHERE mark = :mark"), {"mark": mark}
                ).first()
                is None
            ):
                for table in tables:
                    _copy_table(old, new, table)
                new.execute(_text("INSERT INTO taken_over (mark) VALUES (:mark)"), {"mark": mark})
        old.execute("ROLLBACK")


def _mark(old: sqlite3.Connection) -> int:
    """Return a number that identifies this file, stored in its header."""
    mark = int(old.execute("PRAGMA user_version").fetchone()[0])
    if not mark:
        mark = secrets.randbelow(2**31 - 1) + 1
        old.execute(f"PRAGMA user_version = {mark}")
    return mark


def _copy_table(old: sqlite3.Connection, new: Any, table: str) -> None:
    """Copy all rows in order, but keep newer ones; table and columns must be literals."""
    columns = [
        row[1]
        for row in old.execute(f"PRAGMA table_info({table})")
        if row[1] != NUMBERED.get(table)
    ]
    if not columns:
        return
    names, gaps = ", ".join(columns), ", ".join(f":{column}" for column in columns)
    clash = "" if table == WORDS else " ON CONFLICT DO NOTHING"
    insert = _text(f"INSERT INTO {table} ({names}) VALUES ({gaps}){clash}")  # noqa: S608
    there = (
        {row[0] for row in new.execute(_text(f"SELECT id FROM {table}"))}  # noqa: S608
        if table == WORDS
        else set()
    )
    rows = old.execute(f"SELECT {names} FROM {table} ORDER BY rowid")  # noqa: S608
    while some := rows.fetchmany(AT_ONCE):
        values = [dict(zip(columns, row, strict=True)) for row in some if row[0] not in there]
        if values:
            new.execute(insert, values)
    if table in DERIVED:
        new.execute(_text(DERIVED[table]))


def _rename(path: Path) -> None:
    target = path.with_name(path.name + SUFFIX)
    count = 1
    while target.exists():
        count += 1
        target = path.with_name(f"{path.name}{SUFFIX}-{count}")
    path.rename(target)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _text(sql: str) -> Any:
    from sqlalchemy import text

    return text(sql)
