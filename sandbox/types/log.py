"""What a CI job's log says."""

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
    """The job or step took longer than it may."""
    DISK_FULL = "disk_full"
    OUT_OF_MEMORY = "out_of_memory"
    RATE_LIMITED = "rate_limited"
    NETWORK = "network"
    """A name, a connection or a certificate failed while something was fetched."""
    REGISTRY = "registry"
    """An image, a package or an artifact was not where it had to be."""
    CREDENTIALS = "credentials"
    """Something outside refused to let the job in."""


class LogReading(Frozen):
    """What a CI job's log says; the log itself is not kept. Bounded, and gated before it is stored."""

    step: str | None = None
    """The step that failed, as the log or GitHub names it; None when the log does not tell."""
    command: str = ""
    """The first line of what that step ran."""
    error: str = ""
    """The line that tells best what went wrong."""
    excerpt: str = ""
    """The whole step where it fits a budget, else its most telling lines with headlines and surroundings."""
    failures: tuple[TestResult, ...] = ()
    """What the step's tools named, a *weak* reading: names, places and messages, never a verdict."""
    failure_count: int = 0
    """How many there were in all."""
    exit_code: int | None = None
    """What the failed step's process ended with."""
    signals: tuple[LogSignal, ...] = ()
    """Only those that speak of the failed step or of the whole job."""
    signs: dict[LogSignal, str] = Field(default_factory=dict)
    """The line that shows each signal."""

    @property
    def failing(self) -> frozenset[str]:
        """The names of what failed in CI."""
        return frozenset(failure.name for failure in self.failures)
