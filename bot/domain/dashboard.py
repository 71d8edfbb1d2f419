"""Options of the dashboard, and what a person who signed in may see and do."""

from typing import Annotated

from pydantic import ConfigDict, Field, SecretStr, field_validator

from sandbox.types import Frozen

FULL_NAME = r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$"
"""The full name of a repository."""


class DashboardOptions(Frozen):
    """The pages under `/dashboard` of `serve` and `web`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    enabled: bool = True
    """Serve the dashboard."""
    token: SecretStr | None = None
    """Admits the operator, who sees and may do everything. By default `serve` creates one, in
    `dashboard.token` in the data directory."""
    client_id: str | None = None
    """Client id of the GitHub App, for signing in with GitHub; set-up stores it."""
    client_secret: SecretStr | None = None
    """Client secret of the GitHub App; set-up stores it."""
    session_hours: int = Field(default=8, ge=1, le=72)
    """Hours until a person has to sign in again. Rights at GitHub are read when they sign in."""
    issue_every_s: float = Field(default=60.0, ge=0.1, le=86_400.0)
    """Seconds between two updates of a repository's dashboard issue, if its policy wants one."""
    badges: tuple[Annotated[str, Field(pattern=FULL_NAME)], ...] = ()
    """Repositories (`owner/name`, several with commas) whose badge anyone may see, without signing
    in; none by default."""

    @field_validator("badges", mode="before")
    @classmethod
    def _split_badges(cls, value: object) -> object:
        """Split one text into several values, as the environment and the command line give them."""
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


class Viewer(Frozen):
    """A person who signed in."""

    login: str
    is_operator: bool = False
    """True for the holder of the operator's token."""
    readable: frozenset[int] = frozenset()
    """Ids of the repositories that this person can read."""
    writable: frozenset[int] = frozenset()
    """Ids of the repositories that this person can write to."""

    @property
    def sees(self) -> frozenset[int] | None:
        """Return the readable repositories; None for all, and for folders of this machine."""
        return None if self.is_operator else self.readable

    def may_act_on(self, repository: int | None) -> bool:
        """Return True if this person may retry and cancel missions of a repository."""
        return self.is_operator or (repository is not None and repository in self.writable)


OPERATOR = Viewer(login="operator", is_operator=True)
"""The holder of the operator's token."""
