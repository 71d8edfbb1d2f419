"""The bag of dependencies that all work on GitHub outside of missions shares."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.mission_record import AuditEntry
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import RepositoryRef
from bot.ports.github import GitHub
from bot.ports.memory import LessonStore, Registry
from bot.ports.records import AuditLog, MissionRecords
from bot.ports.work import Clock, MissionQueue, Switchboard


@dataclass(frozen=True)
class Services:
    """External dependencies of commands, settling, ended missions and offered fixes."""

    github: GitHub
    queue: MissionQueue
    registry: Registry
    lessons: LessonStore
    clock: Clock
    read_policy: Callable[[RepositoryRef], Awaitable[RepositoryPolicy]]
    records: MissionRecords | None = None
    """The permanent records of missions; None where none are kept."""
    audit: AuditLog | None = None
    """The log of people's actions; None where none is kept."""
    pauses: Switchboard | None = None
    """The operator's pauses, to show them; None where there is no operator."""
    app_slug: str = "metaagent"
    """The slug of our App, whose checks are ignored."""
    secrets: tuple[str, ...] = ()
    """Values to mask in texts."""
    wind_down_s: float = 3.0
    """Time for a stopped mission to write its last progress, in seconds, before its final
    report."""

    async def note(self, action: str, by: str, repository: RepositoryRef, **more: str) -> None:
        """Add a person's action to the audit log, if one is kept."""
        if self.audit is not None:
            at, place = self.clock.now().isoformat(), repository.full_name
            entry = AuditEntry(
                at=at, actor=by, action=action, repository=repository.id, place=place, **more
            )
            await self.audit.note(entry)

    @property
    def login(self) -> str:
        """Return the login of our bot user."""
        return f"{self.app_slug}[bot]"

    def is_us(self, login: str) -> bool:
        """Return True if the login is our App's."""
        return login in {self.app_slug, self.login}
