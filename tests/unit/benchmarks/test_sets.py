"""The bug sets: what the search is given never tells what it is judged by, planted bugs are small, judging is fair."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.repair_rows import Terms, is_right, summarised
from benchmarks.sets.bug import Bug, relative, unit_of
from benchmarks.sets.built import HERE, Package, may_be_mutated
from benchmarks.sets.halves import Mode, hidden_tests, without
from benchmarks.sets.judge import Judgement, Likeness, changed_functions, likeness, same_program
from benchmarks.sets.mutation import mutations
from benchmarks.sets.observe_calls import Kept, form, invented
from benchmarks.sets.programs import case_of, programs_of

TESTS = '''import pytest


def test_one():
    assert True


class TestIt:
    @pytest.mark.parametrize("n", [1, 2])
    def test_two(self, n):
        assert n

    def test_three(self):
        """Said."""
        assert True


class TestOther:
    def test_four(self):
        assert True
'''


def a_bug(count: int = 9, red: tuple[int, ...] = (3, 4), name: str = "sample") -> Bug:
    tests = tuple(f"test_it.py::test_{number}" for number in range(count))
    return Bug(
        name=name,
        right={},
        tests=tests,
        failing=frozenset(tests[n] for n in red),
        plant=lambda folder, hidden: None,
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_half_holds_a_failing_test_and_hides_the_rest(seed: int) -> None:
    bug = a_bug(red=(3,))
    hidden = hidden_tests(bug, "half", seed)
    assert len(bug.tests) - len(hidden) == 5
    assert not bug.failing <= hidden
    assert hidden == hidden_tests(bug, "half", seed)


def test_other_seeds_give_other_halves() -> None:
    assert len({hidden_tests(a_bug(), "half", seed) for seed in range(8)}) > 3


def test_every_failing_test_can_be_given() -> None:
    bug = a_bug()
    hidden = hidden_tests(bug, "failing", 1)
    assert not bug.failing & hidden
    assert len(hidden) == 3
    assert hidden_tests(bug, "all", 1) == frozenset()


def test_parameters_of_a_test_are_hidden_together_unless_they_are_cases() -> None:
    tests = tuple(f"test_it.py::test_{name}[{number}]" for name in "ab" for number in range(4))
    bug = Bug(
        name="x",
        right={},
        tests=tests,
        failing=frozenset(tests[:1]),
        plant=lambda folder, hidden: None,
    )
    assert {unit_of(test) for test in hidden_tests(bug, "half", 0)} == {"test_it.py::test_b"}
    assert len(hidden_tests(bug, "half", 0, case_of)) == 4


def test_hidden_tests_are_gone_from_the_file_with_their_decorators() -> None:
    left = without(TESTS, {"TestIt.test_two", "TestOther.test_four", "test_one"})
    names = [node.name for node in ast.walk(ast.parse(left)) if isinstance(node, ast.FunctionDef)]
    assert names == ["test_three"]
    assert "parametrize" not in left
    assert without(TESTS, set()) == TESTS


def test_a_test_has_a_file_and_a_name_in_it() -> None:
    assert relative("a/test_b.py::TestC::test_d[e::f]") == ("a/test_b.py", "TestC.test_d")


@pytest.mark.parametrize(
    ("source", "mutated"),
    [
        ("f = a < b\n", "f = a <= b\n"),
        ("f = a is not b\n", "f = a is b\n"),
        ("f = (a) + (b)\n", "f = (a) - (b)\n"),
        ("f = a and b\n", "f = a or b\n"),
        ("f += 1\n", "f -= 1\n"),
        ("f = 'x'\n", "f = 'XXxXX'\n"),
        ("f = 3\n", "f = 4\n"),
        ("f = not a\n", "f = a\n"),
        ("f = True\n", "f = False\n"),
        ("f(a, b)\n", "f(a)\n"),
        ("f(a, b)\n", "pass\n"),
        ("for i in a:\n    break\n", "for i in []:\n    break\n"),
        ("def f():\n    return a\n", "def f():\n    return None\n"),
        ("@d\ndef f(): pass\n", "def f(): pass\n"),
        ("x = 'é' < a\n", "x = 'é' <= a\n"),
    ],
)
def test_a_mutation_is_one_small_change(source: str, mutated: str) -> None:
    lines = set(range(1, source.count("\n") + 1))
    assert mutated in {mutation.applied(source) for mutation in mutations(source, lines)}


@pytest.mark.parametrize(
    "source",
    [
        '"""Said."""\n',
        "__all__ = ['a']\n",
        "def f(a: int) -> str: ...\n",
        "if TYPE_CHECKING:\n    a = 1\n",
    ],
)
def test_what_no_test_can_notice_is_not_mutated(source: str) -> None:
    assert list(mutations(source, {1, 2})) == []


def test_only_lines_that_were_named_are_mutated() -> None:
    assert {mutation.line for mutation in mutations("a = 1\nb = 2\nc = 3\n", {2})} == {2}


def test_tests_and_configuration_are_not_mutated() -> None:
    assert may_be_mutated("src/thing/core.py")
    assert not any(
        map(may_be_mutated, ("tests/test_a.py", "conftest.py", "setup.py", "a/tests/b.py", "a.txt"))
    )


def test_the_manifest_pins_every_package_and_bugs_made_by_hand_belong_to_one() -> None:
    packages = Package.all()
    assert all(len(package.sha256) == 64 and package.version for package in packages)
    names = {package.name for package in packages}
    for path in (HERE / "handmade").glob("*.json"):
        rows = json.loads(path.read_text())
        assert path.stem in names
        assert len({row["name"] for row in rows}) == len(rows) >= 5
        assert all(row["search"] != row["replace"] and len(row["search"]) < 700 for row in rows)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["quixbugs", "humanevalfix"])
def test_a_planted_program_holds_no_reference_and_no_hidden_test(
    shared: Path, tmp_path: Path, name: str
) -> None:
    bugs = list(programs_of(shared / name))
    assert len(bugs) == len((shared / name / "programs.jsonl").read_text().splitlines()) > 0
    mode: Mode = "half"
    for bug in bugs:
        folder = tmp_path / bug.name
        folder.mkdir()
        hidden = hidden_tests(bug, mode, 5, case_of)
        bug.plant(folder, hidden)
        assert not (folder / "correct").exists()
        assert not (folder / "meta.json").exists()
        text = "".join(path.read_text() for path in folder.glob("test_*.py"))
        if bug.about["cases"]:
            assert len((folder / "cases.json").read_text().splitlines()) == len(bug.tests) - len(
                hidden
            )
        else:
            assert not [test for test in hidden if f"def {relative(test)[1]}(" in text]


def test_programs_are_the_same_whatever_their_comments_and_layout() -> None:
    assert same_program(
        "def f(a):\n    '''Said.'''\n    return (a)  # so\n", "def f( a ):\n    return a\n"
    )
    assert not same_program("a = 1", "a = 2")
    assert not same_program("a = (", "a = (")


def test_functions_that_differ_are_compared_and_what_stands_outside_cannot_be() -> None:
    right = {"src/m/a.py": "X = 1\ndef f(): return 1\nclass C:\n    def g(self): return 1\n"}
    broken = {path: text.replace("return 1\nc", "return 2\nc") for path, text in right.items()}
    new = {
        path: text.replace("self): return 1", "self): return 3") for path, text in broken.items()
    }
    assert changed_functions(right, new, broken) == ("m.a:C.g", "m.a:f")
    assert changed_functions({"a.py": "X = 1\n"}, {"a.py": "X = 2\n"}, {"a.py": "X = 3\n"}) == ()


@pytest.mark.parametrize(
    ("reference", "found", "expected"),
    [
        ({"a": "1", "b": "2"}, {"a": "1", "b": "2"}, "alike"),
        ({"a": "1", "b": "2"}, {"a": "1", "b": "3"}, "other"),
        ({"a": "1", "b": "late"}, {"a": "1", "b": "3"}, "alike"),
        ({"a": "1", "b": "raises KeyError"}, {"a": "1", "b": "3"}, "alike"),
        ({"a": "1"}, {"b": "1"}, "unknown"),
        ({}, {}, "unknown"),
    ],
)
def test_only_inputs_with_a_result_of_the_reference_are_compared(
    reference: dict[str, str], found: dict[str, str], expected: Likeness
) -> None:
    assert likeness({"m:f": reference}, {"m:f": found}) == expected


@pytest.mark.parametrize(
    ("name", "mode", "judgement", "right"),
    [
        ("quixbugs", "half", Judgement(passes=True, likeness="other"), True),
        ("quixbugs", "all", Judgement(passes=True, likeness="other"), False),
        ("quixbugs", "all", Judgement(passes=True, likeness="unknown"), False),
        ("quixbugs", "all", Judgement(passes=True, likeness="alike"), True),
        ("mutants", "failing", Judgement(passes=True, likeness="unknown"), True),
        ("mutants", "failing", Judgement(passes=True, likeness="other"), False),
        ("mutants", "failing", Judgement(passes=False, likeness="same text"), False),
    ],
)
def test_what_counts_as_right(name: str, mode: Mode, judgement: Judgement, *, right: bool) -> None:
    assert is_right(judgement, Terms(name, mode, 0, 60.0, 2)) is right


def test_a_set_is_summed_up() -> None:
    rows = [
        {
            "bug": "a",
            "seconds": 1.0,
            "tried": 100,
            "plausible": True,
            "correct_first": True,
            "correct_shown": True,
        },
        {
            "bug": "b",
            "seconds": 3.0,
            "tried": 100,
            "plausible": True,
            "correct_shown": True,
            "abstained": True,
        },
        {"bug": "c", "seconds": 4.0, "tried": 200, "plausible": True},
        {"bug": "d", "seconds": 8.0, "tried": 400, "shown": []},
        {
            "bug": "nothing is shown of what a plain run refuted",
            "seconds": 3.5,
            "tried": 0,
            "plausible": True,
            "shown": [],
        },
    ]
    found = summarised(
        [{"end": "", "shown": [{}], **row} for row in rows], Terms("mutants", "half", 0, 60.0, 2)
    )
    assert (found["bugs"], found["correct_first"], found["correct_shown"], found["plausible"]) == (
        5,
        1,
        2,
        4,
    )
    assert (found["abstained"], found["not_abstained"], found["precision"]) == (1, 2, 0.5)
    assert found["seconds"] == {"median": 3.5, "p90": 8.0, "max": 8.0, "sum": 19.5}
    assert found["candidates_per_s"] == 41.0


def test_equal_values_have_equal_forms_wherever_they_are_kept() -> None:
    class Node:
        def __init__(self, value: int, following: object = None) -> None:
            self.value, self.following = value, following

    first, second = Node(1, Node(2)), Node(1, Node(2))
    assert form(first) == form(second) != form(Node(1, Node(3)))
    first.following = first
    assert "<Node>" in form(first)
    assert form({1, 2}) == form({2, 1}) != form([1, 2])
    assert len({form(value) for value in (True, 1, 1.0, "1")}) == 4


def test_invented_inputs_keep_what_all_recorded_ones_share() -> None:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [(([1, 4, 9], 3), {}), (([2, 5], 5), {})]
    new = list(invented(calls))
    assert len(new) > 20
    assert all(arguments[0] == sorted(arguments[0]) and arguments[0] for arguments, _ in new)
    assert all(arguments[1] >= 1 for arguments, _ in new)
    assert [form(call) for call in new] == [form(call) for call in invented(calls)]
    assert Kept([[1, 2], [3]]).distinct
