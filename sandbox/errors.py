"""What can go wrong around untrusted code; each error says whose fault it is and what to do.

SandboxError
├── SandboxUnavailable   the host cannot give a sandbox at all (no base image, a wrong setting): the operator's
│   └── HostGone         what gives sandboxes (the Docker daemon) does not answer; it may come back: the operator's
├── ImportRejected       the repository cannot be taken in (fetch failed, over a limit, malformed): the repository's
├── SetupFailed          the environment of the job could not be rebuilt: the repository's
├── ChangeRejected       a proposed edit breaks a rule of path, size or content: the proposer's
└── SandboxDied          the sandbox went away in the middle of a command: the run's
"""

from enum import StrEnum


class Fault(StrEnum):
    """Who has to act."""

    USER = "user"
    REPOSITORY = "repository"
    OPERATOR = "operator"
    US = "us"


class SandboxError(Exception):
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


class SandboxUnavailable(SandboxError):
    """No sandbox can be had on this host."""

    fault = Fault.OPERATOR


class HostGone(SandboxUnavailable):
    """What gives sandboxes does not answer, not now at least; in a while it may."""


class ImportRejected(SandboxError):
    """The repository could not be taken in.

    Args:
        message: What happened.
        advice: What to do.
        limit: The setting it is over, `max_files`; empty when it is over none.
    """

    fault = Fault.REPOSITORY

    def __init__(self, message: str, advice: str = "", *, limit: str = "") -> None:
        super().__init__(message, advice)
        self.limit = limit


class SetupFailed(SandboxError):
    """The environment of the failing job could not be rebuilt; `log` is the bounded, gated output.

    Args:
        message: What happened.
        advice: What to do.
        log: The end of the set-up's output.
    """

    fault = Fault.REPOSITORY

    def __init__(self, message: str, advice: str = "", *, log: str = "") -> None:
        super().__init__(message, advice)
        self.log = log


class ChangeRejected(SandboxError):
    """A proposed edit is refused."""

    fault = Fault.REPOSITORY


class SandboxDied(SandboxError):
    """The sandbox went away in the middle of a command."""

    fault = Fault.US
