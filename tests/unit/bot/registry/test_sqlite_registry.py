"""What only the registry on disk does: it survives, and it says what is wrong with its file."""

import sqlite3
from pathlib import Path

import pytest

from bot.domain.registry import Switch
from bot.errors import StoreError
from bot.registry.sqlite_registry import SqliteRegistry

pytestmark = pytest.mark.anyio


async def test_what_was_noted_is_there_after_a_restart(tmp_path: Path) -> None:
    switch = Switch(repository_id=1, off=True, by="ada")
    await SqliteRegistry(tmp_path / "registry.sqlite").switch(switch)
    assert await SqliteRegistry(tmp_path / "registry.sqlite").off(1) == switch


async def test_a_row_of_another_version_is_as_good_as_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    await SqliteRegistry(path).switch(Switch(repository_id=1, off=True, by="ada"))
    with sqlite3.connect(path) as database:
        database.execute("""update switch set value = '{"turned": "off"}'""")
    database.close()
    assert await SqliteRegistry(path).off(1) is None


async def test_a_file_that_is_no_database_is_the_operators_to_mend(tmp_path: Path) -> None:
    path = tmp_path / "registry.sqlite"
    path.write_text("no database " * 100)
    with pytest.raises(StoreError, match="registry cannot be used") as caught:
        await SqliteRegistry(path).end("m-1")
    assert str(path) in caught.value.advice
