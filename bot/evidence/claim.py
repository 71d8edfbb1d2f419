"""From a finished mission to its claim. Pure."""

from bot.domain.evidence import Claim, ClaimedFix, ClaimedPlace, ClaimedRun, EvidenceBundle
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Verification
from bot.mission.reports import outcomes_of
from bot.publish.evidence import evidence
from bot.publish.markdown import Pen
from bot.publish.story import Story
from sandbox.types import TestReport, WorkspaceFacts

_SENTENCE = 2000
"""Characters of a sentence in a claim."""
NOTES = (
    "regular files only: symbolic links and submodules of the commit are left out",
    "one commit: the history and the base commit are left out",
)
"""What every bundle leaves out."""


def claim_of(context: MissionContext) -> Claim | None:
    """What a mission saw and says; None when it never ran anything, so that there is nothing to run again.

    Args:
        context: The finished mission.
    """
    facts, triage = context.facts, context.triage
    red = context.test_results or (triage.report if triage else None)
    if facts is None or red is None:
        return None
    per_test = triage.per_test_reds if triage else {}
    runs = triage.runs if triage else 1
    return Claim(
        mission_id=context.mission_id,
        outcome=(context.outcome or Outcome.ERROR).value,
        reason=context.reason,
        created_at=context.created_at,
        head_sha=facts.head_sha or context.request.head_sha,
        base_sha=facts.base_sha,
        tier=context.request.tier,
        place=place_of(facts),
        recipe=facts.recipe,
        red=run_of("unpatched", red),
        runs=runs,
        red_runs=triage.red_runs if triage else int(not red.success),
        unsteady=tuple(sorted(name for name, reds in per_test.items() if reds < runs)),
        triage=triage.with_(report=None) if triage else None,
        criteria=context.acceptance_criteria,
        fix=_fix(context),
    )


def bundle_of(story: Story, checkout: bytes) -> EvidenceBundle | None:
    """The bundle of a finished mission; None when there is nothing to run again.

    Args:
        story: The finished mission, as it will be told.
        checkout: Tar archive of the failing commit.
    """
    claim = claim_of(story.context)
    if claim is None:
        return None
    diff = story.fix[1].diff if story.fix else ""
    claim = _gated(claim, story.pen)
    return EvidenceBundle(claim=claim, evidence=evidence(story), checkout=checkout, diff=diff, notes=NOTES)


def _gated(claim: Claim, pen: Pen) -> Claim:
    """The claim with its sentences gated; names, commands and the fix stay as they are, for they run again."""
    triage, fix = claim.triage, claim.fix
    if triage is not None:
        triage = triage.with_(
            reason=pen.line(triage.reason, cap=_SENTENCE), notes=tuple(pen.line(n, cap=_SENTENCE) for n in triage.notes)
        )
    if fix is not None:
        fix = fix.with_(title=pen.line(fix.title, cap=_SENTENCE), reason=pen.line(fix.reason, cap=_SENTENCE))
    return claim.with_(reason=pen.line(claim.reason, cap=_SENTENCE), triage=triage, fix=fix)


def place_of(facts: WorkspaceFacts) -> ClaimedPlace:
    """What runs stood on.

    Args:
        facts: Of a workspace.
    """
    return ClaimedPlace(
        backend=facts.backend,
        image=facts.image,
        image_digest=facts.image_digest,
        environment_key=facts.environment_key,
        interpreter=facts.interpreter,
        lock_hash=facts.lock_hash,
    )


def run_of(label: str, report: TestReport) -> ClaimedRun:
    """A run without its texts.

    Args:
        label: Which run it is.
        report: What it showed.
    """
    return ClaimedRun(
        label=label,
        verdict=report.verdict,
        exit_code=report.exit_code,
        runner=report.runner,
        outcomes=outcomes_of(report),
        seconds=round(report.duration_s, 3),
    )


def runs_of(verification: Verification) -> tuple[ClaimedRun, ...]:
    """The runs behind a verdict, each under a name of its own.

    Args:
        verification: What the fresh sandboxes showed.
    """
    return tuple(run_of(f"{r.label}, sandbox {r.sandbox}, seed {r.seed}", r.report) for r in verification.runs)


def control_of(verification: Verification) -> ClaimedRun | None:
    """The run without the change, when one was made.

    Args:
        verification: What the fresh sandboxes showed.
    """
    return None if verification.control is None else run_of("without the change", verification.control)


def _fix(context: MissionContext) -> ClaimedFix | None:
    if context.fix is None:
        return None
    candidate, verification = context.fix
    return ClaimedFix(
        rung=int(candidate.rung),
        title=candidate.title,
        green=verification.green,
        partial=verification.partial,
        reason=verification.reason,
        edits=verification.edits,
        runs=runs_of(verification),
        control=control_of(verification),
    )
