"""One thing that was looked at, and what to do about it."""

from typing import Literal

from sandbox.types import Frozen


class Finding(Frozen):
    """One thing that was looked at."""

    subject: str
    state: Literal["ok", "missing", "note"]
    message: str
    advice: str = ""
