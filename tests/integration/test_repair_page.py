"""docs/howto/repair.md: its files, its command and the beginning of its answer, in a real sandbox."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import COMMAND_S

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "howto" / "repair.md").read_text()


def blocks(kind: str) -> list[str]:
    """The fenced blocks of a kind."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [text for found, text in fences if found == kind]


def squeezed(text: str) -> str:
    """Without the width of columns, and without numbers that differ from run to run."""
    return re.sub(r"\d+(\.\d+)?", "N", re.sub(r" +", " ", text))


@pytest.mark.docker
@pytest.mark.slow
def test_the_page_of_repair_says_what_the_command_does(docker_ready: None, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    for name, text in zip(
        re.findall(r"`(shop/\w+\.py)`$", PAGE, re.MULTILINE), blocks("python"), strict=True
    ):
        (tmp_path / name).write_text(text)
    before = {path: path.read_bytes() for path in (tmp_path / "shop").iterdir()}
    words = shlex.split(blocks("sh")[0])
    assert words[0] == "metaagent"
    command = [sys.executable, "-m", "bot", *words[1:], "--time-limit", "30"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    shown = squeezed(done.stdout)
    found, _, failing, test, _, title, header, first, *_ = squeezed(blocks("text")[0]).splitlines()
    assert found.startswith("FOUND: N of N candidates make every known test pass")
    assert shown.startswith("FOUND: N of N candidates make every known test pass")
    assert f"{failing}\n{test}\n" in shown
    assert f"{title}\n{header}\n{first}\n" in shown
    assert "metaagent fix shop --test 'python -m pytest -q' --time-limit 30 --apply" in done.stdout
    assert {
        path: path.read_bytes() for path in (tmp_path / "shop").iterdir() if path.is_file()
    } == before
