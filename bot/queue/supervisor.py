"""Hands the missions of dead workers to live ones: the engine's library does not."""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

BEAT_S = 5.0
TTL_S = 30.0
"""Whom nobody heard of for so long is dead."""

log = logging.getLogger(__name__)


class Liveness(Protocol):
    """Where executors say that they live."""

    def beat(self) -> None:
        """This one lives."""
        ...

    def alive(self, executors: Sequence[str], ttl_s: float) -> Collection[str]:
        """Which of these were heard of within that time."""
        ...

    def alone(self, what: str, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Whether nobody else does it at the same time."""
        ...


class Recovery(Protocol):
    """What is to be done with missions of the dead."""

    def running(self) -> Mapping[str, Sequence[str]]:
        """By executor, what it works on as the rows say."""
        ...

    def take_back(self, executor: str) -> None:
        """Put everything of a dead executor in line again."""
        ...


class Supervisor:
    """Beats and judges, each in its turns; made when the first beat was.

    After an outage, when nobody's beat is fresh, nobody is judged for one `ttl_s`.

    Args:
        liveness: Where executors say that they live.
        recovery: Takes back what dead ones worked on.
        ttl_s: Whom nobody heard of for so long is dead.
        monotonic: Seconds that only grow.
    """

    def __init__(
        self,
        liveness: Liveness,
        recovery: Recovery,
        *,
        ttl_s: float = TTL_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._liveness = liveness
        self._recovery = recovery
        self._ttl_s = ttl_s
        self._monotonic = monotonic
        self._last_beat = monotonic()
        self._judge_from = 0.0

    def beat(self) -> None:
        """Say that this process lives; notice when that was not possible for long."""
        self._liveness.beat()
        now = self._monotonic()
        if now - self._last_beat > self._ttl_s / 2:
            log.warning("no beat for %.0f s: nobody is judged for %.0f s", now - self._last_beat, self._ttl_s)
            self._judge_from = now + self._ttl_s
        self._last_beat = now

    def judge(self) -> tuple[str, ...]:
        """Take back what dead executors worked on; who they were."""
        if not self._may_judge():
            return ()
        with self._liveness.alone("judging", wait=False) as alone:
            running = self._recovery.running() if alone else {}
            if not running:
                return ()
            alive = self._liveness.alive(tuple(running), self._ttl_s)
            dead = tuple(executor for executor in running if executor not in alive)
            for executor in dead:
                if not self._may_judge():
                    return ()
                log.warning("%s is dead; in line again: %s", executor, ", ".join(running[executor]))
                self._recovery.take_back(executor)
        return dead

    def _may_judge(self) -> bool:
        now = self._monotonic()
        return now >= self._judge_from and now - self._last_beat <= self._ttl_s / 2
