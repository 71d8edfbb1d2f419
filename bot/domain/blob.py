"""Large values, addressed by hash and grouped by owner."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from sandbox.types import Frozen

MOST_BYTES = 1 << 30
"""Largest value that can be stored or read, in bytes."""


class BlobKind(StrEnum):
    """The purpose of a drawer; each kind has its own time to live."""

    STEPS = "steps"
    """Results of mission steps that are too large for a database row."""
    EVIDENCE = "evidence"
    """Evidence bundles referenced by pull requests."""
    LOGS = "logs"
    """Log lines of a mission."""


class Drawer(Frozen):
    """The namespace of one owner's values. They are deleted together with the owner."""

    kind: BlobKind
    owner: str = Field(min_length=1)
    """A mission id or the name of a bundle."""


class Blob(Frozen):
    """A stored value."""

    drawer: Drawer
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the value."""
    size: int = Field(ge=0)
    kept_at: datetime
