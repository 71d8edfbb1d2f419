"""Close the data directory to other users, even an existing one."""

import logging
from pathlib import Path

from bot.blobs.opening import FOLDER
from bot.private import close_to_others
from bot.settings import APP_FILE
from bot.store.opening import FILE
from bot.store.takeover import OLD_FILES
from bot.wiring.storage import EARLIER

OURS = frozenset(
    Path(name).stem.lstrip(".")
    for name in (
        APP_FILE,
        FILE,
        "engine.sqlite",
        FOLDER,
        "imports",
        ".gitignore",
        "choices",
        "dashboard",
        "improve",
        EARLIER,
        *OLD_FILES,
    )
)
"""File names in the data directory, up to their first dot."""

log = logging.getLogger(__name__)


def close_data_dir(folder: Path) -> None:
    """Close the data directory to other users if it exists; later it is created private."""
    try:
        if folder.is_dir():
            close_to_others(folder, OURS)
    except OSError as error:
        log.warning("closing %s to other users failed: %s", folder, error.strerror)
