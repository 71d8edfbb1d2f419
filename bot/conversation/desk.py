"""What answering a command needs, what doing it came to, and what was told."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from bot.domain.policy import RepositoryPolicy
from bot.domain.registry import LiveMission
from bot.domain.request import RepositoryRef
from bot.ports import Clock, GitHub, GitHubRuns, GitHubUpkeep, LessonStore, MissionQueue, Registry
from bot.publish.markdown import Pen
from sandbox.gate import needles_of
from sandbox.types import Frozen


class CommandGitHub(GitHub, GitHubRuns, GitHubUpkeep, Protocol):
    """The calls that commands make."""


@dataclass(frozen=True)
class Desk:
    """Everything a command needs from outside."""

    github: CommandGitHub
    queue: MissionQueue
    registry: Registry
    lessons: LessonStore
    clock: Clock
    read_policy: Callable[[RepositoryRef], Awaitable[RepositoryPolicy]]
    app_slug: str = "metaagent"
    secrets: tuple[str, ...] = ()
    wind_down_s: float = 3.0
    """So long a mission that is stopped while it runs may still write its progress; the last word comes after it."""

    @property
    def pen(self) -> Pen:
        """Writes foreign text."""
        return Pen(secrets=needles_of(self.secrets))

    @property
    def login(self) -> str:
        """The bot user that acts for us."""
        return f"{self.app_slug}[bot]"


class Done(Frozen):
    """What doing a command came to."""

    ok: bool
    text: str = ""
    """The answer, as Markdown; empty when a mission answers instead."""
    mission_id: str | None = None
    """The mission it asked for."""
    stopped: tuple[LiveMission, ...] = ()
    """Missions it stopped, whose checks are to say so."""


class Reply(Frozen):
    """What was said to whoever asked."""

    command_id: str
    ok: bool = False
    text: str = ""
    comment: int | None = None
    """Where it stands; None when nothing was written."""
    mission_id: str | None = None
    refused: str = ""
    """Why nothing was done or nothing could be written; for the log."""


def done(text: str = "", *, mission_id: str | None = None) -> Done:
    """It is done."""
    return Done(ok=True, text=text, mission_id=mission_id)


def refuse(text: str) -> Done:
    """It is not done, and this is why."""
    return Done(ok=False, text=text)
