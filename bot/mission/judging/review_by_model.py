"""Review a verified change by a model: a low score rejects it, and no score approves anything."""

from bot.domain.diagnosis import Diagnosis
from bot.domain.mission import MissionContext
from bot.domain.model import Passage, Question
from bot.domain.patch import Candidate, Verification
from bot.domain.verdict import ChangeReview
from bot.llm import passages
from bot.llm.protocol.messages import CritiqueChange
from bot.mission.judging.criteria_by_model import answers
from bot.ports import Mind

_ISSUES = 5


async def review_by_model(
    mind: Mind,
    rules: ChangeReview,
    candidate: Candidate,
    verification: Verification,
    *,
    context: MissionContext,
    source: tuple[Passage, ...] = (),
) -> ChangeReview:
    """Return a model's review of a change; an unknown score rejects nothing.

    Args:
        mind: The models.
        rules: The neutral review.
        candidate: The candidate with its origin and its rivals.
        verification: Its diff and the results of the runs.
        context: The mission, with its diagnosis.
        source: The changed functions before the change, and their callers.

    Raises:
        ModelError: there is no usable answer.
    """
    diagnosis: Diagnosis | None = context.diagnosis
    own = tuple(criterion for criterion in verification.criteria if criterion.check is None)
    shown = "\n".join(
        (candidate.title, candidate.explanation, verification.reason, *verification.doubts)
    )
    question = Question(
        stage="review",
        prompt="critique_change",
        gaps={
            "failures": () if diagnosis is None else passages.failures(diagnosis.failures),
            "diagnosis": () if diagnosis is None else passages.diagnosis(diagnosis),
            "sources": source
            or (() if diagnosis is None else passages.sources(diagnosis.contexts)),
            "change": passages.change(verification.diff),
            "shown": Passage(label="about the change", text=shown),
            "criteria": passages.criteria(own) if own else (),
        },
    )
    said, _ = await mind.ask(question, CritiqueChange)
    return rules.with_(
        by="model",
        score=said.score,
        justification=passages.paragraph(said.justification, 1_000),
        issues=passages.lines(said.issues, _ISSUES),
        criteria=answers(own, said.updated_acceptance_criteria),
    )
