"""Services a commit after its first red check; return one mission for all its failures."""

import logging
from collections.abc import Iterator

from bot.domain.github import CheckRunState
from bot.domain.request import CheckRef, Depth, MissionRequest, RedHead
from bot.errors import GitHubError, StoreError
from bot.intake import guards
from bot.ports import GitHubReads, MissionQueue, PatientCheckpoint, Services
from sandbox.types import Frozen

PAUSES_S = (3.0, 5.0, 10.0, 20.0)
"""Pauses between looks at the checks of a head, in seconds; the last one repeats."""
SETTLE_S = 180.0
"""Longest wait for the checks, in seconds; then the mission starts with what is red."""

SECOND = 2
"""Number of the look that even a green head gets."""

log = logging.getLogger(__name__)


class Look(Frozen):
    """The checks of a head at one moment."""

    red: tuple[CheckRef, ...] = ()
    """The failed checks, the first one to repair first."""
    pending: int = 0
    """Number of incomplete checks."""
    checks: int = 0
    """Number of checks and statuses of tests."""
    readable: bool = True
    """False if GitHub refused; then the event's check counts."""


class BranchHistory(Frozen):
    """Earlier missions on the branch, and whether the head is a fork's."""

    supersedes: str | None = None
    from_fork: bool = False
    at_work: bool = False
    """True if another mission already works on this commit."""


async def settle(
    red: RedHead, services: Services, checkpoint: PatientCheckpoint, settle_s: float = SETTLE_S
) -> MissionRequest | None:
    """Wait until all checks of the head have completed; return one request for the failed ones.

    Args:
        red: The first event about this head; later ones are merged.
        services: The services to use.
        checkpoint: Stores the looks, and sleeps durably.
        settle_s: Longest wait for the checks, in seconds.

    Returns:
        The request, or None if all checks are green, the head is a fork's, or another mission works
        on it.

    Raises:
        GitHubError: GitHub does not answer for longer than the checkpoint retries.
    """

    async def look() -> Look:
        return await _look(red, services)

    seen = await checkpoint.step("look 1", Look, look)
    for turn, pause in enumerate(_pauses(settle_s), start=2):
        # GitHub's API may lag behind its events, so a first look without red checks is repeated.
        # Where no check is expected, its absence has to last for the whole time.
        is_enough = turn > SECOND and not (red.continuous and not seen.checks)
        if not seen.pending and (seen.red or not seen.readable or is_enough):
            break
        await checkpoint.pause(pause)
        seen = await checkpoint.step(f"look {turn}", Look, look)
    if seen.readable and not seen.red and (seen.checks or not red.continuous):
        log.info("no mission: all checks are green", extra={"mission": red.mission_id})
        return None

    async def past() -> BranchHistory:
        return BranchHistory(
            supersedes=await _find_superseded(red, services),
            from_fork=await _is_forks(red, services.github),
            at_work=await _at_work(red, services.queue),
        )

    before = await checkpoint.step("past", BranchHistory, past)
    if before.from_fork:
        log.info("no mission: the head is a fork's", extra={"mission": red.mission_id})
        return None
    if before.at_work:
        log.info("no mission: another one was requested", extra={"mission": red.mission_id})
        return None
    request = first_request(red).with_(supersedes=before.supersedes)
    if seen.readable and not seen.checks:
        # A check that turns red later may still request the commit's own mission.
        request = request.with_(mission_id=f"{red.mission_id}:unchecked")
    return request.with_(check=seen.red[0], also_red=seen.red[1:]) if seen.red else request


def first_request(red: RedHead) -> MissionRequest:
    """Return the mission request as the event alone states it."""
    return MissionRequest(
        mission_id=red.mission_id,
        trigger=red.trigger,
        continuous=red.continuous,
        repository=red.repository,
        head_sha=red.head_sha,
        head_branch=red.head_branch,
        check=red.check,
        pull_request=red.pull_request,
        tier=red.tier,
        delivery_id=red.delivery_id,
        actors=red.actors,
    )


def _pauses(settle_s: float) -> Iterator[float]:
    """Yield pauses that add up to `settle_s`."""
    left, turn = settle_s, 0
    while left > 0:
        pause = min(PAUSES_S[min(turn, len(PAUSES_S) - 1)], left)
        yield pause
        left -= pause
        turn += 1


async def _look(red: RedHead, services: Services) -> Look:
    try:
        checks = await services.github.check_runs(red.repository, red.head_sha)
        statuses = await services.github.commit_statuses(red.repository, red.head_sha)
    except GitHubError as error:
        if error.retryable:
            raise
        # Admission asks again, and reports missing permissions to people.
        log.warning(
            "reading checks failed: %s",
            error.message,
            extra={"mission": red.mission_id},
        )
        return Look(readable=False)
    tests = [
        c for c in checks if c.app_slug != services.app_slug and c.app_slug not in guards.NOT_TESTS
    ]
    found = [_ref(c, red) for c in tests if c.status == "completed" and c.conclusion in guards.RED]
    old = [status for status in statuses if guards.is_test_status(status.context)]
    found += [CheckRef(id=0, name=status.context, app_slug="") for status in old if status.is_red]
    pending = sum(c.status != "completed" for c in tests) + sum(status.is_pending for status in old)
    return Look(red=guards.rank_checks(found), pending=pending, checks=len(tests) + len(old))


def _ref(check: CheckRunState, red: RedHead) -> CheckRef:
    if red.check is not None and red.check.id == check.id:
        return red.check.with_(app_slug=check.app_slug or red.check.app_slug)
    return CheckRef(
        id=check.id,
        name=check.name,
        app_slug=check.app_slug,
        conclusion=check.conclusion or "failure",
    )


async def _is_forks(red: RedHead, github: GitHubReads) -> bool:
    """Return True if the check's workflow run is a fork's; the job itself does not say."""
    if red.workflow_run is None or red.check is None:
        return False
    try:
        run = await github.workflow_run(red.repository, red.workflow_run)
    except GitHubError as error:
        if error.retryable:
            raise
        return False  # admission checks the commit's pull requests
    return run is not None and run.from_fork


async def _at_work(red: RedHead, queue: MissionQueue) -> bool:
    """Return True if another mission, usually a person's, waits or runs for this commit."""
    live = [
        one for one in await queue.under_way(red.repository.id) if one.mission_id != red.mission_id
    ]
    return any(
        one.head_sha == red.head_sha and one.depth is Depth.FIX and one.improve is None
        for one in live
    )


async def _find_superseded(red: RedHead, services: Services) -> str | None:
    """Return the mission on an older head of this branch that a push cancelled."""
    if red.head_branch is None:
        return None
    try:
        last = await services.registry.last(red.repository.id, branch=red.head_branch)
    except StoreError as error:
        log.warning(
            "reading the last mission failed: %s", error.message, extra={"mission": red.mission_id}
        )
        return None
    if last is None or last.mission_id == red.mission_id or last.head_sha == red.head_sha:
        return None
    return last.mission_id if await services.queue.status(last.mission_id) == "cancelled" else None
