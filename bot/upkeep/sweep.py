"""What was missed while we were away, since GitHub does not tell twice: deliveries, red heads, ends of fixes."""

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
from bot.ports import AppHooks, MissionQueue
from bot.upkeep.expire import expire
from bot.upkeep.gone import close_gone
from bot.upkeep.keeper import Keeper
from sandbox.types import Frozen

KEPT = timedelta(days=3)
"""So long GitHub keeps what it delivered."""
FIRST = timedelta(hours=1)
"""How far a service looks back that never got a delivery: it was just set up, and old failures are not its business."""
MOST_DELIVERIES = 20_000
"""Of those days, the newest: two hundred pages of GitHub's log."""
MOST_FAILURES = 5
"""Repositories that may fail until it is GitHub as a whole that fails."""
MOST_AGAIN = 3
"""So often a head whose settling failed is watched anew in the life of a process."""
OVERLAP = timedelta(minutes=10)
"""Two sweeps look at so much of the same time: a delivery may be logged late."""
LOOK_BACK = MappingProxyType({"daily": timedelta(days=1), "weekly": timedelta(days=7)})
"""How far back a repository's schedule wants red heads looked for."""

log = logging.getLogger(__name__)


class Swept(Frozen):
    """What one sweep found."""

    deliveries: int = 0
    """Handed in again."""
    heads: int = 0
    """Red commits without a mission."""
    closed: int = 0
    """Fixes of ours taken back."""
    problems: tuple[str, ...] = ()


def _kept(_: RepositoryRef) -> AbstractAsyncContextManager[None]:
    """Rights are left to run out."""
    return nullcontext()


async def _alone() -> bool:
    """There is no other process."""
    return True


async def _answered(_: str) -> bool:
    """Nobody knows that one failed."""
    return False


@dataclass(frozen=True)
class Sweeper:
    """Looks for what was missed. Everything it finds is known by an id, so that finding it twice changes nothing."""

    keeper: Keeper
    hooks: AppHooks
    queue: MissionQueue
    known: Callable[[Sequence[str]], Awaitable[frozenset[str]]]
    """Which deliveries came in."""
    hand_in: Callable[[str, str, bytes], Awaitable[None]]
    """Takes a delivery as if it came now: its id, event and body."""
    rights: Callable[[RepositoryRef], AbstractAsyncContextManager[None]] = _kept
    """Gives the rights in a repository back when nobody works there any more."""
    is_ours: Callable[[], Awaitable[bool]] = _alone
    """Whether it is this process, of several, that sweeps now."""
    is_unanswered: Callable[[str], Awaitable[bool]] = _answered
    """Whether a head's settling failed, so that nobody ever asked for its mission."""
    watched_anew: Counter[str] = field(default_factory=Counter)
    """How often, by mission, for that reason."""

    async def run(self, every_s: float) -> None:
        """Sweep now, and then again and again, until cancelled; of several processes one does."""
        since = self.keeper.clock.now() - KEPT
        while True:
            begun = self.keeper.clock.now()
            try:
                if await self.is_ours():
                    swept = await self.sweep(since)
                    since = begun - OVERLAP
                    log.info("swept: %s", swept.model_dump_json())
            except MetaAgentError as error:
                log.warning("the sweep ended early: %s", error.message)  # the next one looks at the same time again
            await asyncio.sleep(every_s)

    async def sweep(self, since: datetime) -> Swept:
        """Look once at everything since then.

        Raises:
            GitHubError: GitHub limits us, failed or could not be reached.
            MetaAgentError: what was found could not be handed on.
        """
        log_of_hooks = await self.hooks.deliveries(since=since, most=MOST_DELIVERIES)
        lost, since = await self._lost(log_of_hooks, since)
        problems = await self._taken_in(lost)
        deliveries = len(lost) - len(problems)
        if len(log_of_hooks) >= MOST_DELIVERIES:
            problems.append(f"only the newest {MOST_DELIVERIES} deliveries were looked at")
        heads, closed, failed = 0, 0, list[GitHubError]()
        async for repository in self._repositories():
            try:
                async with self.rights(repository):
                    heads += await self.red_heads(repository, since)
                    closed += await close_gone(repository, self.keeper) + await expire(repository, self.keeper)
            except GitHubError as error:
                problems.append(f"{repository.full_name}: {error.message}")
                failed += [error] if error.retryable else []
                if isinstance(error, RateLimited) or len(failed) == MOST_FAILURES:
                    break
        if failed:
            # The others were looked at; the next sweep looks at the same time again.
            raise failed[0]
        return Swept(deliveries=deliveries, heads=heads, closed=closed, problems=tuple(problems))

    async def _lost(self, log_of_hooks: Sequence[HookDelivery], since: datetime) -> tuple[list[HookDelivery], datetime]:
        """One attempt of each delivery that never came in, oldest first; and from when on anything counts."""
        attempts = {one.guid: one for one in log_of_hooks}  # newest first, so the oldest attempt of each stays
        came = await self.known(tuple(attempts))
        if attempts and not came:
            since = max(since, self.keeper.clock.now() - FIRST)
        lost = [one for one in attempts.values() if one.guid not in came and _moment(one.delivered_at) >= since]
        return sorted(lost, key=lambda one: _moment(one.delivered_at)), since

    async def _taken_in(self, lost: Sequence[HookDelivery]) -> list[str]:
        """Hand in what was lost; those that GitHub has forgotten since stand in nobody's way."""
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
                log.warning("installation %d cannot be looked at: %s", installation.id, error.message)
                continue
            for repository in repositories:
                yield repository

    async def red_heads(self, repository: RepositoryRef, since: datetime) -> int:
        """Ask for a mission for every head that turned red since then and has none; how many.

        Raises:
            GitHubError: GitHub refused, failed or could not be reached.
            QueueError: the queue cannot take them.
        """
        asked, scheduled = 0, None
        pulls = await self.keeper.upkeep.open_pull_requests(repository)
        branch = repository.default_branch
        heads = {pull.head_sha: _head(pull, repository) for pull in pulls}
        tip = await self.keeper.github.branch_head(repository, branch)
        if tip is not None:
            heads.setdefault(tip, Head(sha=tip, branch=branch, repository_id=repository.id))
        numbers = {pull.head_sha: pull.number for pull in pulls}
        for sha, head in heads.items():
            if guards.no_to_head(head) is not None:
                continue
            red = RedHead(
                repository=repository,
                head_sha=sha,
                head_branch=head.branch,
                pull_request=numbers.get(sha),
                trigger=Trigger.SCHEDULE,
            )
            state = await self.queue.status(red.mission_id)
            anew = state == "failed" and await self._may_watch_anew(red.mission_id)
            if state is not None and not anew:
                continue
            failed = await self._failed(repository, sha)
            # It failed after the last sweep, and turned red before that.
            begin = min(since, self.keeper.clock.now() - KEPT) if anew else since
            checks = guards.best_check(check for check, at in failed if at >= begin)
            if failed and not checks:
                scheduled = scheduled or await self._scheduled(repository, since)
                checks = guards.best_check(check for check, at in failed if at >= scheduled)
            if checks:
                asked += await self.queue.settle(red.with_(check=checks[0]))
                if anew:
                    self.watched_anew[red.mission_id] += 1
        return asked

    async def _may_watch_anew(self, mission_id: str) -> bool:
        """Whether a head's settling failed, and not again and again: what was told as an end is none of it."""
        return self.watched_anew[mission_id] < MOST_AGAIN and await self.is_unanswered(mission_id)

    async def _failed(self, repository: RepositoryRef, sha: str) -> list[tuple[CheckRef, datetime]]:
        """What is red on a commit and since when: check runs, and where none is, statuses of older CI."""
        runs = await self.keeper.github.check_runs(repository, sha)
        if failed := list(_red(runs, self.keeper)):
            return failed
        statuses = await self.keeper.runs.commit_statuses(repository, sha)
        return [
            (CheckRef(id=0, name=status.context), _moment(status.updated_at))
            for status in statuses
            if status.is_red and guards.is_test_status(status.context)
        ]

    async def _scheduled(self, repository: RepositoryRef, since: datetime) -> datetime:
        """How far back the repository itself wants red heads looked for."""
        wanted = LOOK_BACK.get((await self.keeper.read_policy(repository)).schedule or "")
        return min(since, self.keeper.clock.now() - wanted) if wanted else since


def _head(pull: PullRequestState, repository: RepositoryRef) -> Head:
    return Head(sha=pull.head_sha, branch=pull.head_ref, repository_id=repository.id, elsewhere=pull.from_fork)


def _red(checks: Sequence[CheckRunState], keeper: Keeper) -> Iterator[tuple[CheckRef, datetime]]:
    """The red checks of others, and when they ended."""
    for check in checks:
        if check.app_slug == keeper.app_slug or check.app_slug in guards.NOT_TESTS:
            continue
        if check.conclusion in guards.RED:
            ref = CheckRef(id=check.id, name=check.name, app_slug=check.app_slug, conclusion=check.conclusion)
            yield ref, _moment(check.completed_at)


def _moment(text: str) -> datetime:
    """When; what cannot be read is always recent, and is looked at."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
