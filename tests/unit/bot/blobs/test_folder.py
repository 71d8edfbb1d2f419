"""The shelf that is a folder: whole files or none, of this user only, also when others are at it."""

import os
import threading
from pathlib import Path

import pytest

from bot.blobs.folder import FolderShelf
from bot.errors import StoreError


def test_files_and_folders_are_this_users_only(tmp_path: Path) -> None:
    root = tmp_path / "data" / "blobs"
    FolderShelf(root).write("steps/m/1", b"x")
    made = [root, *root.rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}


def test_a_file_where_a_folder_belongs_is_told(tmp_path: Path) -> None:
    (tmp_path / "steps").write_text("mine")
    shelf = FolderShelf(tmp_path)
    with pytest.raises(StoreError, match="cannot be made"):
        shelf.write("steps/m/1", b"x")
    with pytest.raises(StoreError, match="cannot be read"):
        shelf.read("steps/m/1", 10)


def test_a_folder_where_the_file_belongs_is_told_and_leaves_nothing_half_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "steps" / "m" / "1").mkdir(parents=True)
    shelf = FolderShelf(tmp_path)
    with pytest.raises(StoreError, match="cannot be written"):
        shelf.write("steps/m/1", b"x")
    with pytest.raises(StoreError, match="cannot be removed"):
        shelf.remove(["steps/m/1"])
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_was_left_half_written_a_day_ago_is_cleared_up_and_nothing_else(
    tmp_path: Path,
) -> None:
    shelf, days_ago = FolderShelf(tmp_path), {}
    for key, days in {
        "steps/m/1": 400.0,
        "steps/.writing-0": 1.1,
        "steps/m/.writing-1": 400.0,
        "steps/.writing-2": 0.9,
        "logs/.writing-3": 400.0,
    }.items():
        shelf.write(key, b"x")
        days_ago[key] = days
    now = (tmp_path / "steps/m/1").stat().st_mtime
    for key, days in days_ago.items():
        os.utime(tmp_path / key, (now - days * 86_400,) * 2)
    assert (shelf.clear_up("steps"), shelf.clear_up("steps"), shelf.clear_up("evidence")) == (
        2,
        0,
        0,
    )
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"steps/m/1", "steps/.writing-2", "logs/.writing-3"}


def test_a_folder_that_is_cleared_up_can_be_written_to(tmp_path: Path) -> None:
    shelf = FolderShelf(tmp_path)
    shelf.write("steps/.writing-0", b"x")
    os.utime(tmp_path / "steps/.writing-0", (1, 1))
    assert shelf.clear_up("steps") == 1
    assert (tmp_path / "steps").is_dir(), (
        "who makes it and then writes there may be between the two"
    )


def test_nothing_is_lost_between_one_who_writes_and_one_who_empties(tmp_path: Path) -> None:
    shelf, done, failures = FolderShelf(tmp_path), threading.Event(), []

    def empties() -> None:
        while not done.is_set():
            shelf.remove(["steps/m/other"])

    thread = threading.Thread(target=empties)
    thread.start()
    try:
        for number in range(10):
            try:
                shelf.write("steps/m/other", b"x")
                shelf.write(f"steps/m/{number}", b"x")
            except StoreError as error:
                failures.append(error)
            shelf.remove([f"steps/m/{number}"])
    finally:
        done.set()
        thread.join()
    assert failures == []
