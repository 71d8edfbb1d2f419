"""Supervision of workers: live ones take over dead ones' missions, which dbos does not do."""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

BEAT_S = 5.0
"""Interval of heartbeats, in seconds."""
TTL_S = 30.0
"""Time without a heartbeat after which a worker counts as dead, in seconds."""

log = logging.getLogger(__name__)


class Liveness(Protocol):
    """The heartbeats of executors."""

    def beat(self) -> None:
        """Record a heartbeat of this executor."""
        ...

    def alive(self, executors: Sequence[str], ttl_s: float) -> Collection[str]:
        """Return the executors with a heartbeat in the last `ttl_s` seconds."""
        ...

    def alone(self, what: str, *, wait: bool = True) -> AbstractContextManager[bool]:
        """Hold a lock over all processes; yield False if it is taken and `wait` is false."""
        ...


class Recovery(Protocol):
    """Recovery of dead executors' missions."""

    def running(self) -> Mapping[str, Sequence[str]]:
        """Return the ids of active workflows by executor."""
        ...

    def recover(self, executor: str) -> None:
        """Requeue a dead executor's work."""
        ...


class Supervisor:
    """Sends heartbeats and takes over the work of dead executors.

    Created right after the first heartbeat. After an outage, when all heartbeats are old, failover
    is suspended for one `ttl_s`.

    Args:
        liveness: The heartbeats of executors.
        recovery: Requeues the work of dead executors.
        ttl_s: Time without a heartbeat after which a worker counts as dead, in seconds.
        monotonic: Monotonic clock, in seconds.
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
        """Send a heartbeat; suspend failover if the last one was long ago."""
        self._liveness.beat()
        now = self._monotonic()
        if now - self._last_beat > self._ttl_s / 2:
            log.warning(
                "heartbeat delayed by %.0f s; failover suspended for %.0f s",
                now - self._last_beat,
                self._ttl_s,
            )
            self._judge_from = now + self._ttl_s
        self._last_beat = now

    def judge(self) -> tuple[str, ...]:
        """Requeue the work of dead executors; return their names."""
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
                log.warning(
                    "executor %s is dead, requeued: %s", executor, ", ".join(running[executor])
                )
                self._recovery.recover(executor)
        return dead

    def _may_judge(self) -> bool:
        now = self._monotonic()
        return now >= self._judge_from and now - self._last_beat <= self._ttl_s / 2
