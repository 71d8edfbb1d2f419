"""The checkout in memory: whatever was changed, added, removed or hidden is put back."""

import shutil
from pathlib import Path

import pytest

from sandbox.guest.search.tree_memory import TreeMemory, journal, put_back


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
            str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None,
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
    assert memory.restore() == ["empty", "link", "new", "new/file", "pkg/a.py", "pkg/data/x.bin", "run.sh"]
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


def test_edited_files_of_an_interrupted_search_are_put_back_by_the_next_who_looks(tree: Path) -> None:
    before = picture(tree)
    memory = TreeMemory(str(tree))
    assert memory.write({"pkg/a.py": b"A = 5\n"})
    assert (tree / "pkg" / "a.py").read_bytes() == b"A = 5\n"
    put_back()
    assert picture(tree) == before
    assert not Path(journal()).exists()


def test_only_known_files_are_written(tree: Path) -> None:
    memory = TreeMemory(str(tree))
    assert not memory.write({"pkg/other.py": b""})
    assert not (tree / "pkg" / "other.py").exists()
