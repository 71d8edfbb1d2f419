"""GitHub as our App, and for a workflow step with its single token."""

from typing import Protocol

from pydantic import SecretStr
from typing_extensions import override

from bot.domain.github import CheckUpdate
from bot.domain.request import RepositoryRef
from bot.errors import SettingsError
from bot.github.client import WRITE_PAUSE_S, OnWrite
from bot.github.gateway import GitHubGateway, TokenGateway
from bot.ports import GitHub
from bot.settings import Settings


class ActionGitHub(GitHub, Protocol):
    """GitHub as the Action uses it."""

    async def app_slug(self) -> str:
        """Return our name there: `<slug>[bot]` is our login."""
        ...

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        ...


class _Step(TokenGateway):
    """GitHub without check runs: the step's own job is the check that people see."""

    @override
    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        return 0


def connect(token: SecretStr, api_url: str, write_pause_s: float = WRITE_PAUSE_S) -> ActionGitHub:
    """Return GitHub for a workflow's or a person's token."""
    return _Step(token, api_url, write_pause_s)


def build_github(settings: Settings, on_write: OnWrite | None = None) -> GitHubGateway:
    """Return GitHub as our App.

    Args:
        settings: All settings.
        on_write: Called after every write; must not raise.

    Raises:
        SettingsError: the App's id or key is missing.
    """
    if settings.app_id is None:
        raise SettingsError("no App id", "set METAAGENT_APP_ID")
    return GitHubGateway(
        settings.app_id,
        settings.signing_key,
        settings.github_api_url,
        settings.write_pause_s,
        on_write=on_write,
    )
