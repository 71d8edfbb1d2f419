"""RepositoryPolicy: what this repository allows us."""

from typing import Literal

from pydantic import ConfigDict, Field

from sandbox.types import Frozen


class RepositoryPolicy(Frozen):
    """Read from the default branch only; everything has a safe default."""

    enabled: bool = True
    automatic: bool = True
    """React to red checks without being asked."""
    rungs: tuple[int, ...] = (0, 1)
    test_command: str | None = None
    setup: tuple[str, ...] = ()
    python: str | None = None
    draft: bool = False
    time_limit_s: float = 90.0
    """For one climb of the ladder."""
    flaky_reruns: int = 3
    dependencies: Literal["ask", "never"] = "ask"
    """Whether a person is asked to declare a distribution that is imported and not declared; none is added unasked."""
    problems: tuple[str, ...] = ()
    """What could not be read, said to the person by name."""


class Limits(Frozen):
    """Limits of a mission; each is a setting."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    iterations: int = 5
    """Turns of the mission loop."""
    reruns: int = Field(default=5, ge=3, le=50)
    """Times the failing tests run again before any edit, when every run says the same."""
    reruns_most: int = Field(default=10, ge=4, le=100)
    """Runs in all, the first one counted, when runs disagree or the first one is green."""
    triage_wall_s: float = Field(default=300.0, gt=0)
    """How long reruns may go on; three of them are made in any case."""
    maxfail: int = 5
    """Failures after which a second run stops when the first one timed out."""
    mission_wall_s: float = 1800.0
    """How long a mission may take."""
    search_s: float = 90.0
    """How long one climb of the ladder may take."""
    max_candidates: int = 20_000
    """Candidates tried in one climb."""
    outage_share: float = 0.9
    """This share of tests failing alike, with an outage signature, is an outage."""
