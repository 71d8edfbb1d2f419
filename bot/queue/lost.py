"""Recovery of workflows that this process claimed but lost when a database write failed."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

LOOKS, MOST_LOOKS = 3, 120
"""Looks in a row at which a workflow must be idle to count as lost.

The first number doubles after each loss, up to the second.
"""
LOSSES = 12
"""Losses after which a mission is given up: an hour of the same failure may cost money."""
WHY = "what it found out could not be written down"

Claim = tuple[str, int | None]

log = logging.getLogger(__name__)


class Claims(Protocol):
    """The rows claimed by an executor."""

    def running(self, executor: str) -> Sequence[Any]:
        """Return the rows that an executor works on."""
        ...

    def requeue(self, names: Sequence[str], queue: str, executor: str) -> None:
        """Requeue workflows that an executor holds."""
        ...

    def give_up(self, mission_id: str, times: int, why: str) -> None:
        """Cancel a mission and enqueue a report of it."""
        ...


class LostWork:
    """Finds lost workflows and requeues them.

    A row is claimed shortly before work on it begins and released shortly after it ends. So only
    rows that are idle at several looks in a row are lost. If that is wrong and two workers run the
    same workflow, the engine refuses the writes of one of them.

    Args:
        claims: The engine's rows.
        executor: The name of this process in these rows.
        at_work: Returns the workflows that this process runs.
    """

    def __init__(
        self, claims: Claims, executor: str, at_work: Callable[[], Collection[str]]
    ) -> None:
        self._claims = claims
        self._executor = executor
        self._at_work = at_work
        self._looks: Counter[Claim] = Counter()
        self._losses: Counter[str] = Counter()

    def find_lost(self) -> tuple[str, ...]:
        """Look once; return the workflows that were requeued or given up."""
        rows = self._claims.running(self._executor)
        at_work = self._at_work()
        idle = {
            (row.workflow_id, row.dequeued_at): row
            for row in rows
            if row.workflow_id not in at_work
        }
        self._looks = Counter({claim: self._looks[claim] + 1 for claim in idle})
        lost = [claim for claim in idle if self._looks[claim] > self._patience(claim[0])]
        for claim in lost:
            self._recover(idle[claim])
            del self._looks[claim]  # a new claim starts from zero
        return tuple(name for name, _ in lost)

    def _patience(self, name: str) -> int:
        return min(LOOKS << min(self._losses[name], LOSSES), MOST_LOOKS)

    def _recover(self, row: Any) -> None:
        name, losses = row.workflow_id, self._losses[row.workflow_id] + 1
        if row.name == "mission" and losses > LOSSES:
            log.error("storing failed %d times, giving up: %s", losses, name)
            self._claims.give_up(name, losses, WHY)
        else:
            log.warning("workflow idle, requeued: %s", name)
            self._claims.requeue([name], row.queue_name, self._executor)
        self._losses[name] = losses
