"""What we read of GitHub's answers about the App itself: who it is, where it is installed, what it was told."""

from datetime import datetime
from typing import Any

from pydantic import Field

from bot.domain.github import HookDelivery, InstallationRef
from bot.github.events import Account, Id, Repository, Slim


class TokenReply(Slim):
    """An installation token; its form and length are GitHub's business."""

    token: str = Field(min_length=1, repr=False)
    expires_at: datetime | None = None


class AppReply(Slim):
    """Our App."""

    id: Id
    slug: str = ""
    permissions: dict[str, Any] = Field(default_factory=dict)


class UserReply(Slim):
    """A person, or a bot."""

    login: str


class InstallationReply(Slim):
    """An installation."""

    id: Id
    permissions: dict[str, Any] = Field(default_factory=dict)
    account: Account | dict[str, Any] | None = None
    suspended_at: datetime | None = None
    events: tuple[str, ...] = ()

    def state(self) -> InstallationRef:
        """As the bot knows it."""
        return InstallationRef(
            id=self.id,
            account=self.account.login if isinstance(self.account, Account) else "",
            suspended=self.suspended_at is not None,
            permissions={name: str(level) for name, level in self.permissions.items()},
            events=self.events,
        )


class RepositoriesReply(Slim):
    """A page of an installation's repositories."""

    repositories: tuple[Repository, ...]


class HookDeliveryReply(Slim):
    """One attempt to deliver a webhook."""

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
        """As the bot knows it."""
        return HookDelivery(**{**self.model_dump(), "delivered_at": self.delivered_at.isoformat()})


class HookRequest(Slim):
    """What was sent."""

    payload: Any = None


class HookDeliveryDetail(Slim):
    """One attempt with what was sent."""

    event: str
    request: HookRequest
