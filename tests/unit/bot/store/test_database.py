"""One database: transactions that are whole or nothing, by one writer at a time."""

import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from bot.errors import StoreError
from bot.store.database import Database, Transaction
from bot.store.server import CONNECT_S, SESSION, connection_arguments
from tests.chaos.wire import Wire
from tests.github_server.waiting import wait_until
from tests.postgres import Server


def a_database(folder: Path) -> Database:
    database = Database(f"sqlite:///{folder / 'new' / 'metaagent.sqlite'}", busy_s=10)
    database.run(
        lambda tx: tx.execute(
            "CREATE TABLE IF NOT EXISTS n (key TEXT PRIMARY KEY, count INTEGER NOT NULL)"
        )
    )
    return database


def test_what_a_transaction_wrote_is_there_for_others(tmp_path: Path) -> None:
    one, other = a_database(tmp_path), a_database(tmp_path)
    one.run(
        lambda tx: tx.execute(
            "INSERT INTO n VALUES (:key, :count)",
            [{"key": "a", "count": 1}, {"key": "b", "count": 2}],
        )
    )
    assert other.run(lambda tx: tx.execute("SELECT key, count FROM n ORDER BY key")) == [
        ("a", 1),
        ("b", 2),
    ]
    assert other.run(lambda tx: tx.change("UPDATE n SET count = 3")) == 2


def test_what_raised_wrote_nothing(tmp_path: Path) -> None:
    database = a_database(tmp_path)

    def half(tx: Transaction) -> None:
        tx.execute("INSERT INTO n VALUES ('a', 1)")
        raise KeyError("no more")

    with pytest.raises(KeyError):
        database.run(half)
    assert database.run(lambda tx: tx.execute("SELECT key FROM n")) == []


def test_writers_take_turns_between_reading_and_writing(tmp_path: Path) -> None:
    a_database(tmp_path).run(lambda tx: tx.execute("INSERT INTO n VALUES ('a', 0)"))

    def add(database: Database) -> None:
        for _ in range(20):
            with database.transaction() as tx:
                [(count,)] = tx.execute("SELECT count FROM n")
                tx.execute("UPDATE n SET count = :count", {"count": count + 1})

    threads = [threading.Thread(target=add, args=(a_database(tmp_path),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert a_database(tmp_path).run(lambda tx: tx.execute("SELECT count FROM n")) == [(80,)]


def test_trouble_says_where_and_not_what_was_written(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    values = {"key": "s3cret", "count": 1}
    database.run(lambda tx: tx.execute("INSERT INTO n VALUES (:key, :count)", values))
    with pytest.raises(StoreError) as caught:
        database.run(lambda tx: tx.execute("INSERT INTO n VALUES (:key, :count)", values))
    assert "metaagent.sqlite" in caught.value.advice
    assert "s3cret" not in str(caught.value)


def test_only_its_owner_reads_a_new_file_whatever_stands_beside_it(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = a_database(tmp_path)
    finally:
        os.umask(before)
    files = sorted((tmp_path / "new").iterdir())
    assert [(path.name, path.stat().st_mode & 0o777) for path in files] == [
        (f"metaagent.sqlite{beside}", 0o600) for beside in ("", "-shm", "-wal")
    ]
    database.close()


def test_a_closed_database_opens_again(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    database.close()
    assert database.run(lambda tx: tx.execute("SELECT key FROM n")) == []


def test_a_new_file_that_another_process_is_just_making_is_waited_for(tmp_path: Path) -> None:
    """SQLite says "locked" at once to who would log ahead while another writes to a file that does not yet."""
    path = tmp_path / "metaagent.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        ending = threading.Timer(0.3, other.execute, ["COMMIT"])
        ending.start()
        database = Database(f"sqlite:///{path}", busy_s=10)
        assert database.run(lambda tx: tx.execute("PRAGMA journal_mode")) == [("wal",)]
        ending.join()


def test_a_file_that_is_held_for_ever_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "metaagent.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked"):
            Database(f"sqlite:///{path}", busy_s=0.1).open()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3@cret@db.example:5432/mine?x=1",
        "postgresql://db.example:5432/mine?password=s3@cret",
    ],
)
def test_a_password_is_not_part_of_its_name(url: str) -> None:
    assert Database(url).name == "PostgreSQL at db.example:5432/mine"


@pytest.mark.parametrize("url", ["mysql://x/y", "metaagent.sqlite"])
def test_another_kind_of_database_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="unsupported database"):
        Database(url).run(lambda tx: tx.execute("SELECT 1"))


@pytest.mark.slow
def test_on_postgresql_gaps_are_no_casts_and_percent_is_percent(postgres: Server) -> None:
    with closing(Database(postgres.new_database())) as database:
        found = database.run(
            lambda tx: tx.execute("SELECT :a::text || '%', 7 % :b", {"a": "x:y", "b": 4})
        )
    assert found == [("x:y%", 3)]


@pytest.mark.slow
def test_on_postgresql_one_of_several_has_something_until_its_connection_ends(
    postgres: Server,
) -> None:
    url = postgres.new_database()
    with closing(Database(url)) as one, closing(Database(url)) as other:
        assert [one.run(lambda tx: tx.keep("sweep")) for _ in range(2)] == [True, True]
        assert not other.run(lambda tx: tx.keep("sweep"))
        assert other.run(lambda tx: tx.keep("another thing"))
        one.close()
        # The server ends a closed session a moment later.
        assert wait_until(lambda: other.run(lambda tx: tx.keep("sweep")), 30)


@pytest.mark.slow
def test_on_postgresql_nobody_holds_up_the_others_who_fell_silent(postgres: Server) -> None:
    url = postgres.new_database()
    with closing(Database(url)) as database:
        rows = database.run(lambda tx: tx.execute("SELECT name, setting FROM pg_settings"))
    asked = {row[0]: row[1] for row in rows}
    assert {name: asked[name] for name in SESSION} == SESSION
    with psycopg.connect(url, **connection_arguments()) as liveness:
        assert liveness.execute("SHOW tcp_keepalives_count").fetchone() == ("3",)


@pytest.mark.slow
def test_on_postgresql_a_server_that_falls_silent_is_waited_for_no_longer_than_that(
    postgres: Server,
) -> None:
    port = urlsplit(postgres.new_database()).port or 0
    with (
        Wire(port) as wire,
        closing(Database(postgres.new_database().replace(f":{port}/", f":{wire.port}/"))) as one,
    ):

        def ask(tx: Transaction) -> None:
            tx.connection.connection.driver_connection.answer_s = 0.2
            wire.set("silent")
            tx.execute("SELECT 1")

        begun = time.perf_counter()
        with pytest.raises(StoreError, match="does not answer"):
            one.run(ask)
        assert time.perf_counter() - begun < CONNECT_S
        wire.set("whole")
        assert one.run(lambda tx: tx.execute("SELECT 2")) == [(2,)], (
            "what came late is no answer to this"
        )


@pytest.mark.slow
def test_on_postgresql_who_is_silent_for_long_holds_nothing_and_goes_on_when_he_wakes(
    postgres: Server,
) -> None:
    url = postgres.new_database()
    with closing(Database(url)) as stopped, closing(Database(url)) as other:
        assert stopped.run(lambda tx: tx.keep("left"))
        stopped.run(lambda tx: tx.execute("SET SESSION idle_session_timeout = 100"))
        begun = time.perf_counter()
        while not other.run(lambda tx: tx.keep("left")):
            time.sleep(0.05)
            assert time.perf_counter() - begun < CONNECT_S
        assert not stopped.run(lambda tx: tx.keep("left"))
