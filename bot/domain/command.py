"""A request that a person makes by comment, button or label: Command."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from bot.domain.request import SHA, CommentRef, RepositoryRef
from sandbox.types import Frozen


class Verb(StrEnum):
    """An action that a person can request."""

    FIX = "fix"
    EXPLAIN = "explain"
    REPRODUCE = "reproduce"
    RERUN = "rerun"
    RETRY = "retry"
    IMPROVE = "improve"
    APPLY = "apply"
    REJECT = "reject"
    UNDO = "undo"
    OFF = "off"
    ON = "on"
    STATUS = "status"
    CONFIG = "config"
    LESSONS = "lessons"
    ANSWER = "answer"
    STOP = "stop"
    HELP = "help"


class Origin(StrEnum):
    """The GitHub element that carried the request."""

    COMMENT = "comment"
    BUTTON = "button"
    LABEL = "label"
    BOX = "tick box"
    """Of the dashboard issue."""


class Command(Frozen):
    """One request of a person. GitHub permissions are checked later, after the 202 response."""

    kind: Literal["command"] = "command"
    command_id: str
    """Deterministic: the same comment, press or label yields the same id."""
    verb: Verb | None
    """None for an unknown word; it is answered with help, once."""
    word: str = Field(default="", max_length=100)
    """The verb as the person wrote it."""
    target: str = Field(default="", max_length=500)
    """The free argument after the verb."""
    options: dict[str, str] = Field(default_factory=dict)
    """`--key=value`; a bare `--key` has the value `true`."""
    origin: Origin = Origin.COMMENT
    repository: RepositoryRef
    author: str
    """The login of the person."""
    number: int | None = None
    """The issue or pull request; None for a button on a commit without one."""
    is_pull_request: bool = True
    comment: CommentRef | None = None
    check_run: int | None = None
    """Our check run whose button was pressed."""
    mission_id: str | None = None
    """The mission that this check run reports (its external id)."""
    head_sha: str | None = Field(default=None, pattern=SHA)
    head_branch: str | None = None
    path: str | None = None
    """The file of a review thread."""
    line: int | None = None
    box: str = Field(default="", max_length=7_000)
    """The line of the ticked box, without its tick."""
    delivery_id: str | None = None

    @property
    def reason(self) -> str:
        """Return the reason given with `reject`, without a leading `because`."""
        if self.verb is not Verb.REJECT:
            return ""
        first, _, rest = self.target.partition(" ")
        return rest.strip() if first.casefold().rstrip(":,") == "because" else self.target
