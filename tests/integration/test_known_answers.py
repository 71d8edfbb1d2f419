"""Known-answer copies in the real sandbox: honest tests of all kinds are confirmed, a lying runner is not."""

import io
import tarfile
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.judge import run_tests
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import CommandResult, PythonPart, Recipe, RunVerdict, TestOrder, TrustTier

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

LIMITS = RunLimits(wall_s=60.0)
PLAIN = "kinds/test_kinds.py::test_plain"
KINDS = '''
import contextlib, os, unittest
import pytest

DONE = []

@pytest.fixture(params=["x", "y"])
def letter(request):
    return request.param

def test_plain():
    """
    >>> 1 + 1
    2
    """
    assert 1 + 1 == 2, "message"

def test_fixture(letter, tmp_path):
    assert letter in "xy" and tmp_path.is_dir()

@pytest.mark.parametrize("text", ["a::b", "", "[c]"])
def test_parameters(text):
    if not text:
        return
    with pytest.raises(ZeroDivisionError):
        1 / 0

def test_cannot_run_twice():
    DONE.append(1)
    assert len(DONE) == 1

def test_knows_its_name(request):
    assert request.node.name == "test_knows_its_name"

def test_without_assertions():
    with contextlib.suppress(KeyError):
        {}["a"]

class TestGroup:
    state = 0

    def setup_method(self):
        self.state += 1

    def test_method(self):
        assert self.state == 1

@pytest.mark.skipif(False, reason="never")
class TestOuter:
    class TestInner:
        def test_deeper(self):
            assert self

class Case(unittest.TestCase):
    def test_case(self):
        with self.subTest(part=1):
            self.assertEqual(1, 1)

class Waiting(unittest.IsolatedAsyncioTestCase):
    async def test_awaited(self):
        self.assertTrue(self)
'''
UNITTEST = """
import unittest

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.number = 1

    def test_one(self):
        self.assertEqual(self.number, 1)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(self.number, 2)

class Base(Case):
    def test_two(self):
        assert super().countTestCases() == 1
"""
LYING = """
import pytest

class Passes(pytest.Function):
    def runtest(self):
        pass

def pytest_pycollect_makeitem(collector, name, obj):
    if name.startswith("test_"):
        return Passes.from_parent(collector, name=name)
"""
FILES = {
    "kinds/test_kinds.py": KINDS,
    "kinds/pytest.ini": "[pytest]\naddopts = -x --doctest-modules\n",
    "cases/test_cases.py": UNITTEST,
    "latin/test_latin.py": "# coding: latin-1\ndef test_word():\n    assert '\u00e9'\n",
    "lies/conftest.py": LYING,
    "lies/test_a.py": "def test_a():\n    assert 1 == 2\n",
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
            content = text.encode("latin-1" if "latin" in name else "utf-8")
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755 if "cases" in name else 0o644
            tar.addfile(member, io.BytesIO(content))
    async with backend.open(environment.image) as opened:
        await opened.unpack(buffer.getvalue(), opened.workdir)
        await opened.snap()
        yield opened


async def test_every_kind_of_pytest_test_is_confirmed(guest: Guest) -> None:
    plain = await run_tests(
        guest, "pytest", limits=LIMITS, working_directory="kinds", confirm=False
    )
    assert plain.verdict is RunVerdict.PASS, plain.summary
    for name in sorted({name.partition("[")[0] for name in plain.passing}):
        report = await run_tests(
            guest, "pytest", limits=LIMITS, working_directory="kinds", targets=[name]
        )
        assert report.verdict is RunVerdict.PASS, f"{name}: {report.summary}"
        # An example of a docstring is a test that no function defines.
        assert report.unconfirmed == ((name,) if "test_kinds.test_plain" in name else ()), name
    assert await guest.export() == ()


async def test_every_kind_of_unittest_test_is_confirmed(guest: Guest) -> None:
    command = "python -m unittest --failfast"
    plain = await run_tests(guest, command, limits=LIMITS, working_directory="cases", confirm=False)
    assert plain.verdict is RunVerdict.PASS, plain.summary
    inherited = "cases/test_cases.py::Base::test_one"
    for name in sorted(plain.passing):
        report = await run_tests(
            guest, command, limits=LIMITS, working_directory="cases", targets=[name]
        )
        assert report.verdict is RunVerdict.PASS, f"{name}: {report.summary}"
        assert report.unconfirmed == ((name,) if name == inherited else ()), name
    assert await guest.export() == ()


async def test_a_whole_run_is_confirmed_by_a_sample(guest: Guest) -> None:
    report = await run_tests(guest, "pytest", limits=LIMITS, working_directory="kinds")
    assert report.verdict is RunVerdict.PASS, report.summary


async def test_a_file_in_another_encoding_is_believed_as_before(guest: Guest) -> None:
    name = "latin/test_latin.py::test_word"
    report = await run_tests(
        guest, "pytest", limits=LIMITS, working_directory="latin", targets=[name]
    )
    assert (report.verdict, report.unconfirmed) == (RunVerdict.PASS, (name,))


@pytest.mark.parametrize(
    "targets", [["lies/test_a.py::test_a"], []], ids=["by name", "the whole command"]
)
async def test_a_runner_that_lies_is_not_believed(guest: Guest, targets: list[str]) -> None:
    report = await run_tests(
        guest, "pytest", limits=LIMITS, working_directory="lies", targets=targets
    )
    assert not report.success
    assert report.verdict is not RunVerdict.PASS
    assert await guest.export() == ()


class Counting:
    """Counts the commands that a guest runs."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self.sessions = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._guest, name)

    async def run(self, argv: tuple[str, ...], **more: Any) -> CommandResult:
        self.sessions += any("_entry.py" in word for word in argv)
        return await self._guest.run(argv, **more)


@pytest.mark.parametrize("order", ["given", "reversed"])
@pytest.mark.parametrize(
    ("command", "folder", "targets"),
    [
        ("pytest", "kinds", ["kinds/test_kinds.py::test_parameters[a::b]", PLAIN]),
        ("python -m unittest", "cases", ["cases/test_cases.py::Case::test_one"]),
    ],
)
async def test_tests_and_their_copies_share_a_session(
    guest: Guest, command: str, folder: str, targets: list[str], order: TestOrder
) -> None:
    counting = Counting(guest)
    report = await run_tests(
        cast(Guest, counting),
        command,
        limits=LIMITS,
        working_directory=folder,
        targets=targets,
        order=order,
    )
    assert (report.verdict, report.unconfirmed) == (RunVerdict.PASS, ()), report.summary
    assert counting.sessions == 1
    assert list(report.outcomes) == (targets if order == "given" else targets[::-1])
    assert (report.exit_code, report.failures, report.failure_count) == (0, (), 0)
    assert str(len(targets)) in report.summary
    assert "fail" not in report.summary
    assert await guest.export() == ()


async def test_a_test_that_copies_disturb_is_run_alone(guest: Guest) -> None:
    counting = Counting(guest)
    report = await run_tests(
        cast(Guest, counting),
        "pytest",
        limits=LIMITS,
        working_directory="kinds",
        targets=["kinds/test_kinds.py::test_cannot_run_twice"],
    )
    assert report.verdict is RunVerdict.PASS, report.summary
    assert counting.sessions > 2


async def test_each_of_several_commands_is_confirmed(guest: Guest) -> None:
    command = "pytest && python -m pytest"
    lie = await run_tests(guest, command, limits=LIMITS, working_directory="lies")
    assert not lie.success
    honest = await run_tests(guest, command, limits=LIMITS, working_directory="kinds")
    assert honest.verdict is RunVerdict.PASS, honest.summary
    assert await guest.export() == ()
