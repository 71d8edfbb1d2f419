"""The import contracts hold, and would notice when they did not."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINT = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]


def test_every_import_contract_is_kept() -> None:
    done = subprocess.run(LINT, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_a_planted_violation_is_caught(tmp_path: Path) -> None:
    import shutil

    for name in ("bot", "sandbox"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "bot/mission/planted.py").write_text(
        "import docker\nimport subprocess\nimport bot.publish.publisher\n"
    )
    upward = "import sandbox.guest.search.control.queue\n"
    (tmp_path / "sandbox/guest/search/process/planted.py").write_text(upward)
    done = subprocess.run(LINT, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    for contract in (
        "docker has one home",
        "processes start in one place",
        "bot reads top to bottom",
        "the search reads top to bottom",
    ):
        assert f"{contract} BROKEN" in done.stdout
