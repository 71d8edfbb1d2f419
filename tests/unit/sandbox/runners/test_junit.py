"""Test reports in JUnit XML: read where they are what they say, refused where they are more."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge import judge
from sandbox.runners import detect_runner
from sandbox.runners.base import Invocation, RunnerReading, RunRequest
from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.junit import JUnitReports, ReportRefused, is_report, read_junit, report_paths
from sandbox.types import CommandResult, RunVerdict, TestStatus

PLACE = CheckoutPaths("/work/repo")
PYTEST = b"""<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1"
 failures="1" skipped="1" tests="4" time="0.1"><testcase classname="tests.test_m.TestA" name="test_ok[1-2]" time="0.002" />
<testcase classname="tests.test_m" name="test_bad" time="0.5"><failure message="assert 1 == 2">def test_bad():
&gt;       assert 1 == 2
E       assert 1 == 2

tests/test_m.py:3: AssertionError</failure><system-out>printed</system-out></testcase>
<testcase classname="" name="tests.test_broken" time="0.0"><error message="collection failure">ImportError: no</error></testcase>
<testcase classname="tests.test_m" name="test_left" time="0.0"><skipped type="pytest.skip" message="no">x</skipped></testcase>
</testsuite></testsuites>"""
SUREFIRE = b"""<testsuite name="com.acme.MathTest" tests="2"><properties><property name="a" value="b"/></properties>
<testcase name="adds" classname="com.acme.MathTest" time="1,234.5"/>
<testcase name="divides" classname="com.acme.MathTest" time="0.01">
<error message="/ by zero" type="java.lang.ArithmeticException"><![CDATA[java.lang.ArithmeticException: / by zero]]></error>
</testcase></testsuite>"""
JEST = b"""<testsuites><testsuite name="math"><testcase classname="math adds" name="math adds" file="/work/repo/src/a.test.js"
 line="3"><failure>Error: expected 3</failure></testcase></testsuite></testsuites>"""


def test_what_pytest_writes_has_pytest_s_names() -> None:
    found = {test.name: test for test in read_junit(PYTEST, PLACE)}
    assert {name: test.status for name, test in found.items()} == {
        "tests/test_m.py::TestA::test_ok[1-2]": TestStatus.PASS,
        "tests/test_m.py::test_bad": TestStatus.FAIL,
        "tests/test_broken.py": TestStatus.ERROR,
        "tests/test_m.py::test_left": TestStatus.SKIP,
    }
    bad = found["tests/test_m.py::test_bad"]
    assert (bad.file, bad.error_message, bad.output, bad.duration_ms) == (
        "tests/test_m.py",
        "assert 1 == 2",
        "printed",
        500.0,
    )
    assert "AssertionError" in (bad.traceback or "")


def test_other_runners_keep_their_own_names() -> None:
    adds, divides = read_junit(SUREFIRE, PLACE)
    assert (adds.name, adds.status, adds.duration_ms) == (
        "com.acme.MathTest::adds",
        TestStatus.PASS,
        1234500.0,
    )
    assert (divides.error, divides.error_message) == ("ArithmeticException", "/ by zero")
    (jest,) = read_junit(JEST, PLACE)
    assert (jest.name, jest.file, jest.line) == ("src/a.test.js::math adds", "src/a.test.js", 3)


ENTITY = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
REFUSED = {
    "an entity": ENTITY,
    "a document type": b"<!DOCTYPE x><testsuite/>",
    "an outer entity": b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>',
    "too deep": b"<a>" * 60 + b"</a>" * 60,
    "too many": b"<testsuite>" + b"<a/>" * 200_001 + b"</testsuite>",
    "too large": b" " * (5 << 20),
    "cut off": PYTEST[:300],
    "no XML": b"\x00\x01",
    "empty": b"",
}


@pytest.mark.parametrize("name", REFUSED)
def test_more_than_a_report_is_refused(name: str) -> None:
    with pytest.raises(ReportRefused):
        read_junit(REFUSED[name], PLACE)


@given(
    st.binary(max_size=400)
    | st.text(alphabet='<>/="& testcaseuifrl\n', max_size=300).map(str.encode)
)
def test_nothing_but_a_refusal_comes_of_hostile_bytes(data: bytes) -> None:
    with suppress(ReportRefused):
        read_junit(data, PLACE)


def test_a_large_report_is_read_in_time() -> None:
    data = (
        b"<testsuite>"
        + b'<testcase name="a"><failure>x<b/>y</failure></testcase>' * 60_000
        + b"</testsuite>"
    )
    started = time.process_time()
    assert len(read_junit(data, PLACE)) == 20_000
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("pytest --junitxml=out/report.xml | tee log", ("out/report.xml",)),
        ("VAR=$(date) pytest --junit-xml 'r.xml'", ("r.xml",)),
        ("gotestsum --junitfile unit.xml -- ./...", ("unit.xml",)),
        ("npx jest --ci --reporters=default --reporters=jest-junit", ("junit.xml",)),
        ("JEST_JUNIT_OUTPUT_FILE=reports/j.xml npm test", ("reports/j.xml",)),
        (
            "./mvnw -B verify",
            ("*target/surefire-reports/TEST-*.xml", "*target/failsafe-reports/TEST-*.xml"),
        ),
        ("./gradlew check", ("*build/test-results/*TEST-*.xml",)),
        ("pytest --junitxml=/tmp/x.xml", ()),
        ("pytest --junitxml=../x.xml", ()),
        ("pytest --junitxml=$OUT", ()),
        ("make test", ()),
    ],
)
def test_a_command_says_where_its_report_goes(command: str, paths: tuple[str, ...]) -> None:
    assert report_paths(command) == paths


def test_patterns_name_reports_in_every_module() -> None:
    patterns = report_paths("mvn test", "java")
    assert is_report("java/core/target/surefire-reports/TEST-a.xml", patterns)
    assert not is_report("java/core/target/classes/TEST-a.xml", patterns)


def read(
    found: dict[str, bytes], exit_code: int, stdout: str = ""
) -> tuple[RunnerReading, CommandResult, RunRequest]:
    request = RunRequest(command="gotestsum --junitfile r.xml")
    result = CommandResult(argv=("sh",), exit_code=exit_code, stdout=stdout)
    runner = detect_runner(request.command)
    assert runner.name == "junit"
    return runner.read(request, Invocation(argv=("sh",), found=found), result), result, request


@pytest.mark.parametrize(
    ("report", "exit_code", "verdict"),
    [
        (SUREFIRE, 1, RunVerdict.FAIL),
        (SUREFIRE, 0, RunVerdict.FAIL),
        (SUREFIRE.replace(b"error", b"system-out"), 0, RunVerdict.PASS),
        (SUREFIRE.replace(b"error", b"system-out"), 3, RunVerdict.FAIL),
        (ENTITY, 0, RunVerdict.NO_VERDICT),
        (ENTITY, 1, RunVerdict.NO_VERDICT),
    ],
)
def test_status_and_report_must_agree(report: bytes, exit_code: int, verdict: RunVerdict) -> None:
    reading, result, request = read({"r.xml": report}, exit_code)
    assert reading.weak
    judged = judge(request, JUnitReports(), reading, result)
    assert judged.verdict is verdict
    assert judged.success == (verdict is RunVerdict.PASS)


def test_without_a_report_the_output_is_read() -> None:
    reading, _, _ = read({}, 1, "--- FAIL: TestX (0.00s)\n    x_test.go:3: no\nFAIL\n")
    assert [test.name for test in reading.results] == ["TestX"]
