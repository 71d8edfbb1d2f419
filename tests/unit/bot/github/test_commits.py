"""A commit is made once: the one that is there is known by its parent, its words and its files."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bot.domain.github import BranchCommit
from bot.github.commits import MUTATION_LIMIT, blob_sha, fits_mutation, is_same
from bot.github.replies import CommitReply
from sandbox.types import FileEdit

PARENT = "a" * 40
COMMIT = BranchCommit(branch="fix", parent=PARENT, message="Fix add\n\nbecause\n")
EDIT = FileEdit(path="a.py", mode="100644", content=b"x = 1\n")
GONE = FileEdit(path="old.py", mode="deleted")
CHANGED = {"filename": "a.py", "status": "modified", "sha": blob_sha(b"x = 1\n")}
REMOVED = {"filename": "old.py", "status": "removed", "sha": "0" * 40}
RENAMED = {
    "filename": "a.py",
    "previous_filename": "old.py",
    "status": "renamed",
    "sha": blob_sha(b"x = 1\n"),
}


def there(
    *files: dict[str, Any], parent: str = PARENT, message: str = "Fix add\n\nbecause"
) -> CommitReply:
    return CommitReply.model_validate(
        {
            "sha": "b" * 40,
            "commit": {"message": message},
            "parents": [{"sha": parent}],
            "files": files,
        }
    )


@pytest.mark.parametrize(
    "files", [(CHANGED, REMOVED), (RENAMED,)], ids=["listed apart", "seen as a rename"]
)
def test_the_same_commit_is_known(files: tuple[dict[str, Any], ...]) -> None:
    assert is_same(there(*files), COMMIT, (EDIT, GONE))


@pytest.mark.parametrize(
    "other",
    [
        there(CHANGED, REMOVED, parent="c" * 40),
        there(CHANGED, REMOVED, message="Something else"),
        there(CHANGED | {"sha": blob_sha(b"x = 2\n")}, REMOVED),
        there(CHANGED, REMOVED, CHANGED | {"filename": "more.py"}),
        there(CHANGED | {"status": "removed"}, REMOVED),
        there(),
    ],
    ids=["parent", "words", "content", "another file", "removed", "nothing"],
)
def test_another_commit_is_not_taken_for_it(other: CommitReply) -> None:
    assert not is_same(other, COMMIT, (EDIT, GONE))


def test_a_blob_is_named_as_git_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x00any\r\n")
    git = subprocess.run(
        ["git", "hash-object", "--no-filters", "file"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert git.stdout.decode().strip() == blob_sha(b"\x00any\r\n")


def test_a_mode_or_too_much_is_nothing_for_a_mutation() -> None:
    assert fits_mutation((EDIT, GONE))
    assert not fits_mutation((EDIT, EDIT.with_(mode="100755")))
    assert not fits_mutation((EDIT.with_(content=bytes(MUTATION_LIMIT)),))
