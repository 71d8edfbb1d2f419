"""The default data directory, and how it stays out of the user's commits."""

import os
from collections.abc import Mapping
from pathlib import Path

from bot.private import make_private_folder

WHERE = "Where databases, the store and caches are kept; by default `metaagent` in `XDG_DATA_HOME`."
"""The setting's description."""

EARLIER = Path(".metaagent")
"""Folder of earlier versions, in the current folder."""

_NAME = "metaagent"
_OURS = ("app.json", "engine.sqlite", "metaagent.sqlite")
_IGNORE_ALL = "# Made by MetaAgent: nothing here belongs into a commit.\n*\n"


def default_data_dir(variables: Mapping[str, str]) -> Path:
    """Return the XDG data directory, or an earlier version's folder that is in use here.

    The earlier folder counts only if its files are private: those of a cloned repository are not.

    Args:
        variables: The process's environment.
    """
    if any(_is_private(EARLIER / name) for name in _OURS):
        return EARLIER
    given, home = Path(variables.get("XDG_DATA_HOME", "")), Path(variables.get("HOME", ""))
    if given.is_absolute():  # the specification: relative paths are ignored
        return given / _NAME
    return home / ".local" / "share" / _NAME if home.is_absolute() else EARLIER


def _is_private(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def keep_out_of_commits(folder: Path) -> None:
    """Create a data directory; one called `.metaagent` hides itself from git.

    Raises:
        OSError: nothing can be written there.
    """
    make_private_folder(folder)
    ignore = folder / ".gitignore"
    if folder.name == EARLIER.name and not ignore.exists():
        ignore.write_text(_IGNORE_ALL)
