"""The Action's inputs, as `action.yml` passes them; errors name the wrong input. Pure."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator

from bot.domain.policy import DeliveryRule, RepositoryPolicy
from bot.errors import UsageError
from sandbox.types import Frozen

PREFIX = "INPUT_"

Mode = Literal["pull-request", "commit", "suggest", "report"]

_DELIVERIES: Mapping[Mode, Literal["pull-request", "push", "suggest", "report"]] = {
    "pull-request": "pull-request",
    "commit": "push",
    "suggest": "suggest",
    "report": "report",
}
# Without the slash, people's branches with the same beginning would be ignored as ours.
_BRANCH_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}/")


class ActionInputs(Frozen):
    """The inputs under `with` in the workflow.

    None leaves a value to the default branch's policy.
    """

    github_token: SecretStr = Field(default=SecretStr(""), repr=False)
    mode: Mode = "pull-request"
    test_command: str | None = Field(default=None, max_length=2_000)
    working_directory: str = "."
    rungs: tuple[Literal[0, 1, 2], ...] | None = None
    max_attempts: int | None = Field(default=None, ge=1, le=50)
    max_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    time_limit: float | None = Field(default=None, gt=0, le=3_600)
    base_branch: str | None = None
    branch_prefix: str = "metaagent/"
    draft: bool | None = None
    allow_users: tuple[str, ...] = ()
    allow_bots: bool = False
    model: str | None = None
    api_key: SecretStr = Field(default=SecretStr(""), repr=False)
    config: str | None = None
    dry_run: bool = False
    from_report: str | None = None

    @field_validator("allow_users", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return _words(value) if isinstance(value, str) else value

    @field_validator("rungs", mode="before")
    @classmethod
    def _numbers(cls, value: object) -> object:
        words = _words(value) if isinstance(value, str) else ()
        return (
            tuple(sorted({int(word) for word in words}))
            if words and all(map(str.isdecimal, words))
            else value
        )

    @field_validator("branch_prefix")
    @classmethod
    def _is_a_folder_of_branches(cls, value: str) -> str:
        if _BRANCH_PREFIX.fullmatch(value) is None:
            raise ValueError("it must be a word and a slash, for example `metaagent/`")
        return value

    @field_validator("working_directory")
    @classmethod
    def _is_inside(cls, value: str) -> str:
        path = PurePosixPath(value)
        if path.is_absolute() or ".." in path.parts or "\\" in value:
            raise ValueError("it must be a folder inside the checkout")
        return str(path)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read `INPUT_MODE` and the other variables; an empty one counts as missing.

        Raises:
            UsageError: an input is invalid; the message has its name in the workflow.
        """
        given: dict[str, Any] = {}
        for name in cls.model_fields:
            value = environment.get(PREFIX + name.upper(), "").strip()
            if value:
                given[name] = value
        try:
            return cls(**given)
        except ValidationError as error:
            # Without the input itself: it may be a key.
            problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
            name = str(problem["loc"][0]).replace("_", "-")
            raise UsageError(
                f"input {name}: {problem['msg']}", "correct it under `with` in the workflow"
            ) from error

    @property
    def folder(self) -> str:
        """Return the project's folder in the repository: empty, or `sub/folder/`."""
        return "" if self.working_directory == "." else f"{self.working_directory}/"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the values that must be masked in all output."""
        return tuple(
            s.get_secret_value() for s in (self.github_token, self.api_key) if s.get_secret_value()
        )

    @property
    def delivery(self) -> Mode:
        """Return the delivery mode; a fix from another job's report is never pushed directly."""
        return (
            "pull-request" if self.mode == "commit" and self.from_report is not None else self.mode
        )

    def policy(self, found: RepositoryPolicy) -> RepositoryPolicy:
        """Return the repository's policy with this step's changes.

        The inputs may override it, since writing a workflow needs the same rights as writing the
        policy.

        Args:
            found: The policy on the default branch.
        """
        changed: dict[str, Any] = {"deliver": (DeliveryRule(deliver=_DELIVERIES[self.delivery]),)}
        if self.rungs is not None:
            changed["rungs"] = self.rungs
        if self.draft is not None:
            changed["draft"] = self.draft
        if self.time_limit is not None:
            changed["time_limit"] = self.time_limit
        if self.test_command is not None:
            changed["test_command"] = self.test_command
        if self.max_cost_usd is not None:
            # A step is a single mission: limits over several missions must not lower its own.
            most = self.max_cost_usd
            pull_request, day = (
                max(most, found.limits.usd_per_pull_request),
                max(most, found.limits.usd_per_day),
            )
            changed["limits"] = found.limits.with_(
                usd_per_mission=most, usd_per_pull_request=pull_request, usd_per_day=day
            )
        return found.with_(**changed)


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a list that is separated by commas and spaces."""
    return tuple(text.replace(",", " ").split())
