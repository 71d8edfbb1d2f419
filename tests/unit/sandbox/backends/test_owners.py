"""Folders of makers that are gone are swept, and nothing else is."""

import os
from pathlib import Path

import pytest

from sandbox.backends.owners import MARK, mark, owner, sweep


def gone() -> str:
    """The name of a process that was here and is no more."""
    namespace, pid, _ = owner().rsplit("/", 2)
    return f"{namespace}/{pid}/1"


def a_folder(base: Path, name: str, label: str | None) -> Path:
    folder = base / name
    folder.mkdir()
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text("x")
    if label is not None:
        (folder / MARK).write_text(label)
    return folder


def test_only_folders_whose_maker_is_gone_are_removed(tmp_path: Path) -> None:
    left = a_folder(tmp_path, "ours-1", gone())
    mine = a_folder(tmp_path, "ours-2", None)
    mark(mine)
    unmarked = a_folder(tmp_path, "ours-3", None)
    elsewhere = a_folder(tmp_path, "ours-4", "another-host/1/99/5")
    strange = a_folder(tmp_path, "theirs-1", gone())
    assert sweep(tmp_path, "ours-*") == 1
    assert not left.exists()
    assert all(folder.exists() for folder in (mine, unmarked, elsewhere, strange))


def test_a_link_to_a_folder_is_never_followed(tmp_path: Path) -> None:
    outside = a_folder(tmp_path, "outside", gone())
    base = tmp_path / "base"
    base.mkdir()
    (base / "ours-1").symlink_to(outside)
    folder = a_folder(base, "ours-2", None)
    (folder / MARK).symlink_to(outside / MARK)
    assert sweep(base, "ours-*") == 0
    assert (outside / "inner" / "file").exists()


def test_folders_of_another_user_are_left_alone(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    theirs = a_folder(tmp_path, "ours-1", gone())
    os.chown(theirs, 65_534, 65_534)
    assert sweep(tmp_path, "ours-*") == 0


def test_an_owner_nobody_can_read_is_no_reason_to_remove(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, "ours-1", None)
    (folder / MARK).write_bytes(b"\xff\xfe/1/1")
    assert sweep(tmp_path, "ours-*") == 0
    assert sweep(tmp_path / "missing", "*") == 0
