"""A scratch copy of one repository's data, for dry runs."""

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
    "lesson_words": f"id IN (SELECT id FROM lesson WHERE {_LESSONS})",  # noqa: S608 -- a literal
    "lesson_term": _LESSONS,
}
"""The copied tables, with a condition for their rows."""


def scratch_copy(engine_url: str, repository: int | None, into: Path) -> Database:
    """Return a separate database in a folder, with a copy of a repository's data.

    Args:
        engine_url: The engine's database, as configured; our tables there are only read.
        repository: The repository's id; None copies none.
        into: The folder.

    Raises:
        StoreError: the tables are of another version, or cannot be read.
    """
    copy = open_database(f"{SQLITE}{into / FILE}")
    for table, rows in _read(
        own_url(engine_url), {"repository": repository, "name": str(repository)}
    ).items():
        if rows:
            columns = list(rows[0])
            names, gaps = ", ".join(columns), ", ".join(f":{column}" for column in columns)
            insert = f"INSERT INTO {table} ({names}) VALUES ({gaps})"  # noqa: S608 -- our names
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
            copies = {}
            for table, where in COPIED.items():
                query = text(f"SELECT * FROM {table} WHERE {where}")  # noqa: S608 -- literals
                rows = tx.connection.execute(query, about)
                copies[table] = [row._asdict() for row in rows]
            return copies
    finally:
        database.close()
