"""unittest with every kind of test, on repositories of our own, as plain processes of this host."""

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sandbox.judge import run_tests
from sandbox.spec import RunLimits
from sandbox.types import RunVerdict, TestReport, TestStatus
from tests.fakes.process_guest import ProcessGuest

pytestmark = pytest.mark.anyio
LIMITS = RunLimits(wall_s=60.0)
KINDS = """
    import unittest

    class Case(unittest.TestCase):
        def test_fine(self): pass
        def test_fails(self):
            self.assertEqual(1, 2, "one is not two")
        def test_breaks(self): raise KeyError("gone")
        def test_parts(self):
            for number in range(3):
                with self.subTest(number=number): self.assertEqual(number, 1)
        @unittest.skip("no")
        def test_left_out(self): pass
        @unittest.expectedFailure
        def test_expected(self): self.fail()
        @unittest.expectedFailure
        def test_unexpected(self): pass
        def test_skips_itself(self): self.skipTest("later")
        def test_cleans_up_badly(self): self.addCleanup(lambda: 1 / 0)

    class SetUp(unittest.TestCase):
        def setUp(self): raise ValueError("in set-up")
        def test_it(self): pass

    class TearDown(unittest.TestCase):
        def tearDown(self): raise ValueError("in tear-down")
        def test_it(self): pass

    class Group(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise ValueError("of the class")
        def test_one(self): pass
        def test_two(self): pass

    class Left(unittest.TestCase):
        @classmethod
        def tearDownClass(cls): raise ValueError("after the class")
        def test_one(self): pass

    class Skipped(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise unittest.SkipTest("all of it")
        def test_one(self): pass

    class Waiting(unittest.IsolatedAsyncioTestCase):
        async def test_fine(self): pass
        async def test_fails(self): self.assertTrue(False)

    class Outer:
        class Inner(unittest.TestCase):
            def test_nested(self): pass
"""


async def run(folder: Path, command: str = "python -m unittest", **options: Any) -> TestReport:
    return await run_tests(ProcessGuest(folder, sys.executable), command, limits=LIMITS, **options)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


async def test_every_kind_of_test_gets_the_outcome_and_the_name_pytest_gives(
    tmp_path: Path,
) -> None:
    report = await run(
        write(tmp_path, tests____init="", tests__test_kinds=KINDS),
        "python -m unittest discover tests",
    )
    assert report.runner == "unittest"
    assert report.verdict is RunVerdict.FAIL, report.summary
    short = {
        name.removeprefix("tests/test_kinds.py::"): status.name
        for name, status in report.outcomes.items()
    }
    assert short == {
        "Case::test_fine": "PASS",
        "Case::test_fails": "FAIL",
        "Case::test_breaks": "FAIL",
        "Case::test_parts": "FAIL",
        "Case::test_left_out": "SKIP",
        "Case::test_expected": "SKIP",
        "Case::test_unexpected": "FAIL",
        "Case::test_skips_itself": "SKIP",
        "Case::test_cleans_up_badly": "ERROR",
        "SetUp::test_it": "ERROR",
        "TearDown::test_it": "ERROR",
        "Group::test_one": "ERROR",
        "Group::test_two": "ERROR",
        "Left::test_one": "ERROR",
        "Skipped::test_one": "SKIP",
        "Waiting::test_fine": "PASS",
        "Waiting::test_fails": "FAIL",
    }


async def test_a_failure_has_its_message_its_place_and_its_frames(tmp_path: Path) -> None:
    write(
        tmp_path,
        pkg__m="def half(n):\n    return n / 0\n",
        test_m="import unittest\nfrom pkg.m import half\nclass T(unittest.TestCase):\n    def test_half(self):\n        half(2)\n",
    )
    (failure,) = (await run(tmp_path)).failures
    assert (failure.name, failure.file, failure.line, failure.error) == (
        "test_m.py::T::test_half",
        "pkg/m.py",
        2,
        "ZeroDivisionError",
    )
    assert failure.frames == (("test_m.py", 5, "test_half"), ("pkg/m.py", 2, "half"))
    assert failure.error_message == "division by zero"
    assert failure.traceback is not None
    assert "Traceback (most recent call last)" in failure.traceback


FINE = """
    import unittest
    class A(unittest.TestCase):
        @classmethod
        def setUpClass(cls): open("set_up.txt", "a").write("A\\n")
        def test_one(self): open("order.txt", "a").write("A.one\\n")
        def test_two(self): open("order.txt", "a").write("A.two\\n")
        def test_three(self): open("order.txt", "a").write("A.three\\n")
    class B(unittest.TestCase):
        def test_one(self): open("order.txt", "a").write("B.one\\n")
        def test_two(self): open("order.txt", "a").write("B.two\\n")
"""


@pytest.mark.parametrize(
    "command",
    [
        "python -m unittest",
        "python3 -m unittest discover -s . -p 'test*.py' -v",
        "python -m unittest -q test_m",
        "python -m unittest test_m.A test_m.B.test_one test_m.B.test_two",
        "coverage run --source . -m unittest discover",
        "uv run python -m unittest -f -b",
    ],
)
async def test_a_command_runs_the_tests_it_names(tmp_path: Path, command: str) -> None:
    report = await run(write(tmp_path, test_m=FINE), command)
    assert report.verdict is RunVerdict.PASS, report.summary
    assert len(report.passing) == 5
    assert report.summary.startswith("5 passed")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("test_m.py::A::test_two", {"test_m.py::A::test_two"}),
        ("test_m.py::B", {"test_m.py::B::test_one", "test_m.py::B::test_two"}),
        ("test_m.py", None),
    ],
)
async def test_targets_narrow_what_the_command_finds(
    tmp_path: Path, target: str, expected: set[str] | None
) -> None:
    report = await run(write(tmp_path, test_m=FINE), targets=[target])
    assert report.verdict is RunVerdict.PASS, report.summary
    assert expected is None or report.passing == expected


async def test_targets_run_in_their_own_order(tmp_path: Path) -> None:
    write(tmp_path, test_m=FINE)
    report = await run(
        tmp_path,
        confirm=False,
        targets=["test_m.py::B::test_two", "test_m.py::A", "test_m.py::B::test_one"],
    )
    assert report.verdict is RunVerdict.PASS, report.summary
    assert (tmp_path / "order.txt").read_text().split() == [
        "B.two",
        "A.one",
        "A.three",
        "A.two",
        "B.one",
    ]


async def test_a_target_that_is_not_there_proves_nothing(tmp_path: Path) -> None:
    report = await run(write(tmp_path, test_m=FINE), targets=["test_m.py::A::test_four"])
    assert report.verdict is RunVerdict.NO_VERDICT


async def test_orders_keep_classes_together(tmp_path: Path) -> None:
    write(tmp_path, test_m=FINE, test_n=FINE)

    async def order(**options: Any) -> list[str]:
        (tmp_path / "set_up.txt").write_text("")
        (tmp_path / "order.txt").write_text("")
        assert (await run(tmp_path, confirm=False, **options)).verdict is RunVerdict.PASS
        assert (tmp_path / "set_up.txt").read_text() == "A\nA\n"
        return (tmp_path / "order.txt").read_text().split()

    given = await order()
    assert await order(order="reversed") == given[::-1]
    shuffled = await order(order="random", seed=3)
    assert shuffled == await order(order="random", seed=3)
    assert {tuple(await order(order="random", seed=seed)) for seed in (4, 5)} | {
        tuple(shuffled)
    } != {tuple(shuffled)}


async def test_a_module_that_cannot_be_loaded_is_an_error_by_its_file(tmp_path: Path) -> None:
    write(tmp_path, test_broken="import nothing_like_it\n", test_m=FINE)
    report = await run(tmp_path)
    assert report.verdict is RunVerdict.FAIL
    assert report.outcomes["test_broken.py"] is TestStatus.ERROR
    (failure,) = report.failures
    assert (failure.error, failure.error_message) == (
        "ModuleNotFoundError",
        "No module named 'nothing_like_it'",
    )
    assert (failure.file, failure.line) == ("test_broken.py", 1)


async def test_load_tests_has_its_say(tmp_path: Path) -> None:
    write(
        tmp_path,
        test_m=FINE
        + "    def load_tests(loader, tests, pattern):\n        return loader.loadTestsFromTestCase(B)\n",
    )
    assert (await run(tmp_path)).passing == {"test_m.py::B::test_one", "test_m.py::B::test_two"}


async def test_maxfail_stops_and_no_tests_prove_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        test_m="import unittest\nclass T(unittest.TestCase):\n"
        + "".join(f"    def test_{n}(self): self.fail()\n" for n in range(5)),
    )
    assert (await run(tmp_path, maxfail=2)).failure_count == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert (await run(empty)).verdict is RunVerdict.NO_VERDICT
    refused = await run(tmp_path, "python -m unittest --nonsense")
    assert refused.verdict is RunVerdict.NO_VERDICT
    assert "unittest did not accept the command" in refused.summary


async def test_a_test_that_does_not_end_is_named_with_its_place(tmp_path: Path) -> None:
    spin = "    def test_spins(self):\n        while True:\n            pass\n"
    write(tmp_path, test_m=f"import unittest\nclass T(unittest.TestCase):\n{spin}")
    report = await run_tests(
        ProcessGuest(tmp_path, sys.executable), "python -m unittest", limits=RunLimits(wall_s=4.0)
    )
    assert report.verdict is RunVerdict.TIMEOUT
    (failure,) = report.failures
    assert (failure.name, failure.error, failure.file) == (
        "test_m.py::T::test_spins",
        "Timeout",
        "test_m.py",
    )
    assert failure.line in {4, 5}


ATTACKS = {
    "leaves early": "import os\n    def test_x(self): os._exit(0)\n",
    "exits": "import sys\n    def test_x(self): sys.exit(0)\n",
    "turns assertions off": (
        "unittest.TestCase.assertEqual = lambda *a: None\n    def test_x(self): self.assertEqual(1, 2)\n"
    ),
    "turns failures into passes": (
        "unittest.TestResult.addFailure = lambda *a: None\n    def test_x(self): self.assertEqual(1, 2)\n"
    ),
    "replaces run": (
        "unittest.TestCase.run = lambda self, result=None: (result.startTest(self), result.addSuccess(self), "
        "result.stopTest(self))\n    def test_x(self): self.fail()\n"
    ),
    "talks to the result": (
        "pass\n    def test_x(self):\n        self._outcome.result.addFailure = lambda t, e: None\n        self.fail()\n"
    ),
    "claims success": (
        "pass\n    def test_x(self):\n        r = self._outcome.result\n        r.addFailure = lambda t, e: r.addSuccess(t)\n"
        "        self.fail()\n"
    ),
    "exchanges the test": (
        "pass\n    def test_a(self): type(self).test_x = lambda self: None\n    def test_x(self): self.fail()\n"
    ),
    "writes records": (
        "import os\n    def test_x(self):\n        for fd in range(3, 20):\n            try: os.write(fd, b'000000000000 [\"exit\",0]\\n')\n"
        "            except OSError: pass\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
async def test_no_test_decides_its_own_verdict(tmp_path: Path, name: str) -> None:
    first, rest = ATTACKS[name].split("\n", 1)
    write(tmp_path, test_m="")
    (tmp_path / "test_m.py").write_text(
        f"import unittest\n{first}\nclass T(unittest.TestCase):\n{rest}"
    )
    report = await run(tmp_path)
    assert report.verdict is not RunVerdict.PASS, report.summary
