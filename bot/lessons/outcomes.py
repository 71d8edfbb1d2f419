"""Outcomes of proposals: merged, edited, closed, reverted, reopened, ignored or answered."""

from bot.domain.lesson import Lesson
from bot.domain.request import Feedback
from sandbox.gate import clean

UNDECIDED = frozenset({"open", "unknown", "ignored", "answered"})
"""Fates of a fix that people neither took nor refused."""
DIFF_CHARS = 64_000
"""Longest diff kept in a lesson, in characters."""
SAID_CHARS = 300
"""Length of a person's reason in a lesson, in characters."""

_WEAK = frozenset({"ignored", "answered"})


def concerns(lesson: Lesson, feedback: Feedback) -> bool:
    """Return True if feedback is about a lesson's pull request, or its mission if it had none."""
    if feedback.mission_id is not None:
        same = lesson.mission_id == feedback.mission_id
    else:
        same = lesson.pull_request == feedback.pull_request
    return same and lesson.repository_id == str(feedback.repository.id)


def with_fate(lesson: Lesson, feedback: Feedback) -> Lesson:
    """Return the lesson with people's decision and reason, as its next version.

    A revert is final. Silence and an answer count only while nothing else is known.
    """
    return next_version(lesson, _decided(lesson, feedback))


def next_version(earlier: Lesson, lesson: Lesson) -> Lesson:
    """Return a lesson with the version after an earlier one, or the same if nothing changed."""
    lesson = lesson.with_(version=earlier.version)
    return lesson if lesson == earlier else lesson.with_(version=earlier.version + 1)


def _decided(lesson: Lesson, feedback: Feedback) -> Lesson:
    said = " ".join(clean(feedback.said, cap=SAID_CHARS).split())
    lesson = lesson.with_(said=said or lesson.said, boxes=feedback.boxes or lesson.boxes)
    fate = feedback.fate or ("merged" if feedback.merged else "closed")
    if lesson.fate == "reverted" or (fate in _WEAK and lesson.fate not in UNDECIDED):
        return lesson
    if fate == "reopened":
        return lesson.with_(fate="open")
    if fate == "answered" and said:
        tests = ", ".join(lesson.tests[:3]) or "this failure"
        lesson = lesson.with_(sentence=f"a person answered for {tests}: {said}")
    return _with_change_taken(lesson, feedback).with_(fate=fate)


def _with_change_taken(lesson: Lesson, feedback: Feedback) -> Lesson:
    """Return the lesson with the change that people took instead of ours."""
    taken, difference = feedback.taken, feedback.difference
    if not difference:
        return lesson
    lesson = lesson.with_(difference=clean(difference, cap=DIFF_CHARS))
    # A diff that the gate changes contains a secret, or would no longer apply.
    usable = taken and len(taken) <= DIFF_CHARS and clean(taken, cap=DIFF_CHARS) == taken
    if lesson.fix is None or not usable:
        return lesson.with_(fix=None)
    return lesson.with_(fix=lesson.fix.with_(diff=taken, calls=(), alike=(), score=1.0))
