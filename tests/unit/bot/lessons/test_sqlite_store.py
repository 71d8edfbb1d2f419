"""What only the real store has: a file, other processes, damage."""

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from bot.errors import StoreError
from bot.lessons.sqlite_store import SqliteLessons
from tests.builders import FINGERPRINT, a_lesson


def writes(path: Path, start: int) -> None:
    store = SqliteLessons(path)

    async def remember() -> None:
        for number in range(start, start + 25):
            await store.remember(a_lesson(id=f"m-{number}"))

    anyio.run(remember)


@pytest.mark.slow
def test_several_processes_write_to_a_new_file_without_losing_any(tmp_path: Path) -> None:
    path = tmp_path / "lessons.sqlite"
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=writes, args=(path, start)) for start in (0, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("select count(*) from lesson").fetchone() == (50,)
        assert database.execute("select count(*) from lesson_words").fetchone() == (50,)
        assert database.execute("pragma journal_mode").fetchone() == ("wal",)
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)


@pytest.mark.anyio
async def test_lessons_outlive_the_store(tmp_path: Path) -> None:
    await SqliteLessons(tmp_path / "a" / "b" / "lessons.sqlite").remember(a_lesson())
    store = SqliteLessons(tmp_path / "a" / "b" / "lessons.sqlite")
    assert len(await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=())) == 1


@pytest.mark.anyio
async def test_a_damaged_file_is_said_clearly(tmp_path: Path) -> None:
    path = tmp_path / "lessons.sqlite"
    path.write_bytes(b"this is not a database, but long enough to be taken for one" * 100)
    with pytest.raises(StoreError, match="lessons store") as raised:
        await SqliteLessons(path).remember(a_lesson())
    assert str(path) in raised.value.advice


@pytest.mark.anyio
async def test_a_mission_goes_on_without_lessons_that_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "lessons.sqlite"
    path.write_bytes(b"this is not a database, but long enough to be taken for one" * 100)
    store = SqliteLessons(path)
    assert await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=()) == ()
    assert await store.template_record(repository_id="42", error=None) == {}
    assert await store.forecasts(repository_id="42") == ()
    assert "lessons store cannot be used" in caplog.text


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_made_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError):
        await SqliteLessons(tmp_path / "file" / "lessons.sqlite").remember(a_lesson())


@pytest.mark.anyio
async def test_a_row_of_another_version_is_as_good_as_forgotten(tmp_path: Path) -> None:
    store = SqliteLessons(tmp_path / "lessons.sqlite")
    await store.remember(a_lesson(id="old"))
    await store.remember(a_lesson(id="new"))
    with closing(sqlite3.connect(tmp_path / "lessons.sqlite")) as database:
        database.execute("update lesson set value = '{\"version\": 0}' where id = 'old'")
        database.commit()
    found = await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=())
    assert [one.lesson.id for one in found] == ["new"]
