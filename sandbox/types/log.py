"""The content of a CI job's log."""

from enum import StrEnum

from pydantic import Field

from sandbox.types.frozen import Frozen
from sandbox.types.results import TestResult


class LogSignal(StrEnum):
    """A sign in a CI log that something other than the code may have made the job red."""

    RUNNER_LOST = "runner_lost"
    """The runner was shut down, or its connection was lost."""
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    """The job or step exceeded its time limit."""
    DISK_FULL = "disk_full"
    OUT_OF_MEMORY = "out_of_memory"
    RATE_LIMITED = "rate_limited"
    NETWORK = "network"
    """A name, a connection or a certificate failed during a download."""
    REGISTRY = "registry"
    """An image, a package or an artifact was missing."""
    CREDENTIALS = "credentials"
    """An external service rejected the job's credentials."""


class LogReading(Frozen):
    """The parsed log of a CI job, bounded and redacted. The log itself is not kept."""

    step: str | None = None
    """The failed step, as the log or GitHub names it; None if it is unknown."""
    command: str = ""
    """The first line of the failed step's command."""
    error: str = ""
    """The most informative error line."""
    excerpt: str = ""
    """The whole step if it fits a budget, else its most informative lines with headings and
    context.
    """
    failures: tuple[TestResult, ...] = ()
    """Failures that the step's tools named: names, places and messages.

    This is a *weak* reading, no verdict.
    """
    failure_count: int = 0
    """The total number of failures."""
    exit_code: int | None = None
    """The exit status of the failed step."""
    signals: tuple[LogSignal, ...] = ()
    """Signals that concern the failed step or the whole job."""
    signs: dict[LogSignal, str] = Field(default_factory=dict)
    """The log line for each signal."""

    @property
    def failing(self) -> frozenset[str]:
        """Return the names of what failed in CI."""
        return frozenset(failure.name for failure in self.failures)

    @property
    def has_only_findings(self) -> bool:
        """Return True if CI named findings of linters or compilers, and no test."""
        # Only names of tests contain two colons.
        return bool(self.failures) and all(
            one.name.startswith(f"{one.file}:") and "::" not in one.name for one in self.failures
        )
