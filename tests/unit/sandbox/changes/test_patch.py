"""Unified diffs, read strictly."""

import contextlib
import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.changes.patch import read_patch
from sandbox.errors import ChangeRejected

OLD = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
HEAD = "diff --git a/m.txt b/m.txt\n--- a/m.txt\n+++ b/m.txt\n"
GOOD = HEAD + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def read(patch: str, **files: str) -> dict[str, str]:
    present = {"m.txt": OLD, **{name.replace("__", "."): text for name, text in files.items()}}
    edits = read_patch(
        patch.encode(), lambda path: present[path].encode() if path in present else None
    )
    return {edit.path: edit.content.decode() for edit in edits}


def test_a_plain_patch_is_applied() -> None:
    assert read(GOOD) == {"m.txt": OLD.replace("two", "2")}


def test_a_patch_without_gits_header_is_applied() -> None:
    assert read(GOOD.split("\n", 1)[1]) == {"m.txt": OLD.replace("two", "2")}


def test_a_new_file_is_created() -> None:
    patch = "diff --git a/n.txt b/n.txt\nnew file mode 100644\nindex 0000000..1234567\n--- /dev/null\n+++ b/n.txt\n"
    assert read(patch + "@@ -0,0 +1,2 @@\n+a\n+b\n") == {"n.txt": "a\nb\n"}
    assert read(patch + "@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n") == {"n.txt": "a"}


def test_an_insertion_without_context_goes_behind_its_line() -> None:
    assert read(HEAD + "@@ -2,0 +3 @@\n+new\n") == {"m.txt": OLD.replace("two\n", "two\nnew\n")}


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "hello\n",
        HEAD,
        GOOD.replace("-1,3 +1,3", "-1,3 +1,9"),
        GOOD.replace("-1,3 +1,3", "-1,2 +1,2"),
        GOOD.replace("-1,3 +1,3", "-4,3 +4,3"),
        GOOD.replace("@@ -1,3 +1,3 @@", "@@ nonsense @@"),
        GOOD.replace(" one", " uno"),
        GOOD.replace("+++ b/m.txt", "+++ b/.github/workflows/x.yml"),
        GOOD.replace("+++ b/m.txt", "+++ /dev/null"),
        GOOD.replace("b/m.txt\n---", "b/o.txt\n---"),
        GOOD.replace("--- a/m.txt", "old mode 100644\nnew mode 100755\n--- a/m.txt"),
        GOOD.replace("--- a/m.txt", "new file mode 120000\n--- /dev/null"),
        GOOD.replace("--- a/m.txt", "new file mode 100644\n--- a/m.txt"),
        GOOD.replace("--- a/m.txt", "rename from x\nrename to m.txt\n--- a/m.txt"),
        GOOD.replace("m.txt", "../m.txt"),
        GOOD.replace("m.txt", "/etc/passwd"),
        GOOD.replace("m.txt", "absent.txt"),
        GOOD.replace("a/m.txt", "m.txt"),
        GOOD + GOOD,
        GOOD + "trailing\n",
        GOOD + "@@ -2,1 +2,1 @@\n-two\n+zwei\n",
        GOOD.replace("+2", "+2\0"),
        GOOD.replace("+2", "\\ something else"),
        "diff --git a/b.bin b/b.bin\nGIT binary patch\nliteral 4\n",
        "--- /dev/null\n+++ b/m.txt\n@@ -0,0 +1 @@\n+x\n",
        "".join(GOOD.replace("m.txt", f"f{n}.txt") for n in range(30)),
        GOOD.replace("+2", "+" + "x" * 200_001),
    ],
)
def test_whatever_is_not_a_plain_change_of_text_is_refused(patch: str) -> None:
    with pytest.raises(ChangeRejected):
        read(patch)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ChangeRejected):
        read_patch(b"\xff", lambda _: None)
    with pytest.raises(ChangeRejected):
        read_patch(GOOD.encode(), lambda _: b"\xff\n")


LINES = st.lists(
    st.sampled_from(["a", "b", "c", "--- x", "+++ y", "@@ -1 +1 @@", "", "\\ z"]),
    min_size=1,
    max_size=12,
)


@given(LINES, LINES)
def test_what_difflib_writes_is_read_back(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    diff = "".join(
        difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), "a/m", "b/m"
        )
    )
    if diff:
        (edit,) = read_patch(diff.encode(), lambda _: before.encode())
        assert edit.content.decode() == after


def test_what_git_writes_is_read_back(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "m.txt").write_text(OLD)
    subprocess.run([*git, "add", "."], check=True)
    new = OLD.replace("two\n", "").replace("eight", "8").rstrip("\n")
    (tmp_path / "m.txt").write_text(new)
    diff = subprocess.run([*git, "diff", "-U0"], check=True, capture_output=True, text=True).stdout
    assert read(diff) == {"m.txt": new}


@given(st.text(alphabet="-+ @a/b\n,0123456789\\dev/null", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(ChangeRejected):
        read(HEAD + text)
