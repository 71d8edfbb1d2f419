"""metaagent logs: show the log of a mission, from all processes."""

import asyncio

from bot.errors import UsageError
from bot.evidence.logs import read_logs
from bot.settings import Settings
from bot.wiring.storage import open_storage


def run_log(mission: str, settings: Settings) -> str:
    """Return a mission's log lines as JSON; secrets were masked before they were stored.

    Args:
        mission: Its id, as in a pull request or in any log line.
        settings: All settings.

    Raises:
        UsageError: no log of it is stored.
        StoreError: the store is out of reach.
    """
    parts = asyncio.run(read_logs(open_storage(settings), mission)) if mission else ()
    if not parts:
        advice = (
            "name the mission as its pull request does; a log is there when the mission ended or "
            "stopped running"
        )
        raise UsageError(f"no log is kept of {mission!a}", advice)
    text = b"".join(parts).decode("utf-8", "replace")
    return "".join(
        one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text
    ).rstrip()
