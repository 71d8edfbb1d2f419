"""A copy of what is remembered about one repository, for those who want to know what would be."""

from pathlib import Path
from typing import Any

from bot.store.database import SQLITE, Database, is_postgres
from bot.store.opening import FILE, open_database, own_url
from bot.store.schema.current import is_ours

_HERE = "repository = :repository"
_LESSONS = "repository = :name"
COPIED = {
    "live": _HERE,
    "attempt": _HERE,
    "fix": _HERE,
    "proposal": _HERE,
    "switch": _HERE,
    "installation": "1 = 1",
    "lesson": _LESSONS,
    "lesson_words": f"id IN (SELECT id FROM lesson WHERE {_LESSONS})",  # noqa: S608 -- a literal above
}
"""Which rows of which tables."""


def scratch_copy(engine_url: str, repository: int | None, into: Path) -> Database:
    """A database of its own in a folder, with what is known of a repository; what is done there reaches nobody.

    Args:
        engine_url: The engine's database, as the settings say it; ours is neither made nor changed.
        repository: Its id; None knows of none.
        into: The folder.

    Raises:
        StoreError: the tables are of another version, or cannot be read.
    """
    copy = open_database(f"{SQLITE}{into / FILE}")
    for table, rows in _read(own_url(engine_url), {"repository": repository, "name": str(repository)}).items():
        if rows:
            columns = list(rows[0])
            gaps = ", ".join(f":{column}" for column in columns)
            insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({gaps})"  # noqa: S608 -- names of ours
            with copy.transaction() as tx:
                tx.execute(insert, rows)
    return copy


def _read(url: str, about: dict[str, object]) -> dict[str, list[dict[str, Any]]]:
    from sqlalchemy import text

    if not is_postgres(url) and not Path(url.removeprefix(SQLITE)).is_file():
        return {}
    database = Database(url)
    try:
        with database.transaction() as tx:
            if not is_ours(tx.connection):
                return {}
            rows: dict[str, Any] = {
                table: tx.connection.execute(text(f"SELECT * FROM {table} WHERE {where}"), about)  # noqa: S608
                for table, where in COPIED.items()
            }
            return {table: [row._asdict() for row in some] for table, some in rows.items()}
    finally:
        database.close()
