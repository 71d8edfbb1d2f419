"""metaagent lessons: list, search, show, export, import and forget stored lessons."""

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.counted import counted
from bot.domain.lesson import Lesson
from bot.errors import StoreError, UsageError
from bot.lessons.exchange import MAX_LESSONS, from_lines, redacted, to_lines
from bot.lessons.stored import StoredLessons
from bot.lessons.words import words_of
from bot.publish.markdown import SafeWriter
from bot.settings import Settings
from bot.store.opening import open_database
from bot.store.reading import CHECK, files_of
from sandbox.gate import prepare_needles

STREAM = "-"
MOST_LISTED = 1000


@dataclass(frozen=True)
class LessonsOrder:
    """The options of `metaagent lessons`."""

    action: str
    words: tuple[str, ...] = ()
    repository: str | None = None
    limit: int = 20


@dataclass(frozen=True)
class LessonsResult:
    """A text for people, and an object for programs."""

    text: str
    json_object: Any
    found: bool = True


def run_lessons(order: LessonsOrder, settings: Settings) -> LessonsResult:
    """Run one action on the stored lessons.

    Raises:
        UsageError: an argument is missing or invalid.
        StoreError: there is no database here, or it cannot be used.
    """
    _check_words(order)
    repository = _repository_key(order.repository)
    files = files_of(settings.engine_url)
    is_new = files and not any(path.is_file() for path in files)
    if is_new and order.action != "import":
        raise StoreError(f"no database in {files[0].parent}", CHECK)
    with closing(open_database(settings.engine_url, settings.data_dir)) as database:
        store = StoredLessons(database)
        return asyncio.run(_ACTIONS[order.action](store, order, repository, settings))


def _check_words(order: LessonsOrder) -> None:
    least, most, what = {
        "list": (0, 0, "no words"),
        "search": (1, 100, "the words to search"),
        "show": (1, 1, "the id of a lesson"),
        "export": (0, 1, "the file to write, or nothing for standard output"),
        "import": (1, 1, "the file to read, or - for standard input"),
        "forget": (0, 0, "no words"),
    }[order.action]
    if not least <= len(order.words) <= most:
        raise UsageError(f"lessons {order.action} takes {what}")
    if not 1 <= order.limit <= MOST_LISTED:
        raise UsageError(f"--limit must be between 1 and {MOST_LISTED}")
    if order.action == "search" and not words_of(order.words):
        raise UsageError("these words are too common or too short to search")
    if order.action == "forget" and order.repository is None:
        raise UsageError("lessons forget needs --repository", "give a folder or a repository's id")


def _repository_key(text: str | None) -> str | None:
    """Return the key under which a repository's lessons are stored."""
    if text is None or text.removesuffix(":fork").isdigit():
        return text
    # A deleted folder may still have lessons.
    return f"local:{Path(text.removeprefix('local:')).resolve()}"


async def _list(
    store: StoredLessons, order: LessonsOrder, repository: str | None, settings: Settings
) -> LessonsResult:
    found = await store.entries(
        repository_id=repository, words=tuple(order.words), limit=order.limit
    )
    secrets = prepare_needles(settings.secrets)
    shown = [redacted(lesson, secrets) for lesson in found]
    text = "\n".join(_line(lesson) for lesson in shown) or "no lessons"
    return LessonsResult(text, [one.model_dump(mode="json") for one in shown], found=bool(shown))


async def _show(
    store: StoredLessons, order: LessonsOrder, _: str | None, settings: Settings
) -> LessonsResult:
    lesson = await store.find(order.words[0])
    if lesson is None:
        raise UsageError(
            f"no lesson has the id {order.words[0]}", "`metaagent lessons list` shows the ids"
        )
    shown = redacted(lesson, prepare_needles(settings.secrets))
    return LessonsResult("\n".join(_details(shown)), shown.model_dump(mode="json"))


async def _export(
    store: StoredLessons, order: LessonsOrder, repository: str | None, settings: Settings
) -> LessonsResult:
    found = await store.entries(repository_id=repository, limit=MAX_LESSONS)
    lines = [f"{line}\n" for line in to_lines(reversed(found), prepare_needles(settings.secrets))]
    if not order.words or order.words[0] == STREAM:
        return LessonsResult("".join(lines), {"lessons": [json.loads(line) for line in lines]})
    target = order.words[0]
    try:
        # Lessons name files and tests of private repositories.
        descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(lines)
    except OSError as error:
        raise UsageError(f"{target} cannot be written ({error.strerror})") from error
    return LessonsResult(f"{target}: {counted(len(lines), 'lesson')}", {"exported": len(lines)})


async def _import(
    store: StoredLessons, order: LessonsOrder, repository: str | None, _: Settings
) -> LessonsResult:
    lessons = await asyncio.to_thread(_read, order.words[0], repository)
    added = await store.add(lessons)
    known = len(lessons) - added
    text = f"{counted(added, 'lesson')} imported, {known} already known"
    return LessonsResult(text, {"imported": added, "known": known})


def _read(source: str, repository: str | None) -> tuple[Lesson, ...]:
    try:
        if source == STREAM:
            return from_lines(sys.stdin, repository_id=repository)
        with Path(source).open(encoding="utf-8") as file:
            return from_lines(file, repository_id=repository)
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8 text") from error
    except OSError as error:
        raise UsageError(f"{source} cannot be read ({error.strerror})") from error


async def _forget(
    store: StoredLessons, _: LessonsOrder, repository: str | None, __: Settings
) -> LessonsResult:
    count = await store.forget(repository_id=repository or "")
    return LessonsResult(f"{counted(count, 'lesson')} forgotten", {"forgotten": count})


_ACTIONS = {
    "list": _list,
    "search": _list,
    "show": _show,
    "export": _export,
    "import": _import,
    "forget": _forget,
}


def _line(lesson: Lesson) -> str:
    pen = SafeWriter()
    fate = f", {lesson.fate}" if lesson.fate != "unknown" else ""
    return (
        f"{lesson.created_at[:10]}  {pen.line(lesson.id)}  {lesson.outcome}{fate}\n"
        f"    {pen.line(lesson.sentence)}"
    )


def _details(lesson: Lesson) -> Iterable[str]:
    pen = SafeWriter()
    yield _line(lesson)
    rows = {
        "repository": lesson.repository_id,
        "fingerprint": lesson.fingerprint,
        "error": lesson.error or "",
        "tests": ", ".join(lesson.tests),
        "files": ", ".join(lesson.files),
        "template": lesson.template or "",
        "pull request": f"#{lesson.pull_request}" if lesson.pull_request else "",
        "version": str(lesson.version) if lesson.version > 1 else "",
        "handed over by": lesson.way or "",
        "reason": lesson.said,
    }
    yield from (f"    {name}: {pen.line(value)}" for name, value in rows.items() if value)
    if lesson.reflection is None:
        return
    review = lesson.reflection
    yield f"    review: confidence {review.confidence:.2f}, by {review.by}, {review.seconds:.1f} s"
    for step in review.steps:
        took = f", {step.seconds:.1f} s" if step.seconds is not None else ""
        yield f"    {pen.line(step.name)}: {pen.line(step.result)}{took}"
    for insight in lesson.reflection.insights:
        yield f"    {insight.category}: {pen.line(insight.description)}"
    for one in lesson.reflection.improvements:
        effect = f" ({pen.line(one.expected_impact)})" if one.expected_impact else ""
        yield f"    improve {one.area}, {one.priority}: {pen.line(one.suggestion)}{effect}"
