"""One step of a workflow: inputs, event, settings and folders."""

from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bot.action.event import ActionEvent
from bot.action.inputs import ActionInputs
from bot.domain.request import MissionRequest, Trigger
from bot.errors import MetaAgentError
from bot.settings import Settings
from bot.wiring.github import ActionGitHub
from bot.wiring.mission_services import BuildMissionServices
from sandbox.errors import SandboxError
from sandbox.types import TrustTier


@dataclass(frozen=True)
class Step:
    """One step: inputs, event, settings and folders."""

    inputs: ActionInputs
    event: ActionEvent
    settings: Settings
    workspace: Path
    folder: Path
    """The folder for report, patch and mission."""
    own_token: bool
    """The token is the workflow's own."""
    out: TextIO
    build: BuildMissionServices
    github: ActionGitHub | None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that must never be visible."""
        return (
            *self.inputs.secrets,
            *self.settings.secret_values,
        )

    @property
    def is_remote(self) -> bool:
        """Return True if the failing commit is fetched instead of taken from the workspace."""
        return self.event.place == "remote"

    @property
    def project(self) -> str:
        """Return the prefix of a mission's paths; empty for a fetched commit."""
        return "" if self.is_remote else self.inputs.folder

    def request(self) -> MissionRequest:
        """Return the request, based on the event alone."""
        event, inputs = self.event, self.inputs
        key = event.repository.id if event.repository else "local"
        return MissionRequest(
            mission_id=f"action:{key}:{event.head_sha or 'workspace'}",
            trigger=Trigger.ACTION,
            repository=event.repository,
            head_sha=event.head_sha,
            head_branch=event.head_branch,
            pull_request=event.pull_request,
            tier=TrustTier.FORK if event.from_fork else TrustTier.BRANCH,
            actors=event.actors,
            command=inputs.test_command,
            time_limit_s=inputs.time_limit,
        )


def describe_error(error: MetaAgentError | SandboxError) -> str:
    """Return an error with its advice, in sentences without a final full stop."""
    return ". ".join(part.rstrip(".") for part in (error.message, error.advice) if part)
