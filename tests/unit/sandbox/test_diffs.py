"""The diffs we write are accepted by git, and give the very bytes; the diffs we read are git's own."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.diffs import Original, parse_changed_lines, parse_hunks, write_diff
from sandbox.types import FileEdit, RedHunk

NAMES = st.sampled_from(
    ("m.py", "a b.txt", "d/e/f.py", "ü.txt", 'q"uote', "back\\slash", "tab\there", "-x")
)
LINES = st.lists(
    st.sampled_from(
        ("a\n", "b\n", "", "\n", "x\r\n", "\x0c\n", "+++ b/m.py\n", "@@ -1 +1 @@\n", "ü\n")
    ),
    max_size=40,
)
CONTENTS = st.one_of(
    st.builds(
        lambda lines, end: "".join([*lines, end]).encode(),
        LINES,
        st.sampled_from(("", "end", "\\", "\r")),
    ),
    st.binary(max_size=200),
)
MODES = st.sampled_from(("100644", "100755"))
ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def apply(folder: Path, before: dict[str, Original], diff: str) -> dict[str, tuple[bytes, bool]]:
    """Write files, apply a diff to them with the real git, and read them back."""
    for name, original in before.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(original.content)
        path.chmod(int(original.mode[-3:], 8))
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(
        command, cwd=folder, env=ENV, input=diff.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode() + diff
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(p.relative_to(folder)): (p.read_bytes(), bool(p.stat().st_mode & 0o100)) for p in files
    }


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    before=st.dictionaries(NAMES, st.builds(Original, content=CONTENTS, mode=MODES), max_size=4),
    after=st.dictionaries(NAMES, st.tuples(CONTENTS, MODES), max_size=4),
    deleted=st.sets(NAMES, max_size=2),
)
def test_git_apply_accepts_every_diff_and_gives_the_very_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    before: dict[str, Original],
    after: dict[str, tuple[bytes, str]],
    deleted: set[str],
) -> None:
    edits = [
        FileEdit.model_validate({"path": n, "mode": m, "content": c}) for n, (c, m) in after.items()
    ]
    edits += [FileEdit(path=name, mode="deleted") for name in deleted if name not in after]
    diff = write_diff(edits, before)
    wanted = {
        name: (original.content, original.mode == "100755") for name, original in before.items()
    }
    for edit in edits:
        wanted.pop(edit.path, None)
        if edit.mode != "deleted":
            wanted[edit.path] = (edit.content, edit.mode == "100755")
    folder = tmp_path_factory.mktemp("tree")
    if not diff:
        assert wanted == {
            name: (original.content, original.mode == "100755") for name, original in before.items()
        }
        return
    assert apply(folder, before, diff) == wanted


def edit(path: str, text: str) -> FileEdit:
    return FileEdit(path=path, mode="100644", content=text.encode())


def test_a_change_of_one_line_is_one_small_hunk() -> None:
    old = "".join(f"{number}\n" for number in range(20))
    diff = write_diff(
        [edit("m.py", old.replace("10\n", "ten\n"))], {"m.py": Original(content=old.encode())}
    )
    assert diff.splitlines()[2:] == [
        *(
            "--- a/m.py",
            "+++ b/m.py",
            "@@ -8,7 +8,7 @@",
            " 7",
            " 8",
            " 9",
            "-10",
            "+ten",
            " 11",
            " 12",
            " 13",
        ),
    ]


def test_a_file_as_it_was_gives_no_diff() -> None:
    assert write_diff([edit("m.py", "x\n")], {"m.py": Original(content=b"x\n")}) == ""


def test_a_missing_last_newline_is_told() -> None:
    diff = write_diff([edit("m.py", "x")], {"m.py": Original(content=b"x\n")})
    assert diff.endswith("-x\n+x\n\\ No newline at end of file\n")


def test_distant_changes_are_separate_hunks() -> None:
    old = "".join(f"{number}\n" for number in range(40))
    new = old.replace("\n5\n", "\nfive\n").replace("\n30\n", "\nthirty\n")
    assert (
        write_diff([edit("m.py", new)], {"m.py": Original(content=old.encode())}).count("@@ -") == 2
    )


def test_a_rewrite_of_a_huge_file_takes_no_time(tmp_path: Path) -> None:
    old, new = (
        Original(content="".join(f"{n * k}\n" for n in range(30_000)).encode()) for k in (1, 3)
    )
    diff = write_diff([FileEdit(path="m.py", mode="100644", content=new.content)], {"m.py": old})
    assert apply(tmp_path, {"m.py": old}, diff)["m.py"][0] == new.content


def test_changed_lines_are_those_of_the_new_file() -> None:
    raw = b"--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,3 @@\n-a\n-b\n+a\n+++ b/x.py\n+c\n@@ -9 +10,0 @@\n-z\n@@ -20 +20 @@\n-y\n+Y\n"
    assert parse_changed_lines(raw) == {"m.py": (1, 2, 3, 20)}


def test_changed_lines_of_new_and_deleted_files() -> None:
    raw = b"--- /dev/null\n+++ b/a b.py\t\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n--- a/o\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert parse_changed_lines(raw) == {"a b.py": (1,)}


TEXTS = st.builds(
    lambda lines, end: "".join([*lines, end]), LINES, st.sampled_from(("", "end", "\\", "ü"))
)


def git_diff(folder: Path, before: dict[str, bytes], after: dict[str, bytes]) -> bytes:
    """What git says of two trees, as the importer asks it."""
    for tree, files in (("a", before), ("b", after)):
        for name, content in files.items():
            path = folder / tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    command = ["git", "diff", "--no-index", "-U0", "--no-renames", "--no-color", "a", "b"]
    raw = subprocess.run(command, cwd=folder, env=ENV, capture_output=True, check=False).stdout
    return raw.replace(b"--- a/a/", b"--- a/").replace(b"+++ b/b/", b"+++ b/")


def undone(text: str, hunks: tuple[RedHunk, ...]) -> str:
    """A file with all its hunks undone, the last one first."""
    lines = text.split("\n")
    rows = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    for hunk in reversed(hunks):
        rows[hunk.line - 1 : hunk.line - 1 + hunk.lines] = [hunk.before]
    return "".join(rows)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=TEXTS, after=TEXTS)
def test_undoing_all_hunks_gives_the_file_as_it_was(
    before: str, after: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = git_diff(
        tmp_path_factory.mktemp("trees"), {"m.py": before.encode()}, {"m.py": after.encode()}
    )
    assert undone(after, parse_hunks(raw)) == before


def test_hunks_are_those_of_source_files_that_are_still_there(tmp_path: Path) -> None:
    before = {
        "gone.py": b"x\n",
        "m.py": b"a\nb\nc\n",
        "notes.txt": b"x\n",
        "latin.py": b"\xe9\n",
        "a.ts": b"let x\n",
    }
    after = {
        "m.py": b"a\nc\nd\n",
        "notes.txt": b"y\n",
        "new.py": b"n\n",
        "latin.py": b"e\n",
        "a.ts": b"let y\n",
    }
    found = parse_hunks(git_diff(tmp_path, before, after))
    assert found == (
        RedHunk(path="m.py", line=2, lines=0, before="b\n"),
        RedHunk(path="m.py", line=3, lines=1, before=""),
        RedHunk(path="new.py", line=1, lines=1, before=""),
        RedHunk(path="a.ts", line=1, lines=1, before="let x\n"),
    ), "those of the search's languages come first"


def test_a_huge_diff_gives_its_first_hunks_only(tmp_path: Path) -> None:
    before = "".join(f"{number}\n\n" for number in range(500))
    found = parse_hunks(
        git_diff(tmp_path, {"m.py": before.encode()}, {"m.py": before.replace("1", "x").encode()})
    )
    assert len(found) == 80
    long = {"m.py": b"x" * 70_000 + b"\n"}
    assert parse_hunks(git_diff(tmp_path / "long", long, {"m.py": b"y\n"})) == ()
