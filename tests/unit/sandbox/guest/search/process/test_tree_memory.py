"""The checkout in memory: whatever was changed, added, removed or hidden is put back."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.guest.search.process.tree_memory import TreeMemory, journal, restore_from_journal


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "pkg" / "data").mkdir(parents=True)
    (root / "pkg" / "a.py").write_text("A = 1\n")
    (root / "pkg" / "data" / "x.bin").write_bytes(bytes(range(256)))
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("run.sh")
    (root / "empty").mkdir()
    return root


def picture(root: Path) -> dict[str, object]:
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            str(path.readlink())
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else None,
        )
        for path in sorted(root.rglob("*"))
    }


def test_an_untouched_tree_has_no_changes(tree: Path) -> None:
    memory = TreeMemory(str(tree))
    assert memory.changed() == []
    assert memory.restore() == []


def test_everything_is_put_back(tree: Path) -> None:
    before = picture(tree)
    memory = TreeMemory(str(tree))
    (tree / "pkg" / "a.py").write_text("A = 2\n")
    (tree / "new").mkdir()
    (tree / "new" / "file").write_text("x")
    (tree / "run.sh").unlink()
    (tree / "run.sh").mkdir()
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")
    (tree / "empty").rmdir()
    (tree / "pkg" / "data" / "x.bin").chmod(0o600)
    assert memory.restore() == [
        "empty",
        "link",
        "new",
        "new/file",
        "pkg/a.py",
        "pkg/data/x.bin",
        "run.sh",
    ]
    assert picture(tree) == before
    assert memory.restore() == []


def test_a_deleted_tree_comes_back(tree: Path) -> None:
    before = picture(tree)
    memory = TreeMemory(str(tree))
    for entry in tree.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    memory.restore()
    assert picture(tree) == before


def test_an_edit_of_the_same_size_and_time_in_place_is_noticed_by_its_time(tree: Path) -> None:
    memory = TreeMemory(str(tree))
    (tree / "pkg" / "a.py").write_text("A = 9\n")
    assert memory.restore() == ["pkg/a.py"]
    assert (tree / "pkg" / "a.py").read_text() == "A = 1\n"


def test_edited_files_of_an_interrupted_search_are_put_back_by_the_next_who_looks(
    tree: Path,
) -> None:
    before = picture(tree)
    memory = TreeMemory(str(tree))
    assert memory.write({"pkg/a.py": b"A = 5\n"})
    assert (tree / "pkg" / "a.py").read_bytes() == b"A = 5\n"
    restore_from_journal()
    assert picture(tree) == before
    assert not Path(journal()).exists()


def test_only_known_files_are_written(tree: Path) -> None:
    memory = TreeMemory(str(tree))
    assert not memory.write({"pkg/other.py": b""})
    assert not (tree / "pkg" / "other.py").exists()


LARGE = b"l" * 200
"""More than the memory of these tests keeps beside the other files."""


@pytest.fixture
def beyond(tree: Path) -> tuple[Path, TreeMemory]:
    """A tree with a file that is not kept, and who remembers the others."""
    (tree / "data").mkdir()
    (tree / "data" / "large.bin").write_bytes(LARGE)
    (tree / "pkg" / "data" / "x.bin").write_bytes(b"")
    return tree, TreeMemory(str(tree), most_bytes=100)


def test_a_file_that_is_not_kept_is_left_as_somebody_changed_it(
    beyond: tuple[Path, TreeMemory],
) -> None:
    tree, memory = beyond
    large = tree / "data" / "large.bin"
    with large.open("ab") as file:
        file.write(b"more")
    large.chmod(0o600)
    assert memory.restore() == ["data/large.bin"]
    assert large.read_bytes() == LARGE + b"more"
    assert stat.S_IMODE(large.stat().st_mode) == 0o644
    assert memory.restore() == [], "told once, of who did it"


@pytest.mark.parametrize(
    "move",
    [
        lambda tree: (tree / "data" / "large.bin").rename(tree / "elsewhere.bin"),
        lambda tree: (tree / "data").rename(tree / "data.old"),
        lambda tree: (
            (tree / "data" / "large.bin").rename(tree / "kept.bin")
            and (tree / "data" / "large.bin").mkdir()
        ),
        lambda tree: (
            (tree / "data" / "large.bin").rename(tree / "kept.bin")
            and (tree / "data" / "large.bin").write_bytes(b"small")
        ),
    ],
)
def test_a_file_that_is_not_kept_is_moved_back(
    beyond: tuple[Path, TreeMemory], move: Callable[[Path], object]
) -> None:
    tree, memory = beyond
    before = picture(tree)
    move(tree)
    assert "data/large.bin" in memory.restore()
    assert picture(tree) == before
    assert memory.restore() == []


def test_a_file_that_is_not_kept_and_was_deleted_is_told_once(
    beyond: tuple[Path, TreeMemory],
) -> None:
    tree, memory = beyond
    (tree / "data" / "large.bin").unlink()
    (tree / "pkg" / "a.py").write_text("A = 2\n")
    assert memory.restore() == ["data/large.bin", "pkg/a.py"]
    assert (tree / "pkg" / "a.py").read_text() == "A = 1\n"
    assert memory.restore() == []


def test_pipes_and_sockets_stay_where_they_are(tree: Path) -> None:
    os.mkfifo(tree / "pipe", 0o600)
    os.mkfifo(tree / "gone", 0o600)
    os.mknod(tree / "socket", stat.S_IFSOCK | 0o600)
    memory = TreeMemory(str(tree))
    for name in ("pipe", "socket"):
        os.utime(tree / name, (1, 1))
    assert memory.restore() == [], "somebody wrote through them"
    for name in ("pipe", "socket"):
        (tree / name).chmod(0o640)
    (tree / "gone").unlink()
    assert memory.restore() == ["gone", "pipe", "socket"]
    assert [
        stat.filemode((tree / name).lstat().st_mode)[0] for name in ("gone", "pipe", "socket")
    ] == list("pps")
    assert memory.restore() == []


def test_a_file_is_put_back_in_a_folder_that_takes_no_new_ones(tree: Path) -> None:
    (tree / "pkg").chmod(0o555)
    memory = TreeMemory(str(tree))
    (tree / "pkg" / "a.py").write_text("A = 2\n")
    assert memory.restore() == ["pkg/a.py"]
    assert (tree / "pkg" / "a.py").read_text() == "A = 1\n"
    assert memory.restore() == []
    (tree / "pkg").chmod(0o755)
