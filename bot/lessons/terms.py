"""The words of lessons by repository, and the lessons that share most of a failure's words."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from bot.lessons.words import words_of
from bot.store.database import Transaction

MOST_MISSING = 500
"""Earlier lessons whose words are added with a new one."""
MOST_ROWS = 20_000
"""Rows read for one failure; a repository with more has thousands of alike lessons."""

_ADD = """
INSERT INTO lesson_term (repository, word, lesson) VALUES (:repository, :word, :lesson)
ON CONFLICT DO NOTHING
"""
_MISSING = """
SELECT lesson.id, lesson_words.words FROM lesson JOIN lesson_words ON lesson_words.id = lesson.id
WHERE lesson.repository = :repository AND NOT EXISTS
    (SELECT 1 FROM lesson_term WHERE lesson_term.lesson = lesson.id)
LIMIT :limit
"""


def index_words(tx: Transaction, repository: str, lesson_id: str, words: Iterable[str]) -> None:
    """Replace the words of a lesson.

    Args:
        tx: The transaction that writes the lesson.
        repository: The lesson's repository.
        lesson_id: Its id.
        words: Its search words.
    """
    tx.execute("DELETE FROM lesson_term WHERE lesson = :lesson", {"lesson": lesson_id})
    # The empty word marks a lesson without any as indexed.
    rows = [
        {"repository": repository, "word": word, "lesson": lesson_id}
        for word in dict.fromkeys(("", *words))
    ]
    tx.execute(_ADD, rows)


def index_missing(tx: Transaction, repository: str) -> None:
    """Add the words of lessons that an earlier version wrote.

    Args:
        tx: A transaction that may write.
        repository: The repository.
    """
    asked = {"repository": repository, "limit": MOST_MISSING}
    for lesson_id, words in tx.execute(_MISSING, asked):
        index_words(tx, repository, lesson_id, words.split())


def forget_words(tx: Transaction, repository: str) -> None:
    """Delete the words of all lessons of a repository.

    Args:
        tx: The transaction that deletes them.
        repository: The repository.
    """
    tx.execute("DELETE FROM lesson_term WHERE repository = :repository", {"repository": repository})


def find_alike(
    tx: Transaction, repository: str, words: Sequence[str], limit: int
) -> tuple[str, ...]:
    """Return the ids of the lessons with the most weight of common words, best first.

    A word's weight is its inverse document frequency among the lessons with any of the words.

    Args:
        tx: A transaction.
        repository: The repository.
        words: The failure's words.
        limit: Most ids returned.
    """
    wanted = words_of(words)
    if not wanted:
        return ()
    names = {f"w{number}": word for number, word in enumerate(wanted)}
    gaps = ", ".join(f":{name}" for name in names)
    query = (
        "SELECT word, lesson FROM lesson_term "  # noqa: S608 -- literals and our names
        f"WHERE repository = :repository AND word IN ({gaps}) LIMIT :rows"
    )
    rows = tx.execute(query, {**names, "repository": repository, "rows": MOST_ROWS})
    counts = Counter(word for word, _ in rows)
    total = len({lesson for _, lesson in rows})
    weights: defaultdict[str, float] = defaultdict(float)
    for word, lesson in rows:
        weights[lesson] += math.log((total + 1) / counts[word])
    return tuple(sorted(weights, key=lambda one: (-weights[one], one))[:limit])
