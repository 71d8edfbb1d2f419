"""Limit of interruptions of a workflow while a database or blob store is unavailable."""

import asyncio
import logging
from collections import Counter

from bot.errors import BlobLost, BlobRefused, QueueError, StoreError

BREAKS = 10
"""Interruptions of one workflow before it fails; with their pauses, more than half an hour."""

log = logging.getLogger(__name__)


class InterruptionLimit:
    """Interruption counts by workflow, in one process; a workflow that ends starts from zero."""

    def __init__(self) -> None:
        self._breaks: Counter[str] = Counter()

    def allow(self, error: Exception, name: str) -> bool:
        """Return True if the workflow should be interrupted and retried later.

        Args:
            error: The error that the workflow met.
            name: The workflow's id.
        """
        if not isinstance(error, QueueError | StoreError) or isinstance(
            error, BlobLost | BlobRefused
        ):
            return False
        return self.count(error, name)

    def count(self, error: Exception, name: str) -> bool:
        """Count any error whose retry, here or elsewhere, may help."""
        if self._breaks[name] >= BREAKS:
            log.error(
                "giving up after %d interruptions (%s): %s",
                BREAKS,
                type(error).__name__,
                name,
            )
            return False
        self._breaks[name] += 1
        return True

    def exhaust(self, name: str) -> None:
        """Allow no more interruptions: the error is stored, and a replay meets it again."""
        self._breaks[name] = BREAKS

    def reset(self, name: str) -> None:
        """Reset the count of a workflow that ended."""
        self._breaks.pop(name, None)


def interruption(error: Exception) -> asyncio.CancelledError:
    """Return the exception that interrupts a workflow after a failed read or write.

    A cancellation does not end the workflow, so nothing is reported. Its row stays claimed until
    `LostWork` requeues it.
    """
    reason = getattr(error, "message", type(error).__name__)
    log.warning("workflow interrupted, continuing later: %s", reason)
    return asyncio.CancelledError()
