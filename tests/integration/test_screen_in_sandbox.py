"""The screen in a real sandbox: sharing executions, running each candidate, and plain pytest say the same."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.search_rate import measured, suite_folder
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.guest_tree import GUEST_DIR
from sandbox.spec import SandboxSpec
from sandbox.workspace import Sandboxes

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

DATA = Path(__file__).resolve().parents[1] / "data" / "screened_repo"
RED = (
    "test_high",
    "test_cached",
    "test_output",
    "TestBox::test_size",
    "TestUnit::test_high",
    "TestUnit::test_parts",
)


def thing_folder(folder: Path) -> Path:
    """A function that leaves traces everywhere, tested in every style."""
    shutil.copytree(DATA, folder)
    names = {"failing": [f"test_thing.py::{name}" for name in RED], "passing": []}
    (folder / "meta.json").write_text(json.dumps(names))
    return folder


@pytest.mark.parametrize("folder_of", [thing_folder, suite_folder])
async def test_sharing_and_running_each_and_pytest_say_the_same(
    folder_of: Callable[[Path], Path], docker_ready: None, tmp_path: Path
) -> None:
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")
    told = await measured(sandboxes, folder_of(tmp_path / "repo"), f"{GUEST_DIR} 200 2")
    assert told.get("because") is None, told
    assert told["screens differ"] == []
    assert told["disagreements"] == []
    assert int(str(told["survivors"])) >= 1
    assert int(str(told["different"])) > 100
