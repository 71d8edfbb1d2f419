"""The local backend's refusals and its environments."""

import os
import tempfile
from pathlib import Path

import pytest

from sandbox.backends.local_environments import Environments, find_folder, remove_tree
from sandbox.backends.local_process import LocalBackend
from sandbox.backends.owners import owner
from sandbox.errors import SandboxUnavailable
from sandbox.spec import SandboxSpec

pytestmark = pytest.mark.anyio


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone is refused")
@pytest.mark.parametrize("uid", [None, 0])
async def test_root_is_refused(uid: int | None, tmp_path: Path) -> None:
    backend = LocalBackend(SandboxSpec(backend="local", local_uid=uid), cache=tmp_path)
    with pytest.raises(SandboxUnavailable, match="never runs repository code as root"):
        await backend.ensure_toolchain()
    with pytest.raises(SandboxUnavailable):
        async with backend.open("local"):
            pass


def test_the_folder_of_a_sandbox_whose_maker_died_is_swept_by_the_next_one(tmp_path: Path) -> None:
    left = Path(tempfile.mkdtemp(prefix="metaagent-sandbox-"))
    (left / "work").mkdir()
    (left / "owner").write_text(f"{owner().rpartition('/')[0]}/1")
    backend = LocalBackend(SandboxSpec(backend="local", local_uid=65_533), cache=tmp_path)
    base = backend._furnish()
    try:
        assert not left.exists()
        assert base.is_dir(), "the one that is made now stays"
    finally:
        remove_tree(base)


def test_an_environment_is_kept_under_its_key(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    assert environments.find("k") is None
    folder = environments.new()
    (folder / "x").write_text("x")
    reference = environments.keep(folder, "k", {})
    assert environments.find("k") == reference
    assert find_folder(reference) == folder
    assert environments.find("other") is None
    before = environments.digest(reference)
    (folder / "y").write_text("y")
    assert environments.digest(reference) != before
    remove_tree(folder)
    assert environments.find("k") is None


def test_a_broken_entry_is_no_environment(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    environments.keep(environments.new(), "k", {})
    for entry in tmp_path.glob("*.json"):
        entry.write_text("{")
    assert environments.find("k") is None


def test_the_bare_toolchain_has_no_folder() -> None:
    assert find_folder("local") is None


def test_folders_closed_by_others_are_removed_and_links_not_followed(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep/file").write_text("x")
    tree = tmp_path / "tree"
    (tree / "closed").mkdir(parents=True)
    (tree / "link").symlink_to(tmp_path / "keep")
    (tree / "closed/file").write_text("x")
    (tree / "closed").chmod(0)
    remove_tree(tree)
    assert not tree.exists()
    assert (tmp_path / "keep/file").exists()
