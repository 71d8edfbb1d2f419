"""What a tracing child tells is read back; which tests are traced; which lines of the diff count."""

from sandbox.guest.search.locate.located import changed_lines
from sandbox.guest.search.locate.observe import (
    MOST_GREEN,
    Noted,
    ObservedValues,
    read,
    select_tests,
)
from sandbox.guest.search.session.baseline import SuiteBaseline
from sandbox.guest.search.session.harness import Items


def baseline(
    failing: list[int], passing: list[int], names: list[str], *, isolated: bool = False
) -> SuiteBaseline:
    return SuiteBaseline(
        Items([], names, failing, passing),
        dict.fromkeys(range(len(names)), 0.01),
        frozenset(),
        isolated,
    )


def test_other_cases_of_a_failing_test_are_traced_first_then_its_file_then_others() -> None:
    names = [
        "b.py::t_other",
        "a.py::t_far",
        "a.py::t_case[1]",
        "a.py::t_case[2]",
        "a.py::t_case[3]",
        "a.py::t_near",
    ]
    assert select_tests(baseline([3], [0, 1, 2, 4, 5], names)) == [3, 2, 4, 1, 5, 0]


def test_tests_that_share_state_are_traced_in_their_order() -> None:
    names = ["a.py::t_1", "a.py::t_2", "a.py::t_3"]
    assert select_tests(baseline([2], [0, 1], names, isolated=True)) == [0, 1, 2]


def test_a_huge_suite_is_sampled() -> None:
    names = [f"f{number % 50}.py::t_{number}" for number in range(5000)]
    order = select_tests(baseline([7], [n for n in range(5000) if n != 7], names))
    assert len(order) <= MOST_GREEN + 1
    assert order == select_tests(baseline([7], [n for n in range(5000) if n != 7], names))


def test_slow_failing_tests_leave_time_for_passing_ones() -> None:
    names = [f"a.py::t_{number}" for number in range(80)]
    slow = baseline(list(range(40)), list(range(40, 80)), names)._replace(
        seconds={**dict.fromkeys(range(80), 0.4)}
    )
    order = select_tests(slow, wait_s=20.0)
    assert len([index for index in order if index < 40]) == 6
    assert len([index for index in order if index >= 40]) == 5
    assert len(select_tests(slow, wait_s=0.1)) == 6


def test_what_ran_once_in_a_process_is_told_apart() -> None:
    test = [
        "test",
        3,
        "fail",
        [["a.py", 1, 1, None], ["a.py", 9, 2, ["a.py", 1]]],
        {"a.py": [2, 3, 10]},
        {"a.py": [3]},
    ]
    reports = [[*test, None, {"a.py": {"2": 1, "3": 0}}], ["again", 3, {"a.py": [2, 3]}]]
    found = read(reports)
    assert found.once == {("a.py", 10)}
    assert found.tests[3].functions["a.py", 9] == (2, ("a.py", 1))
    assert found.tests[3].recent == {"a.py": {2: 1, 3: 0}}


def test_what_ran_when_tests_were_collected_is_told() -> None:
    assert read([["collected", {"a.py": [4, 5]}], ["collected", {"a.py": [5]}]]).collected == {
        ("a.py", 4),
        ("a.py", 5),
    }


def test_observed_names_are_given_by_place() -> None:
    noted: Noted = (["str"], ["int", "str"], ["x"], [3])
    none: Noted = (["NoneType"], ["Row"], [None], [])
    observed = ObservedValues(
        {("a.py", 5): {"name": noted, "row": none}, ("a.py", 50): {"far": noted}}
    )
    assert observed.types("a.py", 1, 20) == {"name": ("str", "int"), "row": ("NoneType", "Row")}
    assert observed.values("a.py", 1, 20) == {"name": ("x", 3), "row": (None,)}
    assert observed.failing_values() == ["x", None]


def test_changed_lines_come_from_suspects_and_hunks() -> None:
    suspects = [
        {"file": "a.py", "line": 4, "reason": "changed since the check was green"},
        {"file": "a.py", "line": 9, "reason": "in the traceback of t"},
    ]
    hunks = [{"path": "a.py", "line": 7, "lines": 0}, {"path": "b.py", "line": 2, "lines": 2}]
    assert changed_lines(suspects, hunks) == {"a.py": {4, 6, 7}, "b.py": {2, 3}}
