"""A mission queue in memory that remembers what it was asked."""

from bot.domain.command import Command
from bot.domain.request import (
    DashboardDue,
    Feedback,
    MissionRequest,
    RedHead,
)
from bot.errors import QueueError
from bot.ports import Notice


class MemoryQueue:
    """Missions in a dictionary; a test moves them from state to state."""

    def __init__(self) -> None:
        self.requests: dict[str, MissionRequest] = {}
        self.states: dict[str, str] = {}
        self.feedback: list[Feedback] = []
        self.red: dict[str, RedHead] = {}
        """The heads that settle, by the mission they ask for."""
        self.commands: dict[str, Command] = {}
        self.notices: list[Notice] = []
        self.away = False
        """While set, nothing is taken."""

    async def submit(self, request: MissionRequest) -> bool:
        """Put a mission in line; False when it is there already and has not failed."""
        self._check()
        if self.states.get(request.mission_id, "failed") != "failed":
            return False
        self.requests[request.mission_id] = request
        self.states[request.mission_id] = "waiting"
        return True

    async def feed_back(self, feedback: Feedback) -> None:
        """Put a verdict of a human in line."""
        self._check()
        if not any(
            f.with_(delivery_id=None) == feedback.with_(delivery_id=None) for f in self.feedback
        ):
            self.feedback.append(feedback)

    async def settle(self, red: RedHead) -> bool:
        """Wait for the head's other checks; False when that waits already, or its mission is there."""
        self._check()
        if await self.status(red.mission_id) not in {None, "failed"}:
            return False
        self.red[red.mission_id] = red
        return True

    async def command(self, command: Command) -> bool:
        """Put what a person asked in line; False when it is there already."""
        self._check()
        if command.command_id in self.commands:
            return False
        self.commands[command.command_id] = command
        return True

    async def notice(self, change: Notice, *, delay_s: float = 0.0) -> None:
        """Put something that changes what is under way in line; the board's turn once."""
        self._check()
        if not (isinstance(change, DashboardDue) and change in self.notices):
            self.notices.append(change)

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running; or the settling of the checks that would lead to it."""
        if await self.status(mission_id) in {"waiting", "running"}:
            self.states[mission_id] = "cancelled"

    async def under_way(self, repository_id: int | None = None) -> tuple[MissionRequest, ...]:
        """The missions that wait or run, of one repository or of all."""
        live = [
            r for r in self.requests.values() if self.states[r.mission_id] in {"waiting", "running"}
        ]
        return tuple(
            r for r in live if repository_id in {None, r.repository.id if r.repository else None}
        )

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        return self.states.get(mission_id, "waiting" if mission_id in self.red else None)

    def _check(self) -> None:
        if self.away:
            raise QueueError("the queue is away")
