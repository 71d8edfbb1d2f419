"""Recovery of missed events, which GitHub does not repeat: deliveries, red heads, ended fixes."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from bot.domain.github import CheckRunState, HookDelivery, PullRequestState
from bot.domain.request import CheckRef, RedHead, RepositoryRef, Trigger
from bot.errors import GitHubError, MetaAgentError, RateLimited
from bot.intake import guards
from bot.intake.guards import Head
from bot.ports import AppHooks, Services
from bot.upkeep.expire import expire
from bot.upkeep.gone import close_gone
from bot.upkeep.scheduled import request_scheduled
from sandbox.types import Frozen

KEPT = timedelta(days=3)
"""Time for which GitHub keeps deliveries."""
FIRST = timedelta(hours=1)
"""Period that a new service looks back; without stored deliveries, older failures are ignored."""
MOST_DELIVERIES = 20_000
"""Most deliveries read, newest first: 200 pages of GitHub's log."""
MOST_FAILURES = 5
"""Failing repositories after which the sweep stops: GitHub as a whole is failing."""
MOST_AGAIN = 3
"""Times that a process retries a head whose settling failed."""
OVERLAP = timedelta(minutes=10)
"""Overlap of two sweeps, since GitHub may log a delivery late."""
LOOK_BACK = MappingProxyType({"daily": timedelta(days=1), "weekly": timedelta(days=7)})
"""Period in which red heads are looked for, by the policy's schedule."""

log = logging.getLogger(__name__)


class Swept(Frozen):
    """The result of a sweep."""

    deliveries: int = 0
    """Missed deliveries that were ingested."""
    heads: int = 0
    """Missions requested for red commits."""
    scheduled: int = 0
    """Missions that a policy's schedule requested."""
    closed: int = 0
    """Fixes that were closed."""
    problems: tuple[str, ...] = ()


def _keep_rights(_: RepositoryRef) -> AbstractAsyncContextManager[None]:
    """Do nothing: the token expires by itself."""
    return nullcontext()


async def _alone() -> bool:
    """Return True: there is no other process."""
    return True


async def _no_dashboard(_: RepositoryRef) -> None:
    """Do nothing: no dashboard issues are kept."""


async def _no_failures(_: str) -> bool:
    """Return False: no failed settling is known."""
    return False


@dataclass(frozen=True)
class Sweeper:
    """Looks for missed events. Everything has an id, so that finding it twice does no harm."""

    services: Services
    hooks: AppHooks
    known: Callable[[Sequence[str]], Awaitable[frozenset[str]]]
    """Returns those deliveries that were received."""
    hand_in: Callable[[str, str, bytes], Awaitable[None]]
    """Ingests a delivery: its id, event and body."""
    rights: Callable[[RepositoryRef], AbstractAsyncContextManager[None]] = _keep_rights
    """Holds a repository's token, and revokes it when it is no longer used."""
    is_ours: Callable[[], Awaitable[bool]] = _alone
    """Returns whether this process, of several, has to sweep."""
    is_unanswered: Callable[[str], Awaitable[bool]] = _no_failures
    """Returns whether a head's settling failed, so that its mission was never requested."""
    look_after: Callable[[RepositoryRef], Awaitable[None]] = _no_dashboard
    """Brings a repository's dashboard issue up to date."""
    retries: Counter[str] = field(default_factory=Counter)
    """Retries of such heads, by mission id."""

    async def run(self, every_s: float) -> None:
        """Sweep now and then periodically, until cancelled; of several processes, one does."""
        since = self.services.clock.now() - KEPT
        while True:
            begun = self.services.clock.now()
            try:
                if await self.is_ours():
                    swept = await self.sweep(since)
                    since = begun - OVERLAP
                    log.info("sweep done: %s", swept.model_dump_json())
            except MetaAgentError as error:
                # The next sweep covers the same time again.
                log.warning("sweep failed: %s", error.message)
            await asyncio.sleep(every_s)

    async def sweep(self, since: datetime) -> Swept:
        """Look once at everything since a time.

        Raises:
            GitHubError: GitHub limits us, failed or could not be reached.
            MetaAgentError: ingesting a delivery or requesting a mission failed.
        """
        begin = since
        log_of_hooks = await self.hooks.deliveries(since=since, most=MOST_DELIVERIES)
        lost, since = await self._find_lost(log_of_hooks, since)
        problems = await self._ingest(lost)
        deliveries = len(lost) - len(problems)
        if len(log_of_hooks) >= MOST_DELIVERIES:
            problems.append(f"only the newest {MOST_DELIVERIES} deliveries were read")
        heads, scheduled, closed, failed = 0, 0, 0, list[GitHubError]()
        async for repository in self._repositories():
            try:
                async with self.rights(repository):
                    heads += await self.red_heads(repository, since)
                    scheduled += await request_scheduled(repository, begin, self.services)
                    closed += await close_gone(repository, self.services) + await expire(
                        repository, self.services
                    )
                    await self.look_after(repository)
            except GitHubError as error:
                problems.append(f"{repository.full_name}: {error.message}")
                failed += [error] if error.retryable else []
                if isinstance(error, RateLimited) or len(failed) == MOST_FAILURES:
                    break
        if failed:
            # All were checked; the next sweep covers the same time again.
            raise failed[0]
        return Swept(
            deliveries=deliveries,
            heads=heads,
            scheduled=scheduled,
            closed=closed,
            problems=tuple(problems),
        )

    async def _find_lost(
        self, log_of_hooks: Sequence[HookDelivery], since: datetime
    ) -> tuple[list[HookDelivery], datetime]:
        """Return an attempt of each missed delivery, oldest first, and the start of the period."""
        # The list is newest first, so the oldest attempt of each delivery stays.
        attempts = {one.guid: one for one in log_of_hooks}
        came = await self.known(tuple(attempts))
        if attempts and not came:
            since = max(since, self.services.clock.now() - FIRST)
        lost = [
            one
            for one in attempts.values()
            if one.guid not in came and _moment(one.delivered_at) >= since
        ]
        return sorted(lost, key=lambda one: _moment(one.delivered_at)), since

    async def _ingest(self, lost: Sequence[HookDelivery]) -> list[str]:
        """Ingest missed deliveries; return the problems with those that GitHub no longer has."""
        problems = []
        for delivery in lost:
            try:
                event, body = await self.hooks.delivery_payload(delivery.id)
            except GitHubError as error:
                if error.retryable:
                    raise
                problems.append(f"delivery {delivery.guid}: {error.message}")
                continue
            await self.hand_in(delivery.guid, event, body)
        return problems

    async def _repositories(self) -> AsyncIterator[RepositoryRef]:
        for installation in await self.hooks.installations():
            if installation.suspended:
                continue
            try:
                repositories = await self.hooks.repositories(installation.id)
            except GitHubError as error:
                if error.retryable:
                    raise
                log.warning("reading installation %d failed: %s", installation.id, error.message)
                continue
            for repository in repositories:
                yield repository

    async def red_heads(self, repository: RepositoryRef, since: datetime) -> int:
        """Request missions for heads that turned red since a time; return their number.

        Raises:
            GitHubError: GitHub refused, failed or could not be reached.
            QueueError: the queue is unavailable.
        """
        asked, scheduled = 0, None
        pulls = await self.services.github.open_pull_requests(repository)
        branch = repository.default_branch
        heads = {pull.head_sha: _head(pull, repository) for pull in pulls}
        tip = await self.services.github.branch_head(repository, branch)
        if tip is not None:
            heads.setdefault(tip, Head(sha=tip, branch=branch, repository_id=repository.id))
        numbers = {pull.head_sha: pull.number for pull in pulls}
        for sha, head in heads.items():
            if guards.refuse_head(head) is not None:
                continue
            red = RedHead(
                repository=repository,
                head_sha=sha,
                head_branch=head.branch,
                pull_request=numbers.get(sha),
                trigger=Trigger.SCHEDULE,
            )
            state = await self.services.queue.status(red.mission_id)
            retried = state == "failed" and await self._may_retry(red.mission_id)
            if state is not None and not retried:
                continue
            failed = await self._failed(repository, sha)
            # Its settling failed after the last sweep, so it turned red before that.
            begin = min(since, self.services.clock.now() - KEPT) if retried else since
            checks = guards.rank_checks(check for check, at in failed if at >= begin)
            if failed and not checks:
                scheduled = scheduled or await self._scheduled(repository, since)
                checks = guards.rank_checks(check for check, at in failed if at >= scheduled)
            if checks:
                asked += await self.services.queue.settle(red.with_(check=checks[0]))
                if retried:
                    self.retries[red.mission_id] += 1
        return asked

    async def _may_retry(self, mission_id: str) -> bool:
        """Return True if a head's settling failed without a report, and not too often."""
        return self.retries[mission_id] < MOST_AGAIN and await self.is_unanswered(mission_id)

    async def _failed(self, repository: RepositoryRef, sha: str) -> list[tuple[CheckRef, datetime]]:
        """Return a commit's failed check runs with their times, or else its failed statuses."""
        runs = await self.services.github.check_runs(repository, sha)
        if failed := list(_red(runs, self.services)):
            return failed
        statuses = await self.services.github.commit_statuses(repository, sha)
        return [
            (CheckRef(id=0, name=status.context), _moment(status.updated_at))
            for status in statuses
            if status.is_red and guards.is_test_status(status.context)
        ]

    async def _scheduled(self, repository: RepositoryRef, since: datetime) -> datetime:
        """Return the time from which the repository's schedule covers red heads."""
        wanted = LOOK_BACK.get((await self.services.read_policy(repository)).schedule or "")
        return min(since, self.services.clock.now() - wanted) if wanted else since


def _head(pull: PullRequestState, repository: RepositoryRef) -> Head:
    return Head(
        sha=pull.head_sha,
        branch=pull.head_ref,
        repository_id=repository.id,
        elsewhere=pull.from_fork,
    )


def _red(
    checks: Sequence[CheckRunState], services: Services
) -> Iterator[tuple[CheckRef, datetime]]:
    """Yield failed checks of other Apps, with the time of their end."""
    for check in checks:
        if check.app_slug == services.app_slug or check.app_slug in guards.NOT_TESTS:
            continue
        if check.conclusion in guards.RED:
            ref = CheckRef(
                id=check.id, name=check.name, app_slug=check.app_slug, conclusion=check.conclusion
            )
            yield ref, _moment(check.completed_at)


def _moment(text: str) -> datetime:
    """Parse a time; an invalid one counts as recent, so that it is checked."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
