"""Report sections of an improvement: nothing was red, so there is no cause. Pure."""

from bot.domain.counted import counted
from bot.domain.patch import Rung
from bot.publish.evidence import agreement
from bot.publish.markdown import Section
from bot.publish.story import Story, count_unharmed


def reason_section(story: Story) -> Section | None:
    """Return the improvement and why behaviour should stay the same."""
    if story.fix is None:
        return None
    candidate, pen = story.fix[0], story.pen
    if candidate.rung is Rung.MODEL:
        title = pen.words(candidate.title, cap=300)
        lead = f"A model proposes to {title}. Read the change: only the tests speak for it."
    else:
        lead = f"Behaviour stays the same: {pen.words(candidate.explanation)}."
    return Section(title="Why", lead=lead)


def before_and_after_section(story: Story) -> Section | None:
    """Return the results of the tests before and after the change."""
    if story.fix is None:
        return None
    verification, passing = story.fix[1], count_unharmed(story)
    same = f"{counted(passing, 'test passes', plural='tests pass')} before and after; "
    sandboxes = len({run.sandbox for run in verification.runs})
    fresh = counted(sandboxes, "fresh sandbox", plural="fresh sandboxes")
    body = f"- {same if passing else ''}{agreement(verification)} in {fresh}"
    return Section(title="Tests before and after", body=body)


def decide_section() -> Section:
    """Describe how to take or refuse an improvement."""
    return Section(
        lead="**Your decision:** merge to take it; close it or comment `/metaagent reject REASON` "
        "to refuse it for good; after a merge, `/metaagent undo` takes it back."
    )
