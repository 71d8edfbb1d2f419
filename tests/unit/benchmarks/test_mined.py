"""Small fixes are found in a history, named by their kind, and compared with the candidates of the templates."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.sets.clones import Clone
from benchmarks.sets.mined import changed_functions, half_of, load, mine, small_change
from benchmarks.sets.mined_reach import find
from benchmarks.sets.syntax_changes import classify, differences, normalized_tree

OLD = '''"""Ages."""


def is_adult(age: float) -> bool:
    # whole years
    years = int(age)
    return years > 18
'''
TEST = "def test_adult():\n    assert is_adult(17)\n"


class History:
    """A repository whose commits are written one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._git("init", "-q")

    def commit(self, **texts: str) -> None:
        """Write files, named without their suffix, and commit them."""
        for name, text in texts.items():
            (self.folder / f"{name}.py").write_text(text)
        self._git("add", "-A")
        self._git("commit", "-q", "--allow-empty", "-m", "a message that is not read")

    def _git(self, *words: str) -> None:
        who = {
            f"GIT_{one}_{two}": "x" for one in ("AUTHOR", "COMMITTER") for two in ("NAME", "EMAIL")
        }
        nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        environment = {**who, **nothing, "PATH": os.environ["PATH"]}
        subprocess.run(["git", *words], cwd=self.folder, env=environment, check=True)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


@pytest.fixture
def clone(tmp_path: Path, history: History) -> Iterator[Clone]:
    history.commit(ages=OLD, test_ages=TEST)
    with Clone(tmp_path / ".git") as opened:
        yield opened


def test_a_small_change_with_a_test_is_a_fix(history: History, clone: Clone) -> None:
    history.commit(
        ages=OLD.replace("> 18", ">= 18").replace("Ages", "Years"),
        test_ages=TEST + "\n\ndef test_now():\n    assert is_adult(18)\n",
    )
    (fix,) = mine(clone)
    assert (fix.path, fix.lines, fix.kind) == ("ages.py", (7, 7), "comparison operator")
    assert fix.tests == {"test_ages.py": ["test_now"]}


@pytest.mark.parametrize(
    ("product", "test"),
    [
        (OLD.replace("> 18", ">= 18"), TEST),
        (OLD.replace("> 18", ">= 18"), TEST + "# a comment\n"),
        (OLD.replace("whole", "full"), TEST.replace("17", "18")),
        (OLD.replace(": float", ": int"), TEST.replace("17", "18")),
        (OLD + "\n\ndef is_old(age):\n    return age > 99\n", TEST.replace("17", "18")),
        (OLD.replace('"""Ages."""', "import os").replace("> 18", "> 9"), TEST.replace("17", "18")),
    ],
)  # fmt: skip
def test_other_commits_are_no_fixes(
    history: History, clone: Clone, product: str, test: str
) -> None:
    history.commit(ages=product, test_ages=test)
    assert list(mine(clone)) == []


def test_the_same_fix_on_another_branch_counts_once(history: History, clone: Clone) -> None:
    fixed = {"ages": OLD.replace("> 18", ">= 18"), "test_ages": TEST.replace("17", "18")}
    for texts in (fixed, {"ages": OLD, "test_ages": TEST.replace("17", "0")}, fixed):
        history.commit(**texts)
    assert len(list(mine(clone))) == 1


def test_a_fix_that_a_template_makes_is_in_reach(history: History, clone: Clone) -> None:
    history.commit(ages=OLD.replace("> 18", ">= 18"), test_ages=TEST.replace("17", "18"))
    (fix,) = mine(clone)
    assert find(clone, fix)["template"] == "swap_comparison"


def test_the_tree_of_a_fix_is_written_once(history: History, clone: Clone, tmp_path: Path) -> None:
    history.commit(ages=OLD.replace("> 18", ">= 18"), test_ages=TEST.replace("17", "18"))
    (fix,) = mine(clone)
    for _ in range(2):
        clone.write_tree(fix.commit, tmp_path / "tree")
    assert ">= 18" in (tmp_path / "tree" / "ages.py").read_text()


def test_a_fix_that_no_template_makes_is_not(history: History, clone: Clone) -> None:
    right = OLD.replace("> 18", "> self.limits[Country(age)].adult.since")
    history.commit(ages=right, test_ages=TEST.replace("17", "18"))
    (fix,) = mine(clone)
    assert find(clone, fix)["cost"] is None


def test_two_tokens_in_two_places_are_one_change() -> None:
    old = OLD + "\n\ndef is_child(age):\n    return not age > 18\n"
    assert small_change(old, old.replace("> 18", "> 17")) == (old.replace("> 18", "> 17"), 7, 11)


def test_changed_test_functions_are_named() -> None:
    old = "class TestA:\n    def test_b(self):\n        pass\n\n\ndef test_c():\n    pass\n"
    assert changed_functions(old, old.replace("pass", "assert 1", 1)) == ["TestA.test_b"]


def kind(old: str, new: str) -> str:
    return classify(differences(normalized_tree(old), normalized_tree(new)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("f(a)\ng(a)", "f(a)\nif not a:\n    raise E\ng(a)", "guard that raises"),
        ("while a:\n    g(a)", "while a:\n    if a.b:\n        continue\n    g(a)", "guard"),
        ("f(a)", "if a:\n    a = 1\nf(a)", "new branch"),
        ("if a:\n    f(a)", "if a:\n    f(a)\nelif b:\n    g(a)", "new branch"),
        ("if a:\n    f(a)", "if a:\n    f(a)\nelse:\n    g(a)", "else part"),
        ("x = {1: 2}", "x = {1: 2, 3: 4}", "table entries"),
        ("x = re.compile('a')", "x = re.compile('b')", "format, mode or pattern"),
        ("f(a)", "f(a, b=1)", "added keyword argument"),
        ("raise A(b)", "raise C(b)", "exception type"),
        ("try:\n    f()\nexcept A:\n    g()", "try:\n    f()\nexcept (A, B):\n    g()", "exception type"),
        ("x = a", "x = a.b", "attribute chain"),
        ("if a:\n    f()", "if a and b:\n    f()", "extra boolean term"),
        ("f(a)\ng(a)", "f(a)", "deleted statements"),
        ("def h():\n    f(a)\n    g(a)", "def h():\n    f(a)\n    f(b)\n    g(a)", "added call that mirrors a sibling"),
        ("x = a + 1\ny = b", "x = c + 1\ny = d", "two coupled tokens"),
        ("x = a < b", "x = a <= b", "comparison operator"),
        ("x = 1", "x = 2", "constant"),
        ("x = a", "x = int(a)", "wrapped in a call"),
        ("f(a)", "if a:\n    f(a)", "statement made conditional"),
        ("def f(a=1):\n    pass", "def f(a=2):\n    pass", "parameter"),
        ("f(a)\nx = 1", "g(a, b)\nx = h(y)", "several edits"),
    ],
)  # fmt: skip
def test_kinds_are_named_by_syntax(old: str, new: str, expected: str) -> None:
    assert kind(old, new) == expected


def test_the_list_is_large_and_split_by_package() -> None:
    packages = load()
    assert sum(len(one.fixes) for one in packages) >= 400
    judged = [one for one in packages if one.half == "judge" and one.fixes]
    assert len(judged) >= 25
    assert sum(len(one.fixes) for one in judged) >= 120
    assert all(one.half == half_of(one.name) for one in packages)
