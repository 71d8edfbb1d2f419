"""The engine's file: one process holds it, and only its owner reads it."""

import os
from pathlib import Path

import pytest

from bot.errors import QueueError
from bot.queue.sqlite_file import SqliteFile


def test_a_new_file_is_read_by_its_owner_only_and_held_by_one(tmp_path: Path) -> None:
    url, before = f"sqlite:///{tmp_path / 'new' / 'engine.sqlite'}", os.umask(0o022)
    try:
        first, second = SqliteFile(url), SqliteFile(url)
        first.take()
    finally:
        os.umask(before)
    assert (tmp_path / "new" / "engine.sqlite").stat().st_mode & 0o777 == 0o600
    with pytest.raises(QueueError, match="SQLite allows one executor"):
        second.take()
    first.drop()
    second.take()
    second.drop()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(QueueError, match="cannot be made"):
        SqliteFile(f"sqlite:///{tmp_path / 'file' / 'engine.sqlite'}").take()
