"""No edit of a test passes as layout if it may change what the test does."""

import pytest

from sandbox.changes import ChangePolicy, same_tests, validate_edits
from sandbox.types import FileEdit
from tests.hostile.weakened_tests import WEAKENED, Weakened

LINT = ChangePolicy(purpose="lint")


@pytest.mark.parametrize("edit", WEAKENED.values(), ids=WEAKENED)
def test_what_only_looks_like_layout_is_refused(edit: Weakened) -> None:
    assert edit.old != edit.new
    assert not same_tests(edit.path, edit.old, edit.new)
    changed = FileEdit(path=edit.path, mode="100644", content=edit.new.encode())
    verdict = validate_edits([changed], {edit.path: edit.old.encode()}, LINT)
    assert "protected" in {concern.rule for concern in verdict.concerns}


@pytest.mark.parametrize("edit", WEAKENED.values(), ids=WEAKENED)
def test_the_way_back_is_refused_as_well(edit: Weakened) -> None:
    assert not same_tests(edit.path, edit.new, edit.old)


SAMPLES = {
    "web/cart.test.tsx": (
        "import { add } from './cart'\n"
        "describe('cart', () => {\n"
        "  // @ts-expect-error of a number\n"
        '  it("adds", async () => { expect(await add(1, [2])).toEqual(`a ${b?.c}`) })\n'
        "  it(/a b/g, function () { return <a b='c'>d {e} f</a> })\n"
        "})\n"
    ),
    "shop_test.go": (
        'package shop\n\nimport (\n\t"os"\n\t"testing"\n)\n\n'
        "func TestA(t *testing.T) {\n\tif a(`b c`, os.Args) != 3 {\n\t\tt.Fatal()\n\t}\n\treturn\n}\n\n"
        "func ExampleB() {\n\tb('c')\n\t// Output: 3\n}\n"
    ),
    "tests/a.rs": (
        "#[test]\nfn a() {\n    // of b\n    let (b, c) = d(1)?;\n"
        '    assert_eq!(b.e(), r#"f g"#, "h {}", c);\n}\n'
    ),
    "tests/test_a.py": (
        "import a\nfrom b import c\n\n\ndef test_a(d):\n    assert a.e(d, 'f g')[1] == c\n"
    ),
}


@pytest.mark.parametrize("path", SAMPLES)
def test_no_letter_may_change_or_be_lost(path: str) -> None:
    text = SAMPLES[path]
    assert same_tests(path, text, text)
    for place, sign in enumerate(text):
        if sign.isalnum():
            changed = f"{text[:place]}{'8' if sign.isdigit() else 'z'}{text[place + 1 :]}"
            assert not same_tests(path, text, changed), changed
            lost = text[:place] + text[place + 1 :]
            assert not same_tests(path, text, lost), lost


@pytest.mark.parametrize("path", SAMPLES)
def test_no_line_may_be_lost_or_written_twice(path: str) -> None:
    lines = SAMPLES[path].splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line.strip():
            # An import that is written twice does what one does.
            for kept in (0,) if path.endswith(".py") and " import" in f" {line}" else (0, 2):
                new = "".join([*lines[:place], *([line] * kept), *lines[place + 1 :]])
                assert not same_tests(path, SAMPLES[path], new), new
