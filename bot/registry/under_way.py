"""Which missions are under way, and which installations may have any, as the registry is told and asked."""

import logging
from types import MappingProxyType

from bot.domain.registry import InstallationState, LiveMission
from bot.domain.request import InstallationChange, MissionRequest, RepositoryRef
from bot.errors import StoreError
from bot.ports import Clock, Registry

_STATES = MappingProxyType(
    {"created": (False, False), "unsuspend": (False, False), "suspend": (True, False), "deleted": (False, True)}
)
"""Whether an installation is suspended, and whether it is removed, after an event that decides it."""

log = logging.getLogger(__name__)


async def begin(request: MissionRequest, registry: Registry, clock: Clock, *, admitted: bool = False) -> None:
    """Write down that a mission waits or runs, admitted or not yet; a registry that cannot be written stops no work."""
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
        admitted=admitted,
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
    # Repositories that come or go, and permissions, leave the installation as it is; they come only while it stands.
    # What says nothing new is not written: it would undo what another process writes down at this moment.
    if change.action not in _STATES and known is not None and not known.removed:
        return
    state = known or InstallationState(installation_id=change.installation_id)
    suspended, removed = _STATES.get(change.action, (state.suspended, False))
    account, now = change.account or state.account, clock.now().isoformat()
    await registry.note_installation(state.with_(account=account, suspended=suspended, removed=removed, at=now))
