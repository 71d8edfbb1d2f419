"""From proposed changes to edits."""

import pytest

from sandbox.changes.edits import apply, paths_needed
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange, FileEdit

FILES = {
    "a.py": b"x = 1\ny = 2\n",
    "dos.py": b"x = 1\r\ny = 2\r\n",
    "mixed.py": b"x = 1\ny = 2\nz = 3\r\n",
    "twice.py": b"x\nx\n",
    "bytes.bin": b"\xff\xfe",
}


def replace(path: str, search_for: str | None, content: str | None) -> FileChange:
    return FileChange(
        action=ChangeAction.REPLACE, path=path, search_for=search_for, content=content
    )


def applied(*changes: FileChange) -> dict[str, bytes | None]:
    return {
        edit.path: None if edit.mode == "deleted" else edit.content
        for edit in apply(changes, FILES.get)
    }


def test_the_text_searched_for_is_replaced_where_it_stands() -> None:
    assert applied(replace("a.py", "y = 2", "y = 3")) == {"a.py": b"x = 1\ny = 3\n"}


def test_later_changes_see_earlier_ones() -> None:
    changes = [replace("a.py", "y = 2", "y = 3"), replace("a.py", "y = 3", "z = 4")]
    assert applied(*changes) == {"a.py": b"x = 1\nz = 4\n"}


def test_line_endings_stay_the_files_own() -> None:
    assert applied(replace("dos.py", "x = 1\ny = 2", "x = 5\ny = 6")) == {
        "dos.py": b"x = 5\r\ny = 6\r\n"
    }
    assert applied(replace("mixed.py", "x = 1\ny = 2", "x = 5\ny = 6")) == {
        "mixed.py": b"x = 5\ny = 6\nz = 3\r\n"
    }


def test_a_whole_file_is_replaced_created_deleted_and_renamed() -> None:
    changes = [
        replace("a.py", None, "new\n"),
        FileChange(action=ChangeAction.CREATE, path="b.py", content="b\n"),
        FileChange(action=ChangeAction.DELETE, path="dos.py"),
        FileChange(action=ChangeAction.RENAME, path="twice.py", content="c.py"),
    ]
    assert applied(*changes) == {
        "a.py": b"new\n",
        "b.py": b"b\n",
        "dos.py": None,
        "twice.py": None,
        "c.py": b"x\nx\n",
    }
    assert paths_needed(changes) == ("a.py", "b.py", "dos.py", "twice.py", "c.py")


def test_what_changes_nothing_is_no_edit() -> None:
    assert applied(replace("a.py", "x = 1", "x = 1")) == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (replace("a.py", "nowhere", "x"), "does not occur"),
        (replace("twice.py", "x\n", "y\n"), "occurs 2 times"),
        (replace("a.py", "", "x"), "does not occur"),
        (replace("gone.py", "x", "y"), "does not exist"),
        (replace("gone.py", None, "y"), "cannot be replaced"),
        (replace("a.py", "x", None), "no new content"),
        (replace("a.py", "x = 1", "\ud800"), "not valid Unicode"),
        (replace("a.py", None, "x" * (1 << 20) + "y"), "larger than"),
        (replace("../a.py", "x", "y"), "refused"),
        (FileChange(action=ChangeAction.CREATE, path="a.py", content=""), "already exists"),
        (FileChange(action=ChangeAction.DELETE, path="gone.py"), "does not exist"),
        (FileChange(action=ChangeAction.RENAME, path="a.py", content="dos.py"), "already exists"),
        (FileChange(action=ChangeAction.RENAME, path="a.py", content="/etc/x"), "refused"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_with_the_reason(
    change: FileChange, said: str
) -> None:
    with pytest.raises(ChangeRejected, match=said):
        apply([change], FILES.get)


def test_overlapping_places_are_counted() -> None:
    with pytest.raises(ChangeRejected, match="occurs 2 times"):
        apply([replace("o", "aa", "b")], {"o": b"aaa"}.get)


def test_an_edit_is_a_plain_value() -> None:
    assert apply([replace("a.py", None, "z")], FILES.get) == (
        FileEdit(path="a.py", mode="100644", content=b"z"),
    )
