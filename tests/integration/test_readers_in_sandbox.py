"""unittest, report files and scripts in the hardened sandbox."""

import io
import tarfile
from collections.abc import AsyncIterator

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.judge import run_tests
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import PythonPart, Recipe, RunVerdict, TestStatus, TrustTier

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]
LIMITS = RunLimits(wall_s=60.0)
FILES = {
    "calc.py": "def half(n):\n    return n / 0\n",
    "tests/__init__.py": "",
    "tests/test_m.py": (
        "import unittest\nfrom calc import half\n\n\nclass Case(unittest.TestCase):\n    def test_half(self):\n"
        "        half(2)\n\n    def test_fine(self):\n        pass\n"
    ),
}


@pytest.fixture(scope="module")
async def guest(docker_ready: None) -> AsyncIterator[Guest]:
    backend = DockerBackend(SandboxSpec(pool=0))
    recipe = Recipe(command="python -m pytest", parts=(PythonPart(requirements=("pytest",)),))
    origin = EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL)
    environment = await Snapshotter(backend, SandboxSpec()).ensure(recipe, origin)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    async with backend.open(environment.image) as opened:
        await opened.unpack(buffer.getvalue(), opened.workdir)
        yield opened


OUTCOMES = {
    "tests/test_m.py::Case::test_half": TestStatus.FAIL,
    "tests/test_m.py::Case::test_fine": TestStatus.PASS,
}


async def test_unittest_keeps_its_records_in_the_sandbox(guest: Guest) -> None:
    report = await run_tests(guest, "python -m unittest discover -s tests -t .", limits=LIMITS)
    assert (report.runner, report.verdict) == ("unittest", RunVerdict.FAIL), report.summary
    assert report.outcomes == OUTCOMES
    (failure,) = report.failures
    assert (failure.file, failure.line, failure.error) == ("calc.py", 2, "ZeroDivisionError")
    target = "tests/test_m.py::Case::test_fine"
    alone = await run_tests(
        guest, "python -m unittest", limits=LIMITS, targets=[target], order="random", seed=9
    )
    assert alone.verdict is RunVerdict.PASS
    assert alone.passing == {target}


async def test_a_script_s_report_is_read_out_of_the_sandbox(guest: Guest) -> None:
    command = (
        'OUT=$(echo q); [[ -n "$OUT" ]]; pytest -"$OUT" --junitxml=out/r.xml -p no:cacheprovider'
    )
    report = await run_tests(guest, command, limits=LIMITS)
    assert (report.runner, report.verdict) == ("junit", RunVerdict.FAIL), report.raw_output
    assert report.outcomes == OUTCOMES


async def test_a_script_s_output_names_its_tests(guest: Guest) -> None:
    report = await run_tests(guest, "for d in tests; do pytest -q $d; done", limits=LIMITS)
    assert (report.runner, report.verdict) == ("command", RunVerdict.FAIL)
    assert report.failing == {"tests/test_m.py::Case::test_half"}
    assert report.failures[0].file == "calc.py"
