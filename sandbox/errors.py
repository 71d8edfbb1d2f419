"""Errors around untrusted code. Each error names the party at fault and its remedy.

SandboxError
├── SandboxUnavailable   the host has no sandbox (no base image, wrong setting): the operator's
│   └── HostGone         the Docker daemon does not respond, perhaps for a while: the operator's
├── ImportRejected       the repository cannot be imported (fetch failed, limit): the repository's
├── SetupFailed          the environment of the job could not be rebuilt: the repository's
│   └── LockDrift        a package manager refuses the lock file: the repository's
├── ChangeRejected       an edit breaks a rule of path, size or content: the proposer's
└── SandboxDied          the sandbox went away during a command: the run's
"""

from enum import StrEnum


class FaultOwner(StrEnum):
    """The party that has to act."""

    USER = "user"
    REPOSITORY = "repository"
    OPERATOR = "operator"
    US = "us"


class SandboxError(Exception):
    """Base class of all sandbox errors.

    Args:
        message: What happened, in one sentence that is safe to show.
        advice: What the party at fault can do.
    """

    fault: FaultOwner = FaultOwner.US

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class SandboxUnavailable(SandboxError):
    """No sandbox is available on this host."""

    fault = FaultOwner.OPERATOR


class HostGone(SandboxUnavailable):
    """The sandbox host does not respond at the moment."""


class ImportRejected(SandboxError):
    """The repository could not be imported.

    Args:
        message: What happened.
        advice: What to do.
        limit: The name of the exceeded setting, such as `max_files`; empty if there is none.
    """

    fault = FaultOwner.REPOSITORY

    def __init__(self, message: str, advice: str = "", *, limit: str = "") -> None:
        super().__init__(message, advice)
        self.limit = limit


class SetupFailed(SandboxError):
    """The environment of the failing job could not be rebuilt.

    Args:
        message: What happened.
        advice: What to do.
        log: The bounded, redacted end of the set-up's output.
        requested: The requested packages without which the set-up may work: they cannot be
            installed. These names come from output of others.
    """

    fault = FaultOwner.REPOSITORY

    def __init__(
        self, message: str, advice: str = "", *, log: str = "", requested: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message, advice)
        self.log = log
        self.requested = requested


class LockDrift(SetupFailed):
    """A package manager refuses a lock file that does not fit the declared packages.

    Args:
        message: What happened.
        advice: What to do.
        log: The bounded, redacted end of the set-up's output.
        folder: The folder of the checkout with the lock file.
        refused: The refused command.
    """

    def __init__(
        self, message: str, advice: str = "", *, log: str = "", folder: str = ".", refused: str = ""
    ) -> None:
        super().__init__(message, advice, log=log)
        self.folder = folder
        self.refused = refused


class ChangeRejected(SandboxError):
    """A proposed edit is refused."""

    fault = FaultOwner.REPOSITORY


class SandboxDied(SandboxError):
    """The sandbox went away during a command."""

    fault = FaultOwner.US
