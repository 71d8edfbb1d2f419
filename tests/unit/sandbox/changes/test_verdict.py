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


LAID_OUT = {
    "web/a.test.ts": (
        "it('adds',()=>{expect( add(1,2) ).toBe(3)})\n",
        'it("adds", () => {\n  expect(add(1, 2)).toBe(3);\n});\n',
    ),
    "shop_test.go": (
        "package shop\nfunc TestA(t *testing.T) { if a()!=3 { t.Fatal() } }\n",
        "package shop\n\nfunc TestA(t *testing.T) {\n\tif a() != 3 {\n\t\tt.Fatal()\n\t}\n}\n",
    ),
    "tests/a.rs": (
        "#[test] fn a() { assert!(b()==3); }\n",
        "#[test]\nfn a() {\n    assert!(b() == 3);\n}\n",
    ),
    "tests/test_a.py": (
        "import os\nfrom b import c\nimport a\n\ndef test_a(): assert  a.d() == 3 and c\n",
        "import a\nfrom b import c\n\n\ndef test_a():\n    assert a.d() == 3 and c\n",
    ),
}


@pytest.mark.parametrize("path", LAID_OUT)
def test_tests_of_every_language_may_be_laid_out_by_a_tool_alone(path: str) -> None:
    old, new = LAID_OUT[path]
    original, edits = {path: old.encode()}, [edit(path, new.encode())]
    assert validate_edits(edits, original, LINT).reasons == ()
    assert not validate_edits(edits, original).accepted
    weaker = [edit(path, new.replace("3", "2").encode())]
    assert not validate_edits(weaker, original, LINT).accepted
    assert not validate_edits([edit(path, b"", "deleted")], original, LINT).accepted
    assert not validate_edits(edits, {}, LINT).accepted
