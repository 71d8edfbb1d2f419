"""Whether edits may leave the sandbox."""

import pytest

from sandbox.changes.verdict import ChangePolicy, validate_edits
from sandbox.types import FileEdit

OLD = b"def f():\n    return 2\n"
GOOD = FileEdit(path="m.py", mode="100644", content=b"def f():\n    return 3\n")
LINT = ChangePolicy(purpose="lint")


def edit(path: str, content: bytes = b"x = 1\n", mode: str = "100644") -> FileEdit:
    return FileEdit.model_validate({"path": path, "mode": mode, "content": content})


def test_an_honest_fix_is_accepted() -> None:
    verdict = validate_edits([GOOD], {"m.py": OLD})
    assert verdict.accepted
    assert verdict.reasons == ()


@pytest.mark.parametrize(
    ("edits", "rule"),
    [
        ([], "nothing"),
        ([edit(f"f{number}.py") for number in range(21)], "files"),
        ([edit("m.py"), edit("M.py")], "twice"),
        ([edit("../m.py")], "path"),
        ([edit("tests/test_a.py")], "protected"),
        ([edit("new.sh", mode="100755")], "mode"),
        ([edit("m.py", OLD, "100755")], "nothing"),
        ([edit("m.py", b"", "deleted")], "deleted"),
        ([edit("m.py", b"\xff\xfe")], "binary"),
        ([edit("m.py", b"x = 1\n" * 1001)], "lines"),
        ([edit("m.py", b"x = '" + b"y" * 200_000 + b"'\n")], "bytes"),
        ([edit("m.py", b"import os\nos._exit(0)\n")], "exit"),
    ],
)
def test_what_breaks_a_rule_is_refused(edits: list[FileEdit], rule: str) -> None:
    verdict = validate_edits(edits, {"m.py": OLD})
    assert not verdict.accepted
    assert rule in {concern.rule for concern in verdict.concerns}
    assert verdict.reasons


def test_a_doubt_is_told_and_does_not_refuse() -> None:
    verdict = validate_edits([edit("m.py", b"import getpass\n")], {"m.py": OLD})
    assert verdict.accepted
    assert [concern.rule for concern in verdict.concerns] == ["surroundings"]


def test_a_policy_opens_what_it_names() -> None:
    assert validate_edits([edit("uv.lock")], {}, ChangePolicy(allowed=("lockfile",))).accepted
    assert validate_edits(
        [edit("m.py", b"", "deleted")], {"m.py": OLD}, ChangePolicy(may_delete=True)
    ).accepted


def test_a_formatter_may_lay_out_tests_anew_and_nothing_more() -> None:
    test = {"tests/test_a.py": b"def test_a( ) :\n    assert  f()==3\n"}
    layout = edit("tests/test_a.py", b"def test_a():\n    assert f() == 3\n")
    assert validate_edits([layout], test, LINT).accepted
    assert not validate_edits([layout], test).accepted
    weaker = edit("tests/test_a.py", b"def test_a():\n    assert f() == 2\n")
    assert not validate_edits([weaker], test, LINT).accepted
    assert not validate_edits(
        [edit("pyproject.toml", b"x=1\n")], {"pyproject.toml": b"x = 1\n"}, LINT
    ).accepted
