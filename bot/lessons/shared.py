"""Lessons of one repository for another one, if the operator shares them: edits without texts."""

from hashlib import sha256

from bot.domain.lesson import SHARED, Lesson

FORKS = "%:fork"
"""Keys of forks, whose lessons are never shared: anyone can write them."""
SENTENCE = "people accepted this edit in another repository"


def without_origin(lesson: Lesson) -> Lesson:
    """Return an accepted fix without names of its repository, tests, files and people.

    Its small edits stay, which are all that another repository tries.

    Args:
        lesson: A lesson of another repository.
    """
    name = f"shared:{sha256(lesson.id.encode()).hexdigest()[:12]}"
    return Lesson(
        id=name,
        mission_id=name,
        created_at=lesson.created_at,
        repository_id=SHARED,
        fingerprint="",
        outcome=lesson.outcome,
        error=lesson.error,
        rung=lesson.rung,
        template=lesson.template,
        sentence=SENTENCE,
        fate=lesson.fate,
        fix=lesson.fix.with_(title="", warnings=(), calls=()) if lesson.fix else None,
    )
