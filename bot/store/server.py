"""Connections to a PostgreSQL server, with a timeout for every wait."""

import time
from collections.abc import Generator
from functools import lru_cache
from typing import Any

CONNECT_S = 5
"""Timeout for connecting, in seconds."""
ANSWER_MS = 10_000
"""The server's timeout for a statement, and ours for unacknowledged data, in milliseconds."""
ANSWER_S = 12.0
"""Our own timeout for an answer, in seconds: a stopped server process breaks no connection."""
IDLE_MS = 20_000
"""The server's timeout for idle connections, in milliseconds; it frees locks of dead clients.

Live clients reconnect at their next call, and those that hold a lock call more often.
"""

SESSION = {
    "statement_timeout": f"{ANSWER_MS}",
    # A stopped process or a lost machine must not hold a lock that others wait for.
    "idle_in_transaction_session_timeout": f"{ANSWER_MS}",
    "idle_session_timeout": f"{IDLE_MS}",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""Server settings of all our connections."""


def connection_arguments(**session: str) -> dict[str, Any]:
    """Return psycopg's connection arguments; `session` adds server settings."""
    return {
        "connect_timeout": CONNECT_S,
        "tcp_user_timeout": ANSWER_MS,
        "options": " ".join(f"-c {name}={value}" for name, value in {**SESSION, **session}.items()),
        "application_name": "metaagent",
    }


@lru_cache(maxsize=1)
def timed_connection(driver: Any) -> Any:
    """Return a psycopg connection class with a timeout, `answer_s` (None for no limit).

    Args:
        driver: The psycopg module.
    """

    class TimedConnection(driver.Connection):  # type: ignore[misc]  # known at run time only
        answer_s: float | None = ANSWER_S

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            if self.answer_s is None:
                return super().wait(gen, *arguments, **named)
            try:
                return super().wait(
                    _wait_until(gen, time.monotonic() + self.answer_s), *arguments, **named
                )
            except TimeoutError:
                self.pgconn.finish()  # a late answer would be taken for that of the next statement
                raise driver.OperationalError("the server does not answer") from None

    return TimedConnection


def _wait_until(waits: Generator[Any, Any, Any], until: float) -> Generator[Any, Any, Any]:
    """Run psycopg's wait generator, which is sent 0 while nothing arrives, up to a deadline.

    Raises:
        TimeoutError: the deadline has passed.
    """
    ready = None
    while True:
        try:
            wanted = waits.send(ready)
        except StopIteration as end:
            return end.value
        ready = yield wanted
        if not ready and time.monotonic() > until:
            raise TimeoutError
