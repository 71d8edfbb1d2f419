"""Recalled lessons in words: what happened then, and the work that a recalled fix saved. Pure."""

from collections.abc import Iterator

from bot.domain.counted import counted
from bot.domain.lesson import RecalledLesson
from bot.publish.markdown import Section
from bot.publish.story import Story

_MOST = 2
_DAY = len("2026-01-02")
_FATES = {"merged": "merged", "closed": "closed unmerged", "reverted": "merged and reverted"}
_LIKENESS = {
    "same fingerprint": "the same failure",
    "same edit": "the same mistake at another place",
}


def recalled_section(story: Story) -> Section | None:
    """Return the most relevant lessons in a paragraph; None without any."""
    lessons = sorted(story.context.lessons, key=lambda one: -one.score)[:_MOST]
    text = "; ".join(_describe_lesson(story, lesson) for lesson in lessons)
    return Section(lead=f"**Recalled from earlier missions:** {text}") if text else None


def _describe_lesson(story: Story, recalled: RecalledLesson) -> str:
    """Return day, failure, change and fate of an earlier mission; its sentence may be cut."""
    pen, lesson = story.pen, recalled.lesson
    failure = _LIKENESS.get(recalled.reason, "a similar failure")
    text = f"{pen.prose(lesson.created_at[:_DAY])}: {failure} ended {pen.code(lesson.outcome)}"
    if lesson.template and lesson.files:
        text += f" by {pen.code(lesson.template)} in {pen.code(lesson.files[0])}"
    if lesson.fate in _FATES:
        number = f"#{lesson.pull_request} " if lesson.pull_request else ""
        text += f" ({number}{_FATES[lesson.fate]})"
    return f"{text}{_use(story, recalled)}"


def recalled_lessons(story: Story) -> Iterator[tuple[str, str]]:
    """Yield the sentence of each recalled lesson and the reason for recalling it."""
    for recalled in story.context.lessons:
        yield recalled.lesson.sentence, f"{recalled.reason}{_use(story, recalled)}"


def _use(story: Story, recalled: RecalledLesson) -> str:
    """Return how this mission used the fix of a lesson; empty if it did not."""
    fix = recalled.lesson.fix
    tried = [i.candidate for i in story.context.iterations if i.candidate]
    if fix is None or all(one.recalled_from != recalled.lesson.id for one in tried):
        return ""
    if story.fix is None or story.fix[0].recalled_from != recalled.lesson.id:
        return "; its fix was tried first and did not hold"
    candidates = counted(fix.candidates, "candidate")
    if recalled.reason == "same edit":
        search = f"{candidates}, {fix.seconds:.1f} s"
        return f"; its edit was tried here first, the search took {search} then"
    return f"; its fix was tried first and saved a search of {candidates}, {fix.seconds:.1f} s"
