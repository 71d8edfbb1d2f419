"""The files of the repository, as a clone has them."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked(*patterns: str) -> list[Path]:
    """Files under version control that still exist; every file below the root where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=False
    )
    if listed.returncode:
        return sorted(
            p for pattern in patterns or ("**/*",) for p in ROOT.glob(pattern) if p.is_file()
        )
    names = listed.stdout.decode().split("\0")
    return sorted(ROOT / name for name in names if name and (ROOT / name).is_file())


def text_of(path: Path) -> str:
    """A file as text; empty when it is binary."""
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", "replace")
