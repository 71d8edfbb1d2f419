"""The observer believes suites that can fail, whatever their tests need, and no forged outcome."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from sandbox.known_answers import KnownAnswers, observe, observe_together
from sandbox.types import CommandResult, RunVerdict, TestReport, TestStatus
from tests.builders import a_report
from tests.fakes.fake_backend import FakeGuest

pytestmark = pytest.mark.anyio

HONEST = "def test_a():\n    assert 1 + 1 == 2\n"
RED = "def test_a():\n    assert 1 + 1 == 3\n"
Outcomes = dict[str, TestStatus]
Forger = Callable[[Outcomes, str], Outcomes]
RUN = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("test_m", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["test_m"] = module
spec.loader.exec_module(module)
for name in sys.argv[2:]:
    try:
        getattr(module, name.partition("[")[0])()
        print(name, "pass")
    except Exception:
        print(name, "fail")
"""


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - the same copies in every run


class Suite:
    """Runs the functions of one file in a process of its own, and lets a forger change the outcomes."""

    def __init__(
        self,
        folder: Path,
        source: str,
        forger: Forger = lambda outcomes, text: outcomes,
        loader: Callable[[str], str] = str,
    ) -> None:
        program = CommandResult(argv=("/bin/sh",), exit_code=0)
        self.guest = FakeGuest(
            {"test_m.py": ("100644", source.encode())}, {"/bin/sh": lambda *_: program}
        )
        self.runs: list[tuple[str, ...]] = []
        self.verdict = RunVerdict.FAIL
        self._folder = folder
        self._forger = forger
        self._loader = loader

    async def run(self, names: tuple[str, ...]) -> TestReport:
        self.runs.append(names)
        text = self.guest.files["test_m.py"][1].decode()
        path = self._folder / "test_m.py"
        path.write_text(self._loader(text))
        functions = [name.removeprefix("test_m.py::") for name in names]
        # Byte code of a version of the same size and second would be taken for this one's.
        command = [sys.executable, "-B", "-c", RUN, str(path), *functions]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: ASYNC221
        lines = [line.rsplit(" ", 1) for line in printed.splitlines()]
        outcomes = {f"test_m.py::{name}": TestStatus(status) for name, status in lines}
        found = self._forger(outcomes, text)
        green = set(found.values()) == {TestStatus.PASS}
        verdict = RunVerdict.PASS if green and self.verdict is RunVerdict.FAIL else self.verdict
        return a_report(outcomes=found, verdict=verdict, success=green)

    async def observed(self, *names: str, targeted: bool = True, seed: int = 0) -> KnownAnswers:
        before = dict(self.guest.files)
        passed = dict.fromkeys(
            [f"test_m.py::{name}" for name in names or ("test_a",)], TestStatus.PASS
        )
        report = a_report(outcomes=passed, success=True, verdict=RunVerdict.PASS)
        answers = await observe(
            self.guest, self.run, report, targeted=targeted, random=seeded(seed)
        )
        assert self.guest.files == before
        return answers

    async def observed_together(self, *, copies_first: bool = False, seed: int = 0) -> KnownAnswers:
        before = dict(self.guest.files)
        answers = await observe_together(
            self.guest,
            self.run,
            ("test_m.py::test_a",),
            copies_first=copies_first,
            random=seeded(seed),
        )
        assert self.guest.files == before
        return answers


async def test_an_honest_test_is_confirmed_in_one_run(tmp_path: Path) -> None:
    suite = Suite(tmp_path, HONEST)
    assert await suite.observed() == KnownAnswers(finding="confirmed")
    (names,) = suite.runs
    assert len(names) == 4
    assert "test_m.py::test_a" not in names


CHAINED = """
done = []

def test_b():
    done.append("b")
    assert done.count("b") == 1

def test_a():
    assert done == ["b"]
"""


@pytest.mark.parametrize("seed", range(6))
async def test_tests_that_need_their_order_are_confirmed_in_it(tmp_path: Path, seed: int) -> None:
    suite = Suite(tmp_path, CHAINED)
    found = await suite.observed("test_b", "test_a", targeted=False, seed=seed)
    assert found == KnownAnswers(finding="confirmed")
    assert suite.runs[1:] in (
        [],
        [("test_m.py::test_b", "test_m.py::test_a")] * 4,
    )


def every_test(outcomes: Outcomes, text: str) -> Outcomes:
    return dict.fromkeys(outcomes, TestStatus.PASS)


def by_name(outcomes: Outcomes, text: str) -> Outcomes:
    return {n: TestStatus.PASS if n == "test_m.py::test_a" else s for n, s in outcomes.items()}


def by_known_text(outcomes: Outcomes, text: str) -> Outcomes:
    return every_test(outcomes, text) if text == RED else outcomes


def of_unknown_names(outcomes: Outcomes, text: str) -> Outcomes:
    return every_test(outcomes, text) if "test_m.py::test_a" not in outcomes else outcomes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("forger", [every_test, by_name, by_known_text, of_unknown_names])
async def test_no_forger_is_confirmed(tmp_path: Path, forger: Forger, seed: int) -> None:
    answers = await Suite(tmp_path, RED, forger).observed(seed=seed)
    assert answers.finding in {"forged", "unconfirmed", "unsteady"}


@pytest.mark.parametrize(
    "source", [RED, RED.replace("3", "'three'"), RED.replace("assert 1 + 1 == 3", "assert 3 < 2")]
)
async def test_a_loader_that_changes_expected_values_is_not_confirmed(
    tmp_path: Path, source: str
) -> None:
    def load(text: str) -> str:
        return text.replace("3 < 2", "1 < 2").replace("'three'", "2").replace("== 3", "== 2")

    answers = await Suite(tmp_path, source, loader=load).observed()
    assert answers.finding in {"forged", "unconfirmed"}


@pytest.mark.parametrize("copies_first", [False, True])
async def test_copies_run_before_or_after_their_originals(
    tmp_path: Path, *, copies_first: bool
) -> None:
    suite = Suite(tmp_path, HONEST)
    answers = await suite.observed_together(copies_first=copies_first)
    assert answers.finding == "confirmed"
    (names,) = suite.runs
    assert names[-1 if copies_first else 0] == "test_m.py::test_a"
    assert answers.copies == set(names) - {"test_m.py::test_a"}
    assert len(answers.copies) == 4


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("forger", [every_test, by_name, by_known_text, of_unknown_names])
async def test_no_forger_is_confirmed_beside_copies(
    tmp_path: Path, forger: Forger, seed: int
) -> None:
    answers = await Suite(tmp_path, RED, forger).observed_together(seed=seed)
    assert answers.finding in {"forged", "unconfirmed"}


async def test_what_has_no_copy_does_not_run_beside_copies(tmp_path: Path) -> None:
    suite = Suite(tmp_path, "test_a = print\n")
    assert (await suite.observed_together()).finding == "not copied"
    assert suite.runs == []


async def test_a_test_that_passes_by_chance_is_unsteady(tmp_path: Path) -> None:
    suite = Suite(tmp_path, HONEST, lambda outcomes, text: _one_in_two(outcomes, len(suite.runs)))
    answers = await suite.observed()
    assert answers.finding == "unsteady"
    assert answers.rerun is not None
    assert answers.rerun.failing == {"test_m.py::test_a"}


def _one_in_two(outcomes: Outcomes, run: int) -> Outcomes:
    return dict.fromkeys(outcomes, TestStatus.FAIL if run % 2 else TestStatus.PASS)


async def test_a_run_of_copies_that_contradicts_itself_is_reported(tmp_path: Path) -> None:
    suite = Suite(tmp_path, HONEST)
    suite.verdict = RunVerdict.TAMPERED
    assert (await suite.observed()).finding == "tampered"


@pytest.mark.parametrize(
    "source",
    [
        "DONE = []\ndef test_a():\n    DONE.append(1)\n    assert len(DONE) == 1\n",
        "import sys\ndef test_a():\n    assert sys._getframe().f_code.co_name == 'test_a'\n",
    ],
    ids=["cannot run twice", "knows its name"],
)
async def test_a_test_that_cannot_be_copied_beside_itself_is_confirmed_in_place(
    tmp_path: Path, source: str
) -> None:
    suite = Suite(tmp_path, source)
    assert (await suite.observed()).finding == "confirmed"
    assert suite.runs[1:] == [("test_m.py::test_a",)] * 4


async def test_each_parameter_set_that_passed_is_run(tmp_path: Path) -> None:
    suite = Suite(tmp_path, HONEST)
    await suite.observed("test_a[1]", "test_a[x::y]")
    assert {name.partition("[")[2] for name in suite.runs[0]} == {"1]", "x::y]"}
    assert len(suite.runs[0]) == 8


async def test_functions_that_are_not_plainly_defined_are_named(tmp_path: Path) -> None:
    suite = Suite(tmp_path, HONEST + "test_b = test_a\n")
    answers = await suite.observed("test_a", "test_b")
    assert answers == KnownAnswers(finding="confirmed", not_copied=("test_m.py::test_b",))
    assert await Suite(tmp_path, "test_a = print\n").observed() == KnownAnswers(
        finding="not copied", not_copied=("test_m.py::test_a",)
    )


async def test_a_sample_stands_for_a_whole_run(tmp_path: Path) -> None:
    source = "".join(f"def test_{n}():\n    assert True\n" for n in range(40))
    suite = Suite(tmp_path, source)
    await suite.observed(*(f"test_{n}" for n in range(40)), targeted=False)
    assert len(suite.runs[0]) == 3 * 2
    suite.runs.clear()
    await suite.observed(*(f"test_{n}" for n in range(40)), targeted=True)
    assert len(suite.runs[0]) == 12 * 2


@pytest.mark.parametrize(
    "name", ["other.py::test_a", "test_m.py", "doc.txt::x", "../out.py::test_a"]
)
async def test_names_that_no_file_stands_behind_are_not_copied(tmp_path: Path, name: str) -> None:
    suite = Suite(tmp_path, HONEST)
    report = a_report(outcomes={name: TestStatus.PASS}, success=True, verdict=RunVerdict.PASS)
    answers = await observe(suite.guest, suite.run, report, targeted=True, random=seeded(0))
    assert answers.finding == "not copied"
    assert not suite.runs


async def test_a_file_that_is_no_text_is_left_alone(tmp_path: Path) -> None:
    suite = Suite(tmp_path, HONEST)
    suite.guest.files["test_m.py"] = ("100755", b"# \xff\n" + HONEST.encode())
    assert (await suite.observed()).finding == "not copied"
