"""Which lessons bear on a failure: same fingerprint first, then same error in the same file, then like words."""

from collections.abc import Iterable, Sequence

from bot.domain.lesson import Lesson, RecalledLesson
from bot.lessons.words import paths_of, words_of

SAME_FINGERPRINT = 1.0
SAME_ERROR_AND_FILE = 0.8
WORDS_UP_TO = 0.7
WORDS_FROM = 0.25
"""Below this share of common words nothing is recalled: a lesson that does not bear on it misleads."""


def rank(
    lessons: Iterable[Lesson], *, fingerprint: str, error: str | None, words: Sequence[str], limit: int
) -> tuple[RecalledLesson, ...]:
    """The lessons that bear on a failure, best first; among equals those people accepted, then the newest.

    Args:
        lessons: Of one repository.
        fingerprint: Of the present failure; empty when unknown.
        error: Its exception class or lint rule.
        words: Words, phrases and paths of the present failure.
        limit: How many.
    """
    paths, wanted = paths_of(words), frozenset(words_of(words))
    found = []
    for lesson in lessons:
        score, reason = _bearing(lesson, fingerprint=fingerprint, error=error, paths=paths, wanted=wanted)
        if score > 0.0:
            found.append(RecalledLesson(lesson=lesson, score=score, reason=reason))
    found.sort(key=lambda one: (one.score, _welcome(one.lesson), one.lesson.created_at), reverse=True)
    return tuple(found[:limit])


def _bearing(
    lesson: Lesson, *, fingerprint: str, error: str | None, paths: frozenset[str], wanted: frozenset[str]
) -> tuple[float, str]:
    if fingerprint and lesson.fingerprint == fingerprint:
        return SAME_FINGERPRINT, "same fingerprint"
    if error is not None and lesson.error == error and paths & paths_of((*lesson.files, *lesson.tests)):
        return SAME_ERROR_AND_FILE, "same error in the same file"
    known = frozenset(lesson.keywords) | frozenset(words_of((lesson.sentence,)))
    if not wanted or not known:
        return 0.0, ""
    # Of the shorter side, so that a long traceback still finds a short lesson.
    share = len(wanted & known) / min(len(wanted), len(known))
    return (round(WORDS_UP_TO * share, 4), "similar words") if share >= WORDS_FROM else (0.0, "")


def _welcome(lesson: Lesson) -> int:
    return {"merged": 2, "open": 1, "unknown": 1, "closed": 0, "reverted": 0}[lesson.fate]
