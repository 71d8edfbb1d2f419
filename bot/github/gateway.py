"""GitHub gateways: GitHubGateway for our App, TokenGateway for a given token."""

import base64
from types import MappingProxyType

from pydantic import SecretStr

from bot.domain.github import CloneSource
from bot.domain.request import RepositoryRef
from bot.github.app_client import AppClient
from bot.github.client import WRITE_PAUSE_S, OnWrite
from bot.github.hooks import Hooks
from bot.github.issues import GitHubIssues
from bot.github.names import repository_path, web_url
from bot.github.token_client import TokenClient
from bot.github.tokens import CLONE

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
"""The permissions that the App requires; neither workflows nor administration.

`issues` is needed to receive comments, also those of pull requests.
"""


class _Gateway(GitHubIssues):
    """GitHub for the steps of a mission: reads, writes and clone access."""

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """Return the clone URL with a token that can only read this repository."""
        token = await self._client.token(repository, CLONE)
        pair = base64.b64encode(f"x-access-token:{token.value}".encode()).decode("ascii")
        return CloneSource(
            url=clone_url(self._client.api_url, repository), authorization=f"Basic {pair}"
        )

    async def release(self, repository: RepositoryRef) -> None:
        """Revoke the tokens held for this repository; later calls create new ones. Never raises."""
        await self._client.release(repository)

    async def app_slug(self) -> str:
        """Return our login without `[bot]`."""
        return (await self._client.identity()).login.removesuffix("[bot]")

    async def aclose(self) -> None:
        """Revoke all tokens and close the connections of this event loop."""
        await self._client.aclose()


class GitHubGateway(_Gateway, Hooks):
    """The gateway of our App.

    Args:
        app_id: The App's numeric id.
        private_key: The App's private key, PEM.
        api_url: GitHub's API.
        write_pause_s: Seconds between two writes to one repository.
        on_write: Called after every write; must not raise.
    """

    def __init__(
        self,
        app_id: str,
        private_key: SecretStr,
        api_url: str,
        write_pause_s: float = WRITE_PAUSE_S,
        *,
        on_write: OnWrite | None = None,
    ) -> None:
        client = AppClient(app_id, private_key, api_url, write_pause_s, on_write=on_write)
        _Gateway.__init__(self, client)
        Hooks.__init__(self, client)

    async def missing_permissions(self) -> tuple[str, ...]:
        """Return the required permissions that the App lacks, such as `checks: write`."""
        given = (await self._app.app()).permissions
        order = ("none", "read", "write", "admin")
        return tuple(
            f"{name}: {level}"
            for name, level in NEEDED.items()
            if order.index(str(given.get(name, "none"))) < order.index(level)
        )


class TokenGateway(_Gateway):
    """The gateway for one given token: a workflow's own, or a person's.

    Args:
        token: `GITHUB_TOKEN`, or a personal access token.
        api_url: GitHub's API.
        write_pause_s: Seconds between two writes to one repository.
    """

    def __init__(
        self, token: SecretStr, api_url: str, write_pause_s: float = WRITE_PAUSE_S
    ) -> None:
        super().__init__(TokenClient(token, api_url, write_pause_s))


def clone_url(api_url: str, repository: RepositoryRef) -> str:
    """Return the clone URL that belongs to an API address."""
    return f"{web_url(api_url)}{repository_path(repository).removeprefix('/repos')}.git"
