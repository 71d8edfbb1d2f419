"""Environments kept as folders of this host."""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

TOOLCHAIN = "local"
"""Reference of the bare toolchain: this host's own interpreter."""

PREFIX = "local-env:"
"""Start of the reference of an environment; its folder follows."""


def folder_of(image: str) -> Path | None:
    """The folder behind a reference; None for the bare toolchain."""
    return Path(image.removeprefix(PREFIX)) if image.startswith(PREFIX) else None


class Environments:
    """The environments below one folder.

    Args:
        root: The folder; commands must be able to enter it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def _entry(self, key: str) -> Path:
        return self.root / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def new(self) -> Path:
        """A folder for an environment to be made in."""
        self.root.mkdir(parents=True, exist_ok=True, mode=0o755)
        folder = Path(tempfile.mkdtemp(prefix="env-", dir=self.root))
        folder.chmod(0o755)
        return folder

    def find(self, key: str) -> str | None:
        """The reference of what was kept under a key."""
        try:
            folder = json.loads(self._entry(key).read_text())["folder"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return f"{PREFIX}{folder}" if Path(folder).is_dir() else None

    def notes(self, image: str) -> dict[str, str]:
        """The short texts kept with an environment."""
        folder = folder_of(image)
        for entry in self.root.glob("*.json") if folder is not None else ():
            kept = json.loads(entry.read_text())
            if kept.get("folder") == str(folder):
                return dict(kept.get("notes", {}))
        return {}

    def keep(self, folder: Path, key: str, notes: Mapping[str, str]) -> str:
        """Remember a folder under a key; from now on only we may change it."""
        if os.geteuid() == 0:
            for parent, folders, files in os.walk(folder):
                for name in (".", *folders, *files):
                    os.chown(Path(parent, name), 0, 0, follow_symlinks=False)
        entry = self._entry(key)
        fresh = entry.with_suffix(".new")
        fresh.write_text(json.dumps({"folder": str(folder), "notes": dict(notes)}))
        fresh.replace(entry)
        return f"{PREFIX}{folder}"

    def digest(self, image: str) -> str:
        """Stands for what an environment holds: the names and sizes of everything in it."""
        total = hashlib.sha256(f"{image}\0{sys.version}".encode())
        folder = folder_of(image)
        for path in sorted(folder.rglob("*")) if folder is not None else ():
            total.update(f"{path}\0{path.lstat().st_size}\0".encode("utf-8", "surrogateescape"))
        return f"sha256:{total.hexdigest()}"


def remove_tree(folder: Path) -> None:
    """Remove a folder in which others may have closed folders to us; links are never followed."""
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
