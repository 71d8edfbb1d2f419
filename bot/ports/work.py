"""Work and its state: inbox, queue, checkpoint, progress and clock."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Protocol, TypeVar

from pydantic import BaseModel

from bot.domain.account import Grant
from bot.domain.command import Command
from bot.domain.delivery import Receipt
from bot.domain.mission import MissionContext
from bot.domain.model import Spend
from bot.domain.pause import Pause
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import (
    DashboardDue,
    DashboardTouched,
    Feedback,
    Halted,
    HeadMoved,
    Ignored,
    InstallationChange,
    MissionRequest,
    PullRequestOpened,
    RedHead,
    RepositoryRef,
)

Value = TypeVar("Value", bound=BaseModel)

Work = (
    MissionRequest
    | RedHead
    | Command
    | Feedback
    | HeadMoved
    | PullRequestOpened
    | InstallationChange
    | DashboardTouched
)
"""The values that a delivery can lead to."""

Notice = (
    HeadMoved | PullRequestOpened | InstallationChange | Halted | DashboardDue | DashboardTouched
)
"""Events that neither request a mission nor answer one."""


class MissionQueue(Protocol):
    """The persistent queue of missions."""

    async def submit(self, request: MissionRequest) -> bool:
        """Enqueue a mission. Return False if its id is already queued."""
        ...

    async def feed_back(self, feedback: Feedback) -> None:
        """Enqueue a person's verdict on a fix."""
        ...

    async def settle(self, red: RedHead) -> bool:
        """Enqueue a mission for this head after its checks have settled.

        Returns:
            False if one is already waiting for them.
        """
        ...

    async def command(self, command: Command) -> bool:
        """Enqueue a person's command before automatic work.

        Return False if it is already queued.
        """
        ...

    async def notice(self, change: Notice, *, delay_s: float = 0.0) -> None:
        """Enqueue an event that affects active missions, a pull request or the dashboard issue.

        An equal one is enqueued once.
        """
        ...

    async def cancel(self, mission_id: str) -> None:
        """Cancel a waiting or running mission, or the settling of checks that would lead to it."""
        ...

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        """Return waiting and running missions, of one repository or of all."""
        ...

    async def status(self, mission_id: str) -> str | None:
        """Return `waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        ...


class DeliveryInbox(Protocol):
    """The persistent inbox of deliveries, written before they are answered."""

    async def accept(  # noqa: PLR0917 -- one column each
        self,
        delivery: str,
        event: str,
        action: str | None,
        decision: Work | Ignored,
        fingerprint: str | None = None,
    ) -> Receipt:
        """Persist a delivery and return its receipt.

        Args:
            delivery: GitHub's delivery id.
            event: The event name.
            action: The event's action.
            decision: The work, or the reason for ignoring it.
            fingerprint: Of the signed body; an equal one under another id is a duplicate.

        Raises:
            QueueError: the delivery cannot be stored now.
        """
        ...


class Checkpoint(Protocol):
    """Runs a stage once and stores its result: in memory, or durably in the workflow engine."""

    async def step(
        self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]
    ) -> Value:
        """Return the stored result of this step, or call it now. Names are stable and unique."""
        ...


class PatientCheckpoint(Checkpoint, Protocol):
    """A checkpoint that supports waiting."""

    async def pause(self, seconds: float) -> None:
        """Wait between steps; a restart does not begin the wait again."""
        ...


class Meter(Protocol):
    """The time account of one mission, within every limit."""

    async def before(self, spent_s: float, own: Grant) -> Grant:
        """Return the time granted for the next step.

        Raises:
            BudgetSpent: no time or no mission is left within a limit.
            Paused: the mission has not started, and its scope is paused.
        """
        ...

    async def close(self, spent_s: float) -> None:
        """Release the reserved time at the end of the mission."""
        ...

    async def bill(self) -> Spend:
        """Return the model costs of the mission, including unfinished steps of dead processes."""
        ...


class Meters(Protocol):
    """A factory of the meter of each mission."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> Meter:
        """Return the meter of a mission."""
        ...


class Switchboard(Protocol):
    """The pauses set by the operator."""

    async def of(self, repository: RepositoryRef) -> Pause | None:
        """Return the widest pause that covers a repository.

        Raises:
            StoreError: the pauses cannot be read.
        """
        ...


class Progress(Protocol):
    """Progress reporting for users."""

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """Report the start of a stage. Never raises: progress must not break a mission."""
        ...


class Clock(Protocol):
    """A clock."""

    def now(self) -> datetime:
        """Return the wall-clock time, UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds."""
        ...
