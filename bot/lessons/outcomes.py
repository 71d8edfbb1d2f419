"""Merged, closed, undone or reopened: what became of what we proposed."""

from bot.domain.lesson import Lesson
from bot.domain.request import Feedback
from sandbox.gate import clean

SAID_CHARS = 300
"""Characters of a person's reason that a lesson keeps."""


def concerns(lesson: Lesson, feedback: Feedback) -> bool:
    """Whether a verdict is about this lesson: same repository, same pull request (or mission, where there was none)."""
    if feedback.mission_id is not None:
        same = lesson.mission_id == feedback.mission_id
    else:
        same = lesson.pull_request == feedback.pull_request
    return same and lesson.repository_id == str(feedback.repository.id)


def with_fate(lesson: Lesson, feedback: Feedback) -> Lesson:
    """The lesson with what people decided and said; a revert is final, and what was said is not forgotten."""
    said = " ".join(clean(feedback.said, cap=SAID_CHARS).split())
    lesson = lesson.with_(said=said or lesson.said, boxes=feedback.boxes or lesson.boxes)
    if lesson.fate == "reverted":
        return lesson
    fate = feedback.fate or ("merged" if feedback.merged else "closed")
    return lesson.with_(fate="open" if fate == "reopened" else fate)
