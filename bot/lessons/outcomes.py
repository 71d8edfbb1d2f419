"""Outcomes of proposals: merged, closed, reverted or reopened."""

from bot.domain.lesson import Lesson
from bot.domain.request import Feedback
from sandbox.gate import clean

SAID_CHARS = 300
"""Length of a person's reason in a lesson, in characters."""


def concerns(lesson: Lesson, feedback: Feedback) -> bool:
    """Return True if feedback is about a lesson's pull request, or its mission if it had none."""
    if feedback.mission_id is not None:
        same = lesson.mission_id == feedback.mission_id
    else:
        same = lesson.pull_request == feedback.pull_request
    return same and lesson.repository_id == str(feedback.repository.id)


def with_fate(lesson: Lesson, feedback: Feedback) -> Lesson:
    """Return the lesson with people's decision and reason; a revert is final."""
    said = " ".join(clean(feedback.said, cap=SAID_CHARS).split())
    lesson = lesson.with_(said=said or lesson.said, boxes=feedback.boxes or lesson.boxes)
    if lesson.fate == "reverted":
        return lesson
    fate = feedback.fate or ("merged" if feedback.merged else "closed")
    return lesson.with_(fate="open" if fate == "reopened" else fate)
