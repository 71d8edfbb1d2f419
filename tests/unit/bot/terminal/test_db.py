"""metaagent db: what operators are told of their databases, and the copies they get."""

import json
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from bot.errors import StoreError, UsageError
from bot.settings import Settings
from bot.store.opening import open_database
from bot.store.schema.current import head
from bot.terminal.db import run_db

ROOT = Path(__file__).resolve().parents[4]
ENGINE = ROOT / "tests" / "data" / "older_engine.sql"
WAITING = (
    "INSERT INTO delivery (id, event, received_at, state) VALUES (:id, 'push', :at, 'waiting')"
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a service that ran here: our tables, and an engine with two missions."""
    settings = Settings(data_dir=tmp_path / "data")
    run_db("upgrade", None, settings)
    with closing(sqlite3.connect(settings.data_dir / "engine.sqlite")) as engine:
        engine.execute("PRAGMA journal_mode=WAL")
        engine.executescript(ENGINE.read_text())
    return settings


def write(settings: Settings, sql: str, **values: object) -> None:
    database = open_database(settings.engine_url)
    database.run(lambda tx: tx.execute(sql, values))
    database.close()


def checked(settings: Settings) -> str:
    return run_db("check", None, settings).text


def test_where_nothing_is_yet_that_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    result = run_db("check", None, Settings(data_dir=tmp_path))
    assert result.sound
    assert result.text.count("is not there yet; the first start makes it") == 2
    assert list(tmp_path.iterdir()) == []


def test_a_sound_service_is_told_with_what_waits_and_runs(settings: Settings) -> None:
    result = run_db("check", None, settings)
    assert result.sound
    assert [line.split("  ")[0].strip() for line in result.text.splitlines()] == ["ok"] * 6
    assert f"our tables       at {head()}" in result.text
    assert "engine           its tables are at 1" in result.text
    assert "1 wait, the oldest since" in result.text
    assert "1 run, the oldest since" in result.text
    assert json.dumps(result.json_object)


def test_the_guide_shows_what_check_says_of_a_sound_service(settings: Settings) -> None:
    page = (ROOT / "docs" / "howto" / "databases.md").read_text()
    shown = page.partition("```text\n")[2].partition("```")[0]
    assert re.sub(r"\d+", "N", shown).strip() == re.sub(r"\d+", "N", checked(settings)).strip()


def test_a_delivery_that_waits_for_long_is_missing_somebody(settings: Settings) -> None:
    write(settings, WAITING, id="d", at="2026-01-02T03:04:05+00:00")
    result = run_db("check", None, settings)
    assert not result.sound
    assert (
        "MISSING  deliveries       1 wait to be handed on, the oldest since 2026-01-02T03:04:05+00:00"
        in result.text
    )


def test_money_that_was_set_aside_and_never_settled_is_told(settings: Settings) -> None:
    call = "INSERT INTO call (mission, key, repository, pull_request, installation, day, stage, model, counted)"
    write(settings, f"{call} VALUES ('m', 'k', 'r', '', '', '2026-01-02', 'fix', 'small', 0.25)")
    assert "note     model calls      1 reserved before today and never settled, $0.25" in checked(
        settings
    )


def test_old_files_are_announced_by_check_and_taken_by_upgrade(settings: Settings) -> None:
    recorded = Path(__file__).parents[3] / "data" / "first_release" / "inbox.sql"
    with closing(sqlite3.connect(settings.data_dir / "inbox.sqlite")) as old:
        old.executescript(recorded.read_text())
    assert "inbox.sqlite of the first releases: the next start takes their rows over" in checked(
        settings
    )
    assert "rows taken over from inbox.sqlite" in run_db("upgrade", None, settings).text
    assert "old files" not in checked(settings)
    assert "1 wait to be handed on" in checked(settings)


def test_tables_of_another_version_are_told_apart(settings: Settings) -> None:
    write(settings, "UPDATE alembic_version SET version_num = '0000'")
    assert f"note     our tables       at 0000, this program has {head()}" in checked(settings)
    with closing(sqlite3.connect(settings.data_dir / "metaagent.sqlite")) as ours:
        ours.execute("UPDATE alembic_version SET version_num = '9999'")
        ours.commit()
    result = run_db("check", None, settings)
    assert not result.sound
    assert "start the newer version again" in result.text


def test_a_damaged_file_is_found(settings: Settings) -> None:
    path = settings.data_dir / "engine.sqlite"
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    path.write_bytes(content)
    result = run_db("check", None, settings)
    assert not result.sound
    assert "restore" in result.text


def test_a_backup_made_while_others_write_is_whole_and_its_owners_only(
    settings: Settings, tmp_path: Path
) -> None:
    database = open_database(settings.engine_url)
    with database.transaction() as open_one:
        open_one.execute(WAITING, {"id": "later", "at": "2026-01-02T03:04:05+00:00"})
        text = run_db("backup", str(tmp_path / "kept"), settings).text
    database.close()
    assert text.endswith("kept: engine.sqlite, metaagent.sqlite")
    modes = [
        stat.S_IMODE(one.stat().st_mode)
        for one in (tmp_path / "kept", *(tmp_path / "kept").iterdir())
    ]
    assert modes == [0o700, 0o600, 0o600]
    restored = Settings(data_dir=tmp_path / "kept")
    assert "0 wait to be handed on" in checked(restored)
    assert run_db("check", None, restored).sound
    assert "up to date" in run_db("upgrade", None, restored).text


def test_a_backup_replaces_none(settings: Settings, tmp_path: Path) -> None:
    run_db("backup", str(tmp_path / "kept"), settings)
    with pytest.raises(StoreError, match="is there already"):
        run_db("backup", str(tmp_path / "kept"), settings)


def test_a_backup_of_a_damaged_database_is_none(settings: Settings, tmp_path: Path) -> None:
    path = settings.data_dir / "metaagent.sqlite"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = b"\xff" * (len(content) - len(content) // 2)
    path.write_bytes(content)
    with pytest.raises(StoreError):
        run_db("backup", str(tmp_path / "kept"), settings)
    assert {one.name for one in tmp_path.iterdir()} == {"data"}


def test_a_backup_of_nothing_is_none(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database in"):
        run_db("backup", str(tmp_path / "kept"), Settings(data_dir=tmp_path / "data"))


@pytest.mark.parametrize(
    ("action", "target"), [("backup", None), ("check", "folder"), ("upgrade", "folder")]
)
def test_only_a_backup_has_a_target(tmp_path: Path, action: str, target: str | None) -> None:
    with pytest.raises(UsageError):
        run_db(action, target, Settings(data_dir=tmp_path))
