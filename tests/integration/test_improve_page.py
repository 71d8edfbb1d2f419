"""docs/howto/improve.md: its files, its command and its result, in a real sandbox."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import COMMAND_S

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "howto" / "improve.md").read_text()


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for found, text in fences if found == kind]


def write_files(folder: Path) -> None:
    """Write every file that the page names before its block."""
    (folder / "shop").mkdir()
    named = re.findall(
        r"`([\w/]+\.(?:py|yaml))`\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
    for name, text in named:
        (folder / name).write_text(text)


def run_block(number: int, folder: Path) -> dict[str, Any]:
    """Run a command of the page, and return its one object."""
    words = shlex.split(blocks("sh")[number])
    assert words[0] == "metaagent"
    variables = {"PYTHONPATH": str(ROOT), "METAAGENT_DATA_DIR": str(folder / "data")}
    done = subprocess.run(
        [sys.executable, "-m", "bot", *words[1:]],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.docker
@pytest.mark.slow
def test_the_page_of_improve_says_what_rules_do(docker_ready: None, tmp_path: Path) -> None:
    write_files(tmp_path)
    test = (tmp_path / "shop" / "test_stock.py").read_text()
    first = run_block(0, tmp_path)["data"]["cycles"]
    assert [cycle["status"] for cycle in first] == ["SUCCESS_PROMOTED"], "one cycle improves it"
    assert (tmp_path / "shop" / "stock.py").read_text() == blocks("python")[2]
    cycles = [*first, *run_block(1, tmp_path)["data"]["cycles"]]
    assert (tmp_path / "shop" / "stock.py").read_text() == blocks("python")[3]
    assert (tmp_path / "shop" / "test_stock.py").read_text() == test
    assert [cycle["status"] for cycle in cycles] == ["SUCCESS_PROMOTED"] * 3 + ["FAILURE"]
    assert [cycle["evaluation"]["score"] for cycle in cycles[:3]] == [0.95] * 3
    history = tmp_path / "data" / "improve" / "improvement_history.jsonl"
    assert len(history.read_text().splitlines()) == len(cycles)


@pytest.mark.docker
@pytest.mark.slow
def test_the_page_of_improve_says_what_a_model_does(docker_ready: None, tmp_path: Path) -> None:
    write_files(tmp_path)
    found = run_block(2, tmp_path)
    (cycle,) = found["data"]["cycles"]
    assert (tmp_path / "shop" / "stats.py").read_text() == blocks("python")[6]
    assert (cycle["status"], cycle["model_calls"]) == ("SUCCESS_PROMOTED", 3)
    assert cycle["notes"] == []
