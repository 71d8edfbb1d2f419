"""Environments in folders of this host."""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sandbox.backends.base import TREE_NOTE, CacheUsage
from sandbox.backends.retention import (
    DAY_S,
    CacheEntry,
    LastUses,
    RetentionLimits,
    select_for_removal,
)
from sandbox.errors import SandboxUnavailable

TOOLCHAIN = "local"
"""Reference of the bare toolchain: this host's own interpreter."""

PREFIX = "local-env:"
"""Prefix of an environment's reference, followed by its folder."""


_MINORS = range(8, 16)


def interpreter_folders(path: str | None = None) -> tuple[str, ...]:
    """Return the folders of this host that contain a versioned Python.

    Args:
        path: The search path; None uses the process's own PATH.
    """
    found = (shutil.which(f"python3.{minor}", path=path) for minor in _MINORS)
    return tuple(
        dict.fromkeys(str(Path(program).parent) for program in found if program is not None)
    )


def find_folder(image: str) -> Path | None:
    """Return the folder of a reference; None for the bare toolchain."""
    return Path(image.removeprefix(PREFIX)) if image.startswith(PREFIX) else None


class Environments:
    """The environments below one folder.

    Args:
        root: The folder; commands must be able to enter it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._uses = LastUses(root / "uses")

    def _entry(self, key: str) -> Path:
        return self.root / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

    def folder(self, image: str) -> Path | None:
        """Return the folder of a reference; None for the bare toolchain.

        Raises:
            SandboxUnavailable: The folder was removed.
        """
        folder = find_folder(image)
        if folder is not None and not folder.is_dir():
            raise SandboxUnavailable("The environment was removed.")
        return folder

    def new(self, base: Path | None = None, uid: int | None = None) -> Path:
        """Create a folder for a new environment.

        Args:
            base: An environment to copy.
            uid: The owner of the copy; None for the current user.
        """
        self.root.mkdir(parents=True, exist_ok=True, mode=0o755)
        folder = Path(tempfile.mkdtemp(prefix="env-", dir=self.root))
        folder.chmod(0o755)
        if base is not None:
            shutil.copytree(base, folder, symlinks=True, dirs_exist_ok=True)
            _replace_paths(folder, str(base))
        if uid is not None:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, uid, uid, follow_symlinks=False)
        return folder

    def find(self, key: str) -> str | None:
        """Return the reference of a key's environment."""
        kept = _parse_entry(self._entry(key))
        if kept is None or not Path(kept["folder"]).is_dir():
            return None
        self._uses.touch(kept["folder"])
        return f"{PREFIX}{kept['folder']}"

    def notes(self, image: str) -> dict[str, str]:
        """Return the notes of an environment."""
        folder = find_folder(image)
        found = [kept for _, kept in self._entries() if kept["folder"] == str(folder)]
        return (
            {str(name): str(text) for name, text in (found[0].get("notes") or {}).items()}
            if found
            else {}
        )

    def _entries(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield every readable entry."""
        for path in sorted(self.root.glob("*.json")):
            if (kept := _parse_entry(path)) is not None:
                yield path, kept

    def keep(self, folder: Path, key: str, notes: Mapping[str, str]) -> str:
        """Record a folder under a key and make it read-only for others."""
        size = 0
        for parent, folders, files in os.walk(folder):
            for name in (".", *folders, *files):
                path = Path(parent, name)
                size += path.lstat().st_size
                if os.geteuid() == 0:
                    # Commands run as another user and cannot modify the environment any more.
                    os.chown(path, 0, 0, follow_symlinks=False)
        entry = self._entry(key)
        # Write and rename, so that other processes never read a partial entry.
        fresh = entry.with_suffix(".new")
        fresh.write_text(json.dumps({"folder": str(folder), "notes": dict(notes), "size": size}))
        fresh.replace(entry)
        self._uses.touch(str(folder))
        return f"{PREFIX}{folder}"

    def prune(self, limits: RetentionLimits, *, only_count: bool = False) -> CacheUsage:
        """Remove environments beyond the limits, and folders without a key.

        Args:
            limits: The limits; recently used environments are kept.
            only_count: Remove nothing.
        """
        if not self.root.is_dir():
            return CacheUsage()
        now = self._uses.now()
        keys = {kept["folder"]: path for path, kept in self._entries()}
        known = {kept["folder"]: kept for _, kept in self._entries()}
        entries = []
        for folder in self.root.glob("env-*"):
            name, kept = str(folder), known.get(str(folder))
            size = int(kept.get("size") or 0) if kept is not None else 0
            idle = now - (self._uses.last(name) or _last_change(folder) or now)
            one_tree = kept is not None and TREE_NOTE in (kept.get("notes") or {})
            days = None if kept else limits.busy_s / DAY_S
            entries.append(
                CacheEntry(name=name, size=size, idle_s=idle, days=days, one_tree=one_tree)
            )
        gone = () if only_count else select_for_removal(entries, limits)
        for entry in gone:
            if entry.name in keys:
                keys[entry.name].unlink(missing_ok=True)
            remove_tree(Path(entry.name))
            self._uses.forget(entry.name)
        stay = [entry for entry in entries if entry not in gone]
        sizes = (sum(entry.size for entry in stay), sum(entry.size for entry in gone))
        return CacheUsage(count=len(stay), size=sizes[0], removed=len(gone), removed_bytes=sizes[1])

    def digest(self, image: str) -> str:
        """Return a digest of an environment: the names and sizes of its files."""
        total = hashlib.sha256(f"{image}\0{sys.version}".encode())
        folder = find_folder(image)
        for path in sorted(folder.rglob("*")) if folder is not None else ():
            total.update(f"{path}\0{path.lstat().st_size}\0".encode("utf-8", "surrogateescape"))
        return f"sha256:{total.hexdigest()}"


def _last_change(folder: Path) -> float | None:
    """Return the time of a folder's last change; None if it was removed meanwhile."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return None


def _replace_paths(folder: Path, old: str) -> None:
    """Replace the old folder's path in the programs and links of a copied environment."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            target = path.readlink()
            if target.is_relative_to(old):
                path.unlink()
                path.symlink_to(folder / target.relative_to(old))
        elif path.is_file() and (path.parent == folder / "bin" or path.name == "pyvenv.cfg"):
            content = path.read_bytes()
            path.write_bytes(content.replace(old.encode(), str(folder).encode()))


def _parse_entry(entry: Path) -> dict[str, Any] | None:
    """Parse an entry; return None if it is malformed."""
    try:
        kept = json.loads(entry.read_text())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and isinstance(kept.get("folder"), str) else None


def remove_tree(folder: Path) -> None:
    """Remove a folder, including subfolders with closed permissions. Links are never followed."""
    for parent, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
