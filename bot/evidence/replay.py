"""Run a verdict again from its bundle alone: the red run, then the fix, each beside what the bundle claims."""

import hashlib

from bot.domain.evidence import Claim, ClaimedFix, EvidenceBundle, Replay
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, Verification
from bot.domain.request import MissionRequest, Trigger
from bot.evidence.compare import Findings, compared
from bot.mission.reports import bounded
from bot.mission.reproduce import reproduce_failures
from bot.mission.verify import verify_fix
from bot.ports import Clock, OpenWorkspace, Workspace
from sandbox.errors import ChangeRejected, SetupFailed
from sandbox.types import ArchiveSource, ChangeAction, Checkout, FileChange, FileEdit, TestReport, TrustTier

MOST_RUNS = 10
"""A claim decides how often its tests run; not more often than this."""
_MAXFAIL = 5


async def replay_bundle(bundle: EvidenceBundle, open_workspace: OpenWorkspace, *, clock: Clock) -> Replay:
    """Measure a bundle's claims again.

    Args:
        bundle: Read with suspicion: it decides what runs in the sandbox, and nothing outside of it.
        open_workspace: Opens sandboxes.
        clock: Measures how long it takes.

    Raises:
        ImportRejected: the bundle's checkout cannot be taken in.
        SandboxUnavailable: no sandbox can be had here.
        SandboxDied: one went away.
    """
    started = clock.monotonic()
    try:
        findings = await _measured(bundle, open_workspace, clock)
    except SetupFailed as error:
        findings = Findings(trouble=f"the environment cannot be rebuilt here: {error.message}")
    replay = compared(bundle, findings)
    return replay.with_(seconds=round(clock.monotonic() - started, 3))


def checkout_of(bundle: EvidenceBundle) -> Checkout:
    """The failing commit with its recipe. Whatever it claims to be of, its environment is shared with nobody.

    Args:
        bundle: As it was read.
    """
    identity = f"replay:{hashlib.sha256(bundle.checkout).hexdigest()}"
    source = ArchiveSource(content=bundle.checkout, repository_id=identity)
    return Checkout(source=source, tier=TrustTier.FORK, recipe=bundle.claim.recipe)


async def _measured(bundle: EvidenceBundle, open_workspace: OpenWorkspace, clock: Clock) -> Findings:
    claim, checkout = bundle.claim, checkout_of(bundle)
    async with open_workspace(checkout) as workspace:
        first = await reproduce_failures(workspace, maxfail=_MAXFAIL)
        reports = [first.report, *await _again(workspace, claim, first.report)]
        try:
            candidate = await _candidate(claim.fix, workspace) if claim.fix else None
        except (ChangeRejected, UnicodeDecodeError) as error:
            return Findings(facts=first.facts, reports=tuple(reports), refused=f"the fix cannot be applied: {error}")
    verification: Verification | None = None
    if candidate is not None:
        context = MissionContext(
            mission_id=claim.mission_id,
            request=MissionRequest(mission_id=claim.mission_id, trigger=Trigger.COMMAND_LINE, folder="."),
            created_at=claim.created_at,
            target_path="",
            facts=first.facts,
            triage=claim.triage,
            # What is red now, not what the bundle says was red: a claim proves nothing about itself.
            test_results=first.report,
            acceptance_criteria=tuple(c.with_(passed=False) for c in claim.criteria),
        )
        verification = await verify_fix(candidate, context, checkout, open_workspace, clock=clock)
    return Findings(facts=first.facts, reports=tuple(reports), verification=verification)


async def _again(workspace: Workspace, claim: Claim, first: TestReport) -> list[TestReport]:
    """More runs, when the claim is about several: until one differs from the first, as often as claimed."""
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
    """The validated edits as changes of the failing commit."""
    return Candidate(
        id="replayed",
        rung=Rung(fix.rung),
        fixer="replay",
        title=fix.title,
        changes=tuple([await _change(edit, workspace) for edit in fix.edits]),
    )


async def _change(edit: FileEdit, workspace: Workspace) -> FileChange:
    if edit.mode == "deleted":
        return FileChange(action=ChangeAction.DELETE, path=edit.path)
    known = await workspace.read_file(edit.path) is not None
    action = ChangeAction.REPLACE if known else ChangeAction.CREATE
    return FileChange(action=action, path=edit.path, content=edit.content.decode())
