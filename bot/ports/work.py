"""Where work waits and goes on: inbox, queue, checkpoint, progress, clock."""

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
    Feedback,
    Halted,
    HeadMoved,
    Ignored,
    InstallationChange,
    MissionRequest,
    RedHead,
    RepositoryRef,
)

Value = TypeVar("Value", bound=BaseModel)

Work = MissionRequest | RedHead | Command | Feedback | HeadMoved | InstallationChange
"""What a delivery can ask for."""


class MissionQueue(Protocol):
    """Where missions wait; survives a restart."""

    async def submit(self, request: MissionRequest) -> bool:
        """Put a mission in line; False when the same mission id is there already."""
        ...

    async def feed_back(self, feedback: Feedback) -> None:
        """Put a verdict of a human in line."""
        ...

    async def settle(self, red: RedHead) -> bool:
        """Wait until the checks of this head have settled, then ask for its mission; False when that waits already."""
        ...

    async def command(self, command: Command) -> bool:
        """Put what a person asked in line, before automatic work; False when it is there already."""
        ...

    async def notice(self, change: HeadMoved | InstallationChange | Halted) -> None:
        """Put something that changes what is under way in line."""
        ...

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running; or the settling of the checks that would lead to it."""
        ...

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        """The missions that wait or run, of one repository or of all."""
        ...

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        ...


class DeliveryInbox(Protocol):
    """Where deliveries are written down before they are answered."""

    async def accept(  # noqa: PLR0917 -- one column each
        self, delivery: str, event: str, action: str | None, decision: Work | Ignored, fingerprint: str | None = None
    ) -> Receipt:
        """Write it down, durably, and say what becomes of it. Raises QueueError when that cannot be done now.

        Args:
            delivery: GitHub's id.
            event: Its event.
            action: The event's action.
            decision: Work, or why there is none.
            fingerprint: Of the signed body; the same one under another id is a duplicate.
        """
        ...


class Checkpoint(Protocol):
    """Runs a stage once and remembers its value: in memory, or durably by the engine."""

    async def step(self, name: str, returns: type[Value], call: Callable[[], Awaitable[Value]]) -> Value:
        """The remembered value of this step, or the value of calling it now. Names are stable and unique."""
        ...


class PatientCheckpoint(Checkpoint, Protocol):
    """A checkpoint that can let time pass."""

    async def pause(self, seconds: float) -> None:
        """Let time pass between steps; a wait that was begun is not begun again after a restart."""
        ...


class Meter(Protocol):
    """Books the time of one mission, within every limit."""

    async def before(self, spent_s: float, own: Grant) -> Grant:
        """How long the next step may take, given what was spent and what the mission itself has left.

        Raises:
            BudgetSpent: a limit leaves no time, or no mission.
            Paused: the mission has not begun, and its place is paused.
        """
        ...

    async def close(self, spent_s: float) -> None:
        """The mission came to its end, or is broken off: what is set aside is given back."""
        ...

    async def bill(self) -> Spend:
        """What models cost the mission, also in steps that a dead process did not finish."""
        ...


class Meters(Protocol):
    """Gives every mission its meter."""

    def of(self, request: MissionRequest, policy: RepositoryPolicy) -> Meter:
        """The meter of a mission."""
        ...


class Switchboard(Protocol):
    """What the operator has paused."""

    async def of(self, repository: RepositoryRef) -> Pause | None:
        """The widest pause a repository is in. Raises StoreError when nobody knows."""
        ...


class Progress(Protocol):
    """Tells somebody how far a mission is."""

    async def stage(self, context: MissionContext, name: str, detail: str = "") -> None:
        """A stage begins. Never raises: progress must not break a mission."""
        ...


class Clock(Protocol):
    """The time."""

    def now(self) -> datetime:
        """The wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...
