"""GitHubGateway: the calls we make, signed in as the App."""

import base64
from types import MappingProxyType

from pydantic import SecretStr

from bot.domain.github import CloneSource
from bot.domain.request import RepositoryRef
from bot.github.client import AppClient
from bot.github.names import repository_path, web_url
from bot.github.tokens import CLONE
from bot.github.writing import GitHubWriting

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


class GitHubGateway(GitHubWriting):
    """GitHub for the steps of a mission; reading, writing, and the right to fetch.

    Args:
        app_id: The App's numeric id.
        private_key: Its key, PEM.
        api_url: GitHub's API.
    """

    def __init__(self, app_id: str, private_key: SecretStr, api_url: str) -> None:
        super().__init__(AppClient(app_id, private_key, api_url))

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """Where to fetch, with a token scoped to reading this repository."""
        token = await self._client.token(repository, CLONE)
        pair = base64.b64encode(f"x-access-token:{token.value}".encode()).decode("ascii")
        return CloneSource(url=clone_url(self._client.api_url, repository), authorization=f"Basic {pair}")

    async def app_slug(self) -> str:
        """Our App's slug, for its bot user's name."""
        return (await self._client.app()).slug

    async def missing_permissions(self) -> tuple[str, ...]:
        """What the App was not given and needs, `checks: write`; empty when it has everything."""
        given = (await self._client.app()).permissions
        order = ("none", "read", "write", "admin")
        return tuple(
            f"{name}: {level}"
            for name, level in NEEDED.items()
            if order.index(str(given.get(name, "none"))) < order.index(level)
        )

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._client.aclose()


def clone_url(api_url: str, repository: RepositoryRef) -> str:
    """Where git finds a repository, from where its API is."""
    return f"{web_url(api_url)}{repository_path(repository).removeprefix('/repos')}.git"
