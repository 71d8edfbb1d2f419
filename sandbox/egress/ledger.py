"""What one set-up sandbox reached, what it was refused, and how much it may still move."""

import logging

from sandbox.egress.refused import Refused
from sandbox.types import Egress

log = logging.getLogger(__name__)

MAX_NAMED = 200
"""So many hosts are remembered of each kind; whoever asks for more is only counted."""

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
        self._reached: dict[str, int] = {}
        self._refused: dict[str, str] = {}

    def reached(self, authority: str) -> None:
        """A connection was made."""
        if authority not in self._reached:
            log.info("set-up reaches %s", authority)
        _count(self._reached, authority)

    def refused(self, authority: str, reason: str) -> None:
        """A connection was not made, or was cut; nothing is written down for one that asked for no host."""
        if not authority:
            log.debug("a connection is refused: %s", reason)
            return
        if self._refused.get(authority) != reason and len(self._refused) < MAX_NAMED:
            log.warning("set-up is refused %s: %s", authority, reason)
            self._refused[authority] = reason

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


def _count(names: dict[str, int], name: str) -> None:
    if name in names or len(names) < MAX_NAMED:
        names[name] = names.get(name, 0) + 1
