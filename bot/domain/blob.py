"""Large values by their own hash, in the drawer of whoever needs them."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from sandbox.types import Frozen

MOST_BYTES = 1 << 30
"""The largest value that is kept or read."""


class Kind(StrEnum):
    """What a drawer is for; each kind has its own time to live."""

    STEPS = "steps"
    """Results of a mission's steps that are too large for the engine's rows."""
    EVIDENCE = "evidence"
    """Bundles that a pull request names."""
    LOGS = "logs"
    """What was logged while a mission ran."""


class Drawer(Frozen):
    """Where the values of one owner are, and nobody else's: they are dropped when the owner is gone."""

    kind: Kind
    owner: str = Field(min_length=1)
    """A mission's id, or the name of a bundle."""


class Blob(Frozen):
    """A value that is kept."""

    drawer: Drawer
    digest: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the value."""
    size: int = Field(ge=0)
    kept_at: datetime
