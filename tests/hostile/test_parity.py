"""The same repositories say the same inside the sandbox and outside of it: verdicts, and every single test."""

import asyncio
import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.judge import run_tests
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import PythonPart, Recipe, RunVerdict, TestReport, TrustTier
from tests.hostile.honest import HONEST
from tests.patience import stretched

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.anyio]

BOUND = """
import pytest, signal
class TooLong(BaseException): pass
def _stop(number, frame): raise TooLong
@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, 0.8)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
"""
"""Programs of the bug set that never end: this much processor time for each test, the same on both sides."""
PLUGIN = """
import json, os, time
import pytest
outcomes, spent = {}, {}
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    began = time.process_time()
    yield
    spent[item.nodeid] = time.process_time() - began
def pytest_runtest_logreport(report):
    present = outcomes.get(report.nodeid, "")
    now = {"passed": "PASS", "failed": "FAIL" if report.when == "call" else "ERROR", "skipped": "SKIP"}[report.outcome]
    if report.when == "call" or now != "PASS":
        outcomes[report.nodeid] = "FAIL" if present == "FAIL" else now
def pytest_unconfigure():
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump([outcomes, spent], file)
"""
WALL_S = stretched(600.0)
"""Programs without an end take minutes together, and several times as long on a busy machine."""


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


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def outside(folder: Path) -> tuple[dict[str, str], dict[str, float], int]:
    """What plain pytest of this host says: outcomes, processor time of each test, exit status."""
    plugins = folder.parent / f"plugins-{folder.name}"
    write(plugins, {"outcome_plugin.py": PLUGIN})
    environment = {
        "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "CI": "true", "PYTHONPATH": str(plugins), "HOME": str(plugins),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OUTCOMES": str(plugins / "out.json"), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "outcome_plugin",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
    ]
    done = subprocess.run(
        argv, check=False, cwd=folder, env=environment, capture_output=True, timeout=WALL_S
    )
    outcomes, spent = json.loads((plugins / "out.json").read_text())
    return outcomes, spent, done.returncode


async def inside(
    backend: DockerBackend, image: str, root: Path, folders: list[str]
) -> dict[str, TestReport]:
    """What the judge says of each folder, in one sandbox."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in folders:
            tar.add(root / folder, arcname=folder)
    found = {}
    async with backend.open(image) as guest:
        await guest.unpack(buffer.getvalue(), guest.workdir)
        for folder in folders:
            found[folder] = await run_tests(
                guest,
                "python -m pytest -q -p no:cacheprovider",
                limits=RunLimits(wall_s=WALL_S),
                working_directory=folder,
            )
    return found


def differences(
    report: TestReport, folder: str, seen: tuple[dict[str, str], dict[str, float], int]
) -> list[str]:
    outcomes, spent, status = seen
    here = {
        name.removeprefix(f"{folder}/"): outcome.name for name, outcome in report.outcomes.items()
    }
    # Tests that need about as long as the bound may end on either side of it.
    close = {
        name
        for name, seconds in spent.items()
        if 0.4 < seconds < 0.78 and folder in {"buggy", "correct"}
    }
    found = [
        f"{folder} {name}: {outcomes.get(name)} outside, {here.get(name)} inside"
        for name in sorted(set(outcomes) | set(here))
        if outcomes.get(name) != here.get(name) and name not in close
    ]
    if (status == 0) is not (report.verdict is RunVerdict.PASS):
        found.append(
            f"{folder}: status {status} outside, {report.verdict} inside ({report.summary})"
        )
    if report.verdict not in {RunVerdict.PASS, RunVerdict.FAIL}:
        found.append(f"{folder}: {report.verdict} {report.summary}")
    return found


async def compared(backend: DockerBackend, image: str, root: Path, folders: list[str]) -> list[str]:
    seen, reports = await asyncio.gather(
        asyncio.to_thread(lambda: {folder: outside(root / folder) for folder in folders}),
        inside(backend, image, root, folders),
    )
    assert all(seen[folder][0] for folder in folders), "something ran outside"
    return [
        line for folder in folders for line in differences(reports[folder], folder, seen[folder])
    ]


async def test_honest_repositories_say_the_same_inside(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    for name, files in HONEST.items():
        write(tmp_path / name, {"pytest.ini": "[pytest]\n", **files})
    assert await compared(backend, image, tmp_path, list(HONEST)) == []
    assert len(HONEST) >= 10


@pytest.mark.shared
async def test_every_program_of_the_bug_set_says_the_same_inside(
    backend: DockerBackend, image: str, tmp_path: Path, shared: Path
) -> None:
    programs = [
        json.loads(line) for line in (shared / "quixbugs/programs.jsonl").read_text().splitlines()
    ]
    for program in programs:
        files = {
            name: text for name, text in program["files"].items() if not name.startswith("correct/")
        }
        write(tmp_path / "buggy" / program["id"], files)
        mended = {
            name.removeprefix("correct/"): text
            for name, text in program["files"].items()
            if name not in files
        }
        write(tmp_path / "correct" / program["id"], {**files, **mended})
    for folder in ("buggy", "correct"):
        write(tmp_path / folder, {"conftest.py": BOUND, "pytest.ini": "[pytest]\n"})
    assert await compared(backend, image, tmp_path, ["buggy", "correct"]) == []
    assert programs
