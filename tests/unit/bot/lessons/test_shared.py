"""Lessons of other repositories: off by default, and without what tells where they come from."""

from pathlib import Path
from typing import Any

import pytest

from bot.domain.lesson import AlikeEdit, RememberedFix
from bot.lessons.shared import SENTENCE
from bot.lessons.stored import StoredLessons
from tests.builders import a_lesson
from tests.databases import BOTH, a_database_of

pytestmark = pytest.mark.anyio
QUESTION: dict[str, Any] = {"repository_id": "42", "error": "AssertionError"}
EDIT = AlikeEdit(template="swap_operator", diff="+return a + b\n")
FIX = RememberedFix(
    diff="-secret\n", title="secret", score=0.9, warnings=("secret",), alike=(EDIT,)
)
THEIRS = a_lesson(
    id="secret-1",
    repository_id="7",
    fate="merged",
    said="secret",
    difference="",
    files=("secret.py",),
    tests=("secret",),
    sentence="secret",
    keywords=("secret",),
    fix=FIX,
)


@pytest.fixture(params=BOTH)
async def stores(request: pytest.FixtureRequest, tmp_path: Path) -> dict[bool, StoredLessons]:
    database = a_database_of(request.param, request, tmp_path / "data")
    stores = {shared: StoredLessons(database, shared=shared) for shared in (True, False)}
    await stores[False].remember(THEIRS)
    await stores[False].remember(THEIRS.with_(id="fork", repository_id="8:fork", template="forked"))
    return stores


async def test_nothing_is_shared_unless_it_is_switched_on(
    stores: dict[bool, StoredLessons],
) -> None:
    assert await stores[False].accepted(**QUESTION) == ()
    assert await stores[False].template_record(**QUESTION) == {}
    assert await stores[True].template_record(**QUESTION) == {"swap_operator": (1, 0)}
    (found,) = await stores[True].accepted(**QUESTION)
    assert (found.sentence, found.template, found.verdict) == (SENTENCE, "swap_operator", True)
    assert found.fix is not None
    assert found.fix.alike == (EDIT,)
    assert "secret" not in found.with_(fix=found.fix.with_(diff="")).model_dump_json()
    assert await stores[True].accepted(repository_id="42", error="KeyError") == ()


async def test_a_fork_takes_no_part(stores: dict[bool, StoredLessons]) -> None:
    assert await stores[True].accepted(repository_id="42:fork", error="AssertionError") == ()
    assert await stores[True].template_record(repository_id="42:fork", error="AssertionError") == {}


async def test_own_lessons_are_enough(stores: dict[bool, StoredLessons]) -> None:
    own = a_lesson(id="own", fate="merged", fix=FIX, template="guard_none")
    await stores[True].remember(own)
    assert await stores[True].accepted(**QUESTION) == (own,)
    assert await stores[True].template_record(**QUESTION) == {"guard_none": (1, 0)}


async def test_other_repositories_lessons_are_recalled_by_no_words(
    stores: dict[bool, StoredLessons],
) -> None:
    found = await stores[True].recall(
        repository_id="42", fingerprint=THEIRS.fingerprint, error=None, words=("secret",)
    )
    assert found == ()
