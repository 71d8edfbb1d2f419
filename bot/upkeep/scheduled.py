"""Requests work without an event: continuous missions and improvements, as the policy schedules."""

from datetime import datetime, timedelta
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

READ_AGAIN = timedelta(hours=1)
"""Time after which a policy without `continuous.after_merge` is read again."""
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


class AfterMerge:
    """Requests continuous missions after pushes to the default branch, if the policy wants them.

    Reading a policy takes several requests to GitHub, and most policies do not want this. One that
    does not is read again after an hour.

    Args:
        services: The services to use.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._unwanted_until: dict[int, datetime] = {}
        """Time by repository."""

    async def request(self, moved: HeadMoved) -> None:
        """Request missions after a push.

        Args:
            moved: The event.

        Raises:
            GitHubError: GitHub refused, failed or could not be reached.
            QueueError: the queue is unavailable.
        """
        repository = moved.repository
        is_push = moved.pull_request is None and not moved.from_fork
        if not is_push or moved.branch != repository.default_branch or moved.after is None:
            return
        now = self._services.clock.now()
        self._unwanted_until = {key: at for key, at in self._unwanted_until.items() if at > now}
        if repository.id in self._unwanted_until:
            return
        if (await self._services.read_policy(repository)).continuous.after_merge:
            await _request_continuous(repository, moved.after, self._services)
        else:
            self._unwanted_until[repository.id] = now + READ_AGAIN


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
