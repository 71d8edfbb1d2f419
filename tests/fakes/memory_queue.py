"""A mission queue in memory that remembers what it was asked."""

from bot.domain.request import Feedback, MissionRequest
from bot.errors import QueueError


class MemoryQueue:
    """Missions in a dictionary; a test moves them from state to state."""

    def __init__(self) -> None:
        self.requests: dict[str, MissionRequest] = {}
        self.states: dict[str, str] = {}
        self.feedback: list[Feedback] = []
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
        if not any(f.with_(delivery_id=None) == feedback.with_(delivery_id=None) for f in self.feedback):
            self.feedback.append(feedback)

    async def cancel(self, mission_id: str) -> None:
        """Stop a mission, waiting or running."""
        if self.states.get(mission_id) in {"waiting", "running"}:
            self.states[mission_id] = "cancelled"

    async def status(self, mission_id: str) -> str | None:
        """`waiting`, `running`, `done`, `failed`, `cancelled`, or None."""
        return self.states.get(mission_id)

    def _check(self) -> None:
        if self.away:
            raise QueueError("the queue is away")
