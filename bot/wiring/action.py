"""GitHub as a step of a workflow sees it: with the one token it was given."""

from typing import Protocol

from pydantic import SecretStr
from typing_extensions import override

from bot.domain.github import CheckUpdate
from bot.domain.request import RepositoryRef
from bot.github.client import WRITE_PAUSE_S
from bot.github.gateway import TokenGateway
from bot.ports import GitHub, GitHubUpkeep


class ActionGitHub(GitHub, GitHubUpkeep, Protocol):
    """What the Action needs of GitHub."""

    async def app_slug(self) -> str:
        """Who we are there: what `<slug>[bot]` writes is ours."""
        ...

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        ...


class _Step(TokenGateway):
    """A step's job is the check that people see: it makes no other one."""

    @override
    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        return 0


def connect(token: SecretStr, api_url: str, write_pause_s: float = WRITE_PAUSE_S) -> ActionGitHub:
    """GitHub with a workflow's token, or a person's."""
    return _Step(token, api_url, write_pause_s)
