"""Scores from constructed coverage: the diff first, then the failures' words, then who runs what, then ties."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.guest.search.locate.code import Modules, read_files
from sandbox.guest.search.locate.failure_report import FailureReport
from sandbox.guest.search.locate.observe import Trace
from sandbox.guest.search.locate.score import FaultEvidence, Scorer

SHOP = """\
from rates import RATE, LIMITS

KINDS = {
    "book": "low",
    "food": "lower",
    "wine": "high",
    "game": "high",
    "toy": "high",
}


def parse_price(text):
    number = text.replace(" ", "-")
    if not number:
        raise ValueError("no price")
    return number


def total(prices, off=10):
    found = 0
    for price in prices:
        found += price
    return found - off


class Cart:
    limit = 40

    def add(self, price, kind):
        level = KINDS[kind]
        if price > self.limit:
            return None
        return price * RATE, level
"""
RATES = "RATE = 7\nLIMITS = (1, 2)\nOTHER = 3\n"
PARSE, TOTAL, ADD = ("shop.py", 12), ("shop.py", 19), ("shop.py", 29)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "rates.py").write_text(RATES)
    return tmp_path


def ran(lines: set[int], *functions: tuple[str, int], said: FailureReport | None = None) -> Trace:
    depths: dict[tuple[str, int], tuple[int, tuple[str, int] | None]] = dict.fromkeys(
        functions, (1, None)
    )
    return Trace({"shop.py": lines}, depths, {"shop.py": set()}, said)


def scores(
    folder: Path, tests: Mapping[int, Trace], failing: tuple[int, ...] = (0,), **more: Any
) -> dict[Any, float]:
    names = more.pop("names", [f"test_all.py::test_{number}" for number in range(10)])
    known = {"shop.py", "rates.py"}
    given: dict[str, Any] = {
        "mentioned": set(), "literals": [], "files": read_files(str(folder), {"shop.py"}, known),
        "modules": Modules(known), "changed": {}, "hints": {}, **more,
    }  # fmt: skip
    found, reasons = Scorer(
        FaultEvidence(tests=tests, failing=failing, names=names, **given)
    ).result()
    assert {path: set(lines) for path, lines in found.items()} == {
        p: set(lines) for p, lines in reasons.items()
    }
    flat = {(path, line): score for path, lines in found.items() for line, score in lines.items()}
    assert all(0 < score <= 1 for score in flat.values())
    return flat


def best(found: dict[Any, float]) -> Any:
    return max(sorted(found), key=found.__getitem__)


def test_lines_that_only_failing_tests_run_come_first(folder: Path) -> None:
    found = scores(folder, {0: ran({20, 21, 22, 23}, TOTAL), 1: ran({20, 21, 23}, TOTAL)})
    assert best(found) == ("shop.py", 22)


def test_what_one_of_the_failing_tests_does_not_run_is_less_suspect(folder: Path) -> None:
    tests = {number: ran({13, 14, 16, 20, 21, 22, 23}, TOTAL, PARSE) for number in range(9)}
    tests[9] = ran({13, 14, 16}, PARSE)
    tests |= {number: ran({13, 14, 16}, PARSE) for number in (10, 11)}
    found = scores(
        folder,
        tests,
        tuple(range(10)),
        names=[f"test_all.py::test_{number}" for number in range(12)],
    )
    assert min(found["shop.py", n] for n in (13, 14, 16)) > max(
        found["shop.py", n] for n in (20, 21, 22, 23)
    )


def test_a_line_that_runs_once_in_a_process_need_not_be_run_by_every_failing_test(
    folder: Path,
) -> None:
    tests = {0: ran({13, 14, 16, 20, 21, 22, 23}, TOTAL, PARSE), 1: ran({13, 14, 16}, PARSE)}
    names = ["test_all.py::test_0", "test_all.py::test_1"]
    plain = scores(folder, tests, (0, 1), names=names)
    found = scores(folder, tests, (0, 1), names=names, once=frozenset({("shop.py", 22)}))
    assert found["shop.py", 22] > plain["shop.py", 22]


def test_failing_tests_without_a_line_in_common_have_faults_of_their_own(folder: Path) -> None:
    tests = {0: ran({13, 14, 16}, PARSE), 1: ran({20, 21, 23}, TOTAL)}
    found = scores(folder, tests, (0, 1), names=["test_all.py::test_0", "test_all.py::test_1"])
    assert min(found.values()) > 0.3


def test_a_changed_line_comes_before_the_line_that_raises(folder: Path) -> None:
    said = FailureReport("ValueError", "no price", ((("shop.py", 15, 12),),))
    tests = {0: ran({13, 14, 15}, PARSE, said=said), 1: ran({13, 14, 16}, PARSE)}
    assert best(scores(folder, tests)) == ("shop.py", 15)
    assert best(scores(folder, tests, changed={"shop.py": {13}})) == ("shop.py", 13)


def test_what_decides_whether_the_raising_line_runs_is_suspect_too(folder: Path) -> None:
    said = FailureReport("ValueError", "no price", ((("shop.py", 15, 12),),))
    tests = {
        0: ran({13, 14, 15, 20, 21, 22, 23}, PARSE, TOTAL, said=said),
        1: ran({13, 14, 16, 20, 21, 22}, PARSE, TOTAL),
    }
    found = scores(folder, tests)
    assert found["shop.py", 14] > found["shop.py", 21]


def test_a_literal_that_explains_the_wrong_value_is_found(folder: Path) -> None:
    said = FailureReport("AssertionError", "", ((),), asserted=True, pairs=(("a-b", "a b"),))
    found = scores(folder, {0: ran({13, 14, 16, 20, 21, 23}, PARSE, TOTAL, said=said)})
    assert best(found) == ("shop.py", 13)


def test_a_function_named_in_the_failing_statement_comes_first(folder: Path) -> None:
    lines = {13, 14, 16, 20, 21, 23}
    said = FailureReport("AssertionError", "", ((),), asserted=True, called=("total",))
    found = scores(folder, {0: ran(lines, PARSE, TOTAL, said=said)})
    assert min(found["shop.py", n] for n in (20, 21, 23)) > max(
        found["shop.py", n] for n in (13, 14, 16)
    )


def test_a_test_named_like_a_function_breaks_a_tie(folder: Path) -> None:
    tests = {0: ran({13, 14, 16, 20, 21, 23}, PARSE, TOTAL)}
    names = ["test_shop.py::TestPrices::test_parse_empty_price[x]"]
    found = scores(folder, tests, names=names)
    assert min(found["shop.py", n] for n in (13, 14, 16)) > max(
        found["shop.py", n] for n in (20, 21, 23)
    )


def test_tables_constants_defaults_and_class_attributes_inherit_from_the_functions_that_read_them(
    folder: Path,
) -> None:
    tests = {0: ran({30, 31, 33, 20, 21, 23}, TOTAL, ADD), 1: ran({20, 21, 23}, TOTAL)}
    found = scores(folder, tests, used=["food"])
    assert found["shop.py", 27] > 0
    assert found["shop.py", 19] > 0
    assert found["rates.py", 1] > 0
    assert ("rates.py", 3) not in found
    assert found["shop.py", 5] > found["shop.py", 4]
    assert best(found) in {("shop.py", n) for n in (30, 31, 33)}


def test_a_changed_constant_that_a_failing_test_reads_comes_first(folder: Path) -> None:
    tests = {0: ran({30, 31, 33}, ADD), 1: ran({30, 31, 32}, ADD)}
    found = scores(folder, tests, changed={"rates.py": {1, 3}})
    assert best(found) == ("rates.py", 1)
    assert ("rates.py", 3) not in found


def test_functions_that_read_a_changed_constant_are_suspect(folder: Path) -> None:
    tests = {0: ran({30, 31, 33, 20, 21, 23}, TOTAL, ADD)}
    names = ["test_shop.py::test_something_else"]
    found = scores(folder, tests, names=names, changed={"shop.py": {5}})
    assert min(found["shop.py", n] for n in (30, 31, 33)) > max(
        found["shop.py", n] for n in (20, 21, 23)
    )


def test_functions_around_a_changed_one_are_suspect(folder: Path) -> None:
    tests = {
        0: Trace(
            {"shop.py": {13, 14, 16, 20, 21, 23}}, {TOTAL: (1, None), PARSE: (2, TOTAL)}, {}, None
        )
    }
    names = ["test_shop.py::test_something_else"]
    plain = scores(folder, tests, names=names)
    found = scores(folder, tests, changed={"shop.py": {22}}, names=names)
    assert best(found) in {("shop.py", n) for n in (20, 21, 23)}
    assert found["shop.py", 13] > 0.5
    assert plain["shop.py", 13] / plain["shop.py", 20] > found["shop.py", 13] / found["shop.py", 20]


def test_scores_are_the_same_every_time(folder: Path) -> None:
    tests = {
        0: ran({30, 31, 33, 20, 21, 23}, TOTAL, ADD),
        1: ran({20, 21, 23}, TOTAL),
        2: ran({13, 14}, PARSE),
    }
    assert list(scores(folder, tests, (0, 2)).items()) == list(
        scores(folder, tests, (0, 2)).items()
    )


def test_a_statement_outside_functions_that_raises_is_suspect(folder: Path) -> None:
    said = FailureReport("KeyError", "'x'", ((("rates.py", 2, 1),),))
    assert best(
        scores(folder, {0: Trace({}, {}, {}, said)}, files=read_files(str(folder), [], []))
    ) == ("rates.py", 2)


def test_nothing_is_suspect_when_no_failing_test_runs_anything(folder: Path) -> None:
    assert scores(folder, {0: Trace({}, {}, {}, None)}) == {}


def test_what_ran_when_the_failing_tests_were_collected_is_suspect_and_what_it_reads(
    folder: Path,
) -> None:
    collected = frozenset({("shop.py", n) for n in (30, 31, 33)})
    found = scores(folder, {0: Trace({}, {}, {}, None)}, collected=collected)
    assert best(found) in collected
    assert found["rates.py", 1] > 0
    both = scores(folder, {0: ran({13, 14, 16}, PARSE)}, collected=collected)
    assert (
        min(both["shop.py", n] for n in (13, 14, 16))
        > max(both["shop.py", n] for n in (30, 31, 33))
        > 0
    )


def test_a_table_is_not_less_suspect_for_being_read_by_another_function_in_each_failing_test(
    folder: Path,
) -> None:
    tests = {0: ran({30, 31, 33, 13, 14}, ADD, PARSE), 1: ran({13, 14, 16}, PARSE)}
    names = ["test_all.py::test_0", "test_all.py::test_1"]
    found = scores(folder, tests, (0, 1), names=names, literals=["food"])
    assert found["shop.py", 5] > found["shop.py", 33]


def test_raising_a_derived_exception_counts_when_its_base_was_waited_for(tmp_path: Path) -> None:
    text = SHOP.replace("ValueError", "NoPrice") + "\n\nclass NoPrice(ValueError):\n    pass\n"
    (tmp_path / "shop.py").write_text(text)
    (tmp_path / "rates.py").write_text(RATES)
    for waited in (
        "DID NOT RAISE <class 'shop.NoPrice'>",
        "DID NOT RAISE (<class 'KeyError'>, <class 'ValueError'>)",
    ):
        said = FailureReport("Failed", waited, ((),), asserted=True)
        found = scores(tmp_path, {0: ran({13, 14, 16, 20, 21, 23}, PARSE, TOTAL, said=said)})
        assert best(found) == ("shop.py", 14)
    said = FailureReport("Failed", "DID NOT RAISE <class 'OSError'>", ((),), asserted=True)
    found = scores(tmp_path, {0: ran({13, 14, 16, 20, 21, 23}, PARSE, TOTAL, said=said)})
    assert best(found) == ("shop.py", 14)
