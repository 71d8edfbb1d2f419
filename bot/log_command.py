"""metaagent log: what was logged while a mission ran, in whichever process."""

import asyncio

from bot.errors import UsageError
from bot.evidence.logs import read_logs
from bot.settings import Settings
from bot.wiring.storage import open_storage


def run_log(mission: str, settings: Settings) -> str:
    """The lines of a mission, as JSON; masked before they were kept.

    Args:
        mission: Its id, as a pull request or any line of the log says it.
        settings: All settings.

    Raises:
        UsageError: nothing is kept of it.
        StoreError: the store is out of reach.
    """
    parts = asyncio.run(read_logs(open_storage(settings), mission)) if mission else ()
    if not parts:
        advice = "name the mission as its pull request does; a log is there when the mission ended or stopped running"
        raise UsageError(f"no log is kept of {mission!a}", advice)
    text = b"".join(parts).decode("utf-8", "replace")
    return "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text).rstrip()
