"""Which paths an edit may name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.changes.paths import check_path, is_safe_path, show
from sandbox.errors import ChangeRejected

SAFE = [
    "a.py",
    "src/pkg/mod.py",
    "docs/über.md",
    "a b/c-d_e.txt",
    ".flake8",
    "a/.hidden/b",
    "git/x.py",
    "x.git.py",
    "routes/$id.tsx",
    "$HOME/$",
    "app/(shop)/[id]/@modal/100%!.tsx",
    "docs/it's R&D.md",
]
UNSAFE = [
    "", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a/", "-rf", "~/x", "a\\b", "C:/x", "a:b", "a\0b", "a\nb",
    "a\tb", "a\u202eb.py", "a\u200b.py", "a\ufeff", ".git/config", "a/.git/hooks/x", ".GIT/x", ".Git", "a/.git", ".g\u0131t",
    "\uff0egit/config", ".g\u200cit/x", ".git /x", ".git./x", "git~1/x", "GIT~2", "gi7eba~1", ".gitmodules", "a/.gitattributes",
    ".gitattributes.", "con", "a/NUL.txt", "aux.py", "COM1", "lpt9.c", "a /b", " a", "a.", "a?b", "a*b", "a`b`", "$(touch x)", "a${x}",
    "a;b", 'a"b', "a|b", "<a>", "%2e%2e/x", "a%2Fb", "!a", "a" * 300, "a/" * 60 + "b", "\ud800", "e\u0301.py", "a\u2028b",
]  # fmt: skip
ODD_BUT_NOT_GIT = {".g\u0131t"}
"""A dotless i folds to itself: no file system takes it for git."""


@pytest.mark.parametrize("path", SAFE)
def test_a_plain_relative_path_is_safe(path: str) -> None:
    assert is_safe_path(path)
    assert check_path(path) == path


@pytest.mark.parametrize("path", [path for path in UNSAFE if path not in ODD_BUT_NOT_GIT])
def test_a_path_that_means_something_else_somewhere_is_refused(path: str) -> None:
    assert not is_safe_path(path)
    with pytest.raises(ChangeRejected) as caught:
        check_path(path)
    assert len(caught.value.message) < 300
    assert caught.value.message.isascii()


@given(st.text())
def test_a_safe_path_is_one_plain_spelling(path: str) -> None:
    if is_safe_path(path):
        assert not path.startswith("/")
        assert all(part not in {"", ".", ".."} for part in path.split("/"))
        assert ".git" not in {part.casefold() for part in path.split("/")}
        assert path.isprintable()


@given(st.text())
def test_a_shown_path_is_short_and_plain(path: str) -> None:
    assert len(show(path)) <= 120
    assert show(path).isprintable()
