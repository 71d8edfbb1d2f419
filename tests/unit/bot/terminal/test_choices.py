"""The choices of the last question about a folder."""

from pathlib import Path

import pytest

from bot.domain.patch import Choice, Rung
from bot.errors import UsageError
from bot.terminal.choices import KeptChoices, keep_choices, read_choice
from sandbox.types import FileEdit

EDIT = FileEdit(path="a.py", mode="100644", content=b"x = 1\n")
KEPT = KeptChoices(
    command="make check",
    choices=tuple(Choice(title=t, diff=f"{t}\n", rung=Rung.SEARCH, edits=(EDIT,)) for t in "ab"),
)


def test_choices_are_kept_for_each_folder_and_only_as_diffs(tmp_path: Path) -> None:
    keep_choices(tmp_path, Path("/one"), KEPT)
    kept, choice = read_choice(tmp_path, Path("/one"), 2)
    assert (kept.command, choice.title, choice.diff, choice.edits) == ("make check", "b", "b\n", ())
    with pytest.raises(UsageError, match="no choices are kept"):
        read_choice(tmp_path, Path("/two"), 1)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert file.stat().st_mode & 0o777 == 0o600, "it holds source"


def test_a_question_without_choices_forgets_those_before(tmp_path: Path) -> None:
    keep_choices(tmp_path, Path("/one"), KEPT)
    keep_choices(tmp_path, Path("/one"), KeptChoices())
    with pytest.raises(UsageError, match="no choices are kept"):
        read_choice(tmp_path, Path("/one"), 1)


def test_a_file_that_cannot_be_read_is_no_choice(tmp_path: Path) -> None:
    keep_choices(tmp_path, Path("/one"), KEPT)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    file.write_text("{")
    with pytest.raises(UsageError, match="no choices are kept"):
        read_choice(tmp_path, Path("/one"), 1)
