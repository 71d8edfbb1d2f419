"""The fields we read from GitHub's responses about the App and its installations."""

from datetime import datetime
from typing import Any

from pydantic import Field

from bot.domain.github import HookDelivery, InstallationRef
from bot.github.events import GitHubAccount, Id, Repository, Slim


class TokenReply(Slim):
    """An installation token; its format is opaque."""

    token: str = Field(min_length=1, repr=False)
    expires_at: datetime | None = None


class AppReply(Slim):
    """Our App."""

    id: Id
    slug: str = ""
    permissions: dict[str, Any] = Field(default_factory=dict)


class UserReply(Slim):
    """A user or bot."""

    login: str


class InstallationReply(Slim):
    """An installation."""

    id: Id
    permissions: dict[str, Any] = Field(default_factory=dict)
    # An enterprise has no login.
    account: GitHubAccount | dict[str, Any] | None = None
    suspended_at: datetime | None = None
    events: tuple[str, ...] = ()

    def state(self) -> InstallationRef:
        """Return the installation as a domain value."""
        return InstallationRef(
            id=self.id,
            account=self.account.login if isinstance(self.account, GitHubAccount) else "",
            suspended=self.suspended_at is not None,
            permissions={name: str(level) for name, level in self.permissions.items()},
            events=self.events,
        )


class RepositoriesReply(Slim):
    """A page of an installation's repositories."""

    repositories: tuple[Repository, ...]


class HookDeliveryReply(Slim):
    """A delivery attempt of a webhook."""

    id: Id
    guid: str
    event: str
    action: str | None = None
    delivered_at: datetime
    status_code: int = 0
    redelivery: bool = False
    repository_id: Id | None = None
    installation_id: Id | None = None

    def state(self) -> HookDelivery:
        """Return the attempt as a domain value."""
        return HookDelivery(**{**self.model_dump(), "delivered_at": self.delivered_at.isoformat()})


class HookRequest(Slim):
    """The request of a delivery attempt."""

    payload: Any = None


class HookDeliveryDetail(Slim):
    """A delivery attempt with its request."""

    event: str
    request: HookRequest
