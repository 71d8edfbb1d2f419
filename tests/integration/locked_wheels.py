"""The wheels of requirements.lock in a folder, for installations without a package index."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.missing import missing

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
_WITHIN_S = 600.0


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Download every locked wheel once."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    pip = [
        sys.executable,
        "-I",
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
    ]
    argv = [*pip, "--require-hashes", "-r", str(LOCK), "-d", str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_WITHIN_S, check=False)
    if done.returncode:
        missing(f"the locked wheels cannot be downloaded: {done.stderr.strip()[-300:]}")
    return folder


def offline(wheels: Path) -> dict[str, str]:
    """Return variables that make pip install from these wheels only."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}
