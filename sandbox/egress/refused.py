"""Why the proxy did not let something through; goes to the log and to the one who asked."""


class Refused(Exception):
    """A connection that is not made, or not continued.

    Args:
        reason: In a few words, made by us.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Cut(Refused):
    """A connection that was granted, and is ended: there is nobody to be told any more."""
