"""What only the lessons in a database have: other processes, damage."""

import multiprocessing
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from bot.domain.lesson import RememberedFix
from bot.errors import StoreError
from bot.lessons.stored import KEPT, StoredLessons
from bot.store.opening import FILE, open_database
from tests.builders import FINGERPRINT, a_lesson
from tests.databases import BOTH, a_database, a_database_of, url_of

RUBBISH = b"this is not a database, but long enough to be taken for one" * 100


def writes(url: str, start: int) -> None:
    async def remember() -> None:
        with closing(open_database(url)) as database:
            for number in range(start, start + 25):
                await StoredLessons(database).remember(a_lesson(id=f"m-{number % 40}"))

    anyio.run(remember)


@pytest.mark.slow
@pytest.mark.parametrize("kind", BOTH)
def test_several_processes_write_to_a_new_database_without_losing_any(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = url_of(kind, request, tmp_path)
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=writes, args=(url, start)) for start in (0, 25)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with closing(open_database(url)) as database, database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM lesson") == [(40,)]
        assert tx.execute("SELECT count(*) FROM lesson_words") == [(40,)]
        if kind == "sqlite":
            assert tx.execute("PRAGMA journal_mode") == [("wal",)]
            assert tx.execute("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.anyio
async def test_lessons_outlive_the_store(tmp_path: Path) -> None:
    await StoredLessons(a_database(tmp_path / "a" / "b")).remember(a_lesson())
    store = StoredLessons(a_database(tmp_path / "a" / "b"))
    assert (
        len(await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=()))
        == 1
    )


@pytest.mark.anyio
async def test_a_damaged_file_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(RUBBISH)
    with pytest.raises(StoreError, match="database cannot be used") as raised:
        await StoredLessons(a_database(tmp_path)).remember(a_lesson())
    assert str(tmp_path / FILE) in raised.value.advice


@pytest.mark.anyio
async def test_a_mission_goes_on_without_lessons_that_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(RUBBISH)
    store = StoredLessons(a_database(tmp_path))
    assert (
        await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=()) == ()
    )
    assert await store.template_record(repository_id="42", error=None) == {}
    assert await store.forecasts(repository_id="42") == ()
    assert "recalling lessons failed: the database cannot be used" in caplog.text


@pytest.mark.anyio
async def test_a_folder_that_cannot_be_made_is_said_clearly(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError):
        await StoredLessons(a_database(tmp_path / "file")).remember(a_lesson())


@pytest.mark.anyio
@pytest.mark.parametrize("kind", BOTH)
async def test_a_row_of_another_version_is_as_good_as_forgotten(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = a_database_of(kind, request, tmp_path)
    store = StoredLessons(database)
    await store.remember(a_lesson(id="old"))
    await store.remember(a_lesson(id="new"))
    await database.do(
        lambda tx: tx.change(
            "UPDATE lesson SET value = :value WHERE id = 'old'", {"value": '{"version": 0}'}
        )
    )
    found = await store.recall(repository_id="42", fingerprint=FINGERPRINT, error=None, words=())
    assert [one.lesson.id for one in found] == ["new"]


@pytest.mark.anyio
async def test_old_lessons_make_room_but_refused_ones_stay(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    store = StoredLessons(database)
    fix = RememberedFix(diff="+x", title="x", score=0.5)
    old = [
        a_lesson(id=f"m-{n}", created_at=f"2025-01-01T00:{n // 60:02}:{n % 60:02}+00:00")
        for n in range(KEPT)
    ]
    await store.add([old[0].with_(fate="reverted", fix=fix), *old[1:]])
    await store.remember(a_lesson(id="new"))
    assert await store.find("m-1") is None
    assert await store.find("m-2") is not None
    assert [one.id for one in await store.refused(repository_id="42")] == ["m-0"]
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM lesson") == [(KEPT,)]
        assert tx.execute("SELECT count(*) FROM lesson_term WHERE lesson = 'm-1'") == [(0,)]


@pytest.mark.anyio
async def test_lessons_of_an_earlier_version_get_their_words_with_the_next_one(
    tmp_path: Path,
) -> None:
    database = a_database(tmp_path)
    store = StoredLessons(database)
    await store.remember(a_lesson(id="old", fingerprint="x", error="KeyError", files=()))
    with database.transaction() as tx:
        tx.execute("DELETE FROM lesson_term")
    words = ("calculator", "sum", "add", "swap_operator")
    asked = {"repository_id": "42", "fingerprint": "", "error": None, "words": words}
    assert await store.recall(**asked) == ()  # type: ignore[arg-type]
    await store.remember(a_lesson(id="other", keywords=(), sentence="unlike"))
    assert [one.lesson.id for one in await store.recall(**asked)] == ["old"]  # type: ignore[arg-type]
