"""Input of a report: a finished mission, its published outcome and its headline."""

import hashlib
import re

from pydantic import Field

from bot.domain.counted import counted
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, Verification
from bot.domain.request import Depth, Trigger
from bot.publish.before_acting import asks_for_caution
from bot.publish.markdown import SafeWriter
from bot.publish.outcome_texts import TEXTS
from sandbox.gate import Needles, prepare_needles
from sandbox.types import Frozen, TestStatus

RED = frozenset({TestStatus.FAIL, TestStatus.ERROR})
RUNG_NAMES = {Rung.TOOLS: "trusted tools", Rung.SEARCH: "search", Rung.MODEL: "model"}


class Story(Frozen):
    """All data of a report. Reports are a pure function of it."""

    context: MissionContext
    outcome: Outcome
    """The published outcome; a fix can become STALE or DUPLICATE at the last moment."""
    note: str = ""
    """Reason for a changed outcome, or a failure to publish."""
    confidence: Confidence = Confidence()
    pull_request_url: str = ""
    delivered: str = ""
    """Place of the delivered change, in trusted words; empty if it is only shown."""
    choices: tuple[str, ...] = ()
    """Titles of the changes to choose from, as stored; untrusted."""
    bundle: KeptEvidence = KeptEvidence()
    """Evidence bundle for a replay."""
    is_first: bool = False
    """No fix or answer was shown in the repository before."""
    secrets: Needles = Field(default=Needles(), repr=False)

    @property
    def pen(self) -> SafeWriter:
        """Return the safe writer with this story's secrets."""
        return SafeWriter(secrets=self.secrets)

    @property
    def fix(self) -> tuple[Candidate, Verification] | None:
        """Return the change and its verification, if there is one."""
        return self.context.fix

    @property
    def is_weak(self) -> bool:
        """Return True if a run is judged by its exit status, or by results that can be forged."""
        if self.fix is None:
            return False
        red = self.context.test_results
        reports = [run.report for run in self.fix[1].runs] + ([red] if red is not None else [])
        return not reports or not all(
            report.knows_tests and not report.traits.is_forgeable for report in reports
        )

    @property
    def is_cautious(self) -> bool:
        """Return True if caution was required before acting and no person has chosen the change."""
        answer = self.context.request.answer
        chosen = answer is not None and answer.choice is not None
        iteration = self.context.current
        return iteration is not None and asks_for_caution(iteration) and not chosen

    @property
    def is_improvement(self) -> bool:
        """Return True if the mission improves code, and repairs no failure."""
        return self.context.request.improve is not None

    @property
    def is_heard(self) -> bool:
        """Return True if answers of people are read; a workflow step does not wait for them."""
        return self.context.request.trigger is not Trigger.ACTION

    @property
    def reason(self) -> str:
        """Return the reason for the outcome."""
        return self.note or self.context.reason


def build_story(
    context: MissionContext,
    *,
    confidence: Confidence | None = None,
    secrets: tuple[str, ...] = (),
    bundle: KeptEvidence | None = None,
) -> Story:
    """Build the story of a finished mission; a mission without outcome counts as ERROR."""
    return Story(
        context=context,
        outcome=context.outcome or Outcome.ERROR,
        confidence=confidence or Confidence(),
        bundle=bundle or KeptEvidence(),
        secrets=prepare_needles(secrets),
    )


def headline(story: Story) -> str:
    """Return the outcome as one trusted line, safe everywhere."""
    return f"{story.outcome.value}: {_describe_outcome(story)}"


def _describe_outcome(story: Story) -> str:
    reference = identity(story.context.error_reference or "")
    passing = count_unharmed(story)
    tests = counted(passing, "test passes", plural="tests pass")
    return TEXTS[story.outcome].headline.format(
        change=_describe_fix(story),
        use="offered at a person's request" if story.delivered else "nothing was applied",
        runs=_runs(story),
        unharmed=tests if passing else "the command passes",
        search=_describe_search(story),
        reference=f", reference {reference}" if reference else "",
    )


def _describe_search(story: Story) -> str:
    if story.is_improvement:
        return "nothing was improved"
    if story.context.request.depth is not Depth.FIX and story.context.triage is not None:
        return f"the failure was reproduced{_runs(story)}; a fix was not requested"
    return f"no fix was found; {counted(story.context.candidates_tried, 'candidate')} tried"


def _describe_fix(story: Story) -> str:
    """Describe a verified fix in numbers only: names would need escapes."""
    gone, others = count_repaired(story), count_unharmed(story)
    report = story.context.test_results
    if not gone or report is None or not report.knows_tests:
        return "the failing command passes with this change"
    if report.traits.is_findings:
        is_gone = counted(gone, "finding is", plural="findings are")
        return f"{is_gone} gone with this change"
    what = counted(gone, "failing test passes", plural="failing tests pass")
    still = f"; {counted(others, 'other still passes', plural='others still pass')}"
    return f"{what} with this change{still if others else ''}"


def count_repaired(story: Story) -> int:
    """Return the number of tests and findings that are red no longer."""
    table = story.fix[1].table if story.fix else ()
    return sum(change.before in RED and change.after not in RED for change in table)


def count_unharmed(story: Story) -> int:
    """Return the number of tests that passed before and still do, in the fullest run."""
    if story.fix is None or story.context.test_results is None:
        return 0
    passing = max((run.report.passing for run in story.fix[1].runs), key=len, default=frozenset())
    return len(passing & story.context.test_results.passing)


def winner(story: Story) -> str:
    """Return the rung and template of the change."""
    if story.fix is None:
        return "nothing"
    candidate, _ = story.fix
    # The name comes from the sandbox or a model: keep only characters that are safe everywhere.
    name = re.sub(r"[^a-z0-9_+ ]", "", candidate.template.lower())[:60].strip()
    if candidate.rung is Rung.MODEL:
        name = identity(candidate.template)
    template = f", {name}" if name else ""
    return f"rung {int(candidate.rung)} ({RUNG_NAMES[candidate.rung]}{template})"


def _runs(story: Story) -> str:
    triage = story.context.triage
    return (
        f" (red in {triage.red_runs} of {counted(triage.runs, 'run')})"
        if triage and triage.runs
        else ""
    )


def identity(text: str, *, cap: int = 80) -> str:
    """Reduce an identifier to characters that cannot end a comment, a trailer or a branch name."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._:-]", "", text))[:cap]


def marker(context: MissionContext) -> str:
    """Return the hidden line that identifies our comments and pull requests."""
    fingerprint = identity(context.fingerprint) or "none"
    return f"<!-- metaagent:mission={identity(context.mission_id)} fingerprint={fingerprint} -->"


def patch_id(diff: str) -> str:
    """Return a hash of the removed and added lines, independent of their position."""
    # Hunk headers and context change with the branch; the edit does not.
    beside = ("@@", " ", "index ", "\\")
    lines = [line for line in diff.splitlines() if not line.startswith(beside)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def patch_marker(story: Story) -> str:
    """Return the hidden line with the patch id, to identify rejected patches; empty without one."""
    return f"<!-- metaagent:patch={patch_id(story.fix[1].diff)} -->" if story.fix else ""
