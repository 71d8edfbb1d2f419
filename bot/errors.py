"""Errors of the bot; each one names the responsible party and the remedy.

MetaAgentError
├── UsageError        invalid input: the user's
├── SettingsError     a setting is missing or invalid: the operator's
├── DeliveryRejected  a webhook delivery is invalid; carries the HTTP status: the sender's
├── GitHubError       GitHub refused, failed or could not be reached
│   ├── NotPermitted  a permission is missing; names it
│   ├── NotFound      missing, or hidden from us
│   ├── Conflict      another change came first (a ref moved, a pull request exists)
│   └── RateLimited   too many requests; names the wait
├── ModelError        a language model gave no answer: the provider's (in domain/model_error.py)
├── BudgetSpent       a limit of a mission is reached: the policy's or the operator's
├── Paused            the operator paused new missions
├── Superseded        the branch moved during a mission: no one's fault
├── QueueError        the queue cannot accept or store work: the operator's
└── StoreError        stored data cannot be read or written: the operator's
    ├── BlobLost      a large value is missing or corrupt
    └── BlobRefused   a value exceeds the size limit
"""

from enum import StrEnum


class Fault(StrEnum):
    """The party that has to act."""

    USER = "user"
    OPERATOR = "operator"
    GITHUB = "github"
    PROVIDER = "provider"
    NOBODY = "nobody"
    US = "us"


class MetaAgentError(Exception):
    """The base class of all errors of the bot.

    Args:
        message: The error in one sentence; safe to show.
        advice: The recommended action.
    """

    fault: Fault = Fault.US

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class UsageError(MetaAgentError):
    """Invalid use of a command."""

    fault = Fault.USER


class SettingsError(MetaAgentError):
    """A setting is missing or invalid."""

    fault = Fault.OPERATOR


class DeliveryRejected(MetaAgentError):
    """A webhook delivery is invalid.

    Args:
        message: The reason.
        status: The HTTP status of the response.
    """

    fault = Fault.USER

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class GitHubError(MetaAgentError):
    """GitHub refused, failed or could not be reached.

    Args:
        message: The error.
        advice: The recommended action.
        status: The HTTP status, 0 without a response.
        retryable: True if a retry may help.
    """

    fault = Fault.GITHUB

    def __init__(
        self, message: str, advice: str = "", *, status: int = 0, retryable: bool = False
    ) -> None:
        super().__init__(message, advice)
        self.status = status
        self.retryable = retryable


class NotPermitted(GitHubError):
    """The App lacks a permission or is not installed there."""

    fault = Fault.OPERATOR


class NotFound(GitHubError):
    """Missing, or hidden from us: GitHub returns the same status for both."""


class Conflict(GitHubError):
    """Another change came first."""

    fault = Fault.NOBODY


class RateLimited(GitHubError):
    """GitHub's rate limit is reached; retry after `retry_after_s` seconds.

    Args:
        message: The error.
        retry_after_s: Seconds to wait.
    """

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message, "wait", status=429, retryable=True)
        self.retry_after_s = retry_after_s


class Superseded(MetaAgentError):
    """The commit of a mission is no longer the head of its branch."""

    fault = Fault.NOBODY


class BudgetSpent(MetaAgentError):
    """A limit leaves no room for the next step."""

    fault = Fault.OPERATOR


class Paused(MetaAgentError):
    """No mission may start in this scope, because the operator paused it."""

    fault = Fault.OPERATOR


class QueueError(MetaAgentError):
    """The queue cannot accept or store work."""

    fault = Fault.OPERATOR


class StoreError(MetaAgentError):
    """Stored data cannot be read or written."""

    fault = Fault.OPERATOR


class BlobLost(StoreError):
    """A large value is missing or corrupt; a retry does not help."""


class BlobRefused(StoreError):
    """A value exceeds the size limit."""
