"""The permanent record of a mission: request, outcome, times, costs, hand-over and its fate."""

from enum import StrEnum
from typing import Any

from pydantic import Field

from bot.domain.mission import Outcome
from sandbox.types import Frozen

PAGE = 50
"""Default number of missions on one page."""
MOST_PAGE = 200
"""Largest number of missions on one page."""


class RecordState(StrEnum):
    """The place of a mission in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDED = "ended"


class MissionRecord(Frozen):
    """One row of the table of missions. Every text is sanitized before it is stored."""

    mission_id: str
    repository: int | None = None
    """GitHub's id; None for a folder on this machine."""
    place: str
    """`owner/name`, or the folder."""
    trigger: str
    requested_by: str | None = None
    """The login of the person who asked; None for a red check."""
    check: str = ""
    branch: str | None = None
    head_sha: str | None = None
    for_pull_request: int | None = None
    """The red pull request."""
    state: RecordState = RecordState.WAITING
    outcome: Outcome | None = None
    """None until it is known; an ended mission without one was stopped without a report."""
    reason: str = ""
    title: str = ""
    """The change, or the diagnosis of a mission without one."""
    kind: str = ""
    """The failure's class: an exception, or a lint rule."""
    fingerprint: str = ""
    queued_at: str = ""
    """ISO 8601, UTC, as all times here."""
    began_at: str = ""
    ended_at: str = ""
    seconds: float = 0.0
    cost_usd: float | None = 0.0
    """Cost of models; None if a provider reported none."""
    rung: int | None = None
    template: str = ""
    confidence: float | None = None
    way: str = ""
    """The way of delivery: `pull-request`, `push`, `suggest` or `report`; empty without a fix."""
    pull_request: int | None = None
    """The pull request of the fix."""
    fate: str = ""
    """The state of the offered fix, one of `FixState`; empty if none was offered."""
    tries: int = 1

    @property
    def verdict(self) -> str:
        """Return the outcome, or the state of a mission without one."""
        return self.outcome.value if self.outcome else self.state.value


class StageMark(Frozen):
    """The start of one stage of a mission."""

    name: str
    at: str
    detail: str = ""


class MissionQuery(Frozen):
    """A selection of missions, newest first."""

    repository: int | None = None
    place: str = ""
    outcome: Outcome | None = None
    state: RecordState | None = None
    improves: bool | None = None
    """Only missions that improve code, or only those that repair a failure; None for both."""
    since: str = ""
    """ISO 8601; only missions that were queued or ended from then on."""
    before: int | None = None
    """Position of the page: only older missions."""
    limit: int = Field(default=PAGE, ge=1, le=MOST_PAGE)


class MissionPage(Frozen):
    """One page of missions."""

    missions: tuple[MissionRecord, ...] = ()
    next: int | None = None
    """`before` of the following page; None on the last one."""


class RepositoryTally(Frozen):
    """Missions of one repository."""

    repository: int | None
    place: str
    missions: int
    fixed: int
    flaky: int
    merged: int
    refused: int
    """Fixes that people closed or reverted."""
    newest: str


class ClassTally(Frozen):
    """Missions of one class of failures."""

    kind: str
    missions: int
    fixed: int


class Scoreboard(Frozen):
    """Figures of ended missions."""

    outcomes: dict[str, int] = Field(default_factory=dict)
    fates: dict[str, int] = Field(default_factory=dict)
    kinds: tuple[ClassTally, ...] = ()
    days: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """By day: ended missions, and fixes among them."""
    seconds: tuple[float, ...] = ()
    """Time to the verdict of the newest missions that ran, sorted, in seconds."""
    cost_usd: float = 0.0

    @property
    def missions(self) -> int:
        """Return the number of ended missions."""
        return sum(self.outcomes.values())

    def quantile(self, share: float) -> float | None:
        """Return the time to a verdict that this share of missions stays within."""
        if not self.seconds:
            return None
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))]

    @property
    def cost_per_accepted(self) -> float | None:
        """Return the costs of all missions per merged fix, in US dollars."""
        merged = self.fates.get("merged", 0)
        return self.cost_usd / merged if merged else None

    @property
    def reverted_rate(self) -> float | None:
        """Return the share of reverted fixes among those that were merged."""
        reverted = self.fates.get("reverted", 0)
        landed = self.fates.get("merged", 0) + reverted
        return reverted / landed if landed else None


class AuditEntry(Frozen):
    """One write to GitHub, or one action of a person."""

    at: str
    actor: str
    """A login, `operator` for the command line, or our own bot."""
    action: str
    repository: int | None = None
    place: str = ""
    mission: str = ""
    subject: str = ""
    result: str = ""


Detail = dict[str, Any]
"""Everything that the page of one mission shows, sanitized; its keys are those of the evidence."""


class MissionView(MissionRecord):
    """One mission with everything that is stored about it."""

    stages: tuple[StageMark, ...] = ()
    detail: Detail | None = None
    """None once it has expired."""
    audit: tuple[AuditEntry, ...] = ()
    """Writes to GitHub and actions of people, newest first."""
