"""A verified diff is written into a folder of this host strictly, all or nothing, and never through a link."""

import os
from pathlib import Path

import pytest

from sandbox.apply import apply_diff
from sandbox.diffs import Original, write_diff
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit

OLD, NEW = b"one\ntwo\n", b"one\n2\n"


def a_diff(*paths: str, old: bytes = OLD, new: bytes = NEW, mode: str = "100644") -> str:
    """The same change in several files, as a mission writes it."""
    kept = "100755" if mode == "100755" else "100644"
    edits = [
        FileEdit(path=path, mode="100755" if kept == "100755" else "100644", content=new)
        for path in paths
    ]
    return write_diff(edits, {path: Original(content=old, mode=kept) for path in paths})


def a_new_file(path: str) -> str:
    return write_diff([FileEdit(path=path, mode="100644", content=NEW)], {})


def tree(folder: Path, *paths: str) -> Path:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(OLD)
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and not p.is_symlink()
    }


def test_several_files_are_written_and_named(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "deep/er/b.py", "c.py")
    assert apply_diff(tmp_path, a_diff("a.py", "deep/er/b.py")) == ("a.py", "deep/er/b.py")
    assert everything(tmp_path) == {"a.py": NEW, "deep/er/b.py": NEW, "c.py": OLD}


def test_a_new_file_is_made_with_ordinary_permissions(tmp_path: Path) -> None:
    apply_diff(tmp_path, a_new_file("new.py"))
    assert everything(tmp_path) == {"new.py": NEW}
    assert (tmp_path / "new.py").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_stay_as_they_are(tmp_path: Path, mode: int) -> None:
    tree(tmp_path, "run.py")
    (tmp_path / "run.py").chmod(mode)
    apply_diff(tmp_path, a_diff("run.py", mode="100755" if mode & 0o100 else "100644"))
    assert (tmp_path / "run.py").read_bytes() == NEW
    assert (tmp_path / "run.py").stat().st_mode & 0o777 == mode


def test_a_file_that_changed_since_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "b.py")
    (tmp_path / "b.py").write_bytes(b"one\nthree\n")
    before = everything(tmp_path)
    with pytest.raises(ChangeRejected, match="does not match"):
        apply_diff(tmp_path, a_diff("a.py", "b.py"))
    assert everything(tmp_path) == before


def test_a_missing_file_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    tree(tmp_path, "a.py")
    with pytest.raises(ChangeRejected, match=r"b\.py"):
        apply_diff(tmp_path, a_diff("a.py", "b.py"))
    assert everything(tmp_path) == {"a.py": OLD}


def test_a_write_that_fails_late_leaves_every_file_as_it_was(tmp_path: Path) -> None:
    tree(tmp_path, "a.py", "z.py")
    before = everything(tmp_path)
    with pytest.raises(ChangeRejected, match="gone/new"):
        apply_diff(tmp_path, a_diff("a.py") + a_new_file("gone/new.py"))
    assert everything(tmp_path) == before


def test_a_file_cannot_be_made_over_one_that_is_there(tmp_path: Path) -> None:
    tree(tmp_path, "a.py")
    with pytest.raises(ChangeRejected, match="already exists"):
        apply_diff(tmp_path, a_new_file("a.py"))
    assert everything(tmp_path) == {"a.py": OLD}


def test_a_linked_file_is_not_written_through(tmp_path: Path) -> None:
    outside = tree(tmp_path / "outside", "victim")
    project = tree(tmp_path / "project", "a.py")
    (project / "link.py").symlink_to(outside / "victim")
    with pytest.raises(ChangeRejected, match=r"link\.py cannot be read"):
        apply_diff(project, a_diff("a.py", "link.py"))
    assert everything(tmp_path) == {"outside/victim": OLD, "project/a.py": OLD}


@pytest.mark.parametrize("target", ["../outside", "inside"])
def test_a_linked_folder_is_not_entered(tmp_path: Path, target: str) -> None:
    tree(tmp_path, "outside/victim", "project/inside/victim")
    (tmp_path / "project/folder").symlink_to(target)
    with pytest.raises(ChangeRejected, match="cannot be reached"):
        apply_diff(tmp_path / "project", a_diff("folder/victim"))
    assert set(everything(tmp_path).values()) == {OLD}


@pytest.mark.parametrize("path", ["../victim", "/etc/victim", "a/../../victim", ".git/config"])
def test_a_path_out_of_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    tree(tmp_path, "victim", "project/.git/config")
    with pytest.raises(ChangeRejected):
        apply_diff(tmp_path / "project", a_diff(path))
    assert set(everything(tmp_path).values()) == {OLD}


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path in ("pipe", "folder"):
        with pytest.raises(ChangeRejected, match="not a regular file"):
            apply_diff(tmp_path, a_diff(path))


def test_a_file_too_large_to_be_read_whole_is_not_cut_off(tmp_path: Path) -> None:
    content = OLD + b"#" * (8 << 20)
    (tmp_path / "large.py").write_bytes(content)
    with pytest.raises(ChangeRejected, match="larger than"):
        apply_diff(tmp_path, a_diff("large.py"))
    assert (tmp_path / "large.py").stat().st_size == len(content)


@pytest.mark.parametrize("diff", ["", "nonsense\n"])
def test_what_is_no_diff_is_refused(tmp_path: Path, diff: str) -> None:
    with pytest.raises(ChangeRejected):
        apply_diff(tmp_path, diff)
