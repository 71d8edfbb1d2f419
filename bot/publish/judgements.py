"""Report sections with judgements, only where a model judged or a rule objected. Pure."""

from bot.domain.mission import Iteration
from bot.publish.before_acting import asks_for_caution, before_acting
from bot.publish.markdown import Section, bullets
from bot.publish.story import Story

_MODEL = "model"


def judgements(story: Story) -> list[Section | None]:
    """Return what was judged before and after the change; nothing that rules give to every plan."""
    iteration = story.context.current
    if iteration is None:
        return [_review(story)]
    return [_cause(story), _plan(story, iteration), _before(story, iteration), _review(story)]


def _cause(story: Story) -> Section | None:
    """Return a model's diagnosis."""
    diagnosis = story.context.diagnosis
    if diagnosis is None or diagnosis.by != _MODEL or story.fix is None:
        return None
    return bullets("Cause, by a model", [story.pen.words(diagnosis.cause)], folded=True)


def _plan(story: Story, iteration: Iteration) -> Section | None:
    critique, meta, pen = iteration.critique, iteration.meta, story.pen
    items: list[str] = []
    if critique is not None and critique.by == _MODEL:
        verdict = f"{critique.recommendation.value}, {critique.overall:.2f}"
        items.append(f"{verdict} (by {critique.by}): {pen.words(critique.rationale)}")
        items += [f"strength: {pen.words(text)}" for text in critique.strengths]
        items += [f"suggestion: {pen.words(text)}" for text in critique.suggestions]
    if critique is not None:
        items += [f"{i.severity.value}: {pen.words(i.description)}" for i in critique.issues]
    if meta is not None and meta.by == _MODEL:
        items.append(
            f"quality of our reasoning: {meta.reasoning_quality:.2f}, "
            f"confidence in it {meta.confidence_in_reasoning:.2f}"
        )
        items += [f"concern: {pen.words(text)}" for text in meta.concerns]
    return bullets("Critique of the plan", items, folded=True) if items else None


def _before(story: Story, iteration: Iteration) -> Section | None:
    """Return the confidence before acting, unless it is the rules' usual one."""
    stages = (iteration.diagnosis, iteration.plan, iteration.critique, iteration.meta)
    action = iteration.next_action
    is_judged = any(stage is not None and stage.by == _MODEL for stage in (*stages, action))
    if not is_judged and not asks_for_caution(iteration):
        return None
    items = before_acting(iteration, lambda text: story.pen.words(text, cap=300))
    return bullets("Before acting", items, folded=True) if items else None


def _review(story: Story) -> Section | None:
    """Describe a model's review of the change; a review can only reject."""
    review = story.fix[1].review if story.fix else None
    if review is None:
        return None
    score = "no score" if review.score is None else f"{review.score:.2f}"
    lead = f"{score} (by {review.by}): {story.pen.words(review.justification, cap=1000)}"
    return bullets(
        "Critique of the change",
        [lead, *(story.pen.words(text) for text in review.issues)],
        folded=True,
    )
