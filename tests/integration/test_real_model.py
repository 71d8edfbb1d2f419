"""A real model of 135 million parameters mends `broken_math` by itself, over both wire formats."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real_model import RealModel, real_model

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "tests" / "data" / "broken_repos" / "broken_math"

pytestmark = [pytest.mark.docker, pytest.mark.slow]


@pytest.fixture(scope="module")
def model() -> Iterator[RealModel]:
    with real_model() as served:
        yield served


@pytest.fixture
def broken_math(tmp_path: Path) -> Path:
    """The red working tree."""
    folder = tmp_path / "broken_math"
    shutil.copytree(SUITE / "green", folder)
    shutil.copytree(SUITE / "red", folder, dirs_exist_ok=True)
    return folder


def mission(folder: Path, setting: str, model: RealModel) -> dict[str, Any]:
    """What `metaagent fix` prints when only rung 2 may fix, and only it has a model."""
    options = {
        "model-fix": setting,
        "models-edit-format": "function",
        "models-context-tokens": "1000",
        "models-answer-tokens": "120",
        "models-timeout-s": "120",
        "limits-reruns": "3",
        "data-dir": str(folder.parent / "data"),
    }
    words = ["fix", str(folder), "--test", "python -m pytest -q", "--rungs", "2", "--json", "--time-limit", "600"]
    words += [word for name, value in options.items() for word in (f"--{name}", value)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **model.environment}
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words], capture_output=True, text=True, timeout=900, check=False, env=environment
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("kind", ["openai-chat", "anthropic"])
def test_a_real_model_mends_two_functions(docker_ready: None, broken_math: Path, model: RealModel, kind: str) -> None:
    told = mission(broken_math, f"{kind}:{model.name}@{model.address}", model)
    assert (told["outcome"], told["rung"]) == ("FIXED", 2), told["report"]
    assert {"-    return a - b", "-    return n % 2 == 1"} <= set(told["diff"].splitlines())
    assert told["cost_usd"] is None, "nobody knows the price of a model of one's own"
    assert f"  {kind}:{model.name}: " in told["report"]
    assert model.key not in json.dumps(told)
