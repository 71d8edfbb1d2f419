"""The result of receiving a webhook delivery: Receipt."""

from typing import Literal

from sandbox.types import Frozen


class Receipt(Frozen):
    """The response to a delivery, persisted before it is sent."""

    delivery: str
    """GitHub's delivery id."""
    result: Literal["queued", "ignored", "duplicate"]
    reason: str = ""
    """The reason for not queueing it; empty when queued."""
    mission_id: str | None = None
