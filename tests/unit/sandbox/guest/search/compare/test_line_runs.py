"""How often tests run the new lines of a change: never, in one call, or more often; unknown if not certain."""

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.line_runs import (
    FIELDS,
    LARGE,
    LineCounter,
    added_lines,
    find_new_lines,
    validate_counts,
)
from tests.pytest_sessions import work_in_session

OLD = """LIMIT = 3


def clamp(value, low, high):
    return value


def label(value):
    return str(value)
"""
NEW = """LIMIT = 4


def clamp(value, low, high):
    \"\"\"Return a value within bounds.\"\"\"
    if value < low:
        return low
    if (
        value > high
        and high is not None
    ):
        return high
    return value


def label(value):
    return str(value)


def unused(values):
    return [
        value
        for value in values
        if value
    ]
"""


def new_lines(folder: Path, new: str, old: str = OLD) -> dict[str, list[int]]:
    """New lines with code by the name of their function."""
    (folder / "shop.py").write_text(old)
    found = find_new_lines(str(folder), Alternative((), {"shop.py": new.encode()}))
    return {code.co_name: sorted(lines) for (_, code), lines in found.items() if lines}


def counted(folder: Path, text: str, use: Callable[[types.ModuleType], object]) -> dict[int, int]:
    """How many calls ran each new line of a program that had no line before."""
    (folder / "shop.py").write_text("")
    counter = LineCounter(find_new_lines(str(folder), Alternative((), {"shop.py": text.encode()})))
    module = types.ModuleType("shop")
    exec(compile(text, str(folder / "shop.py"), "exec"), vars(module))  # noqa: S102 - our own text
    before = sys.gettrace()
    sys.settrace(counter.on_call)
    try:
        use(module)
    finally:
        sys.settrace(before)
    assert counter.summary()[0] == len(counter.counts)
    return {line: count for (_, line), count in sorted(counter.counts.items())}


def test_lines_that_a_diff_adds_are_new_and_those_between_are_not() -> None:
    assert added_lines(b"a\nb\nc\nd\n", b"a\nx\nb\nc\ny\nd\n") == {2, 5}
    assert added_lines(b"a\nb\nc\n", b"a\nc\n") == set(), "a deletion adds nothing"
    assert added_lines(b"a\n", b"a\n") == set()


def test_the_middle_of_a_large_text_is_new_as_a_whole() -> None:
    count = int(LARGE**0.5)
    old, new = (b"\n".join([end, *[b"a", b"b"] * count, end]) for end in (b"x", b"y"))
    assert len(added_lines(old, new)) == 2 * count + 2


def test_lines_without_code_of_functions_are_left_out(tmp_path: Path) -> None:
    found = new_lines(tmp_path, NEW)
    assert found["clamp"] == [6, 7, 9, 10, 12]
    assert min(line for line in found["unused"]) > 19, "not the head of the function"
    assert "<module>" not in found


def test_a_function_of_one_line_counts_and_one_inside_another_counts_once(tmp_path: Path) -> None:
    text = "def one(a): return a\n\n\ndef outer(b):\n    return [x for x in (lambda: b)()]\n"
    assert sorted(new_lines(tmp_path, text, old="").values()) == [[1], [5]]


def test_each_call_counts_a_line_once_up_to_two(tmp_path: Path) -> None:
    text = (
        "def total(values):\n"
        "    found = 0\n"
        "    for value in values:\n"
        "        found += value\n"
        "    if found > 9:\n"
        "        found = 9\n"
        "    return found\n"
        "def rest():\n"
        "    return 1\n"
    )
    ran = counted(tmp_path, text, lambda module: [module.total([5, 6]), module.total([1])])
    assert ran == {2: 2, 3: 2, 4: 2, 5: 2, 6: 1, 7: 2, 9: 0}


def test_a_generator_that_continues_is_one_call(tmp_path: Path) -> None:
    text = "def numbers(n):\n    for i in range(n):\n        yield i\n"
    assert counted(tmp_path, text, lambda module: list(module.numbers(5))) == {2: 1, 3: 1}


@pytest.mark.parametrize(
    "reported",
    [None, 3, [1, 2], [1, 2, 3], [3, -1, 1], [3, True, 1], ["3", 1, 1], {"new_lines": 3}],
)
def test_counts_that_do_not_fit_are_dropped(reported: Any) -> None:
    assert validate_counts(reported) == {}
    assert validate_counts([3, 1, 1]) == dict(zip(FIELDS, (3, 1, 1), strict=True))


PROGRAM = """
from types import SimpleNamespace

import shop
from sandbox.guest.search.compare.alternatives import Alternative
from sandbox.guest.search.compare.line_runs import count_line_runs
from sandbox.guest.search.execution.verdicts import CpuLimits
from sandbox.guest.search.process.forked import USUAL
from sandbox.guest.search.session.harness import Items


def work(session, root, cases):
    names = [item.name for item in session.items]
    found = {}
    for name, case in cases.items():
        text, swaps, units = case["text"], (), ()
        if case.get("swapped"):
            code = compile(text, shop.__file__, "exec")
            own = next(c for c in code.co_consts if getattr(c, "co_name", "") == "clamp")
            swaps, units = ((shop.clamp, own),), ("the function",)
        lost = case.get("lost", "")
        failing = names.index(case.get("failing", "test_low"))
        facts = SimpleNamespace(
            root=root,
            baseline=SimpleNamespace(
                isolated=case.get("isolated", False),
                screened={n for n, one in enumerate(names) if one != lost},
            ),
            items=Items(session.items, names, [failing], [
                n for n, one in enumerate(names) if one in ("test_same", "test_label")
            ]),
            coverage={names.index("test_label"): {}, names.index("test_same"): {}},
            all_passing_through=lambda unit: [names.index("test_same")],
            screen=SimpleNamespace(limits=CpuLimits({}, 2.0), bounds=USUAL),
        )
        one = Alternative(swaps, {case.get("path", "shop.py"): text.encode()}, units)
        found[name] = count_line_runs(facts, one, 20.0)
    found["label"] = shop.label(1)
    return found
"""
TESTS = """import sys

import shop


def test_low():
    assert shop.clamp(1, 2, 3) == 2


def test_same():
    assert shop.clamp(2, 1, 3) == 2


def test_label():
    assert shop.label(1) == "1"
"""
GUARD = OLD.replace(
    "    return value\n",
    "    if value < low:\n        return low\n    if value > 99:\n        return 99\n    return value\n",
)
MAX = OLD.replace("    return value\n", "    return max(value, low)\n")
STOPS = "    __import__('sys').settrace(None)\n    if value < low"
CASES: dict[str, dict[str, object]] = {
    "swapped": {"text": GUARD, "swapped": True},
    "grafted": {"text": NEW},
    "a new function": {"text": f"{MAX}\n\ndef other():\n    return 1\n"},
    "every line is run without it": {"text": MAX, "lost": "test_label"},
    "a test fails": {"text": GUARD.replace("str(value)", "value")},
    "a test is not run": {"text": GUARD, "lost": "test_label"},
    "tests share state": {"text": GUARD, "swapped": True, "isolated": True},
    "no test calls it here": {"text": NEW, "path": "tool.py", "failing": "test_same"},
    "it stops the trace": {"text": GUARD.replace("    if value < low", STOPS), "swapped": True},
    "it ends the process": {"text": GUARD.replace("return low", "__import__('os')._exit(0)")},
    "it does not compile": {"text": "def clamp(:\n"},
    "no new line": {"text": OLD.replace("LIMIT = 3\n", ""), "failing": "test_same"},
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("repo").resolve()
    (folder / "shop.py").write_text(OLD)
    (folder / "tool.py").write_text(OLD)
    (folder / "test_shop.py").write_text(TESTS)
    return work_in_session(folder, PROGRAM, str(folder), CASES)


def test_lines_of_a_function_are_counted_where_its_code_is_swapped(found: dict[str, Any]) -> None:
    assert found["swapped"] == {"new_lines": 4, "unrun": 1, "run_once": 2}
    assert found["label"] == "1", "nothing of it happened here"


def test_lines_of_a_whole_file_are_counted_with_those_of_new_functions(
    found: dict[str, Any],
) -> None:
    counts = found["grafted"]
    assert counts["new_lines"] > 5
    assert counts["unrun"] >= 4, "the new function, and the upper bound"


@pytest.mark.parametrize(
    "case",
    [
        "a test fails",
        "a test is not run",
        "tests share state",
        "no test calls it here",
        "it stops the trace",
        "it ends the process",
        "it does not compile",
        "no new line",
    ],
)
def test_what_is_not_certain_is_not_counted(found: dict[str, Any], case: str) -> None:
    assert found[case] == {}


def test_no_further_test_is_needed_once_every_line_was_run_twice(found: dict[str, Any]) -> None:
    assert found["every line is run without it"] == {"new_lines": 1, "unrun": 0, "run_once": 0}


def test_a_new_function_that_no_test_calls_is_not_run(found: dict[str, Any]) -> None:
    assert found["a new function"] == {"new_lines": 2, "unrun": 1, "run_once": 0}
