"""The reporter with every kind of test item, on repositories of our own, as plain processes of this host."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from bot.mission.failures.signatures import no_verdict
from sandbox.judge import run_tests
from sandbox.spec import RunLimits
from sandbox.types import RunVerdict, TestReport, TestStatus
from tests.fakes.process_guest import ProcessGuest

pytestmark = pytest.mark.anyio

LIMITS = RunLimits(wall_s=60.0)
KINDS = """
    import unittest
    import pytest

    @pytest.fixture
    def broken():
        raise ValueError("in set-up")

    @pytest.fixture
    def leaves():
        yield
        raise ValueError("in tear-down")

    def test_pass(cache, tmp_path): print("seen")
    def test_fail():
        print("printed before")
        assert {"a": 1} == {"a": 2}
    def test_set_up(broken): pass
    def test_tear_down(leaves): pass
    @pytest.mark.skip
    def test_skip(): pass
    @pytest.mark.xfail
    def test_xfail(): assert 0
    @pytest.mark.xfail(strict=True)
    def test_xpass_strict(): pass
    @pytest.mark.parametrize("a", ["x", "é/::["])
    def test_parameter(a): assert a == "x"

    class Case(unittest.TestCase):
        def test_unit(self): self.assertEqual(1, 2)
        def test_fine(self): pass
        def test_parts(self):
            for number in range(3):
                with self.subTest(number=number): self.assertEqual(number, 1)
        @unittest.skip("no")
        def test_left_out(self): pass
        @unittest.expectedFailure
        def test_expected(self): self.fail()
"""


async def run(folder: Path, command: str = "python -m pytest -q", **options: Any) -> TestReport:
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return await run_tests(
        ProcessGuest(folder, sys.executable),
        command,
        limits=LIMITS,
        environment=environment,
        **options,
    )


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


async def test_every_kind_of_item_gets_its_outcome(tmp_path: Path) -> None:
    report = await run(write(tmp_path, test_kinds=KINDS))
    assert report.verdict is RunVerdict.FAIL
    short = {
        name.removeprefix("test_kinds.py::"): status.name
        for name, status in report.outcomes.items()
    }
    assert short == {
        "test_pass": "PASS",
        "test_fail": "FAIL",
        "test_set_up": "ERROR",
        "test_tear_down": "ERROR",
        "test_skip": "SKIP",
        "test_xfail": "SKIP",
        "test_xpass_strict": "FAIL",
        "test_parameter[x]": "PASS",
        "test_parameter[\\xe9/::[]": "FAIL",
        "Case::test_unit": "FAIL",
        "Case::test_fine": "PASS",
        "Case::test_parts": "FAIL",
        "Case::test_left_out": "SKIP",
        "Case::test_expected": "SKIP",
    }
    (failure,) = (result for result in report.failures if result.test == "test_fail")
    assert "printed before" in failure.output
    assert (failure.error, failure.file) == ("AssertionError", "test_kinds.py")
    again = await run(tmp_path, targets=list(report.passing))
    assert again.success
    assert again.passing == report.passing


async def test_errors_of_collection_name_the_file_and_line_at_fault(tmp_path: Path) -> None:
    write(
        tmp_path,
        lib="x = 1\ndef f(:\n",
        test_s="import lib\n",
        test_i="import os\nimport nowhere\n",
    )
    report = await run(tmp_path)
    places = {
        result.name: (result.status, result.error, result.file, result.line)
        for result in report.failures
    }
    assert places == {
        "test_i.py": (TestStatus.ERROR, "ModuleNotFoundError", "test_i.py", 2),
        "test_s.py": (TestStatus.ERROR, "SyntaxError", "lib.py", 2),
    }


async def test_the_deepest_frame_in_the_checkout_is_where_it_failed(tmp_path: Path) -> None:
    write(
        tmp_path,
        pkg____init__="",
        pkg__deep="import json\n\ndef load(text):\n    return json.loads(text)\n",
        tests__test_deep="from pkg.deep import load\n\ndef test_load():\n    load('{')\n",
    )
    report = await run(tmp_path)
    (failure,) = report.failures
    assert (failure.file, failure.line, failure.error) == ("pkg/deep.py", 4, "JSONDecodeError")
    assert [frame[0] for frame in failure.frames] == ["tests/test_deep.py", "pkg/deep.py"]


async def test_names_are_relative_to_the_checkout_wherever_pytest_runs(tmp_path: Path) -> None:
    write(tmp_path, sub__test_a="def test_a(): pass\n", test_b="def test_b(): assert 0\n")
    (tmp_path / "sub" / "pytest.ini").write_text("[pytest]\n")
    for command, folder in (("pytest -q", "sub"), ("cd sub && pytest -q", ".")):
        report = await run(
            tmp_path, command, working_directory=folder, targets=["sub/test_a.py::test_a"]
        )
        assert report.success
        assert set(report.outcomes) == {"sub/test_a.py::test_a"}


async def test_the_path_is_that_of_the_command(tmp_path: Path) -> None:
    write(tmp_path, mod="X = 1\n", src__other="Y = 2\n")
    write(
        tmp_path,
        tests__test_m="import mod\ndef test_m(): pass\n",
        tests__test_o="import other\ndef test_o(): pass\n",
    )
    assert (await run(tmp_path, "python -m pytest -q tests/test_m.py")).success
    assert not (await run(tmp_path, "pytest -q tests/test_m.py")).success
    assert (await run(tmp_path, "PYTHONPATH=src pytest -q tests/test_o.py")).success


async def test_a_repository_without_tests_gives_no_verdict(tmp_path: Path) -> None:
    report = await run(write(tmp_path, mod="X = 1\n"))
    assert (report.verdict, report.failed, report.success) == (RunVerdict.NO_VERDICT, False, False)
    assert "no test was collected" in report.summary
    report = await run(tmp_path, "pytest gone.py")
    assert "file or directory not found: gone.py" in report.summary


async def test_a_file_that_skips_itself_is_named_with_its_reason(tmp_path: Path) -> None:
    wants = "import pytest\nthere = pytest.importorskip('not_there')\ndef test_it(): pass\n"
    write(tmp_path, tests__test_wants=wants)
    report = await run(tmp_path)
    (reason,) = report.skipped_files.values()
    assert set(report.skipped_files) == {"tests/test_wants.py"}
    assert reason.startswith("could not import 'not_there'")
    assert report.verdict is RunVerdict.NO_VERDICT
    assert "`tests/test_wants.py` skips itself: could not import" in (no_verdict(report) or "")
    write(tmp_path, test_other="def test_other(): pass\n")
    report = await run(tmp_path)
    assert report.success
    assert set(report.skipped_files) == {"tests/test_wants.py"}
    assert report.outcomes == {"test_other.py::test_other": TestStatus.PASS}


async def test_the_failure_limit_stops_the_run(tmp_path: Path) -> None:
    write(
        tmp_path,
        test_many="import pytest\n@pytest.mark.parametrize('i', range(9))\ndef test_i(i): assert 0\n",
    )
    report = await run(tmp_path, maxfail=2)
    assert report.failure_count == 2
    assert report.verdict is RunVerdict.FAIL
    own = {"pytest -x": 1, "pytest --maxfail=3": 2, "pytest --maxfail 0": 2}
    assert {
        command: (await run(tmp_path, command, maxfail=2)).failure_count for command in own
    } == own


async def test_a_crash_names_the_test_it_happened_in(tmp_path: Path) -> None:
    report = await run(
        write(tmp_path, test_c="import os\ndef test_a(): pass\ndef test_b(): os.abort()\n")
    )
    (failure,) = report.failures
    assert (failure.name, failure.error) == ("test_c.py::test_b", "Crash")
    assert report.verdict is RunVerdict.FAIL


ORDERED = """
    import pytest
    seen = []
    @pytest.fixture(scope="module", autouse=True)
    def once(request):
        with open("set_up.txt", "a") as file: file.write(request.module.__name__ + "\\n")
    @pytest.fixture(autouse=True)
    def note(request):
        with open("order.txt", "a") as file: file.write(request.node.nodeid + "\\n")
    class TestGroup:
        def test_one(self): pass
        def test_two(self): pass
        def test_three(self): pass
    @pytest.mark.parametrize("n", range(4))
    def test_numbered(n): pass
"""


async def test_a_random_order_is_the_seed_s_and_sets_every_module_up_once(tmp_path: Path) -> None:
    write(tmp_path, a__test_x=ORDERED, a__test_y=ORDERED, b__test_z=ORDERED)
    orders = []
    for seed in (1, 1, 2):
        report = await run(tmp_path, order="random", seed=seed, confirm=False)
        assert report.verdict is RunVerdict.PASS, report.summary
        orders.append((tmp_path / "order.txt").read_text().split())
        assert len((tmp_path / "set_up.txt").read_text().split()) == 3
        (tmp_path / "order.txt").unlink()
        (tmp_path / "set_up.txt").unlink()
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    assert orders[0] != sorted(orders[0])


async def test_a_random_order_of_chosen_tests_runs_these_only(tmp_path: Path) -> None:
    write(tmp_path, a__test_x=ORDERED, b__test_z=ORDERED)
    report = await run(
        tmp_path,
        targets=["a/test_x.py::TestGroup", "b/test_z.py::test_numbered"],
        order="random",
        seed=3,
    )
    assert report.verdict is RunVerdict.PASS
    assert len(report.outcomes) == 7


async def test_the_seed_is_the_hash_seed_unless_the_job_has_its_own(tmp_path: Path) -> None:
    write(
        tmp_path,
        test_seed="import os\ndef test_it(): assert os.environ['PYTHONHASHSEED'] == '77'\n",
    )
    assert (await run(tmp_path, seed=77)).success
    assert (await run(tmp_path, seed=77 + 2**32)).success
    assert not (await run(tmp_path, seed=5)).success
    assert (await run(tmp_path, "PYTHONHASHSEED=77 pytest -q", seed=5)).success
