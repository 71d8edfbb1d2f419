"""How we talk to a PostgreSQL server: nothing is waited for without an end, nothing is held by who fell silent."""

import time
from collections.abc import Generator
from functools import lru_cache
from typing import Any

CONNECT_S = 5
ANSWER_MS = 10_000
"""The longest wait of PostgreSQL for one statement, and for a network that swallows it."""
ANSWER_S = 12.0
"""The longest wait of ours: a server that is stopped itself, while its machine goes on, breaks nothing off."""
IDLE_MS = 20_000
"""Who says nothing for so long has no connection any more, and nothing that it held. Who lives has a new one with its
next call; whoever holds something for long speaks more often."""

SESSION = {
    "statement_timeout": f"{ANSWER_MS}",
    # A process that was stopped, or whose machine is gone, must not hold a lock that all the others wait for.
    "idle_in_transaction_session_timeout": f"{ANSWER_MS}",
    "idle_session_timeout": f"{IDLE_MS}",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
"""What PostgreSQL is told of every connection of ours."""


def connecting(**session: str) -> dict[str, Any]:
    """How psycopg connects to PostgreSQL; `session` is told to the server besides what every connection of ours is."""
    return {
        "connect_timeout": CONNECT_S,
        "tcp_user_timeout": ANSWER_MS,
        "options": " ".join(f"-c {name}={value}" for name, value in {**SESSION, **session}.items()),
        "application_name": "metaagent",
    }


@lru_cache(maxsize=1)
def impatient(driver: Any) -> Any:
    """Psycopg's connection with an end to every wait; after `answer_s` (None: never) it is closed.

    Args:
        driver: The module psycopg.
    """

    class Impatient(driver.Connection):  # type: ignore[misc]  # known only when it is needed
        answer_s: float | None = ANSWER_S

        def wait(self, gen: Any, *arguments: Any, **named: Any) -> Any:
            if self.answer_s is None:
                return super().wait(gen, *arguments, **named)
            try:
                return super().wait(_ending(gen, time.monotonic() + self.answer_s), *arguments, **named)
            except TimeoutError:
                self.pgconn.finish()  # whatever still comes is the answer to something else
                raise driver.OperationalError("the server does not answer") from None

    return Impatient


def _ending(waits: Generator[Any, Any, Any], until: float) -> Generator[Any, Any, Any]:
    """Psycopg's waiting, which it is sent 0 for while nothing comes.

    Raises:
        TimeoutError: it took too long.
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
