"""Refusals of the proxy, with a reason for the log and for the client."""


class EgressRefused(Exception):
    """A connection that is refused or cut.

    Args:
        reason: A short text of ours.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Cut(EgressRefused):
    """An established connection that is cut: no reply is possible any more."""
