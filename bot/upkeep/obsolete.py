"""Ends obsolete missions: the branch moved, the pull request was closed, the App was removed."""

import logging

from bot.domain.counted import counted
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import (
    GivenUp,
    Halted,
    HeadMoved,
    InstallationChange,
    MissionRequest,
)
from bot.ports import GitHubReads, PatientCheckpoint, Registry, Services
from bot.publish.dry_run import publish_staged
from bot.publish.publisher import publish_outcome
from bot.publish.recorder import Recorder
from bot.publish.services import PublishServices
from bot.publish.story import build_story
from bot.registry import under_way
from sandbox.types import Frozen, TrustTier

log = logging.getLogger(__name__)


class ObsoleteMissions(Frozen):
    """Missions to end."""

    missions: tuple[MissionRequest, ...] = ()


class StopResult(Frozen):
    """The result of stopping a mission."""

    ran: bool
    ended: bool = False
    """True if it had ended and reported by itself."""


async def end_obsolete(
    change: HeadMoved | InstallationChange, services: Services, checkpoint: PatientCheckpoint
) -> None:
    """Stop missions that a change made obsolete, and report that where possible.

    Raises:
        GitHubError: GitHub does not answer for longer than the checkpoint retries.
        StoreError: the registry cannot be written.
    """
    if isinstance(change, InstallationChange):
        await _end_of_installation(change, services, checkpoint)
    else:
        await _end_of_head(change, services, checkpoint)


async def report_given_up(lost: GivenUp, services: Services, checkpoint: PatientCheckpoint) -> None:
    """Report on the pull request or commit that a mission was given up.

    Raises:
        GitHubError: GitHub does not answer for longer than the checkpoint retries.
    """
    request = lost.request
    why = lost.why or "its process crashed"
    reason = f"{why} {counted(lost.deaths, 'time')}; it is tried again only on request"

    async def tell() -> Publication:
        return await report_end(request, services, Outcome.ERROR, reason)

    if request.repository is not None:
        await checkpoint.step(f"tell {request.mission_id}", Publication, tell)


async def end_halted(halted: Halted, services: Services, checkpoint: PatientCheckpoint) -> None:
    """Stop and report a mission that an operator's pause covers, unless it has ended by itself.

    Raises:
        GitHubError: GitHub does not answer for longer than the checkpoint retries.
    """
    await _end(
        halted.request,
        (Outcome.CANCELLED, f"{halted.why}, so the running mission was stopped"),
        services,
        checkpoint,
    )


async def _end_of_installation(
    change: InstallationChange, services: Services, checkpoint: PatientCheckpoint
) -> None:
    """Stop the missions of a lost installation; reporting is impossible without it."""

    async def find() -> ObsoleteMissions:
        await under_way.note(change, services.registry, services.clock)
        everything = change.action in {"deleted", "suspend"}
        lost = frozenset(change.removed)
        return ObsoleteMissions(
            missions=tuple(
                request
                for request in await services.queue.under_way()
                if request.repository is not None
                and (
                    request.repository.id in lost
                    or (everything and request.repository.installation_id == change.installation_id)
                )
            )
        )

    found = await checkpoint.step("find", ObsoleteMissions, find)
    for request in found.missions:
        log.info("stopped: the App was removed or suspended", extra={"mission": request.mission_id})
        await services.queue.cancel(request.mission_id)
        if services.records is not None:
            recorder = Recorder(services.records, services.clock, services.secrets)
            reason = "the App was removed or suspended there"
            await recorder.stop(request.mission_id, Outcome.CANCELLED, reason)
    for repository in change.removed:
        count = await services.lessons.forget(repository_id=str(repository))
        log.info("lessons forgotten", extra={"repository": repository, "count": count})


async def _end_of_head(moved: HeadMoved, services: Services, checkpoint: PatientCheckpoint) -> None:
    async def find() -> ObsoleteMissions:
        await _forgive(moved, services.registry)
        about = [
            r for r in await services.queue.under_way(moved.repository.id) if _concerns(moved, r)
        ]
        return ObsoleteMissions(
            missions=tuple([r for r in about if await _is_needless(r, moved, services.github)])
        )

    found = await checkpoint.step("find", ObsoleteMissions, find)
    for request in found.missions:
        await _end(request, _why(moved), services, checkpoint)


async def _end(
    request: MissionRequest,
    why: tuple[Outcome, str],
    services: Services,
    checkpoint: PatientCheckpoint,
) -> None:
    async def stop() -> StopResult:
        state = await services.queue.status(request.mission_id)
        await services.queue.cancel(request.mission_id)
        # A cancelled one may have been running a moment ago.
        return StopResult(ran=state in {"running", "cancelled"}, ended=state in {"done", "failed"})

    async def tell() -> Publication:
        return await report_end(request, services, *why)

    stopped = await checkpoint.step(f"stop {request.mission_id}", StopResult, stop)
    if stopped.ended:
        return
    if stopped.ran:
        await checkpoint.pause(services.wind_down_s)
    await checkpoint.step(f"tell {request.mission_id}", Publication, tell)


async def report_end(
    request: MissionRequest, services: Services, outcome: Outcome, reason: str
) -> Publication:
    """Publish the final report of a mission that was stopped."""
    repository = request.repository
    context = MissionContext(
        mission_id=request.mission_id,
        request=request,
        policy=await services.read_policy(repository) if repository else RepositoryPolicy(),
        created_at=services.clock.now().isoformat(),
        target_path=request.place,
    )
    story = build_story(context.ended(outcome, reason), secrets=services.secrets)
    publish = publish_staged if context.policy.mode == "staged" else publish_outcome
    publication = await publish(story, PublishServices(services.github, services.app_slug))
    if services.records is not None:
        recorder = Recorder(services.records, services.clock, services.secrets)
        await recorder.report(story, publication)
    return publication


def _why(moved: HeadMoved) -> tuple[Outcome, str]:
    if moved.closed:
        return (
            Outcome.CANCELLED,
            f"the pull request #{moved.pull_request} was closed during the mission",
        )
    where = f"moved on to {moved.after[:12]}" if moved.after else "was deleted"
    return Outcome.STALE, f"the branch {moved.branch} {where} during the mission"


def _concerns(moved: HeadMoved, request: MissionRequest) -> bool:
    """Return True if a mission works on the changed pull request or branch."""
    if moved.pull_request is not None and request.pull_request == moved.pull_request:
        return True
    if moved.from_fork or request.tier is TrustTier.FORK or request.head_branch != moved.branch:
        return False
    # A closed pull request keeps its branch, for which another pull request or a push may need a
    # fix.
    return not moved.closed or (
        request.pull_request is None and moved.branch != moved.repository.default_branch
    )


async def _is_needless(request: MissionRequest, moved: HeadMoved, github: GitHubReads) -> bool:
    """Return True if a mission is obsolete now, since events may be late or out of order."""
    if moved.closed and moved.pull_request is not None:
        pull = await github.pull_request(moved.repository, moved.pull_request)
        return pull is None or pull.state != "open"  # not if it was reopened meanwhile
    return await _is_stale(request, moved, github)


async def _is_stale(request: MissionRequest, moved: HeadMoved, github: GitHubReads) -> bool:
    """Return True if the mission's commit is no longer the head."""
    if request.head_sha is None or request.head_sha == moved.after:
        return False  # a command uses the head it finds
    if moved.from_fork and moved.pull_request is not None:
        pull = await github.pull_request(moved.repository, moved.pull_request)
        return pull is not None and pull.head_sha != request.head_sha
    return await github.branch_head(moved.repository, moved.branch) != request.head_sha


async def _forgive(moved: HeadMoved, registry: Registry) -> None:
    """Reset the attempts on a branch after a person's push."""
    if (
        not moved.from_fork
        and not moved.closed
        and moved.pusher
        and not moved.pusher.endswith("[bot]")
    ):
        await registry.forgive(moved.repository.id, branch=moved.branch)
