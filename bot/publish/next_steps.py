"""Name the one next step of a person after each outcome. Pure."""

from bot.domain.mission import Outcome
from bot.domain.request import Depth
from bot.publish.story import Story

_RERUN = "rerun the failed jobs; `/metaagent rerun` does it too"
_STEPS = {
    Outcome.FIXED: "review the change; merge or apply it if it is right",
    Outcome.PARTIAL: "use the change as a start, or fix the remaining failures by hand",
    Outcome.NOT_REPRODUCED: _RERUN,
    Outcome.FLAKY: f"{_RERUN}, and make the test independent of chance",
    Outcome.BASE_RED: "repair the base branch first; this change did not cause the failure",
    Outcome.INFRA: f"wait until the service works again, then {_RERUN}",
    Outcome.ENV_UNBUILDABLE: "provide the missing part, or set `test` in the policy",
    Outcome.NEEDS_HUMAN: "answer the question",
    Outcome.NO_FIX: "fix it by hand, from the failures and suspect places below",
    Outcome.BUDGET: "raise `limits` in the policy, or comment `/metaagent fix` later",
    Outcome.STALE: "none: the new head of the branch is looked at by itself",
    Outcome.DUPLICATE: "decide on the fix that exists; `/metaagent fix` asks for another",
    Outcome.POLICY: "change the policy if this should be allowed",
    Outcome.CANCELLED: "comment `/metaagent fix` to start again",
    Outcome.ERROR: "try again later; if it happens again, report the reference",
}
_UNHEARD = {
    Outcome.NOT_REPRODUCED: "rerun the failed jobs",
    Outcome.FLAKY: "rerun the failed jobs, and make the test independent of chance",
    Outcome.INFRA: "wait until the service works again, then rerun the failed jobs",
    Outcome.BUDGET: "raise the limits",
    Outcome.DUPLICATE: "decide on the fix that exists",
    Outcome.CANCELLED: "start again",
}
"""Steps where comments are not read: in a workflow step and in a terminal."""


def next_step(story: Story) -> str:
    """Return one line with the next step, as safe Markdown.

    The mission's own advice is more exact than the step of its outcome.
    """
    advice = story.pen.words(story.context.advice, cap=600)
    return f"**Next:** {advice or _step(story)}"


def _step(story: Story) -> str:
    is_heard = story.is_heard and story.context.request.repository is not None
    if story.outcome is Outcome.NO_FIX and story.context.request.depth is not Depth.FIX:
        return "comment `/metaagent fix` to search for a fix" if is_heard else "ask for a fix"
    if story.delivered and story.outcome in {Outcome.FIXED, Outcome.PARTIAL}:
        return "review the change; merge or apply it if it is right"
    return _STEPS[story.outcome] if is_heard else _UNHEARD.get(story.outcome, _STEPS[story.outcome])
