"""Work that nobody needs any more is ended: its branch moved, its pull request was closed, we may not be there."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import GivenUp, Halted, HeadMoved, InstallationChange, MissionRequest, RepositoryRef
from bot.ports import Clock, GitHub, MissionQueue, PatientCheckpoint, Registry
from bot.publish.dry_run import publish_staged
from bot.publish.places import Places
from bot.publish.publisher import publish_outcome
from bot.publish.story import a_story
from bot.registry import under_way
from sandbox.types import Frozen, TrustTier

WIND_DOWN_S = 3.0
"""So long a mission that is stopped while it runs may still write its progress; the last word comes after it."""

log = logging.getLogger(__name__)

ReadPolicy = Callable[[RepositoryRef], Awaitable[RepositoryPolicy]]
"""What a repository allows us."""


async def _defaults(_: RepositoryRef) -> RepositoryPolicy:
    """Nobody said anything."""
    return RepositoryPolicy()


class Needless(Frozen):
    """Missions that are to be ended."""

    missions: tuple[MissionRequest, ...] = ()


class Stopped(Frozen):
    """A mission was stopped."""

    ran: bool
    ended: bool = False
    """It had come to its own end already, and told it."""


@dataclass(frozen=True)
class Ending:
    """What ending a mission needs from outside."""

    github: GitHub
    queue: MissionQueue
    registry: Registry
    clock: Clock
    app_slug: str = "metaagent"
    secrets: tuple[str, ...] = ()
    read_policy: ReadPolicy = _defaults
    """How it may be told there."""
    wind_down_s: float = WIND_DOWN_S


async def end_needless(change: HeadMoved | InstallationChange, ending: Ending, checkpoint: PatientCheckpoint) -> None:
    """Stop what a change made needless, and tell it where it can be told.

    Raises:
        GitHubError: GitHub does not answer, for longer than the checkpoint tries.
        StoreError: the registry cannot be written.
    """
    if isinstance(change, InstallationChange):
        await _left(change, ending, checkpoint)
    else:
        await _moved(change, ending, checkpoint)


async def tell_given_up(lost: GivenUp, ending: Ending, checkpoint: PatientCheckpoint) -> None:
    """Say that a mission is not begun once more, where people wait for it.

    Raises:
        GitHubError: GitHub does not answer, for longer than the checkpoint tries.
    """
    request = lost.request
    why = lost.why or "the process that worked on it died"
    reason = f"{why} {lost.deaths} times; it is not tried again unless somebody asks"

    async def tell() -> Publication:
        return await tell_end(request, ending, Outcome.ERROR, reason)

    if request.repository is not None:
        await checkpoint.step(f"tell {request.mission_id}", Publication, tell)


async def end_halted(halted: Halted, ending: Ending, checkpoint: PatientCheckpoint) -> None:
    """Stop a mission that the operator does not want to go on, unless it came to its own end, and say so.

    Raises:
        GitHubError: GitHub does not answer, for longer than the checkpoint tries.
    """
    await _end(halted.request, (Outcome.CANCELLED, f"{halted.why}, and what ran was stopped"), ending, checkpoint)


async def _left(change: InstallationChange, ending: Ending, checkpoint: PatientCheckpoint) -> None:
    """Without the installation nothing can be told; what waits or runs there is only stopped."""

    async def find() -> Needless:
        await under_way.note(change, ending.registry, ending.clock)
        everything = change.action in {"deleted", "suspend"}
        lost = frozenset(change.removed)
        return Needless(
            missions=tuple(
                request
                for request in await ending.queue.under_way()
                if request.repository is not None
                and (
                    request.repository.id in lost
                    or (everything and request.repository.installation_id == change.installation_id)
                )
            )
        )

    found = await checkpoint.step("find", Needless, find)
    for request in found.missions:
        log.info("stopped: the App may not work there any more", extra={"mission": request.mission_id})
        await ending.queue.cancel(request.mission_id)


async def _moved(moved: HeadMoved, ending: Ending, checkpoint: PatientCheckpoint) -> None:
    async def find() -> Needless:
        await _forgive(moved, ending.registry)
        about = [r for r in await ending.queue.under_way(moved.repository.id) if _concerns(moved, r)]
        return Needless(missions=tuple([r for r in about if await _is_needless(r, moved, ending.github)]))

    found = await checkpoint.step("find", Needless, find)
    for request in found.missions:
        await _end(request, _why(moved), ending, checkpoint)


async def _end(
    request: MissionRequest, why: tuple[Outcome, str], ending: Ending, checkpoint: PatientCheckpoint
) -> None:
    async def stop() -> Stopped:
        state = await ending.queue.status(request.mission_id)
        await ending.queue.cancel(request.mission_id)
        # Who is stopped already may have run a moment ago.
        return Stopped(ran=state in {"running", "cancelled"}, ended=state in {"done", "failed"})

    async def tell() -> Publication:
        return await tell_end(request, ending, *why)

    stopped = await checkpoint.step(f"stop {request.mission_id}", Stopped, stop)
    if stopped.ended:
        return
    if stopped.ran:
        await checkpoint.pause(ending.wind_down_s)
    await checkpoint.step(f"tell {request.mission_id}", Publication, tell)


async def tell_end(request: MissionRequest, ending: Ending, outcome: Outcome, reason: str) -> Publication:
    """The last word on a mission that did not come to its own end."""
    repository = request.repository
    context = MissionContext(
        mission_id=request.mission_id,
        request=request,
        policy=await ending.read_policy(repository) if repository else RepositoryPolicy(),
        created_at=ending.clock.now().isoformat(),
        target_path=repository.full_name if repository else "",
    )
    story = a_story(context.ended(outcome, reason), secrets=ending.secrets)
    publish = publish_staged if context.policy.mode == "staged" else publish_outcome
    return await publish(story, Places(ending.github, ending.app_slug))


def _why(moved: HeadMoved) -> tuple[Outcome, str]:
    if moved.closed:
        return Outcome.CANCELLED, f"the pull request #{moved.pull_request} was closed while we worked"
    where = f"moved on to {moved.after[:12]}" if moved.after else "is gone"
    return Outcome.STALE, f"the branch {moved.branch} {where} while we worked"


def _concerns(moved: HeadMoved, request: MissionRequest) -> bool:
    """Whether a mission works on what moved: the pull request, or the branch of this repository."""
    if moved.pull_request is not None and request.pull_request == moved.pull_request:
        return True
    if moved.from_fork or request.tier is TrustTier.FORK or request.head_branch != moved.branch:
        return False
    # A closed pull request leaves its branch behind, and with it the work that another one, or a push, asked for.
    return not moved.closed or (request.pull_request is None and moved.branch != moved.repository.default_branch)


async def _is_needless(request: MissionRequest, moved: HeadMoved, github: GitHub) -> bool:
    """Whether nobody needs a mission, now: events come late and in any order."""
    if moved.closed and moved.pull_request is not None:
        pull = await github.pull_request(moved.repository, moved.pull_request)
        return pull is None or pull.state != "open"  # else it was opened again meanwhile
    return await _is_stale(request, moved, github)


async def _is_stale(request: MissionRequest, moved: HeadMoved, github: GitHub) -> bool:
    """Whether the mission's commit is no longer the head."""
    if request.head_sha is None or request.head_sha == moved.after:
        return False  # a command takes the head it finds
    if moved.from_fork and moved.pull_request is not None:
        pull = await github.pull_request(moved.repository, moved.pull_request)
        return pull is not None and pull.head_sha != request.head_sha
    return await github.branch_head(moved.repository, moved.branch) != request.head_sha


async def _forgive(moved: HeadMoved, registry: Registry) -> None:
    """A person's push is a new beginning: our attempts on the branch count from zero."""
    if not moved.from_fork and not moved.closed and moved.pusher and not moved.pusher.endswith("[bot]"):
        await registry.forgive(moved.repository.id, branch=moved.branch)
