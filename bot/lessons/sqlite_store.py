"""Lessons in one SQLite file: full-text search by FTS5, write-ahead log, safe from several threads and processes."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from bot.domain.lesson import Forecast, Lesson, RecalledLesson
from bot.domain.request import Feedback
from bot.errors import StoreError
from bot.lessons.outcomes import with_fate
from bot.lessons.recall import rank
from bot.lessons.tool_memory import template_record
from bot.lessons.words import words_of

Answer = TypeVar("Answer")

BUSY_S = 30.0
CANDIDATES = 50
"""Lessons the database hands over for ranking, per way of finding them."""
RECORD = 500
"""The newest lessons that make up a template's record."""

_SCHEMA = """
create table if not exists lesson (
    id text primary key,
    repository text not null,
    fingerprint text not null,
    error text,
    pull_request integer,
    created_at text not null,
    value text not null
) strict;
create index if not exists lesson_by_fingerprint on lesson (repository, fingerprint);
create index if not exists lesson_by_error on lesson (repository, error);
create index if not exists lesson_by_pull_request on lesson (repository, pull_request);
create virtual table if not exists lesson_words using fts5 (id unindexed, words, tokenize = 'porter unicode61');
"""


class SqliteLessons:
    """The lessons of all repositories in one file; every question names one repository and sees no other.

    A connection lives for one call, so that threads, processes and event loops never share one. Reading never fails,
    it recalls nothing; writing raises a StoreError.

    Args:
        path: The database's file; made with its folder when it is not there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    async def recall(
        self, *, repository_id: str, fingerprint: str, error: str | None, words: Sequence[str], limit: int = 5
    ) -> tuple[RecalledLesson, ...]:
        """Lessons that bear on a failure, best first."""

        def find(database: sqlite3.Connection) -> list[Lesson]:
            found = [
                *_rows(database, "repository = ? and fingerprint = ?", (repository_id, fingerprint)),
                *_rows(database, "repository = ? and error = ?", (repository_id, error)),
                *_by_words(database, repository_id, words),
            ]
            return list({lesson.id: lesson for lesson in found}.values())

        lessons = await self._read(find)
        return rank(lessons, fingerprint=fingerprint, error=error, words=words, limit=limit)

    async def template_record(self, *, repository_id: str, error: str | None) -> dict[str, tuple[int, int]]:
        """Per template: how often it won, and how often that was rejected later."""
        lessons = await self._read(lambda database: _rows(database, "repository = ?", (repository_id,), limit=RECORD))
        return template_record(lessons, error=error)

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Every confidence shown whose fate is known."""
        lessons = await self._read(lambda database: _rows(database, "repository = ?", (repository_id,), limit=RECORD))
        return tuple(
            Forecast(confidence=lesson.confidence, merged=lesson.fate == "merged")
            for lesson in lessons
            if lesson.confidence is not None and lesson.fate in {"merged", "closed", "reverted"}
        )

    async def newest(self, *, repository_id: str, limit: int = 5) -> tuple[Lesson, ...]:
        """The lessons kept last, newest first."""
        lessons = await self._read(lambda database: _rows(database, "repository = ?", (repository_id,), limit=limit))
        return tuple(lessons)

    async def remember(self, lesson: Lesson) -> None:
        """Keep a lesson; the same id again replaces it, but never forgets what people decided."""
        await self._write(lambda database: _keep(database, lesson))

    async def feed_back(self, feedback: Feedback) -> int:
        """Record what became of a pull request; how many lessons that touched."""

        def decide(database: sqlite3.Connection) -> int:
            where, who = "repository = ? and pull_request = ?", (str(feedback.repository.id), feedback.pull_request)
            lessons = _rows(database, where, who)
            for lesson in lessons:
                _write(database, with_fate(lesson, feedback))
            return len(lessons)

        return await self._write(decide)

    async def _read(self, call: Callable[[sqlite3.Connection], list[Lesson]]) -> list[Lesson]:
        """One question, off the event loop. A mission goes on without lessons when they cannot be read."""
        try:
            return await asyncio.to_thread(self._do, call, "begin")
        except StoreError as error:
            logging.getLogger(__name__).warning("%s; %s", error.message, error.advice)
            return []

    async def _write(self, call: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """One call in one writing transaction, off the event loop."""
        return await asyncio.to_thread(self._do, call, "begin immediate")

    def _do(self, call: Callable[[sqlite3.Connection], Answer], begin: str) -> Answer:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=BUSY_S, isolation_level=None)) as database:
                _prepare(database)
                database.execute(begin)
                answer = call(database)
                database.execute("commit")  # without it, closing rolls back
                return answer
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"the lessons store cannot be used ({error})", f"look at {self._path}") from error


def _prepare(database: sqlite3.Connection) -> None:
    """Make the tables when they are not there yet."""
    if database.execute("select 1 from sqlite_master where name = 'lesson_words'").fetchone() is not None:
        return
    database.execute("pragma journal_mode = wal")
    database.executescript(_SCHEMA)


def _rows(
    database: sqlite3.Connection, where: str, values: tuple[str | int | None, ...], *, limit: int = CANDIDATES
) -> list[Lesson]:
    """`where` is always one of the literals above."""
    query = f"select value from lesson where {where} order by created_at desc limit ?"  # noqa: S608
    return _lessons(database.execute(query, (*values, limit)))


def _by_words(database: sqlite3.Connection, repository_id: str, words: Sequence[str]) -> list[Lesson]:
    wanted = words_of(words)
    if not wanted:
        return []
    query = " OR ".join(f'"{word}"' for word in wanted)  # words_of leaves letters, digits and underscores only
    rows = database.execute(
        "select lesson.value from lesson_words join lesson on lesson.id = lesson_words.id"
        " where lesson_words match ? and lesson.repository = ? order by bm25(lesson_words) limit ?",
        (query, repository_id, CANDIDATES),
    )
    return _lessons(rows)


def _lessons(rows: Iterable[tuple[str]]) -> list[Lesson]:
    """The rows that can be read; one written by another version is as good as forgotten."""
    found = []
    for (value,) in rows:
        with suppress(ValidationError):
            found.append(Lesson.model_validate_json(value))
    return found


def _keep(database: sqlite3.Connection, lesson: Lesson) -> None:
    for earlier in _rows(database, "id = ?", (lesson.id,)):
        if lesson.fate in {"open", "unknown"} and earlier.pull_request == lesson.pull_request:
            lesson = lesson.with_(fate=earlier.fate if earlier.fate != "unknown" else lesson.fate)
    _write(database, lesson)


def _write(database: sqlite3.Connection, lesson: Lesson) -> None:
    database.execute(
        "insert or replace into lesson (id, repository, fingerprint, error, pull_request, created_at, value)"
        " values (?, ?, ?, ?, ?, ?, ?)",
        (
            lesson.id,
            lesson.repository_id,
            lesson.fingerprint,
            lesson.error,
            lesson.pull_request,
            lesson.created_at,
            lesson.model_dump_json(),
        ),
    )
    database.execute("delete from lesson_words where id = ?", (lesson.id,))
    words = " ".join((*lesson.keywords, *words_of((lesson.sentence,))))
    database.execute("insert into lesson_words (id, words) values (?, ?)", (lesson.id, words))
