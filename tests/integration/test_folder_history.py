"""What a git checkout on this host changed: real git wrote it, and nothing its repository says is run."""

from pathlib import Path

import pytest

from sandbox.checkout import take_folder
from sandbox.errors import ImportRejected
from sandbox.spec import SandboxSpec
from sandbox.types import RedHunk, SourceDiff
from tests.integration.git_http import git

pytestmark = pytest.mark.anyio

OLD = "def half(n):\n    return n // 2\n\n\ndef twice(n):\n    return n * 2\n"
NEW = OLD.replace("n * 2", "n * 3")
TEST = "def test_it():\n    pass\n"


async def diff_of(folder: Path, since: str | None = None) -> SourceDiff:
    return (await take_folder(str(folder), SandboxSpec(), since=since)).red_diff


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")


def commit(folder: Path, **files: str) -> None:
    write(folder, **files)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "more")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, pkg__m=OLD, pkg__n="A = 1\n", tests__test_m=TEST)
    return folder


async def test_uncommitted_changes_of_sources_come_first_and_the_last_commit_counts_too(
    checkout: Path,
) -> None:
    commit(checkout, pkg__n="A = 2\n")
    write(checkout, pkg__m=NEW, pkg__unknown_to_git="B = 1\n")
    expected = SourceDiff(
        files={"pkg/m.py": (6,), "pkg/n.py": (1,)},
        hunks=(
            RedHunk(path="pkg/m.py", line=6, lines=1, before="    return n * 2\n"),
            RedHunk(path="pkg/n.py", line=1, lines=1, before="A = 1\n"),
        ),
    )
    assert await diff_of(checkout) == expected
    inside = await diff_of(checkout / "pkg")
    assert (list(inside.files), [hunk.path for hunk in inside.hunks]) == (
        ["m.py", "n.py"],
        ["m.py", "n.py"],
    )


async def test_an_uncommitted_line_does_not_hide_what_the_last_commit_changed(
    checkout: Path,
) -> None:
    commit(checkout, pkg__m=NEW)
    write(checkout, pkg__n="A = 1\n# a note\n")
    found = await diff_of(checkout)
    assert found.files == {"pkg/m.py": (6,), "pkg/n.py": (2,)}
    assert "    return n * 2\n" in [hunk.before for hunk in found.hunks]
    write(checkout, pkg__m=NEW.replace("n // 2", "n // 3"))
    assert (await diff_of(checkout)).files["pkg/m.py"] == (2, 6), "both changes of one file"


async def test_uncommitted_changes_on_the_first_commit_count_alone(checkout: Path) -> None:
    write(checkout, pkg__m=NEW)
    assert (await diff_of(checkout)).files == {"pkg/m.py": (6,)}


async def test_without_any_the_last_commit_is_meant(checkout: Path) -> None:
    commit(checkout, pkg__m=NEW)
    assert (await diff_of(checkout)).files == {"pkg/m.py": (6,)}


@pytest.mark.parametrize("name", ["tests__test_m", "tests__test_unknown_to_git"])
async def test_tests_over_a_clean_head_do_not_make_the_last_commit_suspect(
    checkout: Path, name: str
) -> None:
    commit(checkout, pkg__m=NEW)
    write(checkout, **{name: f"{TEST}\n\ndef test_more():\n    pass\n"})
    assert "pkg/m.py" not in (await diff_of(checkout)).files
    write(checkout, pkg__n="A = 3\n")
    assert {"pkg/m.py", "pkg/n.py"} <= set((await diff_of(checkout)).files)


async def test_a_revision_may_be_named(checkout: Path) -> None:
    git(checkout, "tag", "-a", "-m", "green", "v1")
    commit(checkout, pkg__m=NEW)
    commit(checkout, pkg__n="A = 2\n", pkg__new="C = 1\n")
    git(checkout, "gc", "-q")
    for since in ("v1", "main~2", "HEAD^^"):
        found = await diff_of(checkout, since)
        assert found.files == {"pkg/m.py": (6,), "pkg/n.py": (1,), "pkg/new.py": (1,)}, since
    assert (await diff_of(checkout, "main^")).files == {"pkg/n.py": (1,), "pkg/new.py": (1,)}
    assert await diff_of(checkout, "HEAD") == SourceDiff()


async def test_other_work_trees_and_ends_of_lines_are_understood(
    checkout: Path, tmp_path: Path
) -> None:
    git(checkout, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    write(tmp_path / "other", pkg__m=NEW.replace("\n", "\r\n"), pkg__n="A = 1\r\n")
    assert (await diff_of(tmp_path / "other")).files == {"pkg/m.py": (6,)}


async def test_folders_without_a_history_have_no_difference(checkout: Path, tmp_path: Path) -> None:
    assert await diff_of(checkout) == SourceDiff()  # the first commit has no parent
    write(tmp_path / "plain", m=OLD)
    assert await diff_of(tmp_path / "plain") == SourceDiff()
    (tmp_path / "plain" / ".git").write_text("no pointer\n")
    source = await take_folder(str(tmp_path / "plain"), SandboxSpec())
    assert source.red_diff == SourceDiff()
    assert any("what changed since the last commit" in note for note in source.notes)


async def test_a_submodule_has_its_own_history(checkout: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(checkout), "inner")
    commit(outer, m=OLD)
    write(outer / "inner", pkg__m=NEW)
    assert (await diff_of(outer / "inner")).files == {"pkg/m.py": (6,)}


async def test_nobody_points_to_the_repository_of_another(checkout: Path, tmp_path: Path) -> None:
    commit(checkout, pkg__m=NEW)
    write(tmp_path / "thief", pkg__m=OLD)
    place = tmp_path / "thief" / ".git"
    place.write_text(f"gitdir: {checkout}/.git\n")
    assert await diff_of(tmp_path / "thief") == SourceDiff()
    place.unlink()
    place.symlink_to(checkout / ".git")
    assert await diff_of(tmp_path / "thief") == SourceDiff()
    place.unlink()
    place.mkdir()
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("refs", "objects"):
        (place / name).symlink_to(checkout / ".git" / name)
    assert await diff_of(tmp_path / "thief") == SourceDiff()


@pytest.mark.parametrize("way", ["alternates", "a linked folder of objects"])
async def test_nobody_borrows_the_objects_of_another(
    checkout: Path, tmp_path: Path, way: str
) -> None:
    commit(checkout, pkg__m=NEW)
    thief = tmp_path / "thief"
    thief.mkdir()
    git(thief, "init", "-q", "-b", "main")
    write(thief, pkg__m=OLD)
    objects = checkout / ".git" / "objects"
    (thief / ".git" / "refs" / "heads" / "main").write_text(git(checkout, "rev-parse", "HEAD"))
    if way == "alternates":
        (thief / ".git" / "objects" / "info" / "alternates").write_text(f"{objects}\n")
    else:
        for folder in objects.glob("??"):
            (thief / ".git" / "objects" / folder.name).symlink_to(folder)
    assert git(thief, "show", "HEAD:pkg/m.py") == NEW.strip(), "git itself would show it"
    assert await diff_of(thief) == SourceDiff()


@pytest.mark.parametrize("since", ["nowhere", "--output=x", "HEAD:pkg", "HEAD^{tree}", "", "a b"])
async def test_what_is_no_commit_is_refused(checkout: Path, since: str) -> None:
    with pytest.raises(ImportRejected, match="no commit"):
        await diff_of(checkout, since)


async def test_a_revision_needs_a_checkout(tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="not in a git checkout"):
        await diff_of(tmp_path, "HEAD")


async def test_nothing_that_the_repository_says_is_run(checkout: Path, tmp_path: Path) -> None:
    commit(checkout, pkg__m=NEW)
    marker = tmp_path / "marker"
    evil = checkout / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    evil.chmod(0o755)
    for setting in (
        "core.fsmonitor", "core.hooksPath", "core.sshCommand", "core.pager", "diff.external", "diff.x.textconv",
        "diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process", "core.alternateRefsCommand",
    ):  # fmt: skip
        git(checkout, "config", setting, str(evil))
    git(checkout, "config", "extensions.partialClone", "origin")
    git(checkout, "config", "remote.origin.promisor", "true")
    git(checkout, "config", "remote.origin.url", f"ext::{evil}")
    git(checkout, "config", "protocol.ext.allow", "always")
    (checkout / ".gitattributes").write_text("*.py filter=x diff=x\n")
    for name in ("post-index-change", "reference-transaction", "pre-auto-gc"):
        (checkout / ".git" / "hooks").mkdir(exist_ok=True)
        (checkout / ".git" / "hooks" / name).write_bytes(evil.read_bytes())
        (checkout / ".git" / "hooks" / name).chmod(0o755)
    before = set((checkout / ".git").rglob("*"))
    assert (await diff_of(checkout)).files == {"pkg/m.py": (6,)}
    blob = git(checkout, "-c", "core.fsmonitor=false", "rev-parse", "HEAD^:pkg/m.py").strip()
    (
        checkout / ".git" / "objects" / blob[:2] / blob[2:]
    ).unlink()  # a promisor would be asked for it
    assert await diff_of(checkout) == SourceDiff()
    assert not marker.exists()
    assert set((checkout / ".git").rglob("*")) <= before
