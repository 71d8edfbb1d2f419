"""Export and import of lessons as JSON lines; every text passes the gate on both ways."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic import ValidationError

from bot.domain.lesson import Lesson, RememberedFix
from bot.errors import UsageError
from sandbox.gate import Needles, clean, prepare_needles

MAX_LINE_CHARS = 1 << 20
"""Longest line of an import, in characters."""
MAX_LESSONS = 100_000
"""Most lessons of one import."""
TEXT_CHARS = 1000
"""Length of a text in an exchanged lesson, in characters."""

_FORK = ":fork"
_REPOSITORY = re.compile(r"local:/[^\0\n]{0,4095}|\d{1,20}(?::fork)?")
_ID = re.compile(r"[\w:./@-]{1,300}")


def keys_of(repository_id: str) -> tuple[str, str]:
    """Return the keys under which lessons of a repository and of its forks are stored."""
    own = repository_id.removesuffix(_FORK)
    return own, f"{own}{_FORK}"


def redacted(lesson: Lesson, secrets: Needles) -> Lesson:
    """Return a lesson whose texts passed the gate.

    Args:
        lesson: A lesson of any origin.
        secrets: Values to mask in addition to those that the gate recognizes.
    """
    kept = lesson.model_dump(include={"id", "mission_id", "repository_id"})
    cleaned = _cleaned(lesson.model_dump(mode="json", exclude={"fix"}), secrets)
    return Lesson.model_validate(cleaned | kept | {"fix": _redacted_fix(lesson.fix, secrets)})


def _redacted_fix(fix: RememberedFix | None, secrets: Needles) -> RememberedFix | None:
    """Return the fix with its diff as it is; None if the gate would change the diff."""
    if fix is None or not _is_unchanged(fix.diff, secrets):
        return None
    data = _cleaned(fix.model_dump(mode="json", exclude={"diff", "calls", "alike"}), secrets)
    calls = [call for call in fix.calls if _is_unchanged(call.arguments, secrets)]
    alike = [one for one in fix.alike if _is_unchanged(one.diff + one.template, secrets)]
    kept = {"diff": fix.diff, "calls": calls, "alike": alike}
    return RememberedFix.model_validate(data | kept)


def _is_unchanged(text: str, secrets: Needles) -> bool:
    """Return True if the gate masks nothing: a masked call would be another one."""
    return clean(text, cap=MAX_LINE_CHARS, secrets=secrets) == text


def to_lines(lessons: Iterable[Lesson], secrets: Needles) -> Iterator[str]:
    """Yield each lesson as one line of JSON."""
    for lesson in lessons:
        yield redacted(lesson, secrets).model_dump_json(exclude_defaults=True)


def from_lines(lines: Iterable[str], *, repository_id: str | None = None) -> tuple[Lesson, ...]:
    """Read exported lessons.

    Args:
        lines: Lines of JSON; empty ones are skipped.
        repository_id: The repository that they are for; None keeps their own.

    Raises:
        UsageError: a line is not a lesson; the message has its number.
    """
    found: list[Lesson] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if len(found) >= MAX_LESSONS:
            raise UsageError(f"more than {MAX_LESSONS} lessons", "import them in parts")
        found.append(_from_line(line, number, repository_id))
    return tuple(found)


def _from_line(line: str, number: int, repository_id: str | None) -> Lesson:
    if len(line) > MAX_LINE_CHARS:
        raise UsageError(f"line {number} is longer than {MAX_LINE_CHARS} characters")
    try:
        lesson = redacted(Lesson.model_validate_json(line), prepare_needles(()))
        datetime.fromisoformat(lesson.created_at)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the line"
        raise UsageError(f"line {number} is not a lesson: {place}: {first['msg']}") from error
    except ValueError as error:
        raise UsageError(f"line {number} has no valid time in created_at") from error
    if repository_id is not None:
        # Another id, because the lesson may also be stored for its own repository.
        name = sha256(f"{repository_id}\n{lesson.id}".encode()).hexdigest()[:16]
        lesson = lesson.with_(repository_id=repository_id, id=f"import:{name}", pull_request=None)
    if not _REPOSITORY.fullmatch(lesson.repository_id):
        raise UsageError(f"line {number} names no repository: {lesson.repository_id[:100]!a}")
    if not _ID.fullmatch(lesson.id) or not _ID.fullmatch(lesson.mission_id):
        raise UsageError(f"line {number} has an invalid id")
    return lesson


def _cleaned(value: Any, secrets: Needles) -> Any:
    """Return plain data whose texts passed the gate."""
    if isinstance(value, str):
        return " ".join(clean(value, cap=TEXT_CHARS, secrets=secrets).split())
    if isinstance(value, dict):
        return {key: _cleaned(one, secrets) for key, one in value.items()}
    if isinstance(value, list):
        return [_cleaned(one, secrets) for one in value[:TEXT_CHARS]]
    return value
