"""Requests work without an event: continuous missions and improvements, as the policy schedules."""

from datetime import datetime
from types import MappingProxyType

from bot.domain.request import (
    HeadMoved,
    MissionRequest,
    RedHead,
    RepositoryRef,
    Trigger,
    improvement_id,
)
from bot.ports import Services
from sandbox.types import TrustTier

_DAYS = MappingProxyType({"daily": 1, "weekly": 7})


async def request_scheduled(repository: RepositoryRef, since: datetime, services: Services) -> int:
    """Request the work that became due; return the number of requests.

    Args:
        repository: The repository.
        since: The time of the last look.
        services: The services to use.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        QueueError: the queue is unavailable.
    """
    now = services.clock.now()
    # The policy is read once a day, not at each look.
    if _period("daily", since) == _period("daily", now):
        return 0
    policy = await services.read_policy(repository)
    wanted = {
        kind: schedule
        for kind, schedule in (
            ("continuous", policy.continuous.schedule),
            ("improve", policy.improve.schedule),
        )
        if schedule in _DAYS and _period(schedule, since) != _period(schedule, now)
    }
    branch = repository.default_branch
    head = await services.github.branch_head(repository, branch) if wanted else None
    if head is None:
        return 0
    asked = 0
    if "continuous" in wanted:
        asked += await _request_continuous(repository, head, services)
    if "improve" in wanted:
        schedule = wanted["improve"]
        request = MissionRequest(
            # Two looks in the same period request the same mission.
            mission_id=improvement_id(repository.id, f"{schedule}-{_period(schedule, now)}"),
            trigger=Trigger.SCHEDULE,
            repository=repository,
            head_sha=head,
            head_branch=branch,
            tier=TrustTier.DEFAULT_BRANCH,
            # Not an attempt to repair the branch, so it must not use one up.
            requested_by=services.login,
            improve="",
        )
        asked += await services.queue.submit(request)
    return asked


async def request_after_merge(moved: HeadMoved, services: Services) -> None:
    """Request continuous missions after a push to the default branch, if the policy wants them.

    Args:
        moved: The event.
        services: The services to use.

    Raises:
        GitHubError: GitHub refused, failed or could not be reached.
        QueueError: the queue is unavailable.
    """
    is_push = moved.pull_request is None and not moved.from_fork
    if not is_push or moved.branch != moved.repository.default_branch or moved.after is None:
        return
    if (await services.read_policy(moved.repository)).continuous.after_merge:
        await _request_continuous(moved.repository, moved.after, services)


async def _request_continuous(repository: RepositoryRef, head: str, services: Services) -> bool:
    red = RedHead(
        repository=repository,
        head_sha=head,
        head_branch=repository.default_branch,
        trigger=Trigger.SCHEDULE,
        tier=TrustTier.DEFAULT_BRANCH,
        continuous=True,
    )
    if await services.queue.status(f"{red.mission_id}:unchecked") is not None:
        return False  # the tests of this commit ran already
    return await services.queue.settle(red)


def _period(schedule: str, at: datetime) -> int:
    """Return the number of the day or week (UTC) of a time."""
    return at.toordinal() // _DAYS[schedule]
