"""RepositoryPolicy: what this repository allows us."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from sandbox.types import Frozen

Rungs = Annotated[tuple[Annotated[int, Field(ge=0, le=2)], ...], Field(max_length=3)]
Glob = Annotated[str, Field(min_length=1, max_length=200)]
Globs = Annotated[tuple[Glob, ...], Field(max_length=100)]
Command = Annotated[str, Field(min_length=1, max_length=2_000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Money = Annotated[float, Field(ge=0.0, le=1_000_000.0)]
Number = Annotated[int, Field(ge=0, le=1_000_000_000_000)]


class Triggers(Frozen):
    """What may start a mission."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    checks: bool = True
    """Red check runs, check suites and workflow runs."""
    statuses: bool = True
    """Red commit statuses of older CI."""
    comments: bool = True
    """`/metaagent` in comments of people with write access."""
    labels: bool = True
    """The label `metaagent:fix`."""
    buttons: bool = True
    """The buttons of our check run."""


class DeliveryRule(Frozen):
    """How a verified fix is handed over: per file the first rule that matches, and of all files the most careful."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    deliver: Literal["pull-request", "push", "suggest", "report"]
    """A pull request, a commit on the red branch itself, suggestions in the red pull request, or words only."""
    rungs: Rungs = (0, 1, 2)
    """Where the fix comes from: 0 tools, 1 search, 2 a model."""
    paths: Globs = ("**",)
    """The changed files it is for."""
    min_confidence: float = Field(default=0.0, ge=0.0, le=1.0)
    """A fix with less is none for this rule; one whose confidence is not known counts as 0."""


class PolicyLimits(Frozen):
    """What may be spent here."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    attempts: int = Field(default=3, ge=0, le=50)
    """Automatic missions for one branch until a person pushes or asks; 0 is none."""
    open_pull_requests: int = Field(default=5, ge=0, le=100)
    """Pull requests of ours that may be open at the same time."""
    seconds_per_mission: float | None = Field(default=None, gt=0.0, le=86_400.0)
    """How long a mission may take; never longer than the service allows."""
    seconds_per_pull_request: float | None = Field(default=7_200.0, gt=0.0, le=31_536_000.0)
    """Time of all missions of one pull request, or in a day of one branch without one; null does not limit."""
    seconds_per_day: float | None = Field(default=28_800.0, gt=0.0, le=31_536_000.0)
    """Time of all missions of a day (UTC); null does not limit."""
    missions_per_pull_request: Number | None = 20
    """Missions, asked for or not, of one pull request, or in a day of one branch without one; null does not limit."""
    missions_per_day: Number | None = 50
    """Missions, asked for or not, in a day (UTC); null does not limit."""
    usd_per_mission: Money = 1.0
    """Money for models in one mission."""
    usd_per_pull_request: Money = 3.0
    """Money for models in all missions of one pull request, or in a day of one branch without one."""
    usd_per_day: Money = 10.0
    """Money for models in all missions of a day (UTC)."""
    tokens_per_mission: Number | None = None
    """Tokens, read and written by models, in one mission; null does not limit."""
    tokens_per_pull_request: Number | None = None
    """The same of one pull request, or in a day of one branch without one; null does not limit."""
    tokens_per_day: Number | None = None
    """The same of a day (UTC); null does not limit."""


class RepositoryPolicy(Frozen):
    """Read from the default branch only; everything has a safe default."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    enabled: bool = True
    """False switches MetaAgent off here, for people who ask too."""
    automatic: bool = True
    """React to red checks without being asked."""
    mode: Literal["active", "staged"] = "active"
    """Staged: everything but writes; our check run says what would have been done."""
    triggers: Triggers = Triggers()
    """What may start a mission."""
    rungs: Rungs = (0, 1, 2)
    """Where fixes may come from: 0 tools, 1 search, 2 a model, where the service has one."""
    test_command: Command | None = None
    """The command that is red; without it, CI's own files say."""
    setup: tuple[Command, ...] = Field(default=(), max_length=20)
    """Commands run with the set-up's network before the tests."""
    python: str | None = Field(default=None, pattern=r"^3\.\d{1,2}$")
    """The version the tests need, quoted: `"3.11"`."""
    time_limit_s: float = Field(default=90.0, gt=0.0, le=3_600.0)
    """For one climb of the ladder."""
    flaky_reruns: int = Field(default=3, ge=0, le=50)
    """How often failing tests run again at least before any edit."""
    dependencies: Literal["ask", "never"] = "ask"
    """Whether a person is asked to declare a distribution that is imported and not declared; none is added unasked."""
    paths_allowed: Globs = ("**",)
    """Files a fix may touch."""
    paths_protected: Globs = ()
    """Files a fix may not touch, besides tests, CI and lock files, which it never may."""
    base_branches: Globs = ("**",)
    """Branches that red checks are answered on unasked; of a pull request, the branch it goes to."""
    forks: Literal["ask", "never"] = "ask"
    """Forks' pull requests are repaired on request, as a comment, or not at all."""
    deliver: tuple[DeliveryRule, ...] = Field(default=(), max_length=50)
    """How a verified fix is handed over; without a matching rule, as a pull request."""
    draft: bool = False
    """Open pull requests as drafts."""
    reviewers: tuple[Name, ...] = Field(default=(), max_length=15)
    """Logins, or `org/team`, asked to review our pull requests."""
    labels: tuple[Name, ...] = Field(default=(), max_length=20)
    """Put on our pull requests."""
    expire_days: int = Field(default=14, ge=0, le=365)
    """Untouched pull requests of ours are closed after this many days; 0 keeps them."""
    schedule: Literal["never", "daily", "weekly"] | None = None
    """Red branches nobody told us of: `daily` answers those of the last day, `weekly` those of the last week, `never`
    none, null those that were missed while we were away."""
    limits: PolicyLimits = PolicyLimits()
    """What may be spent here."""
    origins: dict[str, str] = Field(default_factory=dict)
    """Per key that was set: the file and line it comes from."""
    problems: tuple[str, ...] = ()
    """What could not be read, said to the person by file and line."""


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
    maxfail: int = Field(default=5, ge=0)
    """Failures after which the first run of the tests stops; a whole run follows then. 0 for none."""
    missions_in_a_row: int = Field(default=1, ge=1, le=10)
    """Missions of one command line call, each on what the one before repaired in part; the service runs one."""
    mission_wall_s: float = 1800.0
    """How long a mission may take."""
    search_s: float = 90.0
    """How long one climb of the ladder may take."""
    max_candidates: int = 100_000
    """Candidates tried in one climb."""
    model_s: float = Field(default=300.0, gt=0)
    """How long a model may look for a fix in one climb, besides that; an agent's whole answer always fits."""
    outage_share: float = 0.9
    """This share of tests failing alike, with an outage signature, is an outage."""
    change_threshold: float = Field(default=0.7, ge=0.0, le=1.0)
    """A verified change that a model's critique scores lower is refused; 0 asks for no critique."""
