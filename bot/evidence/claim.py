"""Conversion of a finished mission to its claim. Pure."""

from bot.domain.evidence import Claim, ClaimedFix, ClaimedPlace, ClaimedRun, EvidenceBundle
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Verification
from bot.mission.failures.reports import map_outcomes
from bot.publish.evidence import evidence
from bot.publish.markdown import SafeWriter
from bot.publish.story import Story
from sandbox.types import TestReport, WorkspaceFacts

_SENTENCE = 2000
"""Longest sentence in a claim, in characters."""
NOTES = (
    "regular files only: symbolic links and submodules of the commit are left out",
    "one commit: the history and the base commit are left out",
)
"""Content that every bundle leaves out."""


def build_claim(context: MissionContext, name: str) -> Claim | None:
    """Return the claims of a mission; None if it ran nothing that could be replayed.

    Args:
        context: The finished mission.
        name: Name of the checkout's folder.
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
        place=claim_place(facts),
        recipe=facts.recipe,
        checkout_name=name,
        red=claim_run("unpatched", red),
        runs=runs,
        red_runs=triage.red_runs if triage else int(not red.success),
        unsteady=tuple(sorted(name for name, reds in per_test.items() if reds < runs)),
        triage=triage.with_(report=None) if triage else None,
        criteria=context.acceptance_criteria,
        fix=_fix(context),
    )


def build_bundle(story: Story, checkout: bytes, name: str = "") -> EvidenceBundle | None:
    """Return the bundle of a finished mission; None if there is nothing to replay.

    Args:
        story: The finished mission, prepared for publication.
        checkout: Tar archive of the failing commit.
        name: Name of the checkout's folder, as far as it is known.
    """
    claim = build_claim(story.context, name)
    if claim is None:
        return None
    diff = story.fix[1].diff if story.fix else ""
    claim = _gate(claim, story.pen)
    return EvidenceBundle(
        claim=claim, evidence=evidence(story), checkout=checkout, diff=diff, notes=NOTES
    )


def _gate(claim: Claim, pen: SafeWriter) -> Claim:
    """Return the claim with its sentences gated.

    Names, commands and the fix stay as they are, because a replay runs them.
    """
    triage, fix = claim.triage, claim.fix
    if triage is not None:
        triage = triage.with_(
            reason=pen.line(triage.reason, cap=_SENTENCE),
            notes=tuple(pen.line(n, cap=_SENTENCE) for n in triage.notes),
        )
    if fix is not None:
        fix = fix.with_(
            title=pen.line(fix.title, cap=_SENTENCE), reason=pen.line(fix.reason, cap=_SENTENCE)
        )
    return claim.with_(reason=pen.line(claim.reason, cap=_SENTENCE), triage=triage, fix=fix)


def claim_place(facts: WorkspaceFacts) -> ClaimedPlace:
    """Return the environment of runs.

    Args:
        facts: The properties of a workspace.
    """
    return ClaimedPlace(
        backend=facts.backend,
        image=facts.image,
        image_digest=facts.image_digest,
        environment_key=facts.environment_key,
        interpreter=facts.interpreter,
        lock_hash=facts.lock_hash,
    )


def claim_run(label: str, report: TestReport) -> ClaimedRun:
    """Return a run without its output.

    Args:
        label: The name of the run.
        report: The result of the run.
    """
    return ClaimedRun(
        label=label,
        verdict=report.verdict,
        exit_code=report.exit_code,
        runner=report.runner,
        outcomes=map_outcomes(report),
        seconds=round(report.duration_s, 3),
    )


def claim_runs(verification: Verification) -> tuple[ClaimedRun, ...]:
    """Return the runs of a verification with unique labels.

    Args:
        verification: The results from fresh sandboxes.
    """
    return tuple(
        claim_run(f"{r.label}, sandbox {r.sandbox}, seed {r.seed}", r.report)
        for r in verification.runs
    )


def claim_control(verification: Verification) -> ClaimedRun | None:
    """Return the run without the change, if there was one.

    Args:
        verification: The results from fresh sandboxes.
    """
    return (
        None
        if verification.control is None
        else claim_run("without the change", verification.control)
    )


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
        runs=claim_runs(verification),
        control=claim_control(verification),
    )
