"""The files of the first release are taken over by either database: everything once, whatever interrupts it."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.errors import StoreError
from bot.store.database import Database
from bot.store.opening import open_database
from bot.store.takeover import OLD_FILES, SUFFIX

RECORDED = Path(__file__).parents[1] / "data" / "first_release"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data directory as the first release left it."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in OLD_FILES:
        with closing(sqlite3.connect(folder / name)) as old:
            old.execute("PRAGMA journal_mode=WAL")
            old.executescript((RECORDED / name).with_suffix(".sql").read_text())
    return folder


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres").new_database())
    return f"sqlite:///{folder / 'engine.sqlite'}"


@pytest.fixture
def database(url: str, folder: Path) -> Iterator[Database]:
    database = open_database(url, folder)
    yield database
    database.close()


def columns(path: Path, table: str) -> list[str]:
    """What is compared: a call is numbered anew."""
    with closing(sqlite3.connect(path)) as old:
        names = [row[1] for row in old.execute(f"PRAGMA table_info({table})")]
    return [name for name in names if (table, name) != ("call", "id")]


def rows_here(database: Database, table: str, names: list[str]) -> list[tuple[object, ...]]:
    query = f"SELECT {', '.join(names)} FROM {table}"  # noqa: S608
    return sorted((tuple(row) for row in database.run(lambda tx: tx.execute(query))), key=repr)


def rows_of(path: Path, table: str, names: list[str]) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as old:
        return sorted(old.execute(f"SELECT {', '.join(names)} FROM {table}"), key=repr)  # noqa: S608


def is_all_there_once(database: Database, folder: Path) -> bool:
    database.run(lambda tx: None)
    for name, tables in OLD_FILES.items():
        taken = folder / f"{name}{SUFFIX}"
        for table in tables:
            names = columns(taken, table)
            assert rows_of(taken, table, names), f"no rows recorded for {table}"
            assert rows_here(database, table, names) == rows_of(taken, table, names), table
    return True


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith("metaagent.sqlite")}


def test_every_row_of_every_file_is_here_and_the_files_are_renamed(
    database: Database, folder: Path
) -> None:
    assert is_all_there_once(database, folder)
    assert left(folder) == {f"{name}{SUFFIX}" for name in OLD_FILES}


def test_rows_keep_their_order(database: Database) -> None:
    missions = database.run(lambda tx: tx.execute("SELECT id FROM live ORDER BY seq"))
    assert [row[0] for row in missions] == ["m-2", "m-1", "m-3"]


def test_tokens_of_old_calls_count(database: Database) -> None:
    total = database.run(lambda tx: tx.execute("SELECT sum(counted_tokens) FROM call"))
    assert total == [(2000,)]


def test_words_are_found_again(database: Database) -> None:
    found = {
        True: "to_tsvector('english', words) @@ to_tsquery('english', 'quotes')",
        False: "lesson_words MATCH 'quotes'",
    }
    query = "SELECT id FROM lesson_words WHERE "
    assert database.run(lambda tx: tx.execute(query + found[tx.is_postgres])) == [("m-0002",)]


def test_a_take_over_that_was_cut_off_before_the_renaming_copies_nothing_twice(
    url: str, folder: Path
) -> None:
    first = open_database(url, folder)
    first.run(lambda tx: None)
    first.close()
    for name in OLD_FILES:
        (folder / f"{name}{SUFFIX}").rename(folder / name)
    again = open_database(url, folder)
    assert is_all_there_once(again, folder)
    again.close()


def test_a_take_over_that_breaks_in_the_middle_keeps_the_file_and_nothing_of_it(
    url: str, folder: Path
) -> None:
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as old:
        old.execute("ALTER TABLE call ADD COLUMN of_a_version_nobody_knows TEXT")
    database = open_database(url, folder)
    with pytest.raises(StoreError, match="of_a_version_nobody_knows"):
        database.run(lambda tx: None)
    with closing(sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)) as old:
        old.execute("ALTER TABLE call DROP COLUMN of_a_version_nobody_knows")
    assert is_all_there_once(database, folder)
    database.close()


def test_a_file_that_a_process_of_the_version_before_still_uses_is_not_taken(
    url: str, folder: Path
) -> None:
    with closing(sqlite3.connect(folder / "inbox.sqlite")) as alive:
        alive.execute("SELECT count(*) FROM delivery").fetchone()
        database = open_database(url, folder)
        with pytest.raises(StoreError, match=r"inbox\.sqlite cannot be imported") as refused:
            database.run(lambda tx: None)
        assert "stop every process of the previous version" in refused.value.advice
        alive.execute("UPDATE delivery SET state = 'submitted' WHERE id = 'd-1'")
        alive.commit()
    assert is_all_there_once(database, folder)
    database.close()


def test_a_file_that_is_none_is_named_with_what_to_do(url: str, folder: Path) -> None:
    (folder / "lessons.sqlite").write_bytes(b"not a database at all" * 100)
    database = open_database(url, folder)
    with pytest.raises(StoreError, match=r"lessons\.sqlite cannot be imported"):
        database.run(lambda tx: None)
    (folder / "lessons.sqlite").unlink()
    assert database.run(lambda tx: tx.execute("SELECT count(*) FROM lesson")) == [(0,)]
    database.close()


def test_what_the_version_before_made_anew_is_taken_too_and_changes_nothing_newer(
    url: str, folder: Path, tmp_path: Path
) -> None:
    shutil.copy(folder / "registry.sqlite", tmp_path / "again")
    database = open_database(url, folder)
    database.run(lambda tx: tx.execute("UPDATE live SET ended = 1"))
    database.close()
    shutil.move(tmp_path / "again", folder / "registry.sqlite")
    database = open_database(url, folder)
    assert database.run(lambda tx: tx.execute("SELECT DISTINCT ended FROM live")) == [(1,)]
    assert (folder / f"registry.sqlite{SUFFIX}-2").exists()
    database.close()
