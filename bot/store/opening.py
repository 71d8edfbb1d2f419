"""Opens the database of our own tables, which goes with the engine's, and brings it up to date."""

from pathlib import Path
from typing import Any

from bot.store.database import BUSY_S, SQLITE, Database, is_postgres
from bot.store.schema.current import ensure_current
from bot.store.takeover import take_over

FILE = "metaagent.sqlite"


def own_url(engine_url: str) -> str:
    """Where our tables are: in the engine's PostgreSQL database, or in a file beside its file."""
    if is_postgres(engine_url):
        return engine_url
    return f"{SQLITE}{Path(engine_url.removeprefix(SQLITE)).with_name(FILE)}"


def open_database(engine_url: str, old_files: Path | None = None, *, busy_s: float = BUSY_S) -> Database:
    """The database of our own tables; connecting and bringing it up to date is left to the first call.

    Args:
        engine_url: The engine's database, as the settings say it.
        old_files: The data directory, where the first releases kept files that are to be taken over.
        busy_s: The longest wait for somebody else's write.
    """

    def prepare(engine: Any) -> None:
        ensure_current(engine)
        if old_files is not None:
            take_over(engine, old_files)

    return Database(own_url(engine_url), prepare, busy_s=busy_s)
