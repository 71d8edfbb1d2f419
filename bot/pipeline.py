"""The whole story on one page: admit, open a workspace, run the mission, publish, learn."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial

from bot.conversation.answered import fixers_for, note_answer
from bot.domain.admission import Admission
from bot.domain.evidence import KeptEvidence
from bot.domain.lesson import Lesson
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Spend
from bot.domain.policy import Limits, RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import MissionRequest
from bot.errors import GitHubError, StoreError, UsageError
from bot.intake.admission import admit, guard_opening
from bot.intake.folder import folder_checkout
from bot.intake.pauses import find_pause
from bot.lessons.by_model import add_reflection
from bot.lessons.calibration import confidence_after
from bot.lessons.reflect import reflect
from bot.mission.continuous import (
    run_continuous_improvement,
    select_reported,
    with_ids,
    with_number,
)
from bot.mission.loop import MissionPorts
from bot.ports import (
    Checkpoint,
    Clock,
    Fixer,
    GitHub,
    LessonStore,
    Meters,
    Mind,
    Minds,
    OpenWorkspace,
    Progress,
    Registry,
    Switchboard,
)
from bot.publish.dry_run import publish_staged
from bot.publish.fix_records import is_known_change
from bot.publish.publisher import publish_outcome
from bot.publish.recorder import Recorder
from bot.publish.services import PublishServices
from bot.publish.story import Story, build_story
from bot.registry import under_way
from sandbox.types import Checkout

log = logging.getLogger(__name__)

OpenProgress = Callable[[MissionRequest], AbstractAsyncContextManager[Progress]]
"""Opens the progress listener of one mission."""

KeepEvidence = Callable[[Story, Checkout, OpenWorkspace], Awaitable[KeptEvidence]]
"""Stores the evidence of a finished mission."""


async def _nothing() -> None:
    """Close nothing."""


def _ignore(_: tuple[MissionContext, ...]) -> None:
    """Do nothing with the missions of a request."""


async def _keep_nothing(_: Story, __: Checkout, ___: OpenWorkspace) -> KeptEvidence:
    """Store no evidence."""
    return KeptEvidence()


@dataclass(frozen=True)
class MissionServices:
    """External dependencies of a mission."""

    open_workspace: OpenWorkspace
    fixers: tuple[Fixer, ...]
    lessons: LessonStore
    clock: Clock
    open_progress: OpenProgress
    limits: Limits = field(default_factory=Limits)
    app_slug: str = "metaagent"
    secrets: tuple[str, ...] = ()
    close: Callable[[], Awaitable[None]] = _nothing
    """Closes what is held for the next mission."""
    keep_evidence: KeepEvidence = _keep_nothing
    registry: Registry | None = None
    """Active missions by place; None on the command line."""
    minds: Minds | None = None
    """The models of every mission; None leaves every judgement to the rules."""
    meters: Meters | None = None
    """Books every mission's time; None without limits across missions."""
    switchboard: Switchboard | None = None
    """The operator's pauses; None on the command line."""
    each: Callable[[tuple[MissionContext, ...]], None] = _ignore
    """Called with all missions of a request; only one of them is published."""
    recorder: Recorder | None = None
    """Writes the permanent records of missions."""


class Kept(KeptEvidence):
    """Stored results of a mission: evidence and bill."""

    bill: Spend | None = None


async def handle_request(
    request: MissionRequest, services: MissionServices, github: GitHub, checkpoint: Checkpoint
) -> MissionContext:
    """Run a request up to its published and remembered outcome.

    Every part is a stored step: a resumed mission does not repeat it.
    """
    admission = await _admit(request, services, github, checkpoint)
    registry, admitted = services.registry, admission.checkout is not None
    if registry is not None:
        # Branch and pull request are known now, even for a command.
        await under_way.begin(admission.request, registry, services.clock, admitted=admitted)
    kept = Kept()
    if admission.checkout is None:
        context = await _refused(admission, services, checkpoint)
    else:
        guarded = replace(
            services,
            open_workspace=guard_opening(services.open_workspace, github, admission),
            fixers=await fixers_for(request, services.fixers, registry, checkpoint),
        )
        context = await _mission(admission, admission.checkout, guarded, checkpoint)
        kept = await _keep(context, admission.checkout, guarded, checkpoint)
        context = _bill(context, kept.bill)
    publication = await checkpoint.step(
        "publish", Publication, lambda: _publish(context, services, github, kept)
    )
    await note_answer(request, publication, registry, services.lessons)
    await _remember(context, publication, services, checkpoint)
    await _finish(context, publication, services, kept)
    return context


async def _finish(
    context: MissionContext, publication: Publication, services: MissionServices, kept: KeptEvidence
) -> None:
    """Record and log the outcome; a resumed mission repeats this, which changes nothing."""
    if services.recorder is not None:
        await services.recorder.report(await _story(context, services, kept), publication)
    _log_end(context, publication)


def _log_end(context: MissionContext, publication: Publication) -> None:
    """Log one line that an operator can search for by repository, pull request or commit."""
    request = context.request
    log.info(
        "mission ended",
        extra={
            "mission": context.mission_id,
            "repository": request.place or None,
            "check": request.check.name if request.check else None,
            "commit": request.head_sha,
            "for_pull_request": request.pull_request,
            "outcome": str(publication.outcome or context.outcome),
            "pull_request": publication.pull_request,
            "seconds": round(context.seconds, 1),
        },
    )


async def handle_folder(
    request: MissionRequest,
    services: MissionServices,
    checkpoint: Checkpoint,
    *,
    is_misuse: Callable[[MissionContext], bool] = lambda _: False,
) -> MissionContext:
    """Run a mission on a local red working tree, without admission and publication."""
    if request.folder is None:
        raise UsageError("a folder is missing")
    policy, checkout = await folder_checkout(request.folder, request.command, since=request.since)
    admission = Admission(
        request=request, policy=policy.with_(rungs=request.rungs), checkout=checkout
    )
    return await handle_admitted(admission, services, checkpoint, is_misuse=is_misuse)


async def handle_admitted(
    admission: Admission,
    services: MissionServices,
    checkpoint: Checkpoint,
    github: GitHub | None = None,
    *,
    is_misuse: Callable[[MissionContext], bool] = lambda _: False,
) -> MissionContext:
    """Run a mission whose result only the caller receives; wrong use is not kept as a mission."""
    if admission.checkout is None:
        return await _refused(admission, services, checkpoint)
    if github is not None:
        services = replace(
            services, open_workspace=guard_opening(services.open_workspace, github, admission)
        )
    context = await _mission(admission, admission.checkout, services, checkpoint)
    if is_misuse(context):
        return context
    kept = await _keep(context, admission.checkout, services, checkpoint)
    publication = Publication(mission_id=context.mission_id, way="report" if context.fix else None)
    await _remember(context, publication, services, checkpoint)
    await _finish(context, publication, services, kept)
    return context


async def _admit(
    request: MissionRequest, services: MissionServices, github: GitHub, checkpoint: Checkpoint
) -> Admission:
    async def ask() -> Admission:
        if (pause := await find_pause(request, services.switchboard)) is not None:
            return Admission(
                request=request, refusal=Outcome.POLICY, reason=pause.in_words, advice=pause.advice
            )
        return await admit(
            request,
            github,
            registry=services.registry,
            own_app_slug=services.app_slug,
            secrets=services.secrets,
        )

    try:
        return await checkpoint.step("admit", Admission, ask)
    except (GitHubError, StoreError) as error:
        # Some reads failed, but GitHub may still accept an answer: report it.
        return Admission(
            request=request, refusal=Outcome.ERROR, reason=error.message, advice=error.advice
        )


async def _mission(
    admission: Admission, checkout: Checkout, services: MissionServices, checkpoint: Checkpoint
) -> MissionContext:
    request, policy = admission.request, admission.policy

    async def learn(context: MissionContext, number: int) -> None:
        context = with_number(context, request, number)  # the reported one has the request's id
        publication = Publication(mission_id=context.mission_id, outcome=context.outcome)
        await _remember(context, publication, services, checkpoint, step=f"reflect-{number}")

    async with services.open_progress(request) as progress:
        ports = MissionPorts(
            open_workspace=services.open_workspace,
            fixers=services.fixers,
            recall=services.lessons,
            checkpoint=checkpoint,
            progress=progress,
            clock=services.clock,
            limits=services.limits,
            mind=_mind(request, policy, services),
            meter=services.meters.of(request, policy) if services.meters else None,
        )
        try:
            if request.improve is not None:
                from bot.improve.mission import improve_repository  # loads a part of rung 2

                is_known = partial(is_known_change, request, services.registry)
                return await improve_repository(request, policy, checkout, ports, is_known=is_known)
            own = services.limits.missions_in_a_row
            contexts = await run_continuous_improvement(
                request,
                policy,
                checkout,
                ports,
                limit=policy.continuous.missions if request.continuous else own,
                ci_log=admission.ci_log,
                learn=learn,
            )
            missions = with_ids(contexts, request)
            services.each(missions)
            return select_reported(missions)
        except Exception as error:  # report internal errors too, with a reference to the log
            reference = f"{request.mission_id}:{type(error).__name__}"
            log.exception(
                "mission failed with an internal error",
                extra={"mission": request.mission_id, "reference": reference},
            )
            context = await _bare(admission, services, checkpoint, "broken")
            reason = "something broke inside MetaAgent; this is our fault, not yours"
            return context.ended(Outcome.ERROR, reason, error_reference=reference)


def _mind(
    request: MissionRequest, policy: RepositoryPolicy, services: MissionServices
) -> Mind | None:
    """Return the models of one mission; repeated calls share one account."""
    return services.minds.of(request, policy) if services.minds else None


async def _keep(
    context: MissionContext, checkout: Checkout, services: MissionServices, checkpoint: Checkpoint
) -> Kept:
    """Store the mission's evidence; an error there never fails the mission."""

    async def keep() -> Kept:
        bill = None
        try:
            bill = (
                await services.meters.of(context.request, context.policy).bill()
                if services.meters
                else None
            )
            billed = _bill(context, bill)
            story = await _story(billed, services, KeptEvidence())
            evidence = await services.keep_evidence(story, checkout, services.open_workspace)
        except Exception as error:  # no error here changes the outcome
            log.warning("storing evidence failed: %s", error, extra={"mission": context.mission_id})
            evidence = KeptEvidence(reason=getattr(error, "message", type(error).__name__))
        return Kept(**evidence.model_dump(), bill=bill)

    return await checkpoint.step("evidence", Kept, keep)


def _bill(context: MissionContext, bill: Spend | None) -> MissionContext:
    """Return the mission with the costs of models, by the ledger."""
    if bill is None or not bill.calls:
        return context
    # A rung may report costs without calls, which the ledger does not have.
    return context.with_(spent=bill, cost_usd=max(context.cost_usd, bill.cost_usd))


async def _publish(
    context: MissionContext, services: MissionServices, github: GitHub, kept: KeptEvidence
) -> Publication:
    story = await _story(context, services, kept)
    if services.recorder is not None:
        story = story.with_(is_first=await services.recorder.is_first(context.request))
    publish = publish_staged if context.policy.mode == "staged" else publish_outcome
    return await publish(story, PublishServices(github, services.app_slug, services.registry))


async def _story(context: MissionContext, services: MissionServices, kept: KeptEvidence) -> Story:
    confidence = confidence_after(context, await services.lessons.correction())
    return build_story(context, confidence=confidence, secrets=services.secrets, bundle=kept)


async def _remember(
    context: MissionContext,
    publication: Publication,
    services: MissionServices,
    checkpoint: Checkpoint,
    *,
    step: str = "reflect",
) -> None:
    if context.request.improve is not None:
        return  # a lesson is about a failure

    async def keep() -> Lesson:
        reflection, lesson = reflect(context, publication, context.lessons)
        if mind := _mind(context.request, context.policy, services):
            reflection, lesson = await add_reflection(mind, reflection, lesson, context)
        lesson = lesson.with_(reflection=reflection)
        try:
            await services.lessons.remember(lesson)
        except StoreError as error:
            # The outcome is already published; a lesson that cannot be stored must not change it.
            log.warning(
                "storing the lesson failed: %s",
                error.message,
                extra={"mission": context.mission_id},
            )
        return lesson

    await checkpoint.step(step, Lesson, keep)


async def _refused(
    admission: Admission, services: MissionServices, checkpoint: Checkpoint
) -> MissionContext:
    if admission.refusal is None:
        raise UsageError("an admission without a checkout names its refusal")
    context = await _bare(admission, services, checkpoint, "refuse")
    return context.ended(admission.refusal, admission.reason, advice=admission.advice)


async def _bare(
    admission: Admission, services: MissionServices, checkpoint: Checkpoint, step: str
) -> MissionContext:
    """Return a mission of which only the request is known."""
    request = admission.request

    async def begun() -> MissionContext:
        return MissionContext(
            mission_id=request.mission_id,
            request=request,
            policy=admission.policy,
            created_at=services.clock.now().isoformat(),
            target_path=request.place,
        )

    return await checkpoint.step(step, MissionContext, begun)
