"""What a report tells: one finished mission, the outcome as told, and the words for every outcome."""

import hashlib
import re
from typing import assert_never

from pydantic import Field

from bot.domain.evidence import KeptEvidence
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, Verification
from bot.domain.request import Depth, Trigger
from bot.publish.before_acting import asks_for_caution
from bot.publish.markdown import Pen
from sandbox.gate import Needles, needles_of
from sandbox.types import Frozen

RUNG_NAMES = {Rung.TOOLS: "trusted tools", Rung.SEARCH: "search", Rung.MODEL: "model"}


class Story(Frozen):
    """Everything a report needs; pure data, so the same mission always reads the same."""

    context: MissionContext
    outcome: Outcome
    """As told; a fix can turn out STALE or DUPLICATE at the last moment."""
    note: str = ""
    """Why it is told differently from how the mission ended, or what could not be published."""
    confidence: Confidence = Confidence()
    pull_request_url: str = ""
    delivered: str = ""
    """Where people have the change now, in our own words; empty when it is only shown."""
    choices: tuple[str, ...] = ()
    """The changes a person may choose from, as kept for them; foreign text."""
    bundle: KeptEvidence = KeptEvidence()
    """The file from which all this can be run again."""
    secrets: Needles = Field(default=Needles(), repr=False)

    @property
    def pen(self) -> Pen:
        """Writes this story's foreign text."""
        return Pen(secrets=self.secrets)

    @property
    def fix(self) -> tuple[Candidate, Verification] | None:
        """The change and its proof, when there is one."""
        return self.context.fix

    @property
    def is_weak(self) -> bool:
        """Whether a run behind the verdict rests on an exit status alone, not on a record of each test."""
        if self.fix is None:
            return False
        red = self.context.test_results
        reports = [run.report for run in self.fix[1].runs] + ([red] if red is not None else [])
        return not reports or not all(report.knows_tests for report in reports)

    @property
    def is_cautious(self) -> bool:
        """Return whether caution was asked for before acting, and no person has chosen the change."""
        answer = self.context.request.answer
        chosen = answer is not None and answer.choice is not None
        iteration = self.context.current
        return iteration is not None and asks_for_caution(iteration) and not chosen

    @property
    def is_heard(self) -> bool:
        """Whether we read what people answer; a step of a workflow is gone by then."""
        return self.context.request.trigger is not Trigger.ACTION

    @property
    def reason(self) -> str:
        """Why it ended so."""
        return self.note or self.context.reason


def a_story(
    context: MissionContext,
    *,
    confidence: Confidence | None = None,
    secrets: tuple[str, ...] = (),
    bundle: KeptEvidence | None = None,
) -> Story:
    """The story of a mission as it ended; one that never ended is our error."""
    return Story(
        context=context,
        outcome=context.outcome or Outcome.ERROR,
        confidence=confidence or Confidence(),
        bundle=bundle or KeptEvidence(),
        secrets=needles_of(secrets),
    )


def headline(story: Story) -> str:
    """The outcome in one line of our own words; safe everywhere."""
    return f"{story.outcome.value}: {_words(story)}"


def _words(story: Story) -> str:  # noqa: C901, PLR0911, PLR0912 - a table of all outcomes, checked for completeness by mypy
    match story.outcome:
        case Outcome.FIXED:
            return f"verified in a fresh sandbox, found by {winner(story)}"
        case Outcome.PARTIAL:
            told = "offered as a person asked" if story.delivered else "nothing was applied"
            return f"some failures are gone and none is new, but the command is still red; {told}"
        case Outcome.NOT_REPRODUCED:
            return f"the check is red, but the same command passed here{_runs(story)}"
        case Outcome.FLAKY:
            return f"the failure comes and goes without any change{_runs(story)}"
        case Outcome.BASE_RED:
            return "the same tests fail on the base commit too: this change did not break them"
        case Outcome.INFRA:
            return "this looks like an outage, not like a bug in the code"
        case Outcome.ENV_UNBUILDABLE:
            return "the job's environment could not be rebuilt"
        case Outcome.NEEDS_HUMAN:
            return "one question has to be answered by a person"
        case Outcome.NO_FIX:
            if story.context.request.depth is not Depth.FIX and story.context.triage is not None:
                return f"the failure was reproduced{_runs(story)}; no fix was looked for, as asked"
            tried = story.context.candidates_tried
            return f"no fix was found; {tried} {'candidate was' if tried == 1 else 'candidates were'} tried"
        case Outcome.BUDGET:
            return "the budget was spent before a fix was found"
        case Outcome.STALE:
            return "the branch moved while we worked; nothing was pushed"
        case Outcome.DUPLICATE:
            return "a live fix for this failure exists already; no second one was opened"
        case Outcome.POLICY:
            return "this is not allowed here"
        case Outcome.CANCELLED:
            return "stopped on request"
        case Outcome.ERROR:
            reference = story.context.error_reference
            return "MetaAgent could not finish this" + (f", reference {identity(reference)}" if reference else "")
        case _:
            assert_never(story.outcome)


def winner(story: Story) -> str:
    """Which rung and template made the change."""
    if story.fix is None:
        return "nothing"
    candidate, _ = story.fix
    # The name comes out of the sandbox, or is that of a model: reduced to what is safe in every place.
    name = re.sub(r"[^a-z0-9_+ ]", "", candidate.template.lower())[:60].strip()
    if candidate.rung is Rung.MODEL:
        name = identity(candidate.template)
    template = f", {name}" if name else ""
    return f"rung {int(candidate.rung)} ({RUNG_NAMES[candidate.rung]}{template})"


def _runs(story: Story) -> str:
    triage = story.context.triage
    return f" (red in {triage.red_runs} of {triage.runs} runs)" if triage and triage.runs else ""


def identity(text: str, *, cap: int = 80) -> str:
    """An identifier of ours, reduced to what cannot end a comment, a trailer or a branch name."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._:-]", "", text))[:cap]


def marker(context: MissionContext) -> str:
    """The hidden line by which everything we wrote is found again."""
    fingerprint = identity(context.fingerprint) or "none"
    return f"<!-- metaagent:mission={identity(context.mission_id)} fingerprint={fingerprint} -->"


def patch_id(diff: str) -> str:
    """Names a change: what is taken away and what comes instead, wherever in its files that stands by now."""
    beside = ("@@", " ", "index ", "\\")
    lines = [line for line in diff.splitlines() if not line.startswith(beside)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def patch_marker(story: Story) -> str:
    """The hidden line that names the very patch, so that one a person refused is known again; empty without one."""
    return f"<!-- metaagent:patch={patch_id(story.fix[1].diff)} -->" if story.fix else ""
