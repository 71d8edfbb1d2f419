"""RepositoryPolicy: what this repository allows us."""

from typing import Literal

from pydantic import ConfigDict, Field

from sandbox.types import Frozen


class Triggers(Frozen):
    """What may start a mission."""

    checks: bool = True
    """Red check runs, check suites and workflow runs."""
    statuses: bool = True
    """Red commit statuses of older CI."""
    comments: bool = True
    labels: bool = True
    buttons: bool = True


class DeliveryRule(Frozen):
    """How a verified fix is handed over, where this rule matches; the first that matches counts."""

    deliver: Literal["pull-request", "push", "suggest", "report"]
    rungs: tuple[int, ...] = (0, 1, 2)
    paths: tuple[str, ...] = ("**",)
    """Every changed file must match one of them."""
    min_confidence: float = Field(default=0.0, ge=0.0, le=1.0)


class PolicyLimits(Frozen):
    """What may be spent here."""

    attempts: int = Field(default=3, ge=0, le=50)
    """Automatic missions for one pull request (or branch) until a person pushes or asks."""
    open_pull_requests: int = Field(default=5, ge=0, le=100)
    """Pull requests of ours that may be open at the same time."""
    usd_per_mission: float = Field(default=1.0, ge=0.0)
    usd_per_pull_request: float = Field(default=3.0, ge=0.0)
    usd_per_day: float = Field(default=10.0, ge=0.0)


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
    mode: Literal["active", "staged"] = "active"
    """Staged: everything but writes; our check run says what would have been done."""
    triggers: Triggers = Triggers()
    deliver: tuple[DeliveryRule, ...] = ()
    """Without a matching rule, a pull request."""
    paths_allowed: tuple[str, ...] = ("**",)
    """Files a fix may touch, as glob patterns."""
    paths_protected: tuple[str, ...] = ()
    """Files a fix may not touch, besides tests, CI and lock files, which it never may."""
    base_branches: tuple[str, ...] = ("**",)
    """Branches that red checks are answered on unasked."""
    forks: Literal["ask", "off"] = "ask"
    """Forks' pull requests are repaired on request, as a comment, or not at all."""
    reviewers: tuple[str, ...] = ()
    """Logins, or `org/team`, asked to review our pull requests."""
    labels: tuple[str, ...] = ()
    """Put on our pull requests."""
    expire_days: int = Field(default=14, ge=0, le=365)
    """Untouched pull requests of ours are closed after this many days; 0 keeps them."""
    schedule: str | None = None
    """When to look for red branches unasked: `daily`, `weekly`; None leaves it to the service."""
    limits: PolicyLimits = PolicyLimits()
    origins: dict[str, str] = Field(default_factory=dict)
    """Per key that was set: the file (and line) it comes from."""
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
