"""The tables of our own database: the same on SQLite and PostgreSQL, made once, never by an older program."""

import importlib.util
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bot.errors import StoreError
from bot.store.database import Database, Transaction
from bot.store.opening import open_database, own_url
from bot.store.schema.current import VERSIONS, head, migrate, revision_of

SEARCHED = "lesson_words"
"""Made by each database's own words for a full-text index."""
SHARED_ONLY = "executor"
"""SQLite has one."""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database without tables, as the engine's URL says it."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").new_database())
    return f"sqlite:///{tmp_path / 'engine.sqlite'}"


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = open_database(url)
    yield database
    database.close()


def revision(tx: Transaction) -> str:
    return revision_of(tx.connection)


def described(tx: Transaction) -> dict[str, Any]:
    """Tables, columns, whether they may be empty, and indexes, without what a dialect calls them."""
    from sqlalchemy import inspect

    seen, inspector = {}, inspect(tx.connection)
    for table in sorted(inspector.get_table_names()):
        if table.startswith(SEARCHED) or table == SHARED_ONLY:
            continue
        columns = {
            one["name"]: (one["type"].python_type, bool(one["nullable"]))
            for one in inspector.get_columns(table)
        }
        indexes = {
            (tuple(one["column_names"]), bool(one["unique"]))
            for one in inspector.get_indexes(table)
            if not one.get("duplicates_constraint")
        }
        key = tuple(inspector.get_pk_constraint(table)["constrained_columns"])
        seen[table] = (columns, indexes, key)
    return seen


def test_the_first_transaction_finds_the_tables_up_to_date(database: Database) -> None:
    assert database.run(revision) == head()
    assert database.run(lambda tx: tx.execute("SELECT id FROM delivery")) == []


def test_both_databases_have_the_same_tables(database: Database, tmp_path: Path) -> None:
    other = open_database(f"sqlite:///{tmp_path / 'other' / 'engine.sqlite'}")
    assert database.run(described) == other.run(described)
    other.close()


def test_moments_are_in_the_order_of_their_bytes(database: Database) -> None:
    whole, with_fraction, later = (
        "2026-11-22T20:00:00+00:00",
        "2026-11-22T20:00:00.5+00:00",
        "2026-11-22T20:00:01+00:00",
    )

    def order(tx: Transaction) -> list[str]:
        rows = [{"id": str(n), "at": at} for n, at in enumerate((later, with_fraction, whole))]
        tx.execute(
            "INSERT INTO delivery (id, event, received_at, state) VALUES (:id, 'e', :at, 'waiting')",
            rows,
        )
        return [
            row[0] for row in tx.execute("SELECT received_at FROM delivery ORDER BY received_at")
        ]

    assert database.run(order) == sorted((whole, with_fraction, later))


def test_many_that_begin_together_make_the_tables_once(url: str) -> None:
    databases = [open_database(url) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda one: one.run(revision), databases)) == {head()}
    for one in databases:
        one.close()


def test_a_file_that_somebody_else_writes_to_is_said_at_the_first_call_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'engine.sqlite'}"
    busy, late = open_database(url), open_database(url, busy_s=0.05)
    with busy.transaction(), pytest.raises(StoreError, match="locked"):
        late.open()
    late.open()
    busy.close()
    late.close()


def test_a_newer_database_is_refused(url: str, database: Database) -> None:
    database.run(lambda tx: tx.execute("UPDATE alembic_version SET version_num = '9999'"))
    older = open_database(url)
    with pytest.raises(
        StoreError, match="newer than this MetaAgent: its tables are at revision 9999"
    ):
        older.run(revision)
    older.close()


def test_a_migration_that_breaks_leaves_nothing(url: str) -> None:
    """The table it stumbles over stands; whatever it made before is undone."""
    bare = Database(own_url(url))
    if url.startswith("postgresql"):
        bare.run(lambda tx: tx.execute("CREATE SCHEMA metaagent"))
    bare.run(lambda tx: tx.execute("CREATE TABLE lesson (id TEXT)"))
    database = open_database(url)
    with pytest.raises(StoreError):
        database.run(revision)
    assert set(bare.run(lambda tx: described(tx).keys())) == {"lesson"}
    bare.run(lambda tx: tx.execute("DROP TABLE lesson"))
    assert database.run(revision) == head()
    bare.close()
    database.close()


def test_tables_of_the_first_migration_are_brought_up_in_place_with_their_rows(url: str) -> None:
    bare = Database(own_url(url))
    with bare.transaction() as tx:
        if tx.is_postgres:
            tx.execute("CREATE SCHEMA metaagent")
        migrate(tx.connection, "0001")
        tx.execute(
            "INSERT INTO call (mission, key, repository, pull_request, installation, day, stage, model, counted,"
            " input_tokens, output_tokens) VALUES ('m', 'k', 'r', '7', '5', '2026-01-02', 'fix', 'small', 0.5, 30, 4)"
        )
        tx.execute(
            "INSERT INTO delivery (id, event, received_at, state) VALUES ('d', 'push', '2026', 'waiting')"
        )
    bare.close()
    database = open_database(url)
    assert database.run(
        lambda tx: tx.execute("SELECT mission, counted, counted_tokens FROM call")
    ) == [("m", 0.5, 34)]
    assert database.run(lambda tx: tx.execute("SELECT id, state FROM delivery")) == [
        ("d", "waiting")
    ]
    database.close()


def test_of_missions_that_were_there_before_only_those_that_live_have_begun(url: str) -> None:
    bare = Database(own_url(url))
    with bare.transaction() as tx:
        if tx.is_postgres:
            tx.execute("CREATE SCHEMA metaagent")
        migrate(tx.connection, "0004")
        for name, ended in (("lives", 0), ("ended", 1)):
            live = "INSERT INTO live (id, repository, since, ended, value) VALUES (:id, 1, '2026', :ended, '{}')"
            tx.execute(live, {"id": name, "ended": ended})
        rows = [{"mission": name} for name in ("lives", "ended", "forgotten")]
        tx.execute(
            "INSERT INTO work (mission, repository, pull_request, installation, day)"
            " VALUES (:mission, '1', '7', '5', '2026-01-02')",
            rows,
        )
    bare.close()
    database = open_database(url)
    assert database.run(lambda tx: tx.execute("SELECT mission FROM work WHERE begun = 1")) == [
        ("lives",)
    ]
    database.close()


def test_migrations_are_one_line_of_numbers() -> None:
    """Two engineers who take the same number see it here."""
    before = None
    for path in sorted(VERSIONS.glob("v*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        migration = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(migration)
        assert (migration.revision, migration.down_revision) == (path.stem[1:5], before), path.name
        before = migration.revision
    assert before == head()
