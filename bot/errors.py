"""What can go wrong in the bot; each error says whose fault it is and what to do.

MetaAgentError
├── UsageError        the person who started us gave something we cannot use: theirs
├── SettingsError     a setting is missing or wrong: the operator's
├── DeliveryRejected  a webhook delivery is not acceptable; carries the HTTP status: the sender's
├── GitHubError       GitHub refused, failed or could not be reached
│   ├── NotPermitted  a permission is missing; names which one
│   ├── NotFound      absent, or hidden from us
│   ├── Conflict      somebody else was there first (a ref moved, a pull request exists)
│   └── RateLimited   ask again later; says when
├── ModelError        a language model gave no answer: the provider's (in bot/domain/model_error.py, with its words)
├── BudgetSpent       a mission may take no more of something: the policy's or the operator's
├── Paused            the operator lets no mission begin there
├── Superseded        the branch moved, or a human pushed, while we worked: nobody's
├── QueueError        the queue cannot take or keep work: the operator's
└── StoreError        what is remembered cannot be read or written: the operator's
    ├── BlobLost      a large value is gone, or not what was kept
    └── BlobRefused   a value is too large to be kept
"""

from enum import StrEnum


class Fault(StrEnum):
    """Who has to act."""

    USER = "user"
    OPERATOR = "operator"
    GITHUB = "github"
    PROVIDER = "provider"
    NOBODY = "nobody"
    US = "us"


class MetaAgentError(Exception):
    """The root of this tree.

    Args:
        message: What happened, in one sentence that is safe to show.
        advice: What the one at fault can do about it.
    """

    fault: Fault = Fault.US

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class UsageError(MetaAgentError):
    """Wrong use of a command."""

    fault = Fault.USER


class SettingsError(MetaAgentError):
    """A setting is missing or wrong."""

    fault = Fault.OPERATOR


class DeliveryRejected(MetaAgentError):
    """A webhook delivery cannot be taken.

    Args:
        message: What is wrong with it.
        status: The HTTP status to answer with.
    """

    fault = Fault.USER

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class GitHubError(MetaAgentError):
    """GitHub refused, failed or could not be reached.

    Args:
        message: What happened.
        advice: What to do.
        status: The HTTP status, 0 when there was no answer.
        retryable: Whether asking again later may help.
    """

    fault = Fault.GITHUB

    def __init__(self, message: str, advice: str = "", *, status: int = 0, retryable: bool = False) -> None:
        super().__init__(message, advice)
        self.status = status
        self.retryable = retryable


class NotPermitted(GitHubError):
    """The App lacks a permission, or is not installed there."""

    fault = Fault.OPERATOR


class NotFound(GitHubError):
    """Absent, or hidden from us: GitHub answers both alike."""


class Conflict(GitHubError):
    """Somebody else was there first."""

    fault = Fault.NOBODY


class RateLimited(GitHubError):
    """Ask again after `retry_after_s` seconds.

    Args:
        message: What happened.
        retry_after_s: Seconds to wait.
    """

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message, "wait", status=429, retryable=True)
        self.retry_after_s = retry_after_s


class Superseded(MetaAgentError):
    """The ground moved under a mission."""

    fault = Fault.NOBODY


class BudgetSpent(MetaAgentError):
    """A limit leaves nothing for the next step."""

    fault = Fault.OPERATOR


class Paused(MetaAgentError):
    """No mission begins in a place: the operator paused it."""

    fault = Fault.OPERATOR


class QueueError(MetaAgentError):
    """The queue cannot take or keep work."""

    fault = Fault.OPERATOR


class StoreError(MetaAgentError):
    """What is remembered cannot be read or written."""

    fault = Fault.OPERATOR


class BlobLost(StoreError):
    """A large value is gone, or not what was kept; asking again does not help."""


class BlobRefused(StoreError):
    """A value is larger than what is kept."""
