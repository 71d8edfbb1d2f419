"""MemoryLessons: the LessonStore port in memory."""

from collections.abc import Sequence

from bot.domain.lesson import Correction, Forecast, Lesson, RecalledLesson
from bot.domain.request import Feedback
from bot.lessons.calibration import learn_correction
from bot.lessons.exchange import keys_of
from bot.lessons.outcomes import concerns, next_version, with_fate
from bot.lessons.recall import rank
from bot.lessons.tool_memory import template_record


class MemoryLessons:
    """Lessons in a dictionary, ranked by the same rules as the real store's."""

    def __init__(self, *lessons: Lesson) -> None:
        self.lessons = {lesson.id: lesson for lesson in lessons}

    async def recall(
        self,
        *,
        repository_id: str,
        fingerprint: str,
        error: str | None,
        words: Sequence[str],
        limit: int = 5,
    ) -> tuple[RecalledLesson, ...]:
        """Lessons that bear on a failure, best first."""
        return rank(
            self._of(repository_id), fingerprint=fingerprint, error=error, words=words, limit=limit
        )

    async def template_record(
        self, *, repository_id: str, error: str | None
    ) -> dict[str, tuple[float, float]]:
        """Per template: how often it won, and how often that was rejected later."""
        return template_record(self._of(repository_id), error=error)

    async def refused(self, *, repository_id: str) -> tuple[Lesson, ...]:
        """The lessons whose fix people did not want."""
        return tuple(
            lesson
            for lesson in self._of(repository_id)
            if lesson.fix is not None and lesson.fate in {"closed", "reverted"}
        )

    async def accepted(
        self, *, repository_id: str, error: str | None, limit: int = 20
    ) -> tuple[Lesson, ...]:
        """The newest lessons of an error whose fix people took."""
        found = [
            one
            for one in await self.newest(repository_id=repository_id, limit=len(self.lessons))
            if one.fix is not None and one.error == error and one.verdict
        ]
        return tuple(found[:limit])

    async def forecasts(self, *, repository_id: str) -> tuple[Forecast, ...]:
        """Every confidence shown whose fate is known."""
        return tuple(
            Forecast(confidence=lesson.confidence, merged=lesson.verdict)
            for lesson in self._of(repository_id)
            if lesson.confidence is not None and lesson.verdict is not None
        )

    async def correction(self) -> Correction:
        """Of the outcomes of all repositories but forks, at most 25 of each."""
        own: dict[str, list[Forecast]] = {}
        for one in self.lessons.values():
            if one.rank is None or one.verdict is None or one.repository_id.endswith(":fork"):
                continue
            forecast = Forecast(confidence=one.rank, merged=one.verdict)
            own.setdefault(one.repository_id, []).append(forecast)
        return learn_correction(found[-25:] for found in own.values())

    async def newest(self, *, repository_id: str, limit: int = 5) -> tuple[Lesson, ...]:
        """The lessons kept last, newest first."""
        found = sorted(self._of(repository_id), key=lambda lesson: lesson.created_at, reverse=True)
        return tuple(found[:limit])

    async def remember(self, lesson: Lesson) -> None:
        """The same id again replaces it, but never forgets what people decided."""
        earlier = self.lessons.get(lesson.id)
        if earlier is not None and lesson.fate in {"open", "unknown"} and earlier.fate != "unknown":
            lesson = lesson.with_(fate=earlier.fate)
        self.lessons[lesson.id] = next_version(earlier, lesson) if earlier else lesson

    async def feed_back(self, feedback: Feedback) -> int:
        """Record what became of a pull request."""
        touched = [lesson for lesson in self.lessons.values() if concerns(lesson, feedback)]
        for lesson in touched:
            self.lessons[lesson.id] = with_fate(lesson, feedback)
        return len(touched)

    async def expire(self, *, repository_id: str, before: str) -> int:
        """Nobody answered: what is older than this is ignored."""
        old = [
            one
            for key in keys_of(repository_id)
            for one in self._of(key)
            if one.fate == "unknown" and one.fix is not None and one.created_at < before
        ]
        for lesson in old:
            self.lessons[lesson.id] = next_version(lesson, lesson.with_(fate="ignored"))
        return len(old)

    async def forget(self, *, repository_id: str) -> int:
        """Delete the lessons of a repository and of its forks."""
        gone = [one for key in keys_of(repository_id) for one in self._of(key)]
        for lesson in gone:
            del self.lessons[lesson.id]
        return len(gone)

    def _of(self, repository_id: str) -> list[Lesson]:
        return [lesson for lesson in self.lessons.values() if lesson.repository_id == repository_id]
