"""Ranking of lessons for a failure: same fingerprint first, then words, by their rarity.

The weight of a word is its inverse document frequency (K. Spaerck Jones, 1972) among the lessons
that are compared. A word that all of them have distinguishes no failures.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from bot.domain.lesson import Lesson, RecalledLesson
from bot.lessons.decay import age_weights
from bot.lessons.words import paths_of, words_of

LOST_BY_AGE = 0.5
"""Share of the score of similar words that an old lesson loses at most."""
SAME_FINGERPRINT = 1.0
SAME_ERROR_AND_FILE = 0.8
WORDS_UP_TO = 0.7
WORDS_FROM, THERE_FROM = 0.6, 0.5
"""Weighted shares of common words below which a lesson is ignored, since an unrelated one misleads:
anywhere, and for the same error in the same file.
"""


def rank(
    lessons: Iterable[Lesson],
    *,
    fingerprint: str,
    error: str | None,
    words: Sequence[str],
    limit: int,
) -> tuple[RecalledLesson, ...]:
    """Return the lessons relevant to a failure, best first; ties prefer merged, then newer ones.

    Args:
        lessons: Lessons of one repository.
        fingerprint: The failure's fingerprint; empty if unknown.
        error: Its exception class or lint rule. Lessons of another error are less alike.
        words: The failure's words, phrases and paths.
        limit: Most lessons returned.
    """
    known = [(lesson, _words_of(lesson)) for lesson in lessons]
    wanted = frozenset(words_of(words))
    weights = _weights([has for _, has in known], wanted)
    shares = _shares(wanted, [has for _, has in known], weights)
    paths = paths_of(words)
    ages = age_weights([lesson for lesson, _ in known])
    found = []
    for (lesson, _), share, weight in zip(known, shares, ages, strict=True):
        there = error is not None and lesson.error == error
        there = there and bool(paths & paths_of((*lesson.files, *lesson.tests)))
        if fingerprint and lesson.fingerprint == fingerprint:
            score, reason = SAME_FINGERPRINT, "same fingerprint"
        elif there and share >= THERE_FROM:
            score, reason = SAME_ERROR_AND_FILE, "same error in the same file"
        elif share >= WORDS_FROM:
            fading = 1.0 - LOST_BY_AGE * (1.0 - weight)
            score, reason = round(WORDS_UP_TO * share * fading, 4), "similar words"
        else:
            continue
        found.append((score, share, RecalledLesson(lesson=lesson, score=score, reason=reason)))
    found.sort(
        key=lambda one: (*one[:2], _fate_rank(one[2].lesson), one[2].lesson.created_at),
        reverse=True,
    )
    return tuple(one for _, _, one in found[:limit])


def _words_of(lesson: Lesson) -> frozenset[str]:
    error = words_of((lesson.error or "",))
    return frozenset((*lesson.keywords, *words_of((lesson.sentence,)), *error))


def _weights(known: Sequence[frozenset[str]], wanted: frozenset[str]) -> Mapping[str, float]:
    counts = Counter(chain.from_iterable(known))
    # Many words are equally rare.
    by_count = [math.log((len(known) + 1) / max(1, count)) for count in range(len(known) + 1)]
    return {word: by_count[counts.get(word, 0)] for word in wanted.union(*known)}


def _shares(
    wanted: frozenset[str], known: Iterable[frozenset[str]], weights: Mapping[str, float]
) -> list[float]:
    """Return the weight of the common words of each lesson, relative to the shorter side.

    So a long traceback matches a short lesson.
    """
    asked = _sum(wanted, weights)
    shares = []
    for has in known:
        shorter = min(asked, _sum(has, weights))
        shares.append(_sum(wanted & has, weights) / shorter if shorter > 0 else 0.0)
    return shares


def _sum(words: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(map(weights.__getitem__, words))


def _fate_rank(lesson: Lesson) -> int:
    return {"merged": 2, "answered": 2, "closed": 0, "reverted": 0}.get(lesson.fate, 1)
