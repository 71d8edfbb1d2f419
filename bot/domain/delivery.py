"""What became of a webhook delivery: Receipt."""

from typing import Literal

from sandbox.types import Frozen


class Receipt(Frozen):
    """The answer to a delivery, written down before it is given."""

    delivery: str
    """GitHub's delivery id."""
    result: Literal["queued", "ignored", "duplicate"]
    reason: str = ""
    """Why it is not queued; empty for queued ones."""
    mission_id: str | None = None
