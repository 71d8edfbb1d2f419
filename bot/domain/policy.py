"""RepositoryPolicy: the rights that a repository grants us."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AliasChoices, ConfigDict, Field

from sandbox.types import Frozen

Rungs = Annotated[tuple[Annotated[int, Field(ge=0, le=2)], ...], Field(max_length=3)]
Glob = Annotated[str, Field(min_length=1, max_length=200)]
Globs = Annotated[tuple[Glob, ...], Field(max_length=100)]
Command = Annotated[str, Field(min_length=1, max_length=2_000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Money = Annotated[float, Field(ge=0.0, le=1_000_000.0)]
Number = Annotated[int, Field(ge=0, le=1_000_000_000_000)]

OLD_POLICY_KEYS: Mapping[str, str] = MappingProxyType({"time_limit_s": "time_limit"})
OLD_LIMITS: Mapping[str, str] = MappingProxyType({"search_s": "time_limit"})
"""Former names of fields. Files, variables and stored missions may still hold them."""


class Triggers(Frozen):
    """Events that may start a mission."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    checks: bool = True
    """Red check runs, check suites and workflow runs."""
    statuses: bool = True
    """Red commit statuses of older CI systems."""
    comments: bool = True
    """`/metaagent` in comments by people with write access."""
    labels: bool = True
    """The label `metaagent:fix`."""
    buttons: bool = True
    """The buttons of our check run."""


class DeliveryRule(Frozen):
    """The delivery of a verified fix.

    Each file uses its first matching rule; the most careful one applies to the fix.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    deliver: Literal["pull-request", "push", "suggest", "report"]
    """A pull request, a commit on the red branch, suggestions in the red pull request, or only a
    report."""
    rungs: Rungs = (0, 1, 2)
    """Sources of the fix: 0 tools, 1 search, 2 a model."""
    paths: Globs = ("**",)
    """The changed files that the rule applies to."""
    min_confidence: float = Field(default=0.0, ge=0.0, le=1.0)
    """Lowest confidence for this rule; an unknown confidence counts as 0."""


class PolicyLimits(Frozen):
    """Spending limits of the repository."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    attempts: int = Field(default=3, ge=0, le=50)
    """Automatic missions for one branch until a person pushes or asks; 0 disables them."""
    open_pull_requests: int = Field(default=5, ge=0, le=100)
    """Our pull requests that may be open at the same time."""
    seconds_per_mission: float | None = Field(default=None, gt=0.0, le=86_400.0)
    """Time limit of a mission, in seconds; the service's own limit also applies."""
    seconds_per_pull_request: float | None = Field(default=7_200.0, gt=0.0, le=31_536_000.0)
    """Run time of all missions of one pull request, or of one branch without one per day, in
    seconds; null means no limit."""
    seconds_per_day: float | None = Field(default=28_800.0, gt=0.0, le=31_536_000.0)
    """Run time of all missions in one day (UTC), in seconds; null means no limit."""
    missions_per_pull_request: Number | None = 20
    """Missions of one pull request, or of one branch without one per day, including requested ones;
    null means no limit."""
    missions_per_day: Number | None = 50
    """Missions in one day (UTC), including requested ones; null means no limit."""
    usd_per_mission: Money = 1.0
    """US dollars for models in one mission."""
    usd_per_pull_request: Money = 3.0
    """US dollars for models in all missions of one pull request, or of one branch without one per
    day."""
    usd_per_day: Money = 10.0
    """US dollars for models in all missions of one day (UTC)."""
    tokens_per_mission: Number | None = None
    """Input and output tokens of models in one mission; null means no limit."""
    tokens_per_pull_request: Number | None = None
    """Tokens of models for one pull request, or for one branch without one per day; null means no
    limit."""
    tokens_per_day: Number | None = None
    """Tokens of models in one day (UTC); null means no limit."""


Interval = Literal["never", "daily", "weekly"]


class ContinuousImprovement(Frozen):
    """Missions on the default branch without a red check."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    schedule: Interval = "never"
    """Run the tests of the default branch, and repair it if they fail."""
    after_merge: bool = False
    """Do that after each push to the default branch, such as a merge."""
    missions: int = Field(default=3, ge=1, le=10)
    """Most missions one after another on one commit, each on the partial fix of the one before; the
    limits of one mission apply to all of them together."""


class ScheduledImprovement(Frozen):
    """Improvements of code that is not red."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    schedule: Interval = "never"
    """Open a pull request with one verified improvement of the default branch."""


class RepositoryPolicy(Frozen):
    """A repository's policy, read from the default branch only; every key has a safe default."""

    model_config = ConfigDict(use_attribute_docstrings=True, populate_by_name=True)

    enabled: bool = True
    """False disables MetaAgent here, including for people who ask."""
    automatic: bool = True
    """React to red checks without being asked."""
    mode: Literal["active", "staged"] = "active"
    """`staged` performs everything except writes; our check run shows what would have been done."""
    triggers: Triggers = Triggers()
    """Events that may start a mission."""
    rungs: Rungs = (0, 1, 2)
    """Allowed sources of fixes: 0 tools, 1 search, 2 a model, if the service has one."""
    test_command: Command | None = None
    """The command to repair; by default it is read from the CI configuration."""
    setup: tuple[Command, ...] = Field(default=(), max_length=20)
    """Commands that run with network access before the tests."""
    python: str | None = Field(default=None, pattern=r"^3\.\d{1,2}$")
    """The Python version for the tests, quoted: `"3.11"`."""
    time_limit: float = Field(
        default=90.0,
        gt=0.0,
        le=3_600.0,
        validation_alias=AliasChoices("time_limit", *OLD_POLICY_KEYS),
    )
    """Time limit for the search of a fix, in seconds."""
    flaky_reruns: int = Field(default=3, ge=0, le=50)
    """Minimum number of reruns of failing tests before any edit."""
    dependencies: Literal["ask", "fix", "never"] = "ask"
    """Ask a person to declare a distribution that is imported but not declared, and to accept a
    lock file that fits `package.json` again. `fix` offers such a lock file without asking; a
    distribution is never added without asking."""
    paths_allowed: Globs = ("**",)
    """Files that a fix may change."""
    paths_protected: Globs = ()
    """Files that a fix may not change, in addition to tests, CI files and lock files."""
    base_branches: Globs = ("**",)
    """Branches whose red checks start missions automatically; for a pull request, its target
    branch."""
    forks: Literal["ask", "never"] = "ask"
    """`ask` repairs a fork's pull request on request, as a comment; `never` refuses."""
    deliver: tuple[DeliveryRule, ...] = Field(default=(), max_length=50)
    """Delivery of a verified fix; a pull request when no rule matches."""
    draft: bool = False
    """Open pull requests as drafts."""
    reviewers: tuple[Name, ...] = Field(default=(), max_length=15)
    """Logins, or `org/team`, to request reviews from."""
    labels: tuple[Name, ...] = Field(default=(), max_length=20)
    """Labels for our pull requests."""
    regression_test: bool = False
    """Add a commit with a new test to a pull request of ours. The test fails without the fix and
    passes with it; existing tests stay as they are. Its file must be one that a fix may change by
    `paths_allowed` and `paths_protected`."""
    expire_days: int = Field(default=14, ge=0, le=365)
    """Days after which our inactive pull requests are closed; 0 keeps them open."""
    schedule: Literal["never", "daily", "weekly"] | None = None
    """Sweep for red branches without an event: `daily` covers the last day, `weekly` the last week,
    `never` disables it. Null covers events missed during downtime."""
    dashboard_issue: bool = False
    """Keep one issue up to date that lists open fixes, active missions, questions, and what is
    snoozed or off, with tick boxes that act."""
    continuous: ContinuousImprovement = ContinuousImprovement()
    """Missions on the default branch without a red check."""
    improve: ScheduledImprovement = ScheduledImprovement()
    """Improvements of code that is not red."""
    limits: PolicyLimits = PolicyLimits()
    """Spending limits."""
    origins: dict[str, str] = Field(default_factory=dict)
    """The file and line of each key that was set."""
    problems: tuple[str, ...] = ()
    """Parse errors with file and line, for people."""


class Limits(Frozen):
    """Limits of a mission; each is a setting."""

    model_config = ConfigDict(use_attribute_docstrings=True, populate_by_name=True)

    iterations: int = 5
    """Iterations of the mission loop."""
    reruns: int = Field(default=5, ge=3, le=50)
    """Reruns of the failing tests before any edit, when all runs agree."""
    reruns_most: int = Field(default=10, ge=4, le=100)
    """Most runs, including the first, when runs disagree or the first is green."""
    triage_wall_s: float = Field(default=300.0, gt=0)
    """Time limit for reruns, in seconds; at least three of failing tests are always made."""
    maxfail: int = Field(default=5, ge=0)
    """Number of failures after which the first test run stops; a complete run follows. 0 disables
    it."""
    missions_in_a_row: int = Field(default=1, ge=1, le=10)
    """Missions of one request, each continuing the partial fix of the previous one. The limits of
    one mission apply to all of them together."""
    mission_wall_s: float = 1800.0
    """Time limit of a mission, in seconds."""
    time_limit: float = Field(
        default=90.0, validation_alias=AliasChoices("time_limit", *OLD_LIMITS)
    )
    """Time limit for the search of a fix, in seconds."""
    max_candidates: int = 100_000
    """Candidates tried in one climb."""
    model_s: float = Field(default=300.0, gt=0)
    """Additional time for a model to find a fix in one climb, in seconds; one complete answer
    always fits."""
    outage_share: float = 0.9
    """Share of tests with the same outage signature from which a failure counts as an outage."""
    change_threshold: float = Field(default=0.7, ge=0.0, le=1.0)
    """Lowest review score of a verified change by a model; lower scores are refused. 0 disables the
    review."""
