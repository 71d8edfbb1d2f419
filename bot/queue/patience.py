"""How often work is broken off because a database or a store is away, before that is taken for its end."""

import asyncio
import logging
from collections import Counter

from bot.errors import BlobLost, BlobRefused, QueueError, StoreError

BREAKS = 10
"""With the pauses between them more than half an hour; a mission is given up only after more."""

log = logging.getLogger(__name__)


class Patience:
    """Of one process. What ends otherwise, or goes on elsewhere, counts from nothing again."""

    def __init__(self) -> None:
        self._breaks: Counter[str] = Counter()

    def spend(self, error: Exception, name: str) -> bool:
        """Whether an error is no end yet: the workflow is to be broken off, and goes on later.

        Args:
            error: What somebody raised.
            name: Of the workflow.
        """
        if not isinstance(error, QueueError | StoreError) or isinstance(error, BlobLost | BlobRefused):
            return False
        return self.spend_on_anything(error, name)

    def spend_on_anything(self, error: Exception, name: str) -> bool:
        """The same where it is known that trying later, or elsewhere, may help."""
        if self._breaks[name] >= BREAKS:
            log.error("broken off %d times; its error is its end now (%s): %s", BREAKS, type(error).__name__, name)
            return False
        self._breaks[name] += 1
        return True

    def use_up(self, name: str) -> None:
        """Its error was written down: whatever a replay meets is its end, too."""
        self._breaks[name] = BREAKS

    def forget(self, name: str) -> None:
        """It came to an end."""
        self._breaks.pop(name, None)


def unwritten(error: Exception) -> asyncio.CancelledError:
    """What to raise when something could not be written down, or not read: nobody may take that for an end and tell it.

    The row stays as it is, and is put in line again when it is seen that nobody works on it.
    """
    said = getattr(error, "message", type(error).__name__)
    log.warning("broken off, to go on later: %s", said)
    return asyncio.CancelledError()
