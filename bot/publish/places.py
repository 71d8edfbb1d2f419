"""Where an outcome is told: GitHub, who we are there, and what is remembered of earlier fixes."""

from dataclasses import dataclass

from bot.domain.request import MissionRequest
from bot.ports import GitHub, GitHubUpkeep, Registry
from bot.publish.branch import PREFIX


@dataclass(frozen=True)
class Places:
    """What publishing needs from outside."""

    github: GitHub
    app_slug: str
    """Who we are there: what `<app_slug>[bot]` writes is ours."""
    registry: Registry | None = None
    """What is remembered of earlier fixes; None remembers nothing."""
    upkeep: GitHubUpkeep | None = None
    """What needs more than a new pull request; None leaves it at that."""
    branch_prefix: str = PREFIX
    """How the names of our branches begin."""
    base_branch: str | None = None
    """Where pull requests go; None takes the red branch."""

    def base_of(self, request: MissionRequest) -> str | None:
        """The branch that a fix of this request goes into."""
        return self.base_branch or request.head_branch

    @property
    def ours(self) -> frozenset[str]:
        """The logins that are us."""
        return frozenset({self.app_slug, f"{self.app_slug}[bot]"})
