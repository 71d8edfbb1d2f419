"""Lessons in the database of our own tables, found by their words too."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from bot.domain.lesson import Forecast, Lesson, RecalledLesson
from bot.domain.request import Feedback
from bot.errors import StoreError
from bot.lessons.outcomes import with_fate
from bot.lessons.recall import rank
from bot.lessons.tool_memory import template_record
from bot.lessons.words import words_of
from bot.store.database import Database, Transaction

CANDIDATES = 50
"""Lessons the database hands over for ranking, per way of finding them."""
RECORD = 500
"""The newest lessons that make up a template's record."""

_HERE = "repository = :repository"
_WRITE = """
INSERT INTO lesson (id, repository, fingerprint, error, pull_request, created_at, value)
VALUES (:id, :repository, :fingerprint, :error, :pull_request, :created_at, :value)
ON CONFLICT (id) DO UPDATE SET repository = excluded.repository, fingerprint = excluded.fingerprint,
    error = excluded.error, pull_request = excluded.pull_request, created_at = excluded.created_at,
    value = excluded.value
"""
_FOUND = "SELECT lesson.value FROM lesson_words JOIN lesson ON lesson.id = lesson_words.id WHERE"
_LIKE_SQLITE = f"{_FOUND} lesson_words MATCH :query AND {_HERE} ORDER BY bm25(lesson_words) LIMIT :limit"
_LIKE_POSTGRES = f"""
{_FOUND} to_tsvector('english', words) @@ to_tsquery('english', :query) AND {_HERE}
ORDER BY ts_rank(to_tsvector('english', words), to_tsquery('english', :query)) DESC LIMIT :limit
"""


class StoredLessons:
    """The lessons of all repositories; every question names one repository and sees no other.

    Reading never fails, it recalls nothing; writing raises a StoreError.

    Args:
        database: Where they are kept.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recall(
        self, *, repository_id: str, fingerprint: str, error: str | None, words: Sequence[str], limit: int = 5
    ) -> tuple[RecalledLesson, ...]:
        """Lessons that bear on a failure, best first."""

        def find(tx: Transaction) -> list[Lesson]:
            here = {"repository": repository_id}
            found = [
                *_rows(tx, f"{_HERE} AND fingerprint = :fingerprint", here | {"fingerprint": fingerprint}),
                *(_rows(tx, f"{_HERE} AND error = :error", here | {"error": error}) if error is not None else ()),
                *_by_words(tx, repository_id, words),
            ]
            return list({lesson.id: lesson for lesson in found}.values())

        lessons = await self._read(find)
        return rank(lessons, fingerprint=fingerprint, error=error, words=words, limit=limit)

    async def template_record(self, *, repository_id: str, error: str | None) -> dict[str, tuple[int, int]]:
        """Per template: how often it won, and how often that was rejected later."""
        return template_record(await self._newest(repository_id, RECORD), error=error)

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Every confidence shown whose fate is known."""
        return tuple(
            Forecast(confidence=lesson.confidence, merged=lesson.fate == "merged")
            for lesson in await self._newest(repository_id, RECORD)
            if lesson.confidence is not None and lesson.fate in {"merged", "closed", "reverted"}
        )

    async def newest(self, *, repository_id: str, limit: int = 5) -> tuple[Lesson, ...]:
        """The lessons kept last, newest first."""
        return tuple(await self._newest(repository_id, limit))

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id again replaces it, but never forgets what people decided."""
        await self._database.do(lambda tx: _keep(tx, lesson))

    async def feed_back(self, feedback: Feedback) -> int:
        """Record what became of a pull request; how many lessons that touched."""

        def decide(tx: Transaction) -> int:
            tx.alone(f"lessons.{feedback.repository.id}")
            asked: dict[str, object] = {"repository": str(feedback.repository.id)}
            if feedback.mission_id is not None:
                lessons = _rows(tx, f"{_HERE} AND id = :id", asked | {"id": feedback.mission_id})
            else:
                number = {"pull_request": feedback.pull_request}
                lessons = _rows(tx, f"{_HERE} AND pull_request = :pull_request", asked | number)
            for lesson in lessons:
                _write(tx, with_fate(lesson, feedback))
            return len(lessons)

        return await self._database.do(decide)

    async def _newest(self, repository_id: str, limit: int) -> list[Lesson]:
        return await self._read(lambda tx: _rows(tx, _HERE, {"repository": repository_id}, limit=limit))

    async def _read(self, call: Callable[[Transaction], list[Lesson]]) -> list[Lesson]:
        """One question. A mission goes on without lessons when they cannot be read."""
        try:
            return await self._database.do(call)
        except StoreError as error:
            logging.getLogger(__name__).warning("no lesson is recalled: %s; %s", error.message, error.advice)
            return []


def _rows(tx: Transaction, where: str, values: Mapping[str, object], *, limit: int = CANDIDATES) -> list[Lesson]:
    """`where` is always one of the literals above."""
    query = f"SELECT value FROM lesson WHERE {where} ORDER BY created_at DESC LIMIT :limit"  # noqa: S608
    return _lessons(tx.execute(query, {**values, "limit": limit}))


def _by_words(tx: Transaction, repository_id: str, words: Sequence[str]) -> list[Lesson]:
    wanted = words_of(words)
    if not wanted:
        return []
    # words_of leaves letters, digits and underscores only.
    sql, quoted, either = (_LIKE_POSTGRES, "'{}'", " | ") if tx.is_postgres else (_LIKE_SQLITE, '"{}"', " OR ")
    query = either.join(quoted.format(word) for word in wanted)
    return _lessons(tx.execute(sql, {"query": query, "repository": repository_id, "limit": CANDIDATES}))


def _lessons(rows: Iterable[Sequence[Any]]) -> list[Lesson]:
    """The rows that can be read; one written by another version is as good as forgotten."""
    found = []
    for (value,) in rows:
        with suppress(ValidationError):
            found.append(Lesson.model_validate_json(value))
    return found


def _keep(tx: Transaction, lesson: Lesson) -> None:
    tx.alone(f"lessons.{lesson.repository_id}")
    for earlier in _rows(tx, "id = :id", {"id": lesson.id}):
        if lesson.fate in {"open", "unknown"} and earlier.pull_request == lesson.pull_request:
            lesson = lesson.with_(fate=earlier.fate if earlier.fate != "unknown" else lesson.fate)
    _write(tx, lesson)


def _write(tx: Transaction, lesson: Lesson) -> None:
    row = {
        "id": lesson.id,
        "repository": lesson.repository_id,
        "fingerprint": lesson.fingerprint,
        "error": lesson.error,
        "pull_request": lesson.pull_request,
        "created_at": lesson.created_at,
        "value": lesson.model_dump_json(),
    }
    tx.execute(_WRITE, row)
    tx.execute("DELETE FROM lesson_words WHERE id = :id", {"id": lesson.id})
    words = " ".join((*lesson.keywords, *words_of((lesson.sentence,))))
    tx.execute("INSERT INTO lesson_words (id, words) VALUES (:id, :words)", {"id": lesson.id, "words": words})
