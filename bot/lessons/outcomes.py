"""Merged, closed, undone or reopened: what became of what we proposed."""

from bot.domain.lesson import Lesson
from bot.domain.request import Feedback


def concerns(lesson: Lesson, feedback: Feedback) -> bool:
    """Whether a verdict is about this lesson: same repository, same pull request."""
    return lesson.repository_id == str(feedback.repository.id) and lesson.pull_request == feedback.pull_request


def with_fate(lesson: Lesson, feedback: Feedback) -> Lesson:
    """The lesson with what people decided; a revert is final."""
    if lesson.fate == "reverted":
        return lesson
    fate = feedback.fate or ("merged" if feedback.merged else "closed")
    return lesson.with_(fate="open" if fate == "reopened" else fate)
