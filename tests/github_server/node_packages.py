"""Packages of the CI's Node.js projects: installed once on this machine, linked into each clone."""

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

KEPT = Path(__file__).resolve().parents[2] / "build" / "node_packages"
FILES = ("package.json", "package-lock.json")
INSTALL_S = 600.0
NPM = """#!/bin/sh
if [ "$1" = ci ]; then ln -s "{packages}" node_modules; echo "npm ci: already installed in the local CI"; exit 0; fi
exec "{npm}" "$@"
"""


def npm_command(work: Path) -> str | None:
    """Return a script that stands for npm in a clone; None if the project locks no packages.

    Its `npm ci` links the packages, so that no job waits for them.

    Args:
        work: The clone.

    Raises:
        RuntimeError: This machine has no npm, or the installation failed.
    """
    if not all((work / name).is_file() for name in FILES):
        return None
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError("a project of Node.js needs npm on this machine")
    return NPM.format(packages=_installed(npm, work), npm=npm)


def _installed(npm: str, work: Path) -> Path:
    """Install the locked packages without their scripts, unless they are there."""
    content = b"\0".join((work / name).read_bytes() for name in FILES)
    place = KEPT / hashlib.sha256(content).hexdigest()[:16]
    if not place.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=KEPT))
        for name in FILES:
            shutil.copy(work / name, made)
        command = (npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        done = subprocess.run(
            command, cwd=made, capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
        if done.returncode:
            raise RuntimeError(f"npm ci failed: {done.stderr[-1000:]}")
        try:
            made.rename(place)
        except OSError:
            # Another process was faster.
            shutil.rmtree(made)
    return place / "node_modules"
