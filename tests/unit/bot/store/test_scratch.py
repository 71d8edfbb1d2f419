"""A copy of what is remembered about one repository; the original is neither made nor changed."""

from pathlib import Path

import pytest

from bot.domain.registry import InstallationState, Switch
from bot.errors import StoreError
from bot.lessons.stored import StoredLessons
from bot.registry.stored import StoredRegistry
from bot.store.opening import open_database
from bot.store.scratch import scratch_copy
from tests.builders import a_lesson
from tests.databases import BOTH, engine_file, url_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("kind", BOTH)
async def test_what_is_known_of_a_repository_is_copied_and_what_is_done_there_reaches_nobody(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = url_of(kind, request, tmp_path / "data")
    database = open_database(url)
    registry, lessons = StoredRegistry(database), StoredLessons(database)
    for repository in (42, 43):
        await registry.switch(Switch(repository_id=repository, off=True, by="ada"))
        await lessons.remember(
            a_lesson(id=f"m-{repository}", repository_id=str(repository), keywords=("sum",))
        )
    await registry.note_installation(InstallationState(installation_id=7, suspended=True))

    copy = scratch_copy(url, 42, tmp_path)
    copied = StoredRegistry(copy)
    assert (await copied.off(42), await copied.off(43)) == (await registry.off(42), None)
    assert await copied.installation(7) == await registry.installation(7)
    found = await StoredLessons(copy).recall(
        repository_id="42", fingerprint="", error=None, words=("sum",)
    )
    assert [one.lesson.id for one in found] == ["m-42"]
    await copied.switch(Switch(repository_id=42, off=False, by="ada"))
    copy.close()
    assert await registry.off(42) is not None
    database.close()


async def test_where_nothing_was_kept_nothing_is_made(tmp_path: Path) -> None:
    copy = scratch_copy(engine_file(tmp_path / "data"), 42, tmp_path)
    assert await StoredRegistry(copy).off(42) is None
    assert not (tmp_path / "data").exists()
    copy.close()


async def test_tables_of_another_version_are_not_read(tmp_path: Path) -> None:
    database = open_database(engine_file(tmp_path / "data"))
    await database.do(lambda tx: tx.change("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="the tables are at revision 9999"):
        scratch_copy(engine_file(tmp_path / "data"), 42, tmp_path)
    database.close()
