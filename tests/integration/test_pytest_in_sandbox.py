"""Pytest in the hardened sandbox: structured failures, targets, order, and what happens when nothing can be said."""

import io
import tarfile
from collections.abc import AsyncIterator

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.changes import apply_changes, read_file_context
from sandbox.judge import run_tests
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import (
    ChangeAction,
    FileChange,
    PythonPart,
    Recipe,
    RunVerdict,
    TestStatus,
    TrustTier,
)
from tests.patience import stretched

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

LIMITS = RunLimits(wall_s=60.0)
FILES = {
    "broken_math.py": "def add(a, b):\n    return a - b\n\n\ndef is_even(n):\n    return n % 2 == 1\n",
    "test_math.py": (
        "from broken_math import add, is_even\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
        "def test_zero():\n    assert add(0, 0) == 0\n\n\ndef test_even():\n    assert is_even(2)\n\n\n"
        "def test_type():\n    assert isinstance(add(1, 1), int)\n"
    ),
    "run.sh": "#!/bin/sh\necho one\n",
}


def packed(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            member.mode = 0o755 if name.endswith(".sh") else 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


@pytest.fixture(scope="module")
async def machine(docker_ready: None) -> AsyncIterator[Guest]:
    backend = DockerBackend(SandboxSpec(pool=0))
    recipe = Recipe(command="python -m pytest", parts=(PythonPart(requirements=("pytest",)),))
    origin = EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL)
    environment = await Snapshotter(backend, SandboxSpec()).ensure(recipe, origin)
    async with backend.open(environment.image) as opened:
        yield opened


@pytest.fixture
async def guest(machine: Guest) -> Guest:
    """The sandbox with the files as they were: an earlier test may have changed them."""
    await machine.unpack(packed(FILES), machine.workdir)
    return machine


async def test_failures_come_with_their_place_and_their_frames(guest: Guest) -> None:
    report = await run_tests(guest, "python -m pytest -q", limits=LIMITS)
    assert report.verdict is RunVerdict.FAIL
    assert report.summary.startswith("2 failed, 2 passed in ")
    assert report.failing == {"test_math.py::test_add", "test_math.py::test_even"}
    first = report.failures[0]
    assert (first.file, first.line, first.test, first.error) == (
        "test_math.py",
        5,
        "test_add",
        "AssertionError",
    )
    assert first.traceback is not None
    assert "assert -1 == 3" in first.traceback


async def test_targets_replace_the_selection_and_the_order_can_be_turned(guest: Guest) -> None:
    targets = ("test_math.py::test_zero", "test_math.py::test_type")
    report = await run_tests(guest, "pytest -q", limits=LIMITS, targets=targets, order="reversed")
    assert report.success
    assert tuple(report.outcomes) == ("test_math.py::test_type", "test_math.py::test_zero")
    report = await run_tests(guest, "pytest -q", limits=LIMITS, targets=["test_math.py::test_gone"])
    assert report.verdict is RunVerdict.NO_VERDICT


async def test_nothing_is_left_in_the_checkout(guest: Guest) -> None:
    await run_tests(guest, "pytest -q", limits=LIMITS)
    assert set(await guest.list_files()) == set(FILES)


async def test_a_command_that_does_not_exist_gives_no_verdict(guest: Guest) -> None:
    report = await run_tests(guest, "no-such-tool --check", limits=LIMITS)
    assert (report.verdict, report.failed, report.exit_code) == (RunVerdict.NO_VERDICT, False, 127)
    assert "not found" in report.summary


async def test_an_endless_loop_is_told_with_the_line_it_spins_in(guest: Guest) -> None:
    await guest.unpack(
        packed({"slow/test_slow.py": "def test_slow():\n    while True:\n        pass\n"}),
        guest.workdir,
    )
    limits = RunLimits(wall_s=stretched(6.0))
    try:
        report = await run_tests(guest, "pytest -q slow", limits=limits)
    finally:
        await guest.run(("/bin/rm", "-r", "slow"), limits=LIMITS)
    assert report.verdict is RunVerdict.TIMEOUT
    (failure,) = report.failures
    assert (failure.status, failure.error, failure.file) == (
        TestStatus.ERROR,
        "Timeout",
        "slow/test_slow.py",
    )
    assert failure.line in {2, 3}


async def test_changes_are_applied_and_keep_the_executable_bit(guest: Guest) -> None:
    await guest.snap()
    changes = [
        FileChange(action=ChangeAction.REPLACE, path="run.sh", search_for="one", content="two"),
        FileChange(
            action=ChangeAction.REPLACE, path="broken_math.py", search_for="a - b", content="a + b"
        ),
    ]
    assert await apply_changes(guest, changes) == ("run.sh", "broken_math.py")
    assert {edit.path: edit.mode for edit in await guest.export()} == {
        "broken_math.py": "100644",
        "run.sh": "100755",
    }
    context = await read_file_context(guest, "broken_math.py", 2, around=1)
    assert context.snippet == "   1 | def add(a, b):\n-> 2 |     return a + b\n   3 | "
    report = await run_tests(guest, "pytest -q", limits=LIMITS, targets=["test_math.py::test_add"])
    assert report.success
