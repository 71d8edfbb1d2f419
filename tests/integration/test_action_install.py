"""The Action's step on a runner whose kept folders an earlier job has poisoned."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.locked_wheels import LOCK, offline, wheelhouse

__all__ = ["wheelhouse"]

pytestmark = pytest.mark.slow

SCRIPT = LOCK.parent / "scripts" / "run-action"
PYTHON_NAMES = ("python", "python3", "python3.11", "python3.12", "python3.13")
IGNORED = "issue_comment is not handled"
"""Printed by the real command for an event it has no use for."""

WITHIN_S = 300.0


def plant(path: Path, proof: Path) -> None:
    """Write a program that leaves a proof of having run, and claims success."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {proof}\nexit 0\n")
    path.chmod(0o755)


def poisoned(folder: Path, proof: Path) -> Path:
    """Fill a folder as an earlier job could: environments that look ready, and Pythons."""
    key = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    for name in (key[:16], key):
        environment = folder / "metaagent" / name
        for python in PYTHON_NAMES:
            plant(environment / "bin" / python, proof)
        (environment / "ready").touch()
    for python in PYTHON_NAMES:
        plant(folder / "Python" / "bin" / python, proof)
    return folder


def step(runner: Path, *, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script of action.yml as a runner would, for an event that needs nothing else."""
    (runner / "temp").mkdir(exist_ok=True)
    (runner / "home").mkdir(exist_ok=True)
    environment = {
        "PATH": path,
        "HOME": str(runner / "home"),
        "RUNNER_TEMP": str(runner / "temp"),
        "RUNNER_TOOL_CACHE": str(runner / "cache"),
        "GITHUB_EVENT_NAME": "issue_comment",
        "GITHUB_EVENT_PATH": "/dev/null",
        **variables,
    }
    return subprocess.run(
        [SCRIPT],
        cwd=runner,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


@pytest.fixture
def clean_path() -> str:
    """Where this test's own Python is, and the system's programs."""
    return f"{Path(sys.executable).resolve().parent}:/usr/bin:/bin"


def content(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_nothing_of_a_poisoned_cache_or_temporary_folder_runs(
    tmp_path: Path, wheelhouse: Path, clean_path: str
) -> None:
    proof = tmp_path / "proof"
    cache = poisoned(tmp_path / "cache", proof)
    (tmp_path / "temp").mkdir()
    temporary = poisoned(tmp_path / "temp", proof)
    before = content(cache)
    path = f"{cache / 'Python' / 'bin'}:{clean_path}"
    done = step(tmp_path, path=path, **offline(wheelhouse))
    assert done.returncode == 0, done.stdout
    assert IGNORED in done.stdout
    assert not proof.exists(), "a program of an earlier job ran"
    assert content(cache) == before, "something was kept for the next job"
    assert (
        len(
            [folder for folder in temporary.iterdir() if folder.name.startswith("metaagent-tools.")]
        )
        == 1
    )


def test_a_wheel_that_is_not_the_locked_one_stops_the_step(
    tmp_path: Path, wheelhouse: Path, clean_path: str
) -> None:
    wheels = shutil.copytree(wheelhouse, tmp_path / "wheels")
    changed = max(wheels.glob("pydantic-*.whl"))
    with changed.open("ab") as file:
        file.write(b"one byte more than was locked")
    done = step(tmp_path, path=clean_path, **offline(wheels))
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stdout
    assert IGNORED not in done.stdout


def test_a_python_in_the_tool_cache_serves_where_there_is_no_other(
    tmp_path: Path, wheelhouse: Path, clean_path: str
) -> None:
    """A hosted runner may have its only new enough Python there, put there in this job."""
    proof = tmp_path / "proof"
    for python in PYTHON_NAMES:
        plant(tmp_path / python, proof)  # the current folder is the workspace
    programs = tmp_path / "cache" / "programs"
    programs.mkdir(parents=True)
    for name in ("sh", "dirname", "tr", "awk", "paste", "mktemp", "env"):
        found = shutil.which(name, path=clean_path)
        assert found is not None
        (programs / name).symlink_to(found)
    (tmp_path / "cache" / "bin").mkdir()
    (tmp_path / "cache" / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    without = step(tmp_path, path=str(programs), **offline(wheelhouse))
    assert (without.returncode, "Python 3.11 or newer is missing" in without.stdout) == (2, True)
    done = step(tmp_path, path=f"{programs}:{tmp_path / 'cache' / 'bin'}", **offline(wheelhouse))
    assert IGNORED in done.stdout
    assert not proof.exists()
