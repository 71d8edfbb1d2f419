"""A failing test never gets a PASS, whatever its repository does to pytest, to the interpreter or to our own reporter."""

import io
import json
import re
import tarfile

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.judge import run_tests
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import PythonPart, Recipe, RunVerdict, TrustTier
from tests.hostile import forged_execution, forged_reports, forged_semantics, forgeries
from tests.hostile.forgeries import FAILING

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

WALL_S = 30.0
REPOSITORIES = {
    **forgeries.REPOSITORIES,
    **forged_execution.REPOSITORIES,
    **forged_reports.REPOSITORIES,
}
UNITTEST = forged_reports.UNITTEST
NAIVE = """
import json, os, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
def status(folder):
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    try:
        return folder, subprocess.run(argv, cwd=folder, capture_output=True, timeout=30).returncode
    except subprocess.TimeoutExpired:
        return folder, -1
with ThreadPoolExecutor(4) as pool:
    print("STATUS" + json.dumps(dict(pool.map(status, sys.argv[1:]))))
"""
"""What "exit status 0 means fixed" makes of the same repositories."""


@pytest.fixture(scope="module")
async def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture(scope="module")
async def image(backend: DockerBackend) -> str:
    recipe = Recipe(command="python -m pytest", parts=(PythonPart(requirements=("pytest",)),))
    return (
        await Snapshotter(backend, SandboxSpec()).ensure(
            recipe, EnvironmentOrigin(repository_id="tests", tier=TrustTier.LOCAL)
        )
    ).image


def folder_of(name: str) -> str:
    return f"c{list(REPOSITORIES).index(name)}"


def target_of(files: dict[str, str]) -> str:
    """The failing test of a repository."""
    text = files.get("test_a.py", FAILING)
    if re.search(r"^(?:async )?def test_target", text, re.MULTILINE):
        return "test_a.py::test_target"
    (kind,) = re.findall(r"^class (\w+)", text, re.MULTILINE)
    return f"test_a.py::{kind}::test_target"


async def filled(guest: Guest, repositories: dict[str, dict[str, str]] = REPOSITORIES) -> None:
    """Every repository in a folder of its own."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for number, files in enumerate(repositories.values()):
            for path, text in {"test_a.py": FAILING, **files}.items():
                member = tarfile.TarInfo(f"c{number}/{path}")
                content = text.encode()
                member.size, member.mode = len(content), 0o755
                tar.addfile(member, io.BytesIO(content))
    await guest.unpack(buffer.getvalue(), guest.workdir)


async def test_no_forgery_is_believed(backend: DockerBackend, image: str) -> None:
    """All in one sandbox, one after the other: whatever one leaves behind must not help the next either."""
    believed = {}
    async with backend.open(image) as guest:
        await filled(guest)
        for name, files in REPOSITORIES.items():
            folder = folder_of(name)
            target = f"{folder}/{target_of(files)}"
            command = "python -m pytest -q -p no:cacheprovider"
            limits = RunLimits(wall_s=WALL_S)
            report = await run_tests(
                guest, command, limits=limits, targets=[target], working_directory=folder
            )
            if (
                report.success
                or report.verdict is RunVerdict.PASS
                or "ESCAPE:" in report.raw_output
            ):
                believed[name] = report.summary
    assert believed == {}
    assert len(REPOSITORIES) >= 160


async def test_no_helper_that_accepts_everything_is_believed(
    backend: DockerBackend, image: str
) -> None:
    """Each runs every word of its test, but what the test calls accepts everything."""
    believed = {}
    async with backend.open(image) as guest:
        await filled(guest, forged_semantics.REPOSITORIES)
        for number, (name, files) in enumerate(forged_semantics.REPOSITORIES.items()):
            report = await run_tests(
                guest,
                "python -m pytest -q -p no:cacheprovider",
                limits=RunLimits(wall_s=WALL_S),
                targets=[f"c{number}/{target_of(files)}"],
                working_directory=f"c{number}",
            )
            if report.success or report.verdict is RunVerdict.PASS:
                believed[name] = report.summary
    assert believed == {}
    assert len(forged_semantics.REPOSITORIES) >= 20


async def test_no_forgery_against_unittest_is_believed(backend: DockerBackend, image: str) -> None:
    believed = {}
    async with backend.open(image) as guest:
        await filled(guest, UNITTEST)
        for number, (name, files) in enumerate(UNITTEST.items()):
            module = "test_real" if "test_real.py" in files else "test_a"
            report = await run_tests(
                guest,
                f"python -m unittest {module}",
                limits=RunLimits(wall_s=WALL_S),
                targets=[f"c{number}/{module}.py::T::test_target"],
                working_directory=f"c{number}",
            )
            if report.success or report.verdict is RunVerdict.PASS:
                believed[name] = report.summary
    assert believed == {}
    assert len(UNITTEST) >= 15


async def test_the_honest_repository_beside_them_is_believed(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open(image) as guest:
        await filled(guest)
        honest = b"import functools, pytest\n\ndef test_target():\n    assert 1 + 1 == 2\n\n@pytest.mark.parametrize('x', [1, 2])\ndef test_more(x):\n    assert x\n"
        script = "mkdir -p honest && cat > honest/test_a.py"
        await guest.run(("/bin/sh", "-c", script), limits=RunLimits(wall_s=10), stdin=honest)
        report = await run_tests(
            guest,
            "pytest",
            limits=RunLimits(wall_s=WALL_S),
            targets=["honest/test_a.py"],
            working_directory="honest",
        )
    assert report.verdict is RunVerdict.PASS, report.summary


async def test_a_naive_judge_believes_many_of_them(backend: DockerBackend, image: str) -> None:
    """The control: the forgeries do what they are for."""
    async with backend.open(image) as guest:
        await filled(guest)
        folders = [folder_of(name) for name in forgeries.REPOSITORIES]
        result = await guest.run(
            (guest.python, "-c", NAIVE, *folders), limits=RunLimits(wall_s=200)
        )
    line = next(line for line in result.stdout.splitlines() if line.startswith("STATUS"))
    statuses = json.loads(line.removeprefix("STATUS"))
    believed = [name for name in forgeries.REPOSITORIES if statuses[folder_of(name)] == 0]
    assert len(believed) >= 40, believed
