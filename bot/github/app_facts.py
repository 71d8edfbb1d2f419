"""Facts for set-up and the doctor: the App, its webhook address and a repository's workflows."""

from pydantic import Field

from bot.domain.request import RepositoryRef
from bot.github.app_client import AppClient
from bot.github.events import Slim
from bot.github.reading import read
from sandbox.types import Frozen


class HookReply(Slim):
    """The webhook configuration."""

    url: str = ""


class AppEventsReply(Slim):
    """The App's permissions and event subscriptions."""

    slug: str = ""
    html_url: str = ""
    events: tuple[str, ...] = ()
    permissions: dict[str, str] = Field(default_factory=dict)


class WorkflowReply(Slim):
    """A workflow of a repository."""

    path: str
    state: str = "active"


class WorkflowsReply(Slim):
    """A page of workflows."""

    workflows: tuple[WorkflowReply, ...]


class Workflow(Frozen):
    """A workflow of a repository."""

    path: str
    is_active: bool


class AppFacts:
    """Facts about the App that no mission needs.

    Args:
        client: The client of the App.
    """

    def __init__(self, client: AppClient) -> None:
        self._client = client

    async def app(self) -> AppEventsReply:
        """Return the App's permissions and event subscriptions."""
        return AppEventsReply.model_validate_json(
            (await self._client.as_app("GET", "/app")).content
        )

    async def hook_url(self) -> str:
        """Return the webhook address; empty if the App has none."""
        return HookReply.model_validate_json(
            (await self._client.as_app("GET", "/app/hook/config")).content
        ).url

    async def set_hook_secret(self, secret: str) -> None:
        """Set the secret for webhook signatures."""
        await self._client.as_app("PATCH", "/app/hook/config", json={"secret": secret})

    async def workflows(self, repository: RepositoryRef) -> tuple[Workflow, ...]:
        """Return the workflows of a repository, from every page."""
        replies = await self._client.pages(
            repository, "/actions/workflows", needs="actions:read", params={}
        )
        found = (one for reply in replies for one in read(reply, WorkflowsReply).workflows)
        return tuple(Workflow(path=one.path, is_active=one.state == "active") for one in found)
