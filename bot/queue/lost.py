"""What this process claimed and does not work on: its checkpoint, or its end, could not be written."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

LOOKS, MOST_LOOKS = 3, 120
"""Idle at so many looks in a row is lost; twice as many after each loss, and never more than the latter."""
LOSSES = 12
"""After so many a mission is given up: what breaks the same way for an hour is no accident, and may cost money."""
WHY = "what it found out could not be written down"

Claim = tuple[str, int | None]

log = logging.getLogger(__name__)


class Claims(Protocol):
    """The engine's rows."""

    def running(self, executor: str) -> Sequence[Any]:
        """The rows of what is worked on by one executor."""
        ...

    def put_back(self, names: Sequence[str], queue: str, executor: str) -> None:
        """Put what is worked on by an executor in a line again."""
        ...

    def give_up(self, mission_id: str, times: int, why: str) -> None:
        """Stop a mission, after somebody was asked to tell it."""
        ...


class LostWork:
    """Looks for it, and puts it in line again.

    A row is ours a moment before somebody begins to work on it, and a moment after he ended: only what is idle at
    several looks in a row is lost. Were it wrong, the engine would refuse to write for one of the two who then work.

    Args:
        claims: The engine's rows.
        executor: This process in them.
        at_work: What this process works on.
    """

    def __init__(self, claims: Claims, executor: str, at_work: Callable[[], Collection[str]]) -> None:
        self._claims = claims
        self._executor = executor
        self._at_work = at_work
        self._looks: Counter[Claim] = Counter()
        self._losses: Counter[str] = Counter()

    def find_lost(self) -> tuple[str, ...]:
        """Look once; what was put in line again, or given up."""
        rows = self._claims.running(self._executor)
        at_work = self._at_work()
        idle = {(row.workflow_id, row.dequeued_at): row for row in rows if row.workflow_id not in at_work}
        self._looks = Counter({claim: self._looks[claim] + 1 for claim in idle})
        lost = [claim for claim in idle if self._looks[claim] > self._patience(claim[0])]
        for claim in lost:
            self._take_back(idle[claim])
            del self._looks[claim]  # when it is claimed again, nobody has looked yet
        return tuple(name for name, _ in lost)

    def _patience(self, name: str) -> int:
        return min(LOOKS << min(self._losses[name], LOSSES), MOST_LOOKS)

    def _take_back(self, row: Any) -> None:
        name, losses = row.workflow_id, self._losses[row.workflow_id] + 1
        if row.name == "mission" and losses > LOSSES:
            log.error("could not be written down %d times and is given up: %s", losses, name)
            self._claims.give_up(name, losses, WHY)
        else:
            log.warning("nobody works on it any more; in line again: %s", name)
            self._claims.put_back([name], row.queue_name, self._executor)
        self._losses[name] = losses
