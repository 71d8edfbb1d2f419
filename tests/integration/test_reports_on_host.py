"""Report files and scripts, run as plain processes of this host."""

import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox.judge import run_tests
from sandbox.spec import RunLimits
from sandbox.types import RunVerdict, TestReport, TestStatus
from tests.fakes.process_guest import ProcessGuest

pytestmark = pytest.mark.anyio
LIMITS = RunLimits(wall_s=60.0)
TESTS = "def test_good(): pass\ndef test_bad(): assert 1 == 2\n"


async def run(folder: Path, command: str, **options: Any) -> TestReport:
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return await run_tests(
        ProcessGuest(folder, sys.executable),
        command,
        limits=LIMITS,
        environment=environment,
        **options,
    )


async def test_a_report_of_this_run_names_every_test(tmp_path: Path) -> None:
    (tmp_path / "test_m.py").write_text(TESTS)
    report = await run(tmp_path, "A=$(echo 1); pytest -q --junitxml=out/r.xml")
    assert (report.runner, report.verdict) == ("junit", RunVerdict.FAIL)
    assert report.outcomes == {
        "test_m.py::test_good": TestStatus.PASS,
        "test_m.py::test_bad": TestStatus.FAIL,
    }


async def test_a_report_that_stood_there_before_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text('<testsuite><testcase name="x" classname="C"/></testsuite>')
    report = await run(tmp_path, "A=$(true); false --junitxml=r.xml")
    assert report.verdict is RunVerdict.FAIL
    assert "C::x" not in report.outcomes
