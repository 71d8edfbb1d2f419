"""Tests that compute without end are stopped one by one and the others run, as plain processes of this host."""

import sys
import textwrap
from pathlib import Path

import pytest

from sandbox.judge import run_tests
from sandbox.spec import RunLimits
from sandbox.types import RunVerdict, TestReport, TestStatus
from tests.fakes.process_guest import ProcessGuest

pytestmark = pytest.mark.anyio

LIBRARY = "def spin(number=0):\n    while True:\n        number += 1\n"
TESTS = """
    import signal
    import unittest
    import pytest
    from lib import spin

    @pytest.fixture
    def endless():
        spin()

    @pytest.fixture
    def ends_never():
        yield
        spin()

    class Timeout(Exception): pass

    @pytest.mark.parametrize("n", range(3))
    def test_spins(n): spin(n)
    def test_own_exception(): raise Timeout("no answer")
    def test_catches_exceptions():
        while True:
            try: spin()
            except Exception: pass
    def test_catches_all():
        with pytest.raises(BaseException): spin()
    @pytest.mark.xfail
    def test_expected(): spin()
    def test_set_up(endless): pass
    def test_tear_down(ends_never): pass
    class Case(unittest.TestCase):
        def test_case(self): spin()
    def test_after(): assert signal.getitimer(signal.ITIMER_PROF)[1] > 0
"""


async def run(
    folder: Path, command: str = "python -m pytest -q", *, limit_s: float = 0.4, **files: str
) -> TestReport:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    limits = RunLimits(wall_s=120.0, test_cpu_s=limit_s)
    return await run_tests(
        ProcessGuest(folder, sys.executable), command, limits=limits, environment=environment
    )


async def test_tests_without_an_end_fail_by_themselves_and_the_others_run(tmp_path: Path) -> None:
    report = await run(tmp_path, lib=LIBRARY, test_m=TESTS)
    assert report.verdict is RunVerdict.FAIL, report.summary
    short = {
        name.removeprefix("test_m.py::"): status.name for name, status in report.outcomes.items()
    }
    assert short == {
        **{f"test_spins[{n}]": "FAIL" for n in range(3)},
        "test_own_exception": "FAIL",
        "test_catches_exceptions": "FAIL",
        "test_catches_all": "FAIL",
        "test_expected": "FAIL",
        "test_set_up": "ERROR",
        "test_tear_down": "ERROR",
        "Case::test_case": "FAIL",
        "test_after": "PASS",
    }
    told = {failure.name.partition("::")[2]: failure for failure in report.failures}
    assert {failure.error for failure in told.values()} == {"Timeout"}
    assert [name for name, failure in told.items() if not failure.hung] == ["test_own_exception"]
    assert report.hangs
    spins = told["test_spins[0]"]
    assert (spins.file, spins.frames[-1][2]) == ("lib.py", "spin")
    assert "did not end within 0.4 s of processor time" in str(spins.error_message)
    assert "where another test had not ended" in str(told["test_spins[1]"].error_message)


async def test_a_project_s_own_use_of_the_signal_is_left_alone(tmp_path: Path) -> None:
    conftest = """
        import signal
        ticks = []
        signal.signal(signal.SIGPROF, lambda number, frame: ticks.append(number))
        signal.setitimer(signal.ITIMER_PROF, 0.2, 0.2)
    """
    test = """
        import time, conftest
        def test_slow():
            while time.process_time() < 1.2: pass
        def test_profiled():
            conftest.signal.setitimer(conftest.signal.ITIMER_PROF, 0)
            assert len(conftest.ticks) > 2
    """
    report = await run(tmp_path, conftest=conftest, test_m=test)
    assert report.verdict is RunVerdict.PASS, report.summary


async def test_a_slow_test_elsewhere_is_not_taken_for_one_without_an_end(tmp_path: Path) -> None:
    test = """
        import time
        from lib import spin
        def work(seconds):
            until = time.process_time() + seconds
            while time.process_time() < until: pass
        def test_spins(): spin()
        def test_slow(): work(0.5)
    """
    report = await run(tmp_path, limit_s=0.9, lib=LIBRARY, test_m=test)
    assert report.failing == {"test_m.py::test_spins"}


async def test_methods_of_unittest_without_an_end_fail_by_themselves(tmp_path: Path) -> None:
    test = """
        import unittest
        from lib import spin
        class T(unittest.TestCase):
            def test_a_spins(self): spin()
            def test_b_catches(self):
                with self.assertRaises(BaseException): spin()
            def test_c(self): pass
        class A(unittest.IsolatedAsyncioTestCase):
            async def test_d(self): spin()
    """
    report = await run(tmp_path, "python -m unittest", lib=LIBRARY, test_m=test)
    assert report.verdict is RunVerdict.FAIL, report.summary
    assert report.passing == {"test_m.py::T::test_c"}
    assert {(f.error, f.hung, f.status) for f in report.failures} == {
        ("Timeout", True, TestStatus.FAIL)
    }
