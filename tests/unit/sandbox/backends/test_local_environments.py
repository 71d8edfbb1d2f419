"""Environments of the local backend: kept within limits, copied to build on."""

import os
from pathlib import Path

import pytest

from sandbox.backends.base import TREE_NOTE
from sandbox.backends.local_environments import PREFIX, Environments, interpreter_folders
from sandbox.backends.retention import DAY_S, RetentionLimits
from sandbox.errors import SandboxUnavailable

LIMITS = RetentionLimits(size=1 << 30, days=14, busy_s=600)


def kept(environments: Environments, key: str, size: int = 10, **notes: str) -> str:
    folder = environments.new()
    (folder / "x").write_bytes(b"x" * size)
    return environments.keep(folder, key, {"record": key, **notes})


def idle(root: Path, image: str, seconds: float) -> None:
    """Nobody used it for so long."""
    environments = Environments(root)
    uses = environments._uses
    path = uses._file(image.removeprefix(PREFIX))
    os.utime(path, (uses.now() - seconds,) * 2)


def test_the_old_and_the_too_many_go(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    images = {
        key: kept(environments, key, size)
        for key, size in (("a", 10), ("b", 60_000), ("c", 60_000))
    }
    idle(tmp_path, images["a"], 15 * DAY_S)
    idle(tmp_path, images["b"], 2 * DAY_S)
    idle(tmp_path, images["c"], DAY_S)
    assert environments.prune(LIMITS, only_count=True).count == 3
    found = environments.prune(LIMITS.model_copy(update={"size": 100_000}))
    assert (found.count, found.removed) == (1, 2)
    assert [environments.find(key) for key in "abc"] == [None, None, images["c"]]
    assert len(list(tmp_path.glob("env-*"))) == 1


def test_environments_of_one_tree_go_first(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    shared, tree = (
        kept(environments, "shared", 60_000),
        kept(environments, "tree", 60_000, **{TREE_NOTE: "d"}),
    )
    old = kept(environments, "old", 60_000, **{TREE_NOTE: "d"})
    for image, days in ((shared, 9), (tree, 1), (old, 3)):
        idle(tmp_path, image, days * DAY_S)
    assert environments.prune(LIMITS).removed == 1
    assert environments.prune(LIMITS.model_copy(update={"size": 100_000})).removed == 1
    assert [environments.find(key) for key in ("shared", "tree", "old")] == [shared, None, None]


def test_what_was_used_a_moment_ago_stays(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    kept(environments, "a", 1000)
    assert environments.prune(LIMITS.model_copy(update={"size": 0})).removed == 0


def test_folders_no_key_leads_to_go_once_no_set_up_can_still_be_in_them(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    left = environments.new()
    assert environments.prune(LIMITS).removed == 0
    os.utime(left, (1, 1))
    assert environments.prune(LIMITS).removed == 1
    assert not left.exists()


def test_nothing_is_pruned_where_nothing_is(tmp_path: Path) -> None:
    assert Environments(tmp_path / "missing").prune(LIMITS).count == 0


def test_an_environment_that_is_gone_is_said(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    assert environments.folder("local") is None
    with pytest.raises(SandboxUnavailable, match="was removed"):
        environments.folder(f"{PREFIX}{tmp_path}/env-gone")


def test_a_copy_stands_on_its_own(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    first = environments.new()
    (first / "bin").mkdir()
    (first / "bin/tool").write_text(f"#!{first}/bin/python\n")
    (first / "python").symlink_to(first / "bin")
    (first / "system").symlink_to("/usr/bin/python3")
    (first / "pyvenv.cfg").write_text(f"command = venv {first}\n")
    copy = environments.new(first)
    assert (copy / "bin/tool").read_text() == f"#!{copy}/bin/python\n"
    assert (copy / "pyvenv.cfg").read_text() == f"command = venv {copy}\n"
    assert (copy / "python").readlink() == copy / "bin"
    assert (copy / "system").readlink() == Path("/usr/bin/python3")


def test_notes_come_back_as_they_were_kept(tmp_path: Path) -> None:
    environments = Environments(tmp_path)
    image = kept(environments, "a")
    (tmp_path / "broken.json").write_text("[")
    assert environments.notes(image) == {"record": "a"}
    assert environments.notes("local") == {}


def test_pythons_of_this_host_are_found_in_the_path(tmp_path: Path) -> None:
    for name in ("a/python3.9", "b/python3.12", "b/python3.13", "c/python3"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    path = ":".join(str(tmp_path / name) for name in "abc")
    assert interpreter_folders(path) == (str(tmp_path / "a"), str(tmp_path / "b"))
