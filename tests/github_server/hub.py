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
    merge: str = ""

    @property
    def tested(self) -> str:
        """The commit the jobs check out: a pull request's merge into its base."""
        return self.merge or self.sha

    @property
    def forked(self) -> bool:
        """Whether the head is in another repository."""
        return self.head_repository is not self.repository


def _no_report(_text: str) -> None:
    """Stands in until the server has a checker."""


def _no_ci(_trigger: Trigger) -> None:
    """Stands in until the server has a CI."""


def _no_rerun(_run: WorkflowRun, _names: set[str], _actor: str) -> None:
    """Stands in until the server has a CI."""


@dataclass(slots=True)
class Hub:
    """The services of one local GitHub.

    Attributes:
        world: all state.
        webhooks: the sender.
        report: told what went wrong in the server itself, which fails the test.
        start_ci: starts the CI for a reason.
        rerun_ci: runs jobs of a run again, for somebody.
    """

    world: World
    webhooks: Webhooks
    report: Callable[[str], None] = _no_report
    start_ci: Callable[[Trigger], None] = _no_ci
    rerun_ci: Callable[[WorkflowRun, set[str], str], None] = _no_rerun
