"""What looking after offered fixes needs from outside."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.github import PullRequestState
from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import FixState, OfferedFix
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError
from bot.ports import Clock, GitHub, GitHubRuns, GitHubUpkeep, LessonStore, Registry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Keeper:
    """What looking after offered fixes needs from outside."""

    github: GitHub
    upkeep: GitHubUpkeep
    runs: GitHubRuns
    registry: Registry
    lessons: LessonStore
    clock: Clock
    app_slug: str
    """Who we are: `<app_slug>[bot]`."""
    read_policy: Callable[[RepositoryRef], Awaitable[RepositoryPolicy]]

    def is_us(self, login: str) -> bool:
        """Whether it was ourselves."""
        return login in {self.app_slug, f"{self.app_slug}[bot]"}

    async def open_fixes(self, repository: RepositoryRef) -> tuple[OfferedFix, ...]:
        """Pull requests of ours that are ours to close: open, and nobody pushed to them."""
        fixes = await self.registry.offered(repository.id, state=FixState.OPEN)
        return tuple(fix for fix in fixes if fix.pull_request is not None and not fix.taken_over)

    async def may_write(self, repository: RepositoryRef) -> bool:
        """Whether the repository wants more than a rehearsal."""
        return (await self.read_policy(repository)).mode != "staged"

    async def pull_request(self, repository: RepositoryRef, fix: OfferedFix) -> PullRequestState | None:
        """The pull request of a fix as it stands now."""
        return await self.github.pull_request(repository, fix.pull_request) if fix.pull_request is not None else None

    async def tidy(self, repository: RepositoryRef, fix: OfferedFix) -> None:
        """Clear the fix's branch away, unless somebody pushed to it; nothing depends on that."""
        if fix.pull_request is None:
            return
        try:
            if await self.may_write(repository):
                await self.upkeep.delete_branch(repository, fix.branch, expected=fix.commit)
        except GitHubError as error:
            if error.retryable:
                raise
            log.warning("the branch %s stays: %s", fix.branch, error.message)
