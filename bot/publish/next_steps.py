"""Name the one next step of a person after each outcome. Pure."""

from bot.domain.mission import Outcome
from bot.domain.request import Depth
from bot.publish.outcome_texts import TEXTS
from bot.publish.story import Story


def next_step(story: Story) -> str:
    """Return one line with the next step, as safe Markdown.

    The mission's own advice is more exact than the step of its outcome.
    """
    advice = story.pen.words(story.context.advice, cap=600)
    return f"**Next:** {advice or step_after(story)}"


def step_after(story: Story) -> str:
    """Return the step of a story's outcome, in trusted words."""
    is_heard = story.is_heard and story.context.request.repository is not None
    if story.outcome is Outcome.NO_FIX and story.context.request.depth is not Depth.FIX:
        return "comment `/metaagent fix` to search for a fix" if is_heard else "ask for a fix"
    if story.outcome is Outcome.NO_FIX and story.is_improvement:
        return "none: nothing is red"
    if story.delivered and story.outcome is Outcome.PARTIAL:
        return TEXTS[Outcome.FIXED].step
    text = TEXTS[story.outcome]
    return text.step if is_heard else text.step_unheard or text.step
