"""GitHubGateway: the calls we make, signed in as the App; TokenGateway: with a token that was given to us."""

import base64
from types import MappingProxyType

from pydantic import SecretStr

from bot.domain.github import CloneSource
from bot.domain.request import RepositoryRef
from bot.github.app_client import AppClient
from bot.github.client import WRITE_PAUSE_S
from bot.github.hooks import Hooks
from bot.github.names import repository_path, web_url
from bot.github.token_client import TokenClient
from bot.github.tokens import CLONE
from bot.github.upkeep import GitHubKeeping

NEEDED = MappingProxyType(
    {
        "metadata": "read",
        "contents": "write",
        "pull_requests": "write",
        "issues": "read",
        "checks": "write",
        "actions": "read",
        "statuses": "read",
    }
)
"""What the App must be granted; no workflows, no administration."""


class _Gateway(GitHubKeeping):
    """GitHub for the steps of a mission; reading, writing, and the right to fetch."""

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """Where to fetch, with a token scoped to reading this repository."""
        token = await self._client.token(repository, CLONE)
        pair = base64.b64encode(f"x-access-token:{token.value}".encode()).decode("ascii")
        return CloneSource(url=clone_url(self._client.api_url, repository), authorization=f"Basic {pair}")

    async def release(self, repository: RepositoryRef) -> None:
        """Give back every right held for this repository; what is asked later asks for new ones. Never raises."""
        await self._client.release(repository)

    async def app_slug(self) -> str:
        """The name before `[bot]` of who we are."""
        return (await self._client.identity()).login.removesuffix("[bot]")

    async def aclose(self) -> None:
        """Give back all rights and close the connections of this event loop."""
        await self._client.aclose()


class GitHubGateway(_Gateway, Hooks):
    """GitHub, seen by our App.

    Args:
        app_id: The App's numeric id.
        private_key: Its key, PEM.
        api_url: GitHub's API.
        write_pause_s: Seconds between two writes to one repository.
    """

    def __init__(self, app_id: str, private_key: SecretStr, api_url: str, write_pause_s: float = WRITE_PAUSE_S) -> None:
        client = AppClient(app_id, private_key, api_url, write_pause_s)
        _Gateway.__init__(self, client)
        Hooks.__init__(self, client)

    async def missing_permissions(self) -> tuple[str, ...]:
        """What the App was not given and needs, `checks: write`; empty when it has everything."""
        given = (await self._app.app()).permissions
        order = ("none", "read", "write", "admin")
        return tuple(
            f"{name}: {level}"
            for name, level in NEEDED.items()
            if order.index(str(given.get(name, "none"))) < order.index(level)
        )


class TokenGateway(_Gateway):
    """GitHub, seen with one token that was given to us: a workflow's own, or a person's.

    Args:
        token: `GITHUB_TOKEN`, or a personal access token.
        api_url: GitHub's API.
        write_pause_s: Seconds between two writes to one repository.
    """

    def __init__(self, token: SecretStr, api_url: str, write_pause_s: float = WRITE_PAUSE_S) -> None:
        super().__init__(TokenClient(token, api_url, write_pause_s))


def clone_url(api_url: str, repository: RepositoryRef) -> str:
    """Where git finds a repository, from where its API is."""
    return f"{web_url(api_url)}{repository_path(repository).removeprefix('/repos')}.git"
