"""Who may set up: one browser, let in by a code that stands on the console and works once."""

import hmac
import secrets
from dataclasses import dataclass

from bot.ports import Clock

STATE_LIFE_S = 3_600.0
"""GitHub's code lives an hour; the way there and back must not take longer."""


@dataclass(frozen=True)
class _State:
    value: str
    begun: float


class Door:
    """The code, the browser it let in, and the way to GitHub that this browser is on.

    Args:
        clock: Says when a way to GitHub took too long.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.code = secrets.token_urlsafe(24)
        """For the console only."""
        self._is_used = False
        self._session: str | None = None
        self._state: _State | None = None
        self.is_closed = False
        """The App is stored: nobody comes in any more."""

    @property
    def is_used(self) -> bool:
        """Whether the code let a browser in."""
        return self._is_used

    def enter(self, code: str) -> str | None:
        """The session of the browser that brings the code; None for a wrong code, and for a second browser."""
        if self.is_closed or self._is_used or not _same(code, self.code):
            return None
        self._is_used = True
        self._session = secrets.token_urlsafe(32)
        return self._session

    def knows(self, session: str | None) -> bool:
        """Whether this is the browser that was let in."""
        return not self.is_closed and self._session is not None and _same(session or "", self._session)

    def leave(self) -> str:
        """The way to GitHub begins: the state it must bring back. An earlier one is void."""
        self._state = _State(secrets.token_urlsafe(32), self._clock.monotonic())
        return self._state.value

    def returns(self, session: str | None, state: str) -> bool:
        """Whether this browser comes back from the way it was sent on; each way is gone once.

        A stranger cannot end the way of the browser that was let in.
        """
        if not self.knows(session) or self._state is None:
            return False
        waiting, self._state = self._state, None
        in_time = self._clock.monotonic() - waiting.begun < STATE_LIFE_S
        return in_time and _same(state, waiting.value)


def _same(given: str, expected: str) -> bool:
    """Compared in constant time, whatever was given."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())
