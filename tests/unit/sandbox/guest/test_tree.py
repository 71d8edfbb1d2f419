"""The work tree seen from inside: what is walked, compared, read and written, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.guest import files, inside, tree, wire
from sandbox.guest.inside import PathRefused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "repo"
    folder.mkdir(parents=True)
    return folder


def exported(found: tree.WorkTree) -> dict[str, tuple[str, bytes]]:
    return {
        str(e["path"]): (str(e["mode"]), wire.unpack(str(e["data"])))
        for e in found.export(20, 1 << 20)
    }


def test_a_file_changed_in_place_at_once_is_noticed(root: Path) -> None:
    (root / "a.py").write_text("one")
    found = tree.WorkTree(str(root))
    assert found.snap() == 1
    (root / "a.py").write_text("two")
    assert exported(found) == {"a.py": ("100644", b"two")}


def test_a_touched_file_with_the_same_content_is_no_change(root: Path) -> None:
    (root / "a.py").write_text("one")
    found = tree.WorkTree(str(root))
    found.snap()
    os.utime(root / "a.py", (1, 1))
    assert exported(found) == {}


def test_the_total_size_is_bounded(root: Path) -> None:
    found = tree.WorkTree(str(root))
    found.snap()
    for number in range(3):
        (root / f"{number}").write_bytes(b"x" * 1000)
    with pytest.raises(PathRefused):
        found.export(20, 2500)


def test_names_that_are_not_text_are_left_out(root: Path) -> None:
    (root / "good").write_text("x")
    os.close(os.open(os.fsencode(root) + b"/bad\xff", os.O_CREAT | os.O_WRONLY))
    assert tree.WorkTree(str(root)).files(10) == ["good"]


def test_a_tree_that_is_very_deep_ends(root: Path) -> None:
    folder = root
    for _ in range(tree.MAX_DEPTH + 20):
        folder = folder / "d"
        folder.mkdir()
        (folder / "f").write_text("x")
    assert len(tree.WorkTree(str(root)).files(1000)) == tree.MAX_DEPTH


def test_no_more_files_are_listed_than_asked(root: Path) -> None:
    for number in range(5):
        (root / f"{number}").write_text("x")
    assert len(tree.WorkTree(str(root)).files(3)) == 3


def test_a_loop_of_links_is_not_followed(root: Path) -> None:
    (root / "loop").symlink_to(".")
    (root / "up").symlink_to("..")
    (root / "a").write_text("x")
    assert tree.WorkTree(str(root)).files(10) == ["a"]


def test_a_root_that_became_a_link_is_refused(root: Path) -> None:
    root.rmdir()
    root.symlink_to("/etc")
    with pytest.raises(PathRefused):
        tree.WorkTree(str(root)).snap()
    with pytest.raises(PathRefused):
        files.read(str(root), "passwd", 100)
    with pytest.raises(PathRefused):
        files.write(str(root), "x", "100644", b"")


def test_a_link_in_the_middle_is_not_passed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/x").write_text("s")
    (root / "dir").symlink_to(tmp_path / "secret")
    assert files.read(str(root), "dir/x", 100) is None
    with pytest.raises(PathRefused):
        files.write(str(root), "dir/y", "100644", b"")
    files.write(str(root), "dir/x", "deleted", b"")
    assert (tmp_path / "secret/x").read_text() == "s"


def test_folders_that_became_empty_are_gone(root: Path) -> None:
    files.write(str(root), "a/b/c.py", "100644", b"x")
    files.write(str(root), "a/d.py", "100644", b"x")
    files.write(str(root), "a/b/c.py", "deleted", b"")
    assert not (root / "a/b").exists()
    assert (root / "a/d.py").exists()
    files.write(str(root), "a/d.py", "deleted", b"")
    assert list(root.iterdir()) == []


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "..", "a/../b", ".", "a/.", "a\0"])
def test_paths_that_name_no_file_below_are_refused(path: str) -> None:
    with pytest.raises(PathRefused):
        inside.split_path(path)


@pytest.mark.parametrize("path", ["a", "a/b", "...", "a b", "-x", ".git/config", "a\nb"])
def test_paths_that_name_a_file_below_are_taken_apart(path: str) -> None:
    assert "/".join(inside.split_path(path)) == path


def test_of_two_files_written_within_a_second_the_second_is_what_python_imports(root: Path) -> None:
    """Byte code is told apart by size and whole seconds; so are the results that mypy keeps."""
    said = []
    for text in (b"word = 'one'\n", b"word = 'two'\n"):
        files.write(str(root), "a.py", "100644", text)
        argv = [sys.executable, "-c", "import a; print(a.word)"]
        said.append(
            subprocess.run(
                argv, cwd=root, env={}, capture_output=True, text=True, check=True
            ).stdout
        )
    assert (root / "__pycache__").is_dir()
    assert said == ["one\n", "two\n"]
