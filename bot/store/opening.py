"""Opens the database of our own tables, which is next to the engine's, and migrates it."""

from pathlib import Path
from typing import Any

from bot.store.database import BUSY_S, SQLITE, Database, is_postgres
from bot.store.schema.current import ensure_current
from bot.store.takeover import take_over

FILE = "metaagent.sqlite"


def own_url(engine_url: str) -> str:
    """Return the URL of our tables: the engine's PostgreSQL database, or a file beside its file."""
    if is_postgres(engine_url):
        return engine_url
    return f"{SQLITE}{Path(engine_url.removeprefix(SQLITE)).with_name(FILE)}"


def open_database(
    engine_url: str, old_files: Path | None = None, *, busy_s: float = BUSY_S
) -> Database:
    """Return the database of our own tables; its first call connects and migrates it.

    Args:
        engine_url: The engine's database, as configured.
        old_files: The data directory, which may hold database files of the first releases.
        busy_s: Longest wait for another writer's lock, in seconds.
    """

    def prepare(engine: Any) -> None:
        ensure_current(engine)
        if old_files is not None:
            take_over(engine, old_files)

    return Database(own_url(engine_url), prepare, busy_s=busy_s)
