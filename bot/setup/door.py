"""Access to set-up: one browser at a time, admitted by a one-time code from the console."""

import hmac
import secrets
from dataclasses import dataclass

from bot.ports import Clock

STATE_LIFE_S = 3_600.0
"""Time limit for creating the App on GitHub, in seconds; GitHub's code lives an hour."""


@dataclass(frozen=True)
class _State:
    value: str
    begun: float


class Door:
    """The one-time code, the admitted browser's session, and its pending redirect to GitHub.

    Args:
        clock: Measures the time limit of the redirect.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.code = secrets.token_urlsafe(24)
        """The one-time code, for the console only."""
        self._is_used = False
        self._session: str | None = None
        self._state: _State | None = None
        self.is_closed = False
        """True when the App is stored; then nothing is admitted."""

    @property
    def is_used(self) -> bool:
        """Return True if the code was used."""
        return self._is_used

    def enter(self, code: str) -> str | None:
        """Return a session for the right code, or None if it is wrong or was used before."""
        if self.is_closed or self._is_used or not _same(code, self.code):
            return None
        self._is_used = True
        self._session = secrets.token_urlsafe(32)
        return self._session

    def knows(self, session: str | None) -> bool:
        """Return True if this is the admitted browser's session."""
        return (
            not self.is_closed and self._session is not None and _same(session or "", self._session)
        )

    def leave(self) -> str:
        """Start a redirect to GitHub and return its state parameter.

        An earlier one becomes invalid.
        """
        self._state = _State(secrets.token_urlsafe(32), self._clock.monotonic())
        return self._state.value

    def returns(self, session: str | None, state: str) -> bool:
        """Return True if the admitted browser returns from its redirect in time; each counts once.

        Another browser cannot invalidate the redirect.
        """
        if not self.knows(session) or self._state is None:
            return False
        waiting, self._state = self._state, None
        in_time = self._clock.monotonic() - waiting.begun < STATE_LIFE_S
        return in_time and _same(state, waiting.value)


def _same(given: str, expected: str) -> bool:
    """Compare in constant time; invalid characters are allowed."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), expected.encode())
