"""Whose money a model call spends, up to which limits, and what the ledger says to it."""

from datetime import date
from typing import Literal

from pydantic import ConfigDict, Field

from bot.domain.model import Completion
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from sandbox.types import Frozen


class ModelLimits(Frozen):
    """What models may cost and take here; each is a setting. A repository's policy may allow less, never more."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    usd_per_mission: float = Field(default=5.0, ge=0.0)
    """US dollars for one mission, whatever the repository's policy allows."""
    usd_per_day: float = Field(default=50.0, ge=0.0)
    """US dollars for one repository in one day (UTC), whatever its policy allows."""
    usd_per_day_total: float | None = Field(default=None, ge=0.0)
    """US dollars for all repositories together in one day (UTC); not limited by default."""
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


class Account(Frozen):
    """Where a mission's calls are booked. A limit of None does not limit."""

    mission: str
    repository: str
    pull_request: str = ""
    """The pull request, or the branch where there is none."""
    installation: str = ""
    day: str
    """ISO date, UTC."""
    usd_per_mission: float | None = Field(default=None, ge=0.0)
    usd_per_pull_request: float | None = Field(default=None, ge=0.0)
    usd_per_day: float | None = Field(default=None, ge=0.0)
    """Of the repository."""
    calls_per_mission: int = Field(default=60, ge=0)
    """Bounds what has no price."""


class Reserved(Frozen):
    """A reservation, or the answer that was paid for before."""

    id: int = 0
    answer: Completion | None = None


def account_of(request: MissionRequest, policy: RepositoryPolicy, limits: ModelLimits, day: date) -> Account:
    """The account of a mission, with the lower of what the repository and we allow.

    Args:
        request: Whose mission it is.
        policy: Of its repository.
        limits: Ours.
        day: Today, UTC.
    """
    repository = request.repository
    return Account(
        mission=request.mission_id,
        repository=str(repository.id) if repository else f"local:{request.folder}",
        pull_request=str(request.pull_request) if request.pull_request else f"branch:{request.head_branch or ''}",
        installation=str(repository.installation_id or "") if repository else "",
        day=day.isoformat(),
        usd_per_mission=min(policy.limits.usd_per_mission, limits.usd_per_mission),
        usd_per_pull_request=policy.limits.usd_per_pull_request,
        usd_per_day=min(policy.limits.usd_per_day, limits.usd_per_day),
        calls_per_mission=limits.calls_per_mission,
    )
