"""What handlers, events and the CI share: the state, the webhook sender and the way to start the CI."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.github_server.entities import Repository, WorkflowRun
from tests.github_server.webhooks import Webhooks
from tests.github_server.world import World


@dataclass(frozen=True, slots=True)
class Trigger:
    """A reason to run the CI."""

    repository: Repository
    event: str
    branch: str
    sha: str
    before: str
    actor: str
    head_repository: Repository


def _no_ci(_trigger: Trigger) -> None:
    """Stands in until the server has a CI."""


def _no_rerun(_run: WorkflowRun) -> None:
    """Stands in until the server has a CI."""


@dataclass(slots=True)
class Hub:
    """The services of one local GitHub."""

    world: World
    webhooks: Webhooks
    start_ci: Callable[[Trigger], None] = _no_ci
    rerun_ci: Callable[[WorkflowRun], None] = _no_rerun
