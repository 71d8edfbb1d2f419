"""Which missions are under way, and which installations may have any, as the registry is told and asked."""

import logging

from bot.domain.registry import InstallationState, LiveMission
from bot.domain.request import InstallationChange, MissionRequest, RepositoryRef
from bot.errors import StoreError
from bot.ports import Clock, Registry

log = logging.getLogger(__name__)


async def begin(request: MissionRequest, registry: Registry, clock: Clock) -> None:
    """Write down that a mission waits or runs; a registry that cannot be written must not stop work."""
    if request.repository is None:
        return
    live = LiveMission(
        mission_id=request.mission_id,
        repository=request.repository,
        head_sha=request.head_sha,
        branch=request.head_branch,
        pull_request=request.pull_request,
        requested_by=request.requested_by,
        since=clock.now().isoformat(),
    )
    try:
        await registry.begin(live)
    except StoreError as error:
        log.warning("not written down that it began: %s", error.message, extra={"mission": request.mission_id})


async def end(mission_id: str, registry: Registry) -> None:
    """Write down that a mission neither waits nor runs."""
    try:
        await registry.end(mission_id)
    except StoreError as error:
        log.warning("not written down that it ended: %s", error.message, extra={"mission": mission_id})


async def is_stopped(repository: RepositoryRef | None, registry: Registry) -> bool:
    """Whether the installation was suspended or removed: then nothing can be read, done or told there."""
    if repository is None or repository.installation_id is None:
        return False
    try:
        state = await registry.installation(repository.installation_id)
    except StoreError as error:
        log.warning("nothing is known of installations: %s", error.message)
        return False
    return state is not None and (state.suspended or state.removed)


async def note(change: InstallationChange, registry: Registry, clock: Clock) -> None:
    """Write down what an installation is like now.

    Raises:
        StoreError: it cannot be written.
    """
    known = await registry.installation(change.installation_id)
    state = known or InstallationState(installation_id=change.installation_id)
    states = {
        "created": (False, False),
        "unsuspend": (False, False),
        "suspend": (True, False),
        "deleted": (False, True),
        "new_permissions_accepted": (state.suspended, False),
    }
    # Repositories that come or go leave the installation as it is; they come only while it stands.
    suspended, removed = states.get(change.action, (state.suspended, False))
    account, now = change.account or state.account, clock.now().isoformat()
    await registry.note_installation(state.with_(account=account, suspended=suspended, removed=removed, at=now))
