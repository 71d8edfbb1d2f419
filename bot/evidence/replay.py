"""Replay of a bundle: the red run, then the fix, each compared with the claim."""

import hashlib

from bot.domain.evidence import Claim, ClaimedFix, EvidenceBundle, Replay
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, Verification
from bot.domain.request import MissionRequest, Trigger
from bot.evidence.compare import Findings, compare_bundle
from bot.mission.failures.reports import bounded
from bot.mission.verifying.reproduce import reproduce_failures
from bot.mission.verifying.verify import verify_fix
from bot.ports import Clock, OpenWorkspace, Workspace
from sandbox.errors import ChangeRejected, SetupFailed
from sandbox.types import (
    ArchiveSource,
    ChangeAction,
    Checkout,
    FileChange,
    FileEdit,
    TestReport,
    TrustTier,
)

MOST_RUNS = 10
"""Most runs; the untrusted claim may ask for more."""
_MAXFAIL = 5
"""Failures after which the first run stops, as in a mission by default."""


async def replay_bundle(
    bundle: EvidenceBundle, open_workspace: OpenWorkspace, *, clock: Clock
) -> Replay:
    """Measure a bundle's claims again.

    Args:
        bundle: Untrusted; it determines only what runs inside the sandbox.
        open_workspace: Opens sandboxes.
        clock: Measures the duration.

    Raises:
        ImportRejected: the bundle's checkout cannot be imported.
        SandboxUnavailable: no sandbox is available here.
        SandboxDied: a sandbox terminated.
    """
    started = clock.monotonic()
    try:
        findings = await _measure(bundle, open_workspace, clock)
    except SetupFailed as error:
        findings = Findings(trouble=f"the environment cannot be rebuilt here: {error.message}")
    replay = compare_bundle(bundle, findings)
    return replay.with_(seconds=round(clock.monotonic() - started, 3))


def build_checkout(bundle: EvidenceBundle) -> Checkout:
    """Return the failing commit with its recipe, at the lowest trust.

    Its environment is never shared: the claimed repository could otherwise get a poisoned one.

    Args:
        bundle: The bundle.
    """
    identity = f"replay:{hashlib.sha256(bundle.checkout).hexdigest()}"
    source = ArchiveSource(content=bundle.checkout, repository_id=identity)
    claim = bundle.claim
    return Checkout(
        source=source, tier=TrustTier.FORK, recipe=claim.recipe, name=claim.checkout_name
    )


async def _measure(bundle: EvidenceBundle, open_workspace: OpenWorkspace, clock: Clock) -> Findings:
    claim, checkout = bundle.claim, build_checkout(bundle)
    async with open_workspace(checkout) as workspace:
        first = await reproduce_failures(workspace, maxfail=_MAXFAIL)
        reports = [first.report, *await _again(workspace, claim, first.report)]
        try:
            candidate = await _candidate(claim.fix, workspace) if claim.fix else None
        except (ChangeRejected, UnicodeDecodeError) as error:
            return Findings(
                facts=first.facts,
                reports=tuple(reports),
                refused=f"the fix cannot be applied: {error}",
            )
    verification: Verification | None = None
    if candidate is not None:
        context = MissionContext(
            mission_id=claim.mission_id,
            request=MissionRequest(
                mission_id=claim.mission_id, trigger=Trigger.COMMAND_LINE, folder="."
            ),
            created_at=claim.created_at,
            target_path="",
            facts=first.facts,
            triage=claim.triage,
            # The measured failures, not the claimed ones: a claim is no proof of itself.
            test_results=first.report,
            acceptance_criteria=tuple(c.with_(passed=False) for c in claim.criteria),
        )
        verification = await verify_fix(candidate, context, checkout, open_workspace, clock=clock)
    return Findings(facts=first.facts, reports=tuple(reports), verification=verification)


async def _again(workspace: Workspace, claim: Claim, first: TestReport) -> list[TestReport]:
    """Repeat the run as often as claimed, until a result differs.

    Only for claims about several runs.
    """
    if claim.outcome not in {Outcome.FLAKY, Outcome.NOT_REPRODUCED}:
        return []
    reports: list[TestReport] = []
    while len(reports) + 1 < min(max(claim.runs, 2), MOST_RUNS):
        await workspace.revert()
        reports.append(bounded(await workspace.run_tests()))
        if reports[-1].success is not first.success:
            break
    return reports


async def _candidate(fix: ClaimedFix, workspace: Workspace) -> Candidate:
    """Return the validated edits as changes of the failing commit."""
    return Candidate(
        id="replayed",
        rung=Rung(fix.rung),
        fixer="replay",
        title=fix.title,
        confident=False,
        changes=tuple([await _change(edit, workspace) for edit in fix.edits]),
    )


async def _change(edit: FileEdit, workspace: Workspace) -> FileChange:
    if edit.mode == "deleted":
        return FileChange(action=ChangeAction.DELETE, path=edit.path)
    known = await workspace.read_file(edit.path) is not None
    action = ChangeAction.REPLACE if known else ChangeAction.CREATE
    return FileChange(action=action, path=edit.path, content=edit.content.decode())
