"""Takes the SQLite files over that the first releases kept: their rows are copied once, and the files renamed."""

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
"""The tables of each, which have the same names and columns here."""
NUMBERED = {"call": "id"}
"""Columns that number the rows, and are numbered anew."""
DERIVED = {"call": "UPDATE call SET counted_tokens = input_tokens + output_tokens WHERE counted_tokens = 0"}
"""What the old rows say in other columns."""
WORDS = "lesson_words"
"""SQLite's full-text table knows no conflicts."""
SUFFIX = ".taken-over"
AT_ONCE = 500
WAIT_S = 2.0
"""So long a file may be in use before we say so."""


def take_over(engine: Any, folder: Path) -> None:
    """Copy the rows of the old files of a folder, and rename each file when its rows are safe.

    What was interrupted begins again at the next start, and copies no row twice.

    Args:
        engine: SQLAlchemy's, of a database with all tables.
        folder: Where the old files are, if there are any.

    Raises:
        StoreError: a file is in use by a process of the version before, or cannot be read.
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
                raise StoreError(f"{path} cannot be taken over ({error})", _advice(error)) from error


def _advice(error: Exception) -> str:
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "stop every process of the version before; it must not write there any more"
    return "put it back from a backup, or move it away to begin without what it holds"


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """The kernel lets go with the process."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _copy(engine: Any, path: Path, tables: Sequence[str]) -> None:
    with closing(sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)) as old:
        # Fails while another process has the file open, and puts what stands in its write-ahead log into it.
        old.execute("PRAGMA journal_mode=DELETE")
        mark = f"{path.name} {_marked(old)}"
        old.execute("BEGIN EXCLUSIVE")
        with engine.begin() as new:
            if new.execute(_text("SELECT 1 FROM taken_over WHERE mark = :mark"), {"mark": mark}).first() is None:
                for table in tables:
                    _copy_table(old, new, table)
                new.execute(_text("INSERT INTO taken_over (mark) VALUES (:mark)"), {"mark": mark})
        old.execute("ROLLBACK")


def _marked(old: sqlite3.Connection) -> int:
    """A number that tells this file from others of its name, kept in its head."""
    mark = int(old.execute("PRAGMA user_version").fetchone()[0])
    if not mark:
        mark = secrets.randbelow(2**31 - 1) + 1
        old.execute(f"PRAGMA user_version = {mark}")
    return mark


def _copy_table(old: sqlite3.Connection, new: Any, table: str) -> None:
    """All rows in their order; one that stands here already is newer. Table and columns are literals of ours."""
    columns = [row[1] for row in old.execute(f"PRAGMA table_info({table})") if row[1] != NUMBERED.get(table)]
    if not columns:
        return
    names, gaps = ", ".join(columns), ", ".join(f":{column}" for column in columns)
    clash = "" if table == WORDS else " ON CONFLICT DO NOTHING"
    insert = _text(f"INSERT INTO {table} ({names}) VALUES ({gaps}){clash}")  # noqa: S608
    there = {row[0] for row in new.execute(_text(f"SELECT id FROM {table}"))} if table == WORDS else set()  # noqa: S608
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
