"""metaagent db on PostgreSQL: looked at, dumped by its own program, restored elsewhere."""

import asyncio
import subprocess
from pathlib import Path

import psycopg
import pytest

from bot.errors import StoreError
from bot.settings import Settings
from bot.store.backup import dump
from bot.store.opening import open_database
from bot.store.schema.current import head
from bot.terminal.db import run_db
from tests.missing import missing
from tests.postgres import Server, find_program

WAITING = "INSERT INTO delivery (id, event, received_at, state) VALUES ('d', 'push', '2026-01-02T03:04:05+00:00', 'waiting')"
ENGINE = """
CREATE SCHEMA dbos;
CREATE TABLE dbos.dbos_migrations AS SELECT 7 AS version;
CREATE TABLE dbos.workflow_status (workflow_uuid text, name text, status text, created_at bigint);
INSERT INTO dbos.workflow_status VALUES
    ('m-1', 'mission', 'PENDING', 1700000000000), ('m-2', 'mission', 'ENQUEUED', 1700000000000),
    ('m-3', 'mission', 'DELAYED', 1600000000000), ('given up:m-0', 'notice', 'SUCCESS', 1700000000000);
"""


@pytest.fixture
def settings(postgres: Server, tmp_path: Path) -> Settings:
    settings = Settings(data_dir=tmp_path, database_url=postgres.new_database())
    database = open_database(settings.engine_url)
    database.run(lambda tx: tx.execute(WAITING))
    database.close()
    return settings


def program(name: str) -> str:
    return find_program(name) or missing(f"{name} is not installed")


def test_a_server_is_told_with_what_is_stuck_on_it(settings: Settings) -> None:
    with psycopg.connect(settings.engine_url) as database:
        database.execute(ENGINE)
    result = run_db("check", None, settings)
    assert not result.sound
    assert f"ok       our tables       at {head()}" in result.text
    assert "MISSING  deliveries       1 wait to be handed on" in result.text
    assert "engine           its tables are at 7" in result.text
    assert "missions         2 wait, the oldest since 2020-09-13" in result.text
    assert "missions         1 run" in result.text
    assert "missions         1 given up" in result.text


def test_a_server_without_our_tables_gets_none_by_looking(postgres: Server, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=postgres.new_database())
    assert "our tables       at 0000" in run_db("check", None, settings).text
    assert "our tables       at 0000" in run_db("check", None, settings).text


def test_a_server_that_is_away_is_said_without_the_password(tmp_path: Path) -> None:
    url = "postgresql://somebody:hunter2@127.0.0.1:1/metaagent"
    result = run_db("check", None, Settings(data_dir=tmp_path, database_url=url))
    assert not result.sound
    assert "127.0.0.1" in result.text
    assert "hunter2" not in result.text


def test_a_dump_is_restored_in_another_database(
    settings: Settings, postgres: Server, tmp_path: Path
) -> None:
    found = Path(program("pg_dump"))
    asyncio.run(dump(settings.engine_url, tmp_path / "kept.dump", {"PATH": str(found.parent)}))
    other = postgres.new_database()
    subprocess.run(
        [program("pg_restore"), f"--dbname={other}", str(tmp_path / "kept.dump")], check=True
    )
    assert (
        "1 wait to be handed on"
        in run_db("check", None, settings.model_copy(update={"database_url": other})).text
    )
    assert [(one.name, one.stat().st_mode & 0o777) for one in tmp_path.iterdir()] == [
        ("kept.dump", 0o600)
    ]


@pytest.mark.parametrize("place", ["netloc", "query"])
def test_a_dump_that_fails_leaves_no_file_and_shows_no_password(
    postgres: Server, tmp_path: Path, place: str
) -> None:
    nowhere = postgres.url("not_there")
    nowhere = (
        nowhere.replace("tests@", "tests:hunter2@")
        if place == "netloc"
        else f"{nowhere}?password=hunter2"
    )
    found = Path(program("pg_dump"))
    with pytest.raises(StoreError, match="not_there") as failed:
        asyncio.run(dump(nowhere, tmp_path / "kept.dump", {"PATH": str(found.parent)}))
    assert "hunter2" not in str(failed.value)
    assert list(tmp_path.iterdir()) == []


def test_without_thefind_program_it_is_said_what_to_run(tmp_path: Path) -> None:
    url = "postgresql://u@db/metaagent?sslmode=require&password=hunter2"
    with pytest.raises(StoreError, match="pg_dump is not installed here") as told:
        asyncio.run(dump(url, tmp_path / "kept.dump", {"PATH": ""}))
    assert told.value.advice == (
        "run this where it is installed: pg_dump --format=custom "
        f"'--dbname=postgresql://u@db/metaagent?sslmode=require' --file={tmp_path}/kept.dump"
    )
