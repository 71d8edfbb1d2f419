"""The whole story on one page: admit, open a workspace, run the mission, tell people, remember."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import SecretStr

from bot.conversation.answered import fixers_for, note_answer
from bot.domain.admission import Admission
from bot.domain.evidence import KeptEvidence
from bot.domain.lesson import Lesson
from bot.domain.mission import Confidence, MissionContext, Outcome
from bot.domain.model import Spend
from bot.domain.pause import Pause
from bot.domain.policy import Limits, RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest
from bot.errors import GitHubError, StoreError, Superseded, UsageError
from bot.intake.admission import admit
from bot.lessons.by_model import looked_back
from bot.lessons.calibration import confidence_after
from bot.lessons.reflect import reflect
from bot.mission.continuous import run_continuous_improvement, told
from bot.mission.loop import MissionPorts
from bot.policy.policy_file import read_folder_policy
from bot.ports import (
    Checkpoint,
    Clock,
    Fixer,
    GitHub,
    GitHubRuns,
    GitHubUpkeep,
    LessonStore,
    Meters,
    Mind,
    Minds,
    OpenWorkspace,
    Progress,
    Registry,
    Switchboard,
    Workspace,
)
from bot.publish.dry_run import publish_staged
from bot.publish.places import Places
from bot.publish.publisher import publish_outcome
from bot.publish.story import Story, a_story
from bot.registry import under_way
from sandbox.types import Checkout, FolderSource, GitSource, JobHints, TrustTier

log = logging.getLogger(__name__)

LOOK_S = 2.0
"""Between two looks whether a pause is over."""

OpenProgress = Callable[[MissionRequest], AbstractAsyncContextManager[Progress]]
"""Somebody who listens to one mission, for as long as it runs."""


KeepEvidence = Callable[[Story, Checkout, OpenWorkspace], Awaitable[KeptEvidence]]
"""Keeps what a finished mission can be run again from."""


async def _nothing() -> None:
    """Nothing is held ready."""


async def _keep_nothing(_: Story, __: Checkout, ___: OpenWorkspace) -> KeptEvidence:
    """Nobody asked for evidence."""
    return KeptEvidence()


@dataclass(frozen=True)
class Line:
    """Everything a mission needs from outside, whatever asked for it."""

    open_workspace: OpenWorkspace
    fixers: tuple[Fixer, ...]
    lessons: LessonStore
    clock: Clock
    open_progress: OpenProgress
    limits: Limits = field(default_factory=Limits)
    app_slug: str = "metaagent"
    secrets: tuple[str, ...] = ()
    close: Callable[[], Awaitable[None]] = _nothing
    """Gives back what is held ready for the next mission."""
    keep_evidence: KeepEvidence = _keep_nothing
    registry: Registry | None = None
    """What is under way where; None on the command line."""
    runs: GitHubRuns | None = None
    upkeep: GitHubUpkeep | None = None
    """The calls that the life of a fix needs; None leaves it at a new pull request."""
    minds: Minds | None = None
    """Gives every mission its models; None leaves every judgement to the rules."""
    meters: Meters | None = None
    """Books every mission's time; None where nothing limits several missions together."""
    switchboard: Switchboard | None = None
    """What the operator has paused; None where nobody can."""


class Kept(KeptEvidence):
    """What is kept of a mission's work: the evidence, and the bill."""

    bill: Spend | None = None


async def handle_request(request: MissionRequest, line: Line, github: GitHub, checkpoint: Checkpoint) -> MissionContext:
    """From a request to an outcome that is published and remembered. Every part is a step that is not run twice."""
    admission = await _admitted(request, line, github, checkpoint)
    if line.registry is not None:
        # Now branch and pull request are known, also of a command.
        admitted = admission.checkout is not None
        await under_way.begin(admission.request, line.registry, line.clock, admitted=admitted)
    kept = Kept()
    if admission.checkout is None:
        context = await _refused(admission, line, checkpoint)
    else:
        guarded = replace(
            line,
            open_workspace=_guarded(line.open_workspace, github, admission),
            fixers=await fixers_for(request, line.fixers, line.registry, checkpoint),
        )
        context = await _mission(admission, admission.checkout, guarded, checkpoint)
        kept = await _keep(context, admission.checkout, guarded, checkpoint)
        context = _billed(context, kept.bill)
    publication = await checkpoint.step("publish", Publication, lambda: _publish(context, line, github, kept))
    await note_answer(request, publication, line.registry)
    await _remember(context, publication, line, checkpoint)
    _log_end(context, publication)
    return context


def _log_end(context: MissionContext, publication: Publication) -> None:
    """Log one line that an operator can search for by repository, pull request or commit."""
    request = context.request
    log.info(
        "mission ended",
        extra={
            "mission": context.mission_id,
            "repository": request.repository.full_name if request.repository else None,
            "check": request.check.name if request.check else None,
            "commit": request.head_sha,
            "for_pull_request": request.pull_request,
            "outcome": str(publication.outcome or context.outcome),
            "pull_request": publication.pull_request,
            "seconds": round(context.seconds, 1),
        },
    )


async def handle_folder(request: MissionRequest, line: Line, checkpoint: Checkpoint) -> MissionContext:
    """The same for a red working tree on this host: nothing to admit, nobody to tell but the caller."""
    if request.folder is None:
        raise UsageError("a folder is missing")
    policy, checkout = await folder_checkout(request.folder, request.command, since=request.since)
    admission = Admission(request=request, policy=policy.with_(rungs=request.rungs), checkout=checkout)
    return await handle_admitted(admission, line, checkpoint)


async def handle_admitted(
    admission: Admission, line: Line, checkpoint: Checkpoint, github: GitHub | None = None
) -> MissionContext:
    """A mission that is told to nobody but the caller.

    Args:
        admission: What to work on.
        line: Everything a mission needs.
        checkpoint: Remembers its stages.
        github: Gives the right to fetch; None for files that are here.
    """
    if admission.checkout is None:
        return await _refused(admission, line, checkpoint)
    if github is not None:
        line = replace(line, open_workspace=_guarded(line.open_workspace, github, admission))
    context = await _mission(admission, admission.checkout, line, checkpoint)
    await _keep(context, admission.checkout, line, checkpoint)
    await _remember(context, Publication(mission_id=context.mission_id), line, checkpoint)
    return context


async def folder_checkout(
    folder: str, command: str | None, *, since: str | None = None, policy: RepositoryPolicy | None = None
) -> tuple[RepositoryPolicy, Checkout]:
    """Return the policy for a working tree of this host, and how the tree is opened.

    Args:
        folder: Its path.
        command: The command that is red; None takes the policy's, or detects one.
        since: The revision it was green at; None chooses one where the folder is a git checkout.
        policy: The policy to obey; None reads the folder's own file.
    """
    if policy is None:
        policy = await asyncio.to_thread(read_folder_policy, Path(folder))
    hints = JobHints(command=command or policy.test_command, setup=policy.setup, python=policy.python)
    source = FolderSource(path=folder, repository_id=f"local:{folder}", since=since)
    return policy, Checkout(source=source, tier=TrustTier.LOCAL, hints=hints)


async def _admitted(request: MissionRequest, line: Line, github: GitHub, checkpoint: Checkpoint) -> Admission:
    async def ask() -> Admission:
        if (pause := await _let_in(request, line)) is not None:
            return Admission(request=request, refusal=Outcome.POLICY, reason=pause.in_words, advice=pause.advice)
        return await admit(
            request,
            github,
            runs=line.runs,
            registry=line.registry,
            own_app_slug=line.app_slug,
            secrets=line.secrets,
        )

    try:
        return await checkpoint.step("admit", Admission, ask)
    except (GitHubError, StoreError) as error:
        # GitHub may still take an answer though we were not told everything: silence is the last thing to do.
        return Admission(request=request, refusal=Outcome.ERROR, reason=error.message, advice=error.advice)


async def _let_in(request: MissionRequest, line: Line) -> Pause | None:
    """Wait while everything is paused; the pause of one place refuses, else its missions would keep others waiting.

    Whoever is let in has not begun: its meter looks again in the transaction that begins it.
    """
    if line.switchboard is None or request.repository is None:
        return None
    while True:
        pause = await line.switchboard.of(request.repository)
        if pause is None or pause.place:
            return pause
        await asyncio.sleep(LOOK_S)


async def _mission(admission: Admission, checkout: Checkout, line: Line, checkpoint: Checkpoint) -> MissionContext:
    async with line.open_progress(admission.request) as progress:
        ports = MissionPorts(
            open_workspace=line.open_workspace,
            fixers=line.fixers,
            recall=line.lessons,
            checkpoint=checkpoint,
            progress=progress,
            clock=line.clock,
            limits=line.limits,
            mind=_mind(admission.request, admission.policy, line),
            meter=line.meters.of(admission.request, admission.policy) if line.meters else None,
        )
        try:
            contexts = await run_continuous_improvement(
                admission.request,
                admission.policy,
                checkout,
                ports,
                # A meter books one mission, and the service's missions are counted.
                limit=line.limits.missions_in_a_row if line.meters is None else 1,
                ci_log=admission.ci_log,
            )
            return told(contexts)
        except Exception as error:  # a fault of ours must still be told, with a reference that finds it in the log
            reference = f"{admission.request.mission_id}:{type(error).__name__}"
            log.exception("mission broke", extra={"mission": admission.request.mission_id, "reference": reference})
            context = await _bare(admission, line, checkpoint, "broken")
            reason = "something broke inside MetaAgent; this is our fault, not yours"
            return context.ended(Outcome.ERROR, reason, error_reference=reference)


def _mind(request: MissionRequest, policy: RepositoryPolicy, line: Line) -> Mind | None:
    """The models of one mission; it is the same account whenever it is asked for."""
    return line.minds.of(request, policy) if line.minds else None


async def _keep(context: MissionContext, checkout: Checkout, line: Line, checkpoint: Checkpoint) -> Kept:
    """Keep what the mission can be run again from; a mission does not fail because that fails."""

    async def keep() -> Kept:
        bill = None
        try:
            bill = await line.meters.of(context.request, context.policy).bill() if line.meters else None
            billed = _billed(context, bill)
            story = a_story(billed, confidence=await _confidence(billed, line), secrets=line.secrets)
            evidence = await line.keep_evidence(story, checkout, line.open_workspace)
        except Exception as error:
            log.warning("evidence not kept: %s", error, extra={"mission": context.mission_id})
            evidence = KeptEvidence(reason=getattr(error, "message", type(error).__name__))
        return Kept(**evidence.model_dump(), bill=bill)

    return await checkpoint.step("evidence", Kept, keep)


def _billed(context: MissionContext, bill: Spend | None) -> MissionContext:
    """The mission with what models cost it, as the ledger says it."""
    if bill is None or not bill.calls:
        return context
    return context.with_(spent=bill, cost_usd=max(context.cost_usd, bill.cost_usd))


async def _publish(context: MissionContext, line: Line, github: GitHub, kept: KeptEvidence) -> Publication:
    confidence = await _confidence(context, line)
    story = a_story(context, confidence=confidence, secrets=line.secrets, bundle=kept)
    publish = publish_staged if context.policy.mode == "staged" else publish_outcome
    return await publish(story, Places(github, line.app_slug, line.registry, line.upkeep))


async def _confidence(context: MissionContext, line: Line) -> Confidence:
    forecasts = await line.lessons.forecasts(repository_id=context.request.memory_key)
    return confidence_after(context, forecasts)


async def _remember(context: MissionContext, publication: Publication, line: Line, checkpoint: Checkpoint) -> None:
    async def keep() -> Lesson:
        reflection, lesson = reflect(context, publication, context.lessons)
        if mind := _mind(context.request, context.policy, line):
            reflection, lesson = await looked_back(mind, reflection, lesson, context)
        try:
            await line.lessons.remember(lesson)
        except StoreError as error:
            # What was published stands; a lesson that cannot be kept must not undo it.
            log.warning("lesson not kept: %s", error.message, extra={"mission": context.mission_id})
        return lesson

    await checkpoint.step("reflect", Lesson, keep)


async def _refused(admission: Admission, line: Line, checkpoint: Checkpoint) -> MissionContext:
    if admission.refusal is None:
        raise UsageError("an admission without a checkout names its refusal")
    context = await _bare(admission, line, checkpoint, "refuse")
    return context.ended(admission.refusal, admission.reason, advice=admission.advice)


async def _bare(admission: Admission, line: Line, checkpoint: Checkpoint, step: str) -> MissionContext:
    """A mission of which only the request is known."""
    request = admission.request

    async def begun() -> MissionContext:
        return MissionContext(
            mission_id=request.mission_id,
            request=request,
            policy=admission.policy,
            created_at=line.clock.now().isoformat(),
            target_path=request.repository.full_name if request.repository else request.folder or "",
        )

    return await checkpoint.step(step, MissionContext, begun)


def _guarded(open_workspace: OpenWorkspace, github: GitHub, admission: Admission) -> OpenWorkspace:
    """Look before each opening whether the branch still stands where it stood, and ask for the right to fetch then.

    So a mission that nobody needs any more ends before its next long stage, and tokens are short-lived and never
    stored.
    """

    @asynccontextmanager
    async def door(checkout: Checkout) -> AsyncIterator[Workspace]:
        await _ensure_unmoved(admission.request, github)
        source = checkout.source
        if isinstance(source, GitSource):
            clone = await github.clone_source(admission.repository)
            source = source.with_(url=clone.url, authorization=SecretStr(clone.authorization))
        async with open_workspace(checkout.with_(source=source)) as workspace:
            yield workspace

    return door


async def _ensure_unmoved(request: MissionRequest, github: GitHub) -> None:
    """Whether the failing commit is still the head of its branch; a fork's branch is not ours to ask about.

    Raises:
        Superseded: somebody pushed, or took the branch away.
    """
    if request.repository is None or request.head_branch is None or request.tier is TrustTier.FORK:
        return
    head = await github.branch_head(request.repository, request.head_branch)
    if head != request.head_sha:
        where = f"moved on to {head[:12]}" if head else "is gone"
        raise Superseded(f"the branch {request.head_branch} {where} while we worked")
