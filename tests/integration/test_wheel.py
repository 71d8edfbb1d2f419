"""The built wheel works where the sources are not."""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_wheel_installs_and_runs_from_an_empty_directory(tmp_path: Path) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    assert uv, "uv is part of the development environment"
    sources = tmp_path / "sources"
    sources.mkdir()
    for name in ("bot", "sandbox", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        whole = ROOT / name
        copy = shutil.copytree if whole.is_dir() else shutil.copy
        copy(whole, sources / name)
    subprocess.run(
        [uv, "build", "--quiet", "--wheel", "--out-dir", tmp_path / "dist", sources], check=True
    )
    (wheel,) = (tmp_path / "dist").glob("metaagent-*.whl")
    # The dependencies are those of this environment, ours alone is new: no source tree is in reach.
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run(
        [uv, "pip", "install", "--quiet", "--no-deps", "--python", python, wheel], check=True
    )
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))
    dependencies = next(Path(sys.prefix).glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(empty)}
    program = "import bot, bot.service; print(bot.__file__)"
    shown = subprocess.run(
        [python, "-c", program],
        cwd=empty,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith(str(tmp_path / "venv")), shown.stdout
    command = tmp_path / "venv" / "bin" / "metaagent"
    helped = subprocess.run(
        [command, "--help"], cwd=empty, env=environment, capture_output=True, text=True, check=True
    )
    assert "fix" in helped.stdout
    packed = {path.relative_to(site) for path in (site / "sandbox" / "guest").rglob("*.py")}
    source = {path.relative_to(ROOT) for path in (ROOT / "sandbox" / "guest").rglob("*.py")}
    assert packed == source, "the guest's programs travel in the wheel"
