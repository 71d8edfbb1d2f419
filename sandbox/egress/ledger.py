"""The traffic record of one set-up sandbox: hosts reached and refused, and the byte budget."""

import logging

from sandbox.egress.refused import EgressRefused
from sandbox.types import Egress

log = logging.getLogger(__name__)

MAX_NAMED = 200
"""Limit of remembered hosts of each kind, so that many requests do not fill the log."""

MAX_SENT = 64 << 20
"""Byte limit for sending: installing sends requests, no data."""


class EgressLedger:
    """Counter of bytes and hosts.

    Args:
        received_bytes: The limit for received bytes.
    """

    def __init__(self, received_bytes: int) -> None:
        self._may_receive = received_bytes
        self._received = 0
        self._sent = 0
        self._reached: set[str] = set()
        self._refused: set[str] = set()

    def reached(self, authority: str) -> None:
        """Record a connection."""
        if authority not in self._reached and len(self._reached) < MAX_NAMED:
            log.info("set-up connected to %s", authority)
            self._reached.add(authority)

    def refused(self, authority: str, reason: str) -> None:
        """Record a refused or cut connection. Only the first refusal of a host is logged."""
        if not authority:
            log.debug("set-up connection refused: %s", reason)
            return
        if authority not in self._refused and len(self._refused) < MAX_NAMED:
            log.warning("set-up connection to %s refused: %s", authority, reason)
            self._refused.add(authority)

    def received(self, count: int) -> None:
        """Count received bytes.

        Raises:
            Refused: The limit is exceeded.
        """
        self._received += count
        if self._received > self._may_receive:
            raise EgressRefused("the set-up's limit of received bytes is exceeded")

    def sent(self, count: int) -> None:
        """Count sent bytes.

        Raises:
            Refused: The limit is exceeded.
        """
        self._sent += count
        if self._sent > MAX_SENT:
            raise EgressRefused("the set-up's limit of sent bytes is exceeded")

    def egress(self) -> Egress:
        """Return the record as a value."""
        return Egress(
            hosts=tuple(sorted(self._reached)),
            refused=tuple(sorted(self._refused)),
            received_bytes=self._received,
        )
