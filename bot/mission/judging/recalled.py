"""Recall lessons that are relevant to a red run."""

from bot.domain.lesson import RecalledLesson
from bot.domain.request import MissionRequest
from bot.errors import MetaAgentError
from bot.mission.judging.analyze import fingerprint
from bot.ports import Recall
from sandbox.types import TestReport

_WORDS = 60


async def recall_lessons(
    request: MissionRequest, report: TestReport, recall: Recall
) -> tuple[RecalledLesson, ...]:
    """Return lessons of earlier missions; none if the store fails, which never ends a mission.

    Args:
        request: The mission's request.
        report: The red run.
        recall: The lessons.
    """
    try:
        return await recall.recall(
            repository_id=request.memory_key,
            fingerprint=fingerprint(report),
            error=next((f.error for f in report.failures if f.error), None),
            words=search_words(report),
        )
    except MetaAgentError:
        return ()


def search_words(report: TestReport) -> tuple[str, ...]:
    """Return the failing tests' names and messages as search words.

    Args:
        report: The red run.
    """
    words = [
        part
        for f in report.failures
        for part in (f.name, f.file or "", f.error or "", f.error_message or "")
    ]
    return tuple(dict.fromkeys(w for w in " ".join(words).split() if w.isascii()))[:_WORDS]
