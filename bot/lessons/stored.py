"""Lessons in our database, with a full-text index."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from pydantic import ValidationError

from bot.domain.lesson import Correction, Forecast, Lesson, RecalledLesson
from bot.domain.request import Feedback
from bot.errors import StoreError
from bot.lessons.calibration import learn_correction
from bot.lessons.exchange import keys_of
from bot.lessons.outcomes import next_version, with_fate
from bot.lessons.recall import rank
from bot.lessons.shared import FORKS, without_origin
from bot.lessons.terms import find_alike, forget_words, index_missing, index_words
from bot.lessons.tool_memory import template_record
from bot.lessons.words import words_of
from bot.store.database import Database, Transaction

CANDIDATES = 50
"""Lessons loaded for ranking, for each kind of query."""
KEPT = 2_000
"""Lessons kept of a repository; older ones are dropped, except those of refused fixes."""
RECORD = 500
"""Number of newest lessons in a template's record."""
POOLED = 2_000
"""Number of newest lessons of all repositories whose outcomes are pooled."""
OF_ONE = 25
"""Newest outcomes of one repository that count there."""
REFUSED = ("closed", "reverted")
"""Fates of a fix that people did not want."""

_HERE = "repository = :repository"
_REFUSED = " OR ".join(f'value LIKE \'%"fate":"{fate}"%\'' for fate in REFUSED)
_IDS = "SELECT id FROM lesson"
_SAME_ERROR = f"""
SELECT id, value FROM lesson WHERE {_HERE} AND error = :error
ORDER BY created_at DESC LIMIT :limit
"""  # noqa: S608 -- literals
_KNOWN = f"""
SELECT id, value FROM (
    SELECT id, value FROM lesson WHERE {_HERE} AND fingerprint = :fingerprint
    ORDER BY created_at DESC LIMIT :limit
) AS same_failure UNION ALL SELECT id, value FROM ({_SAME_ERROR}) AS same_error
"""  # noqa: S608 -- literals
_WRITE = """
INSERT INTO lesson (id, repository, fingerprint, error, pull_request, created_at, value)
VALUES (:id, :repository, :fingerprint, :error, :pull_request, :created_at, :value)
ON CONFLICT (id) DO UPDATE SET
    repository = excluded.repository, fingerprint = excluded.fingerprint,
    error = excluded.error, pull_request = excluded.pull_request,
    created_at = excluded.created_at, value = excluded.value
"""
_FOUND = "SELECT lesson.value FROM lesson_words JOIN lesson ON lesson.id = lesson_words.id WHERE"
_HERE_OR_ALL = "repository = coalesce(:repository, repository)"
_LIKE_SQLITE = f"""
{_FOUND} lesson_words MATCH :query AND {_HERE_OR_ALL} ORDER BY bm25(lesson_words) LIMIT :limit
"""
_LIKE_POSTGRES = f"""
{_FOUND} to_tsvector('english', words) @@ to_tsquery('english', :query) AND {_HERE_OR_ALL}
ORDER BY ts_rank(to_tsvector('english', words), to_tsquery('english', :query)) DESC LIMIT :limit
"""


class StoredLessons:
    """The lessons of all repositories; every query is limited to one, unless they are shared.

    Only ranks and their outcomes, which are numbers, are pooled over repositories.

    A failed read returns nothing; a failed write raises a StoreError.

    Args:
        database: The database of our own tables.
        shared: Templates and accepted edits of other repositories help one without its own.
    """

    def __init__(self, database: Database, *, shared: bool = False) -> None:
        self._database = database
        self._shared = shared

    async def recall(
        self,
        *,
        repository_id: str,
        fingerprint: str,
        error: str | None,
        words: Sequence[str],
        limit: int = 5,
    ) -> tuple[RecalledLesson, ...]:
        """Return lessons relevant to a failure, best first."""

        def find(tx: Transaction) -> list[Lesson]:
            asked = {
                "repository": repository_id,
                "fingerprint": fingerprint,
                "error": error,
                "limit": CANDIDATES,
            }
            values = _by_key(tx.execute(_KNOWN if fingerprint else _SAME_ERROR, asked))
            alike = find_alike(tx, repository_id, words, CANDIDATES)
            values |= _by_id(tx, [one for one in alike if one not in values])
            return _lessons((value,) for value in values.values())

        lessons = await self._read(find)
        return rank(lessons, fingerprint=fingerprint, error=error, words=words, limit=limit)

    async def template_record(
        self, *, repository_id: str, error: str | None
    ) -> dict[str, tuple[float, float]]:
        """Return, by template, how often it won and how often that was rejected later."""
        record = template_record(await self._newest(repository_id, RECORD), error=error)
        return record or template_record(await self._elsewhere(repository_id, error), error=error)

    async def refused(self, *, repository_id: str) -> tuple[Lesson, ...]:
        """Return the lessons whose fix was closed, rejected or reverted by a person."""
        found = await self._read(
            lambda tx: _rows(
                tx, f"{_HERE} AND ({_REFUSED})", {"repository": repository_id}, limit=RECORD
            )
        )
        # The pattern may also match a text inside the value.
        return tuple(one for one in found if one.fix is not None and one.fate in REFUSED)

    async def accepted(
        self, *, repository_id: str, error: str | None, limit: int = 20
    ) -> tuple[Lesson, ...]:
        """Return the newest lessons of an error whose fix people took as it was."""
        asked = {"repository": repository_id, "error": error}
        same = "error = :error" if error is not None else "error IS NULL"
        found = await self._read(lambda tx: _rows(tx, f"{_HERE} AND {same}", asked, limit=RECORD))
        own = tuple(one for one in found if one.fix is not None and one.verdict)
        if own:
            return own[:limit]
        elsewhere = await self._elsewhere(repository_id, error)
        taken = (without_origin(one) for one in elsewhere if one.fix is not None and one.verdict)
        return tuple(islice(taken, limit))

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Return all shown confidences whose outcome is known."""
        return tuple(
            Forecast(confidence=lesson.confidence, merged=lesson.verdict)
            for lesson in await self._newest(repository_id, RECORD)
            if lesson.confidence is not None and lesson.verdict is not None
        )

    async def correction(self) -> Correction:
        """Return what the newest outcomes of all repositories say about the ranks."""
        newest = await self._read(
            lambda tx: _rows(tx, "repository NOT LIKE :forks", {"forks": FORKS}, limit=POOLED)
        )
        by_repository: dict[str, list[Forecast]] = {}
        for lesson in newest:
            if lesson.rank is not None and lesson.verdict is not None:
                own = by_repository.setdefault(lesson.repository_id, [])
                own.append(Forecast(confidence=lesson.rank, merged=lesson.verdict))
        return learn_correction(own[:OF_ONE] for own in by_repository.values())

    async def newest(self, *, repository_id: str, limit: int = 5) -> tuple[Lesson, ...]:
        """Return the newest lessons, newest first."""
        return tuple(await self._newest(repository_id, limit))

    async def remember(self, lesson: Lesson) -> None:
        """Store a lesson, replacing one with the same id but keeping people's decision."""
        await self._database.do(lambda tx: _keep(tx, lesson))

    async def feed_back(self, feedback: Feedback) -> int:
        """Record a pull request's outcome; return the number of changed lessons."""

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

    async def expire(self, *, repository_id: str, before: str) -> int:
        """Mark older fixes that people never answered as ignored; return their number."""

        def mark(tx: Transaction) -> int:
            count = 0
            for key in keys_of(repository_id):
                tx.alone(f"lessons.{key}")
                asked = {"repository": key, "before": before}
                old = f'{_HERE} AND created_at < :before AND value LIKE \'%"fate":"unknown"%\''
                for lesson in _rows(tx, old, asked, limit=RECORD):
                    if lesson.fate == "unknown" and lesson.fix is not None:
                        _write(tx, next_version(lesson, lesson.with_(fate="ignored")))
                        count += 1
            return count

        return await self._database.do(mark)

    async def add(self, lessons: Sequence[Lesson]) -> int:
        """Store imported lessons, except those whose id is known; return the number of new ones."""

        def insert(tx: Transaction) -> int:
            new = [one for one in lessons if not _rows(tx, "id = :id", {"id": one.id})]
            for lesson in {one.id: one for one in new}.values():
                _write(tx, lesson)
            return len({one.id for one in new})

        return await self._database.do(insert)

    async def forget(self, *, repository_id: str) -> int:
        """Delete all lessons of a repository and of its forks; return their number."""

        def delete(tx: Transaction) -> int:
            count = 0
            for key in keys_of(repository_id):
                tx.alone(f"lessons.{key}")
                named = {"repository": key}
                forget_words(tx, key)
                tx.change(f"DELETE FROM lesson_words WHERE id IN ({_IDS} WHERE {_HERE})", named)  # noqa: S608 -- literals
                count += tx.change(f"DELETE FROM lesson WHERE {_HERE}", named)  # noqa: S608 -- literals
            return count

        return await self._database.do(delete)

    async def entries(
        self, *, repository_id: str | None = None, words: Sequence[str] = (), limit: int
    ) -> tuple[Lesson, ...]:
        """Return lessons for the operator, of one repository or of all.

        With words, return those that contain any, best match first; else the newest first.

        Raises:
            StoreError: they cannot be read.
        """

        def find(tx: Transaction) -> list[Lesson]:
            if words:
                return _by_words(tx, repository_id, words, limit=limit)
            if repository_id is None:
                return _rows(tx, "1 = 1", {}, limit=limit)
            return _rows(tx, _HERE, {"repository": repository_id}, limit=limit)

        return tuple(await self._database.do(find))

    async def find(self, lesson_id: str) -> Lesson | None:
        """Return one lesson, or None if there is none with this id.

        Raises:
            StoreError: it cannot be read.
        """
        rows = await self._database.do(lambda tx: _rows(tx, "id = :id", {"id": lesson_id}))
        return rows[0] if rows else None

    async def _elsewhere(self, repository_id: str, error: str | None) -> list[Lesson]:
        """Return the newest lessons of other repositories, if they are shared; never with forks."""
        if not self._shared or keys_of(repository_id)[0] != repository_id:
            return []
        asked = {"repository": repository_id, "forks": FORKS, "error": error}
        others = "repository <> :repository AND repository NOT LIKE :forks"
        same = "error = :error" if error is not None else "error IS NULL"
        return await self._read(lambda tx: _rows(tx, f"{others} AND {same}", asked, limit=RECORD))

    async def _newest(self, repository_id: str, limit: int) -> list[Lesson]:
        return await self._read(
            lambda tx: _rows(tx, _HERE, {"repository": repository_id}, limit=limit)
        )

    async def _read(self, call: Callable[[Transaction], list[Lesson]]) -> list[Lesson]:
        """Run a query; without readable lessons, a mission continues without them."""
        try:
            return await self._database.do(call)
        except StoreError as error:
            logging.getLogger(__name__).warning(
                "recalling lessons failed: %s; %s", error.message, error.advice
            )
            return []


def _rows(
    tx: Transaction, where: str, values: Mapping[str, object], *, limit: int = CANDIDATES
) -> list[Lesson]:
    """Return the newest lessons that match; `where` must be a literal."""
    newest = f"{where} ORDER BY created_at DESC LIMIT :limit"
    query = f"SELECT value FROM lesson WHERE {newest}"  # noqa: S608 -- literals
    return _lessons(tx.execute(query, {**values, "limit": limit}))


def _by_words(
    tx: Transaction, repository_id: str | None, words: Sequence[str], *, limit: int = CANDIDATES
) -> list[Lesson]:
    wanted = words_of(words)
    if not wanted:
        return []
    # `words_of` returns only letters, digits and underscores, so no escaping is needed.
    sql, quoted, either = (
        (_LIKE_POSTGRES, "'{}'", " | ") if tx.is_postgres else (_LIKE_SQLITE, '"{}"', " OR ")
    )
    query = either.join(quoted.format(word) for word in wanted)
    return _lessons(tx.execute(sql, {"query": query, "repository": repository_id, "limit": limit}))


def _by_id(tx: Transaction, ids: Sequence[str]) -> dict[str, str]:
    """Return the stored texts of lessons by their ids."""
    if not ids:
        return {}
    names = {f"id{number}": one for number, one in enumerate(ids)}
    gaps = ", ".join(f":{name}" for name in names)
    query = f"SELECT id, value FROM lesson WHERE id IN ({gaps})"  # noqa: S608 -- our names
    return _by_key(tx.execute(query, names))


def _by_key(rows: Iterable[Sequence[Any]]) -> dict[str, str]:
    return {row[0]: row[1] for row in rows}


def _lessons(rows: Iterable[Sequence[Any]]) -> list[Lesson]:
    """Return the readable lessons; those of another version are skipped."""
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
        lesson = next_version(earlier, lesson)
    _write(tx, lesson)
    index_missing(tx, lesson.repository_id)
    _drop_oldest(tx, lesson.repository_id)


def _drop_oldest(tx: Transaction, repository: str) -> None:
    """Delete the oldest lessons above the limit, except those of refused fixes."""
    asked: dict[str, object] = {"repository": repository}
    ((count,),) = tx.execute(f"SELECT count(*) FROM lesson WHERE {_HERE}", asked)  # noqa: S608
    if count <= KEPT:
        return
    oldest = f"{_IDS} WHERE {_HERE} AND NOT ({_REFUSED}) ORDER BY created_at, id LIMIT :most"
    for (lesson_id,) in tx.execute(oldest, {**asked, "most": count - KEPT}):
        gone = {"id": lesson_id}
        tx.change("DELETE FROM lesson_term WHERE lesson = :id", gone)
        tx.change("DELETE FROM lesson_words WHERE id = :id", gone)
        tx.change("DELETE FROM lesson WHERE id = :id", gone)


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
    named = {"id": lesson.id}
    is_known = bool(tx.execute("SELECT 1 FROM lesson WHERE id = :id", named))
    tx.execute(_WRITE, row)
    if is_known:
        # SQLite's full-text table has no index by id, so this reads all of it.
        tx.execute("DELETE FROM lesson_words WHERE id = :id", named)
    words = (*lesson.keywords, *words_of((lesson.sentence,)))
    tx.execute(
        "INSERT INTO lesson_words (id, words) VALUES (:id, :words)",
        {"id": lesson.id, "words": " ".join(words)},
    )
    index_words(tx, lesson.repository_id, lesson.id, words)
