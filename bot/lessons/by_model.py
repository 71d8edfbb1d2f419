"""REFLECT with a model: adds insights to the rules' reflection on a successful mission."""

import logging

from bot.domain.lesson import Insight, Lesson, Reflection, SuggestedImprovement
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Judging, Passage, Question, Role
from bot.domain.model_error import ModelError
from bot.lessons.reflect import failures_of
from bot.lessons.words import words_of
from bot.llm import passages
from bot.llm.protocol.messages import Reflect
from bot.ports import Mind

_EACH = 5
_LESSONS = 2
_LESSON_CHARS = 200

log = logging.getLogger(__name__)


async def add_reflection(
    mind: Mind, rules: Reflection, lesson: Lesson, context: MissionContext
) -> tuple[Reflection, Lesson]:
    """Return the reflection and lesson with a model's additions, or unchanged if it has none.

    Later missions read lessons, so a model only adds to those of verified fixes.

    Args:
        mind: The models.
        rules: The reflection by rules.
        lesson: The lesson by rules.
        context: The finished mission.
    """
    fixed = lesson.outcome == Outcome.FIXED.value and context.fix is not None
    if not fixed or context.budget.is_money_spent or not _is_asked(mind, context):
        return rules, lesson
    try:
        said, _ = await mind.ask(_question(lesson, context), Reflect)
    except ModelError as error:
        log.warning(
            "model reflection failed, using rules: %s",
            error.message,
            extra={"trouble": error.trouble.value},
        )
        return rules.with_(by="fallback"), lesson
    learned = passages.lines(said.lessons_learned, _LESSONS, _LESSON_CHARS)
    reflection = rules.with_(
        by="model",
        insights=(*rules.insights, *map(_insight, said.insights[:_EACH])),
        lessons_learned=(*rules.lessons_learned, *learned),
        improvements=(*rules.improvements, *map(_improvement, said.improvements[:_EACH])),
        confidence=rules.confidence if said.confidence is None else said.confidence,
    )
    sentence = ". ".join((lesson.sentence.rstrip("."), *learned))
    return reflection, lesson.with_(
        sentence=sentence, keywords=tuple(dict.fromkeys((*lesson.keywords, *words_of(learned))))
    )


def _is_asked(mind: Mind, context: MissionContext) -> bool:
    """Return True if a model always judges, or judged in this mission because it was needed."""
    judged = any(call.role is Role.JUDGE for call in context.calls)
    return mind.judging is Judging.ALWAYS or (mind.judging is Judging.WHEN_UNSURE and judged)


def _question(lesson: Lesson, context: MissionContext) -> Question:
    verification = context.fix[1] if context.fix else None
    return Question(
        stage="reflect",
        prompt="reflect",
        gaps={
            "ended": Passage(label="outcome", text=f"{lesson.outcome}: {lesson.sentence}"),
            "failures": passages.failures(failures_of(context)),
            "diagnosis": passages.diagnosis(context.diagnosis) if context.diagnosis else (),
            "change": passages.change(verification.diff) if verification else (),
            "lessons": passages.lessons(context),
        },
    )


def _insight(said: Insight) -> Insight:
    return said.with_(
        description=passages.line(said.description),
        evidence=passages.line(said.evidence),
        impact=passages.line(said.impact),
    )


def _improvement(said: SuggestedImprovement) -> SuggestedImprovement:
    return said.with_(
        suggestion=passages.line(said.suggestion),
        expected_impact=passages.line(said.expected_impact),
    )
