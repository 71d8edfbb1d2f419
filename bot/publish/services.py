"""Publishing targets: GitHub, our identity there, and the registry of earlier fixes."""

from dataclasses import dataclass

from bot.domain.request import MissionRequest
from bot.ports import GitHub, Registry
from bot.publish.branch import PREFIX


@dataclass(frozen=True)
class PublishServices:
    """External dependencies of publishing."""

    github: GitHub
    app_slug: str
    """Slug of our app: `<app_slug>[bot]` is our login."""
    registry: Registry | None = None
    """Registry of earlier fixes; None records nothing."""
    branch_prefix: str = PREFIX
    """Prefix of our branch names."""
    base_branch: str | None = None
    """Target branch of pull requests; None uses the failing branch."""

    def target_branch(self, request: MissionRequest) -> str | None:
        """Return the target branch for a fix of this request."""
        return self.base_branch or request.head_branch

    @property
    def ours(self) -> frozenset[str]:
        """Return our logins."""
        return frozenset({self.app_slug, f"{self.app_slug}[bot]"})
