"""Records active missions and installations in the registry, and tolerates its failures."""

import logging
from types import MappingProxyType

from bot.domain.registry import InstallationState, LiveMission
from bot.domain.request import InstallationChange, MissionRequest, RepositoryRef
from bot.errors import StoreError
from bot.ports import Clock, Registry

_STATES = MappingProxyType(
    {
        "created": (False, False),
        "unsuspend": (False, False),
        "suspend": (True, False),
        "deleted": (False, True),
    }
)
"""The flags (suspended, removed) of an installation after an event that sets them."""

log = logging.getLogger(__name__)


async def begin(
    request: MissionRequest, registry: Registry, clock: Clock, *, admitted: bool = False
) -> None:
    """Record an active mission; a failed write is logged and does not stop the mission."""
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
        log.warning(
            "recording the start failed: %s",
            error.message,
            extra={"mission": request.mission_id},
        )


async def end(mission_id: str, registry: Registry) -> None:
    """Record that a mission ended; a failed write is logged."""
    try:
        await registry.end(mission_id)
    except StoreError as error:
        log.warning("recording the end failed: %s", error.message, extra={"mission": mission_id})


async def is_stopped(repository: RepositoryRef | None, registry: Registry) -> bool:
    """Return True if the installation was suspended or removed, so that we have no access."""
    if repository is None or repository.installation_id is None:
        return False
    try:
        state = await registry.installation(repository.installation_id)
    except StoreError as error:
        log.warning("reading an installation failed: %s", error.message)
        return False
    return state is not None and (state.suspended or state.removed)


async def note(change: InstallationChange, registry: Registry, clock: Clock) -> None:
    """Record the state of an installation.

    Raises:
        StoreError: the state cannot be written.
    """
    known = await registry.installation(change.installation_id)
    # Events about repositories or permissions do not change these flags, and imply that the
    # installation exists. An unchanged state is not written, since that could overwrite a
    # concurrent change.
    if change.action not in _STATES and known is not None and not known.removed:
        return
    state = known or InstallationState(installation_id=change.installation_id)
    suspended, removed = _STATES.get(change.action, (state.suspended, False))
    account, now = change.account or state.account, clock.now().isoformat()
    await registry.note_installation(
        state.with_(account=account, suspended=suspended, removed=removed, at=now)
    )
