"""metaagent improve as a process: one JSON object and the documented status for every kind of bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import COMMAND_S
from tests.unit.bot.improve.test_command import FILES, GOOD

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {
    "no target": ([], "the target is missing"),
    "a new file": (["new.py"], "does not exist"),
    "two targets": (["good.py", "good.py"], "there are two targets"),
    "no number": (["good.py", "--cycles", "many"], "argument --cycles"),
    "an unknown option": (["good.py", "--no-such-option"], "unrecognized arguments"),
    "a device as context": (["good.py", "--context-file", "/dev/zero"], "is not a regular file"),
    "half a model": (["good.py", "--llm-provider", "openai"], "--llm-provider needs --llm-model"),
    "nothing to roll back": (["rollback"], "no promoted version"),
    "a file without missions": (["good.py", "--continuous"], "is not a folder"),
}


def run(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Run the command, and return its status and its one object."""
    done = subprocess.run(
        [sys.executable, "-m", "bot", "improve", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "METAAGENT_DATA_DIR": str(folder / "data"),
        },
    )
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    assert set(found) == {"status", "message", "data"}
    return done.returncode, found


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_cannot_be_improved_is_one_object_and_status_1(
    tmp_path: Path, kind: str
) -> None:
    name, content, wanted = FILES[kind]
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    status, found = run(tmp_path, str(file))
    assert (status, found["status"]) == (1, "FAILURE")
    assert wanted in found["message"]
    assert file.read_bytes() == content


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIONS)
def test_wrong_use_is_one_object_and_status_1(tmp_path: Path, kind: str) -> None:
    (tmp_path / "good.py").write_bytes(GOOD)
    words, wanted = OPTIONS[kind]
    status, found = run(tmp_path, *words)
    assert (status, found["status"]) == (1, "FAILURE")
    assert wanted in found["message"]
    assert (tmp_path / "good.py").read_bytes() == GOOD


def test_the_self_test_is_one_object_and_status_0(tmp_path: Path) -> None:
    status, found = run(tmp_path, "--self-test-mode")
    assert (status, found["status"]) == (0, "SUCCESS")
