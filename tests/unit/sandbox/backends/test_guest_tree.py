"""The guest programs as they travel."""

import importlib.util
import io
import sys
import tarfile
from pathlib import Path

from sandbox.backends.guest_tree import GuestTree


def test_the_installed_programs_are_all_there() -> None:
    tree = GuestTree.installed()
    assert {"supervisor.py", "seccomp.py", "wire.py", "__init__.py"} <= set(tree.files)
    assert not [name for name in tree.files if "__pycache__" in name]


def test_the_hash_changes_with_any_file() -> None:
    tree = GuestTree(files={"a.py": b"1", "b.py": b"2"})
    assert len(tree.digest) == 12
    others = [
        {"a.py": b"1"},
        {"a.py": b"12", "b.py": b""},
        {"a.py": b"1", "c.py": b"2"},
        {"a.py": b"1", "b.py": b"3"},
    ]
    assert len({tree.digest, *(GuestTree(files=files).digest for files in others)}) == 5


def test_the_archive_belongs_to_root_and_is_always_the_same() -> None:
    tree = GuestTree(files={"a.py": b"1", "search/b.py": b"2"})
    assert tree.archive() == tree.archive()
    with tarfile.open(fileobj=io.BytesIO(tree.archive())) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}
    assert not [
        name for name, member in members.items() if member.mode & 0o022 and not member.issym()
    ]
    assert {
        "opt/metaagent/guest/a.py",
        "opt/metaagent/guest/search/b.py",
        "opt/metaagent/lib/sandbox/guest",
    } <= set(members)


def test_modules_come_compiled_for_the_python_we_run_on(tmp_path: Path) -> None:
    cached = f"__pycache__/odd.{sys.implementation.cache_tag}.pyc"
    tree = GuestTree(files={"odd.py": b"VALUE = 7\n", "broken.py": b"def\n", "notes.txt": b"1"})
    placed = {name.removeprefix("guest/"): content for name, content in tree.layout().items()}
    assert [name for name in placed if name.endswith(".pyc")] == [cached]
    assert placed[cached][:4] == importlib.util.MAGIC_NUMBER
    (tmp_path / "odd.pyc").write_bytes(placed[cached])
    spec = importlib.util.spec_from_file_location("odd", tmp_path / "odd.pyc")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.VALUE == 7
