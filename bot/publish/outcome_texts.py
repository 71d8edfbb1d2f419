"""The words of reports for each outcome: its headline and the next step of a person."""

from collections.abc import Mapping
from types import MappingProxyType

from bot.domain.mission import Outcome
from sandbox.types import Frozen


class OutcomeText(Frozen):
    """The words for one outcome."""

    headline: str
    """The result in one trusted line. `story.py` fills in the names in braces."""
    step: str
    """The next step of a person."""
    step_unheard: str = ""
    """The step where comments are not read: in a workflow step and in a terminal. Empty if it is
    the same."""


_RERUN = "rerun the failed jobs; `/metaagent rerun` does it too"

TEXTS: Mapping[Outcome, OutcomeText] = MappingProxyType(
    {
        Outcome.FIXED: OutcomeText(
            headline="{change}",
            step="review the change; merge or apply it if it is right",
        ),
        Outcome.IMPROVED: OutcomeText(
            headline="nothing was red; {unharmed} before and after this change",
            step="review the change; merge it if it is right",
        ),
        Outcome.PARTIAL: OutcomeText(
            headline="some failures are fixed and none is new, but the command still fails; {use}",
            step="use the change as a start, or fix the remaining failures by hand",
        ),
        Outcome.NOT_REPRODUCED: OutcomeText(
            headline="the check is red, but the same command passed here{runs}",
            step=_RERUN,
            step_unheard="rerun the failed jobs",
        ),
        Outcome.FLAKY: OutcomeText(
            headline="the result changes without any change to the code{runs}",
            step=f"{_RERUN}, and make the test independent of chance",
            step_unheard="rerun the failed jobs, and make the test independent of chance",
        ),
        Outcome.BASE_RED: OutcomeText(
            headline="the same tests fail on the base commit too: this change did not break them",
            step="repair the base branch first; this change did not cause the failure",
        ),
        Outcome.INFRA: OutcomeText(
            headline="this looks like an outage, not like a bug in the code",
            step=f"wait until the service works again, then {_RERUN}",
            step_unheard="wait until the service works again, then rerun the failed jobs",
        ),
        Outcome.ENV_UNBUILDABLE: OutcomeText(
            headline="the job's environment could not be rebuilt",
            step="provide the missing part, or set `test_command` in the policy",
            step_unheard="provide the missing part, or choose a command that needs less",
        ),
        Outcome.NEEDS_HUMAN: OutcomeText(
            headline="one question has to be answered by a person",
            step="answer the question",
        ),
        Outcome.NO_FIX: OutcomeText(
            headline="{search}",
            step="fix it by hand, from the failures and suspect places below",
        ),
        Outcome.BUDGET: OutcomeText(
            headline="the budget was spent before a fix was found",
            step="raise `limits` in the policy, or comment `/metaagent fix` later",
            step_unheard="raise the limits",
        ),
        Outcome.STALE: OutcomeText(
            headline="the branch changed during the mission; nothing was pushed",
            step="none: the new head of the branch is looked at by itself",
        ),
        Outcome.DUPLICATE: OutcomeText(
            headline="a fix for this failure already exists; no second one was opened",
            step="decide on the fix that exists; `/metaagent fix` asks for another",
            step_unheard="decide on the fix that exists",
        ),
        Outcome.POLICY: OutcomeText(
            headline="the repository's policy does not allow this",
            step="change the policy if this should be allowed",
        ),
        Outcome.CANCELLED: OutcomeText(
            headline="stopped on request",
            step="comment `/metaagent fix` to start again",
            step_unheard="start again",
        ),
        Outcome.ERROR: OutcomeText(
            headline="MetaAgent could not finish this{reference}",
            step="try again later; if it happens again, report the reference",
        ),
    }
)
