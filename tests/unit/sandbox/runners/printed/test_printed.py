"""Failing tests are read by name from what their runners printed."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.matchers.engine import plain_lines
from sandbox.runners.printed import read_test_lines
from sandbox.runners.printed.error_line import best_error
from sandbox.types import TestResult, TestStatus

SAMPLES = Path(__file__).resolve().parents[4] / "data" / "printed_tests"
"""Printed by the runners themselves, with the paths of a sandbox."""
PLACE = CheckoutPaths("/work/repo")


def read_tests(text: str, place: CheckoutPaths | None = None) -> tuple[TestResult, ...]:
    """The failing tests in a text with colours."""
    return read_test_lines(plain_lines(text), place or CheckoutPaths())


def sample(name: str) -> dict[str, TestResult]:
    text = (SAMPLES / f"{name}.txt").read_text(encoding="utf-8")
    return {result.name: result for result in read_tests(text, PLACE)}


@pytest.mark.parametrize("style", ["long", "short", "native", "line", "verbose"])
def test_pytest_names_its_failures_in_every_style(style: str) -> None:
    found = sample(f"pytest_{style}")
    assert {name: result.status for name, result in found.items()} == {
        "tests/test_m.py::test_plain": TestStatus.FAIL,
        "tests/test_m.py::test_raises": TestStatus.FAIL,
        "tests/test_m.py::TestGroup::test_n[a b]": TestStatus.FAIL,
        "tests/test_m.py::Case::test_u": TestStatus.FAIL,
        "tests/test_m.py::test_fixture": TestStatus.ERROR,
        "tests/test_broken.py": TestStatus.ERROR,
    }
    raises = found["tests/test_m.py::test_raises"]
    assert (raises.error, raises.error_message) == (
        "ZeroDivisionError",
        "ZeroDivisionError: division by zero",
    )
    assert raises.test == "test_raises"
    assert found["tests/test_broken.py"].error == "ModuleNotFoundError"


@pytest.mark.parametrize("style", ["long", "short", "native"])
def test_pytest_tells_where_and_what_was_printed(style: str) -> None:
    raises = sample(f"pytest_{style}")["tests/test_m.py::test_raises"]
    assert (raises.file, raises.line) == ("calc.py", 2)
    assert [(file, line) for file, line, _ in raises.frames] == [
        ("tests/test_m.py", 8),
        ("calc.py", 2),
    ]
    assert "seen" in raises.output
    assert "Captured" not in (raises.traceback or "")


def test_unittest_names_its_failures_as_pytest_would() -> None:
    found = sample("unittest")
    assert {name: result.status for name, result in found.items()} == {
        "tests/test_broken.py": TestStatus.ERROR,
        "tests/test_m.py::Case::test_u": TestStatus.FAIL,
    }
    failed = found["tests/test_m.py::Case::test_u"]
    assert (failed.file, failed.line, failed.error) == ("tests/test_m.py", 14, "AssertionError")
    assert (
        found["tests/test_broken.py"].error_message
        == "ModuleNotFoundError: No module named 'nothing_here'"
    )


def test_django_prints_like_unittest() -> None:
    found = sample("django")
    assert set(found) == {
        f"shop/tests.py::PriceTests::test_{name}" for name in ("breaks", "parts", "total")
    }
    breaks = found["shop/tests.py::PriceTests::test_breaks"]
    assert (breaks.file, breaks.line, breaks.error) == ("shop/prices.py", 2, "TypeError")


def test_older_unittest_and_fixtures_of_classes_are_known() -> None:
    rule, line = "=" * 70, "-" * 70
    text = (
        f"{rule}\nFAIL: test_x (tests.test_m.Case)\nIt has a docstring.\n{line}\nTraceback (most recent call last):\n"
        f'  File "/work/repo/src/tests/test_m.py", line 3, in test_x\n    self.fail()\nAssertionError: None\n\n'
        f"{rule}\nERROR: setUpClass (tests.test_m.Case)\n{line}\nTraceback (most recent call last):\nValueError: no\n\n"
        f"{line}\nRan 1 test in 0.0s\n"
    )
    assert [result.name for result in read_tests(text, PLACE)] == [
        "src/tests/test_m.py::Case::test_x",
        "tests/test_m.py::Case",
    ]


def test_cargo_names_its_target_and_the_place_of_the_panic() -> None:
    found = sample("cargo")
    assert set(found) == {"src/lib.rs::tests::adds", "src/lib.rs::tests::panics"}
    adds = found["src/lib.rs::tests::adds"]
    assert (adds.file, adds.line, adds.error) == ("src/lib.rs", 5, "panic")
    assert adds.error_message == "assertion `left == right` failed left: -1 right: 3"


@pytest.mark.parametrize(
    ("runner", "file"), [("jest", "src/a.test.js"), ("vitest", "src/v.test.mjs")]
)
def test_jest_and_vitest_name_file_suite_and_test(runner: str, file: str) -> None:
    found = list(sample(runner).values())
    assert [(result.test, result.file, result.line) for result in found] == [
        ("adds", file, 3),
        ("throws", file, 4),
    ]
    assert all(result.name.startswith(f"{file}::math ") for result in found)
    assert found[1].error_message == "TypeError: Cannot read properties of null (reading 'x')"


def test_a_route_of_a_framework_keeps_the_sign_in_its_name() -> None:
    text = (SAMPLES / "vitest.txt").read_text(encoding="utf-8")
    text = text.replace("src/v.test.mjs", "src/$id.test.mjs")
    assert {result.file for result in read_tests(text, PLACE)} == {"src/$id.test.mjs"}


GO = """=== RUN   TestAdd
    math_test.go:9: got 3, want 4
--- FAIL: TestAdd (0.00s)
=== RUN   TestTable
=== RUN   TestTable/zero
    math_test.go:17: zero is wrong
--- FAIL: TestTable (0.00s)
    --- FAIL: TestTable/zero (0.00s)
        math_test.go:17: zero is wrong
FAIL
FAIL\texample.org/math\t0.004s
FAIL
"""


def test_go_names_its_package_and_its_subtests() -> None:
    found = {result.name: result for result in read_tests(GO, PLACE)}
    assert set(found) == {
        f"example.org/math::{name}" for name in ("TestAdd", "TestTable", "TestTable/zero")
    }
    zero = found["example.org/math::TestTable/zero"]
    assert (zero.file, zero.line, zero.error_message) == ("math_test.go", 17, "zero is wrong")


def test_go_s_json_says_the_same() -> None:
    lines = [
        f'{{"Action":"output","Package":"example.org/math","Output":"{line}\\n"}}'
        for line in GO.replace("\t", "\\t").splitlines()
    ]
    text = "\n".join(['{"Action":"start","Package":"example.org/math"}', *lines])
    assert {result.name for result in read_tests(text)} == {
        result.name for result in read_tests(GO)
    }


def test_surefire_lists_its_failures() -> None:
    (result,) = read_tests(
        "[ERROR] Failures: \n[ERROR]   MathTest.adds:12 expected: <4> but was: <3>\n"
    )
    assert (result.name, result.line, result.error_message) == (
        "MathTest::adds",
        12,
        "expected: <4> but was: <3>",
    )


@pytest.mark.parametrize(
    "line",
    [
        "FAILED CONSISTENTLY: tests/a.py::b",
        "ERROR    root:module.py:35 something",
        "FAILED (failures=1)",
        "FAIL",
        "tests/test_m.py::test_x PASSED [ 10%]",
        "ERROR: No matching distribution found for x",
    ],
)
def test_what_only_looks_like_a_name_is_none(line: str) -> None:
    assert read_tests(line) == ()


def test_workers_and_reruns_are_seen_through() -> None:
    text = "[gw1] [ 50%] FAILED tests/test_a.py::test_x \nFAILED [0.3790s] tests/test_b.py::T::test_y - E: no\n"
    assert [result.name for result in read_tests(text)] == [
        "tests/test_a.py::test_x",
        "tests/test_b.py::T::test_y",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nerror: could not compile `demo`\nb", "error: could not compile `demo`"),
        (
            "Traceback\nValueError: no\n##[error]Process completed with exit code 1.",
            "ValueError: no",
        ),
        ("##[error]Something went wrong\n", "Something went wrong"),
        (
            "it looked fine\n\nPlease split your change.\nIt is too large.\n",
            "Please split your change.",
        ),
        ("the build failed in src\nskipping an unknown key\n", "the build failed in src"),
        ("two keys read\nanother key is unknown\nkeys written\n", "another key is unknown"),
        (
            "PASSED test_login_failed\nthe build failed in src\nok 3 - connection refused\n",
            "the build failed in src",
        ),
        ("", ""),
    ],
)
def test_the_best_line_is_found(text: str, expected: str) -> None:
    assert best_error(text.split("\n")) == expected


HOSTILE = (
    "FAILED tests/a.py::" + "[" * 100_000,
    "=== FAILURES ===\n____ x ____\n" * 20_000,
    "=== FAILURES ===\n" + "____ x ____\n" * 50_000,
    "FAIL: test_x (a.b)\n" * 50_000,
    "--- FAIL: T (0.0s)\n" * 50_000,
    "---- a stdout ----\n" * 50_000,
    "FAIL src/a.test.js\n  ● x\n" * 20_000,
    "Traceback (most recent call last):\n" * 50_000,
    '{"Action":"output","Output":"' + "x" * 100_000,
    "FAILED a.py::x - " + " - " * 50_000,
    "\n".join(f"FAILED tests/a.py::test_{number}" for number in range(40_000)),
)


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_output_is_read_in_time_and_within_bounds(text: str) -> None:
    started = time.process_time()
    assert len(read_tests(text, PLACE)) <= 500
    assert time.process_time() - started < 4


@given(st.text(alphabet="FAILEDROR: _=-test.py:()\n ●☃[]", max_size=300))
def test_nothing_breaks_the_readers(text: str) -> None:
    read_tests(text, PLACE)
    best_error(text.split("\n"))


NODE_TESTS = {
    "mocha": {
        "math \u203a adds": ("mocha/a.spec.js", 4, "AssertionError"),
        "math \u203a deep \u203a throws": ("mocha/a.spec.js", 5, "TypeError"),
    },
    "mocha_tap": {
        "math adds": ("mocha/a.spec.js", 4, None),
        "math deep throws": ("mocha/a.spec.js", 5, None),
    },
    "node_spec": {
        "test/a.test.mjs::adds": ("test/a.test.mjs", 4, "AssertionError"),
        "test/a.test.mjs::nested fails": ("test/a.test.mjs", 5, "AssertionError"),
        "test/a.test.mjs::throws": ("test/a.test.mjs", 6, "TypeError"),
    },
    "node_tap": {
        "test/a.test.mjs::adds": ("test/a.test.mjs", 4, None),
        "test/a.test.mjs::group \u203a nested fails": ("test/a.test.mjs", 5, None),
        "test/a.test.mjs::throws": ("test/a.test.mjs", 6, None),
    },
    "tap": {"outer \u203a adds": ("test/t.js", 2, None)},
}


@pytest.mark.parametrize("name", NODE_TESTS)
def test_tests_of_node_are_named_with_their_suites(name: str) -> None:
    found = {key: (one.file, one.line, one.error) for key, one in sample(name).items()}
    assert found == NODE_TESTS[name]


def test_what_tap_expects_to_fail_is_no_failure() -> None:
    text = "TAP version 13\nnot ok 1 - later # TODO not yet\nnot ok 2 - other # SKIP slow\nok 3\n"
    assert read_tests(text) == ()
