"""What one set-up sandbox reached, what it was refused, and how much it may still move."""

import logging

from sandbox.egress.refused import Refused
from sandbox.types import Egress

log = logging.getLogger(__name__)

MAX_NAMED = 200
"""So many hosts are remembered of each kind; whoever asks for more fills no log."""

MAX_SENT = 64 << 20
"""Installing sends requests, not data."""


class Ledger:
    """Counts bytes and remembers hosts.

    Args:
        received_bytes: How much may come in.
    """

    def __init__(self, received_bytes: int) -> None:
        self._may_receive = received_bytes
        self._received = 0
        self._sent = 0
        self._reached: set[str] = set()
        self._refused: set[str] = set()

    def reached(self, authority: str) -> None:
        """A connection was made."""
        if authority not in self._reached and len(self._reached) < MAX_NAMED:
            log.info("set-up reaches %s", authority)
            self._reached.add(authority)

    def refused(self, authority: str, reason: str) -> None:
        """A connection was not made, or was cut: the first reason is told, and none for one that asked for no host."""
        if not authority:
            log.debug("a connection is refused: %s", reason)
            return
        if authority not in self._refused and len(self._refused) < MAX_NAMED:
            log.warning("set-up is refused %s: %s", authority, reason)
            self._refused.add(authority)

    def received(self, count: int) -> None:
        """Bytes came in.

        Raises:
            Refused: more than may.
        """
        self._received += count
        if self._received > self._may_receive:
            raise Refused("the set-up received as much as it may")

    def sent(self, count: int) -> None:
        """Bytes went out.

        Raises:
            Refused: more than may.
        """
        self._sent += count
        if self._sent > MAX_SENT:
            raise Refused("the set-up sent as much as it may")

    def egress(self) -> Egress:
        """All of it, as a value."""
        return Egress(
            hosts=tuple(sorted(self._reached)), refused=tuple(sorted(self._refused)), received_bytes=self._received
        )
