"""Of a folder's installed packages nothing is read, unless git tracks it."""

import subprocess
from pathlib import Path

import pytest

from sandbox.folder import count_files, read_folder
from sandbox.spec import SandboxSpec

TRACKED = {"src/a.js", "test/fixture/node_modules/b/index.js", "test/fixture/package.json"}
INSTALLED = {"node_modules/c/index.js", "test/fixture/node_modules/d/index.js"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (*TRACKED, *INSTALLED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def test_packages_that_belong_to_tests_are_read(folder: Path) -> None:
    subprocess.run(("git", "init", "-q"), cwd=folder, check=True)
    subprocess.run(("git", "add", "-f", *sorted(TRACKED)), cwd=folder, check=True)
    files, _ = read_folder(folder, SandboxSpec())
    assert set(files) == TRACKED
    assert count_files(folder, SandboxSpec()) == len(TRACKED)


@pytest.mark.parametrize("index", [None, b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\7", b"x" * 200])
def test_without_a_readable_index_no_package_is_read(folder: Path, index: bytes | None) -> None:
    (folder / ".git").mkdir()
    if index is not None:
        (folder / ".git/index").write_bytes(index)
    files, _ = read_folder(folder, SandboxSpec())
    assert set(files) == {"src/a.js", "test/fixture/package.json"}
