"""The title of a fix names what changed, where: from the verified diff alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.domain.mission import MissionContext
from bot.domain.patch import Rung, TestChange
from bot.publish.title import TITLE_CHARS, fix_title
from sandbox.diffs import Original, write_diff
from sandbox.types import FileEdit, TestStatus
from tests.builders import a_candidate, a_mission, a_verification, an_iteration

RED = """def add(a, b):
    return a - b


def is_even(n):
    return n % 2 == 1


class Cart:
    def total(self):
        return sum(self.prices) - self.discount
"""


def fixed(
    *replaced: tuple[str, str], path: str = "broken_math.py", red: str = RED, **candidate: object
) -> MissionContext:
    green = red
    for old, new in replaced:
        assert old in green
        green = green.replace(old, new, 1)
    edit = FileEdit(path=path, mode="100644", content=green.encode())
    verification = a_verification(
        diff=write_diff([edit], {path: Original(content=red.encode())}),
        edits=(edit,),
        table=(TestChange(name=f"{path}:F401#1", before=TestStatus.FAIL, after=None),),
    )
    found = a_candidate(**candidate)
    return a_mission(iterations=(an_iteration(candidate=found, verification=verification),))


ADD = ("a - b", "a + b")
EVEN = ("== 1", "== 0")


@pytest.mark.parametrize(
    ("replaced", "title"),
    [
        ((ADD,), "Use `+` for `-` in `add` (broken_math.py)"),
        ((EVEN,), "Use `== 0` for `== 1` in `is_even` (broken_math.py)"),
        ((("(self.prices)", "(self.prices, 1)"),), "Add `, 1` in `Cart.total` (broken_math.py)"),
        (((" - self.discount", ""),), "Remove `- self.discount` in `Cart.total` (broken_math.py)"),
        ((ADD, EVEN), "Use `+` for `-` in `add` and 1 more (broken_math.py)"),
        ((("a - b", "a.plus(b) if a else b.plus(a)"),), "Change `add` (broken_math.py)"),
        ((("    return a - b", "    b = b\n    return a + b"),), "Change `add` (broken_math.py)"),
    ],
)
def test_it_names_code_symbol_and_file(replaced: tuple[tuple[str, str], ...], title: str) -> None:
    assert fix_title(fixed(*replaced)) == title


def test_code_of_the_base_commit_is_restored() -> None:
    title = fix_title(fixed(ADD, EVEN, template="undo_part"))
    assert title == "Restore `+` in `add` and `== 0` in `is_even` (broken_math.py)"


def test_a_tools_fix_names_its_rules() -> None:
    linted = fixed(ADD, path="src/words.py", rung=Rung.TOOLS, fixer="ruff")
    assert fix_title(linted) == "Fix F401 with ruff (src/words.py)"


def test_a_long_path_loses_its_folders_and_no_word_is_cut() -> None:
    deep = fixed(ADD, path="src/" * 20 + "math.py")
    assert fix_title(deep) == "Use `+` for `-` in `add` (math.py)"
    name = "x" * 80
    endless = fixed(ADD, path=f"{name}.py", red=RED.replace("add", name))
    assert fix_title(endless) == "Repair the failing check"


def test_two_files_are_counted() -> None:
    edits = [FileEdit(path=f"{n}.py", mode="100644", content=RED.encode()) for n in "ab"]
    red = Original(content=RED.replace(*EVEN).encode())
    diff = write_diff(edits, {edit.path: red for edit in edits})
    both = a_verification(diff=diff, edits=tuple(edits))
    context = a_mission(iterations=(an_iteration(verification=both),))
    assert fix_title(context) == "Use `== 1` for `== 0` in `is_even` (a.py and 1 more)"


def test_no_test_is_named() -> None:
    assert "test_" not in fix_title(a_mission())


@pytest.mark.parametrize(
    "text", ["fixes #1 @alice", "a\nb\x1b[31m", "[skip ci] x", "a`b", "\u202eevil", "<b>x</b>"]
)
def test_foreign_text_means_nothing_in_it(text: str) -> None:
    for title in (
        fix_title(fixed(ADD, path=f"{text}.py")),
        fix_title(fixed(ADD, rung=Rung.TOOLS, fixer=text)),
        fix_title(fixed(("a - b", text))),
    ):
        assert 0 < len(title) <= TITLE_CHARS
        assert not {"#1", "@alice", "[skip ci]"} & set(title.split(" "))
        assert not {"\n", "\x1b", "\u202e"} & set(title)
        assert title.count("`") % 2 == 0


@given(st.text(max_size=120), st.text(max_size=60))
def test_any_diff_makes_a_title_that_fits(diff: str, path: str) -> None:
    edits = (FileEdit(path=path or "a", mode="100644", content=diff.encode(errors="replace")),)
    for text in (diff, f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{path}\n+{diff}\n"):
        verification = a_verification(diff=text, edits=edits)
        title = fix_title(a_mission(iterations=(an_iteration(verification=verification),)))
        assert 0 < len(title) <= TITLE_CHARS
        assert not re.search(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]", title)


def test_changed_text_does_not_pass_for_a_header() -> None:
    context = fixed(("    return a - b", "    return a + b\n++ b/forged.py\n@@ -1 +1 @@"))
    assert "forged" not in fix_title(context)


def test_without_a_fix_it_still_says_something() -> None:
    assert fix_title(a_mission(iterations=())) == "Repair the failing check"
