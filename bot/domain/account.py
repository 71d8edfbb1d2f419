"""Where a mission's money, tokens, time and number are booked, up to which ceilings, and what the ledger says to it."""

from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from bot.domain.model import Completion
from bot.domain.policy import PolicyLimits, RepositoryPolicy
from bot.domain.request import MissionRequest
from sandbox.types import Frozen


class Kind(StrEnum):
    """What is booked."""

    USD = "usd"
    TOKENS = "tokens"
    CALLS = "calls"
    """Questions to models."""
    SECONDS = "seconds"
    """Of missions' work."""
    MISSIONS = "missions"


class Scope(StrEnum):
    """Whose bookings count together; together with a kind it is the name of a policy key or a setting."""

    MISSION = "mission"
    PULL_REQUEST = "pull_request"
    """A pull request for ever; a branch without one for a day."""
    DAY = "day"
    """A repository's day."""
    INSTALLATION = "day_installation"
    """The day of all repositories of one installation."""
    TOTAL = "day_total"
    """The day of everything."""


class Ceiling(Frozen):
    """How much of a kind may be booked in a scope."""

    name: str
    """The policy key or the setting that says so."""
    kind: Kind
    scope: Scope
    most: float = Field(ge=0.0)


class ModelLimits(Frozen):
    """What models may cost and take here; each is a setting. A repository's policy may allow less, never more."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    GROUP: ClassVar[str] = "models"

    usd_per_mission: float = Field(default=5.0, ge=0.0)
    """US dollars for one mission, whatever the repository's policy allows."""
    usd_per_day: float = Field(default=50.0, ge=0.0)
    """US dollars for one repository in one day (UTC), whatever its policy allows."""
    usd_per_day_installation: float | None = Field(default=None, ge=0.0)
    """US dollars for all repositories of one installation in one day (UTC); not limited by default."""
    usd_per_day_total: float | None = Field(default=None, ge=0.0)
    """US dollars for all repositories together in one day (UTC); not limited by default."""
    tokens_per_mission: int | None = Field(default=None, ge=0)
    """Tokens, read and written, for one mission; not limited by default."""
    tokens_per_day: int | None = Field(default=None, ge=0)
    """Tokens for one repository in one day (UTC); not limited by default."""
    tokens_per_day_installation: int | None = Field(default=None, ge=0)
    """Tokens for all repositories of one installation in one day (UTC); not limited by default."""
    tokens_per_day_total: int | None = Field(default=None, ge=0)
    """Tokens for all repositories together in one day (UTC); not limited by default."""
    calls_per_mission: int = Field(default=60, ge=0)
    """Calls in one mission; the only limit for models whose price is not known."""
    prices: str = ""
    """US dollars per million tokens of models whose price is not known, or is wrong: `NAME=INPUT/OUTPUT` or
    `NAME=INPUT/OUTPUT/CACHE-READ/CACHE-WRITE`, several with commas between."""
    agent_command: str = ""
    """How the agent of the setting `model_agent` is started in the sandbox, a shell command line; `$MODEL_URL` leads to
    the model, `$MODEL` names it, and the task is its standard input. Empty for that of the kind itself."""
    timeout_s: float = Field(default=60.0, gt=0.0, le=3_600.0)
    """Seconds for one answer over HTTP, retries included."""
    cli_timeout_s: float = Field(default=600.0, gt=0.0, le=7_200.0)
    """Seconds for one answer of a command-line agent."""
    plain_http: bool = False
    """Whether a key may be sent to another machine without encryption."""
    cli_reads_host: bool = False
    """Whether a command-line agent may be asked that keeps tools which read this host's files (codex, gemini)."""
    context_tokens: int = Field(default=12_000, ge=1_000)
    """Tokens of a prompt that asks for a fix."""
    answer_tokens: int = Field(default=2_000, ge=100)
    """Tokens of an answer with a fix."""
    samples: int = Field(default=4, ge=1, le=20)
    """Answers asked for in one round, until one passes; the first is the likeliest, the others vary."""
    rounds: int = Field(default=2, ge=1, le=5)
    """Rounds; each later one sees what failed before."""
    edit_format: Literal["auto", "search_replace", "function"] = "auto"
    """How a model writes its edits; `auto` begins with `search_replace`, and asks for whole functions of one that
    cannot."""


class Quota(Frozen):
    """What missions may take here in a day (UTC), whatever it costs; each is a setting. A policy may allow less."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    GROUP: ClassVar[str] = "quota"

    missions_per_day: int | None = Field(default=None, ge=0)
    """Missions begun in one repository; only its policy limits them by default."""
    missions_per_day_installation: int | None = Field(default=None, ge=0)
    """Missions begun in all repositories of one installation; not limited by default."""
    missions_per_day_total: int | None = Field(default=None, ge=0)
    """Missions begun in all repositories together; not limited by default."""
    seconds_per_day: float | None = Field(default=None, ge=0.0)
    """Seconds of missions' work in one repository; only its policy limits them by default."""
    seconds_per_day_installation: float | None = Field(default=None, ge=0.0)
    """Seconds of missions' work in all repositories of one installation; not limited by default."""
    seconds_per_day_total: float | None = Field(default=None, ge=0.0)
    """Seconds of missions' work in all repositories together; not limited by default."""


class Account(Frozen):
    """Where what a mission takes is booked, and up to which ceilings."""

    mission: str
    repository: str
    pull_request: str = ""
    """The pull request, or the branch and the day where there is none."""
    installation: str = ""
    day: str
    """ISO date, UTC."""
    ceilings: tuple[Ceiling, ...] = ()

    @property
    def is_penniless(self) -> bool:
        """Whether some ceiling leaves no money at all."""
        return any(ceiling.kind is Kind.USD and ceiling.most == 0.0 for ceiling in self.ceilings)


class Reserved(Frozen):
    """A reservation, or the answer that was paid for before."""

    id: int = 0
    answer: Completion | None = None


class Grant(Frozen):
    """Time for a step."""

    seconds: float
    limit: str
    """What bounds it, in words."""


def account_of(request: MissionRequest, policy: RepositoryPolicy, ours: ModelLimits | Quota, day: date) -> Account:
    """The account of a mission, with the lower of what the repository and we allow.

    Args:
        request: Whose mission it is.
        policy: Of its repository.
        ours: What the service allows.
        day: Today, UTC.
    """
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
    """For each kind and scope the lower of what a policy and a setting of that name say, where one of them does."""
    for kind in Kind:
        for scope in Scope:
            name = f"{kind}_per_{scope}"
            said = {f"limits.{name}": getattr(theirs, name, None), f"{ours.GROUP}.{name}": getattr(ours, name, None)}
            most = {key: value for key, value in said.items() if value is not None}
            if most:
                lowest = min(most, key=lambda key: most[key])
                yield Ceiling(name=lowest, kind=kind, scope=scope, most=most[lowest])
