"""Where an outcome is told: GitHub, who we are there, and what is remembered of earlier fixes."""

from dataclasses import dataclass

from bot.ports import GitHub, GitHubUpkeep, Registry


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

    @property
    def ours(self) -> frozenset[str]:
        """The logins that are us."""
        return frozenset({self.app_slug, f"{self.app_slug}[bot]"})
