"""Accounts of a mission: money, tokens, time and mission count, with their ceilings."""

from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from bot.domain.model import Completion, Judging
from bot.domain.policy import PolicyLimits, RepositoryPolicy
from bot.domain.request import MissionRequest
from sandbox.types import Frozen


class Kind(StrEnum):
    """A kind of resource that is booked."""

    USD = "usd"
    TOKENS = "tokens"
    CALLS = "calls"
    """Model calls."""
    SECONDS = "seconds"
    """Seconds of mission run time."""
    MISSIONS = "missions"


class Scope(StrEnum):
    """The bookings that count towards one ceiling.

    Policy keys and settings are named `KIND_per_SCOPE`.
    """

    MISSION = "mission"
    PULL_REQUEST = "pull_request"
    """All missions of a pull request, or one day of a branch without a pull request."""
    DAY = "day"
    """One day of a repository."""
    INSTALLATION = "day_installation"
    """One day of all repositories of an installation."""
    TOTAL = "day_total"
    """One day of all repositories."""


class Ceiling(Frozen):
    """An upper limit for one kind of resource in one scope."""

    name: str
    """The policy key or setting that sets the limit."""
    kind: Kind
    scope: Scope
    most: float = Field(ge=0.0)


class ModelLimits(Frozen):
    """The service's limits for models.

    Each is a setting. A repository policy can only lower them.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)
    GROUP: ClassVar[str] = "models"

    usd_per_mission: float = Field(default=5.0, ge=0.0)
    """US dollars for one mission; the lower of this and the policy's limit applies."""
    usd_per_day: float = Field(default=50.0, ge=0.0)
    """US dollars for one repository in one day (UTC); the lower of this and the policy's limit
    applies."""
    usd_per_day_installation: float | None = Field(default=None, ge=0.0)
    """US dollars for all repositories of one installation in one day (UTC); unlimited by
    default."""
    usd_per_day_total: float | None = Field(default=None, ge=0.0)
    """US dollars for all repositories together in one day (UTC); unlimited by default."""
    tokens_per_mission: int | None = Field(default=None, ge=0)
    """Input and output tokens for one mission; unlimited by default."""
    tokens_per_day: int | None = Field(default=None, ge=0)
    """Tokens for one repository in one day (UTC); unlimited by default."""
    tokens_per_day_installation: int | None = Field(default=None, ge=0)
    """Tokens for all repositories of one installation in one day (UTC); unlimited by default."""
    tokens_per_day_total: int | None = Field(default=None, ge=0)
    """Tokens for all repositories together in one day (UTC); unlimited by default."""
    calls_per_mission: int = Field(default=60, ge=0)
    """Calls in one mission; the only limit for models without a known price."""
    judging: Judging | Literal["auto"] = "auto"
    """When a model judges beside the rules: `when-unsure` asks once where the rules would ask a
    person, and about a verified change that is not certain; `always` asks in every stage; `never`
    leaves all judging to the rules. `auto` is `never` for a model at a loopback or private address,
    unless `model_judge` names it, else `when-unsure`."""
    prices: str = ""
    """US dollars per million tokens, for models whose price is unknown or wrong. Write
    `NAME=INPUT/OUTPUT` or `NAME=INPUT/OUTPUT/CACHE-READ/CACHE-WRITE`, separated by commas."""
    agent_command: str = ""
    """Shell command line that starts the agent of the setting `model_agent` in the sandbox.
    `$MODEL_URL` is the address of the model, `$MODEL` its name; the task is passed on standard
    input. Empty uses the default command of the agent."""
    timeout_s: float = Field(default=300.0, gt=0.0, le=3_600.0)
    """Timeout for one answer over HTTP, including retries, in seconds."""
    idle_s: float = Field(default=120.0, gt=0.0, le=3_600.0)
    """Timeout for the next bytes of a streamed answer that has begun, in seconds. The question is
    not asked again then, because both could be billed. `timeout_s` alone limits the time before
    the first part of an answer, in which a model reads the prompt and reasons."""
    cli_timeout_s: float = Field(default=600.0, gt=0.0, le=7_200.0)
    """Timeout for one answer of a command-line agent, in seconds."""
    plain_http: bool = False
    """Allow sending a key to another machine without encryption."""
    cli_reads_host: bool = False
    """Allow command-line agents whose tools can read files of this host (codex)."""
    context_tokens: int = Field(default=6_000, ge=1_000)
    """Size of a prompt that asks for a fix, in tokens."""
    answer_tokens: int = Field(default=2_000, ge=100)
    """Size of an answer that contains a fix, in tokens. An answer that is cut off doubles the limit
    for the rest of this fix, up to four times this value."""
    samples: int = Field(default=4, ge=1, le=20)
    """Most answers requested in one round. Sampling stops at the first answer that is certain; one
    that passes and is not gets up to two more answers that may agree."""
    rounds: int = Field(default=2, ge=1, le=5)
    """Rounds of sampling; each later round sees the failed attempts of earlier rounds."""
    fix: Literal["prompt", "agent", "auto"] = "prompt"
    """Way of working on a fix: `prompt` asks for the edits, `agent` lets the model list, read,
    search, edit and test in steps. `auto` begins with the prompt. It goes on with steps if files
    are missing, or if nothing passes in two rounds or with whole functions."""
    agent_steps: int = Field(default=15, ge=1, le=100)
    """Answers of one agent."""
    edit_format: Literal["auto", "search_replace", "function"] = "auto"
    """Format of a model's edits. `auto` is `function` for a model at a loopback or private address;
    for others it begins with `search_replace` and falls back to whole functions."""


class Quota(Frozen):
    """The service's limits for missions in one day (UTC).

    Each is a setting. A repository policy can only lower them.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)
    GROUP: ClassVar[str] = "quota"

    missions_per_day: int | None = Field(default=None, ge=0)
    """Missions started in one repository; only the repository policy limits them by default."""
    missions_per_day_installation: int | None = Field(default=None, ge=0)
    """Missions started in all repositories of one installation; unlimited by default."""
    missions_per_day_total: int | None = Field(default=None, ge=0)
    """Missions started in all repositories together; unlimited by default."""
    seconds_per_day: float | None = Field(default=None, ge=0.0)
    """Run time of missions in one repository, in seconds; only the policy limits it by default."""
    seconds_per_day_installation: float | None = Field(default=None, ge=0.0)
    """Run time of missions in all repositories of one installation, in seconds; unlimited by
    default."""
    seconds_per_day_total: float | None = Field(default=None, ge=0.0)
    """Run time of missions in all repositories together, in seconds; unlimited by default."""


class Account(Frozen):
    """The scopes a mission's costs are booked in, and their ceilings."""

    mission: str
    repository: str
    pull_request: str = ""
    """The pull request; without one, the branch and the day."""
    installation: str = ""
    day: str
    """ISO date, UTC."""
    ceilings: tuple[Ceiling, ...] = ()

    @property
    def is_penniless(self) -> bool:
        """Return True if a ceiling of 0 US dollars applies."""
        return any(ceiling.kind is Kind.USD and ceiling.most == 0.0 for ceiling in self.ceilings)


class Reserved(Frozen):
    """A reservation, or an answer that was already paid for."""

    id: int = 0
    answer: Completion | None = None


class Grant(Frozen):
    """Time granted for one step."""

    seconds: float
    limit: str
    """The limit that bounds it, in words."""


def build_account(
    request: MissionRequest, policy: RepositoryPolicy, ours: ModelLimits | Quota, day: date
) -> Account:
    """Return the account of a mission, with the lower of the policy's and the service's ceilings.

    Args:
        request: The mission request.
        policy: The policy of the mission's repository.
        ours: The service's limits.
        day: The current day, UTC.
    """
    # A branch may live for years, so its bookings are limited per day.
    repository, branch = request.repository, f"branch:{request.head_branch or ''} {day.isoformat()}"
    installation = str(repository.installation_id or "") if repository else ""
    known = _ceilings(policy.limits, ours)
    return Account(
        mission=request.mission_id,
        repository=str(repository.id) if repository else f"local:{request.folder}",
        pull_request=str(request.pull_request) if request.pull_request else branch,
        installation=installation,
        day=day.isoformat(),
        ceilings=tuple(one for one in known if installation or one.scope is not Scope.INSTALLATION),
    )


def _ceilings(theirs: PolicyLimits, ours: ModelLimits | Quota) -> Iterator[Ceiling]:
    """Yield the lower of policy limit and setting for each kind and scope that has a limit."""
    for kind in Kind:
        for scope in Scope:
            name = f"{kind}_per_{scope}"
            said = {
                f"limits.{name}": getattr(theirs, name, None),
                f"{ours.GROUP}.{name}": getattr(ours, name, None),
            }
            most = {key: value for key, value in said.items() if value is not None}
            if most:
                lowest = min(most, key=lambda key: most[key])
                yield Ceiling(name=lowest, kind=kind, scope=scope, most=most[lowest])
