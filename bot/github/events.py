"""Webhook payloads: header checks and the few fields that we use.

githubkit's complete models refuse many real payloads, and take seconds for their first one.
"""

import re
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from bot.domain.request import SHA, RepositoryRef
from bot.errors import DeliveryRejected
from sandbox.types import Frozen

Id = Annotated[int, Field(ge=0, lt=2**63)]
"""A GitHub id; the bound is that of a database integer."""

_DELIVERY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_WORD = re.compile(r"[a-z_]{1,100}")


def _null_is_empty(value: Any) -> Any:
    return () if value is None else value


Item = TypeVar("Item")
Listed = Annotated[tuple[Item, ...], BeforeValidator(_null_is_empty)]
"""A list for which GitHub sometimes sends null."""


class Slim(BaseModel):
    """A part of a payload; other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Event = TypeVar("Event", bound=Slim)


class GitHubAccount(Slim):
    """A user, an organisation or a bot."""

    login: str
    type: str | None = None

    @property
    def is_bot(self) -> bool:
        """Return True if GitHub marks the account as a bot."""
        return self.type == "Bot"


class App(Slim):
    """The App that created a check."""

    id: Id | None = None
    slug: str | None = None


class Installation(Slim):
    """An installation of our App."""

    id: Id


class Repository(Slim):
    """The repository an event is about."""

    id: Id
    full_name: str = Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$", max_length=300)
    default_branch: str | None = None
    private: bool | None = None


class SideRepository(Slim):
    """The repository of one side of a pull request."""

    id: Id | None = None


class Side(Slim):
    """Head or base of a pull request; `repo` is None when a fork was deleted."""

    ref: str
    sha: str = Field(pattern=SHA)
    repo: SideRepository | None = None


class PullRequestLink(Slim):
    """An entry of `check_run.pull_requests`; may be about another repository.

    The list is empty for pull requests from forks.
    """

    number: Id
    head: Side
    base: Side


class CheckSuite(Slim):
    """The suite of a check run, or the subject of its own event."""

    id: Id | None = None
    head_sha: str | None = Field(default=None, pattern=SHA)
    head_branch: str | None = None
    conclusion: str | None = None
    app: App | None = None
    pull_requests: Listed[PullRequestLink] = ()


class CheckRun(Slim):
    """A check run."""

    id: Id
    name: str
    head_sha: str = Field(pattern=SHA)
    conclusion: str | None = None
    details_url: str | None = None
    app: App | None = None
    check_suite: CheckSuite | None = None
    pull_requests: Listed[PullRequestLink] = ()


class WorkflowRun(Slim):
    """A run of a workflow."""

    id: Id
    name: str | None = None
    event: str | None = None
    head_branch: str | None = None
    head_sha: str = Field(pattern=SHA)
    head_repository: SideRepository | None = None
    conclusion: str | None = None
    actor: GitHubAccount | None = None
    triggering_actor: GitHubAccount | None = None
    pull_requests: Listed[PullRequestLink] = ()


class WorkflowJob(Slim):
    """A job of a run; its id is that of its check run."""

    id: Id
    run_id: Id
    name: str
    head_branch: str | None = None
    head_sha: str = Field(pattern=SHA)
    conclusion: str | None = None
    html_url: str | None = None


class BranchHead(Slim):
    """The head commit of a branch."""

    sha: str


class Branch(Slim):
    """A branch that contains the commit of a status."""

    name: str
    commit: BranchHead | None = None


class Issue(Slim):
    """An issue, or a pull request in its issue form, which then has `pull_request`."""

    number: Id
    state: str | None = None
    pull_request: dict[str, Any] | None = None


class Comment(Slim):
    """A comment."""

    id: Id
    body: str | None = None
    user: GitHubAccount | None = None


class PullRequest(Slim):
    """A pull request."""

    number: Id
    state: str | None = None
    merged: bool | None = None
    merge_commit_sha: str | None = Field(default=None, pattern=SHA)
    user: GitHubAccount | None = None
    head: Side
    base: Side


class Payload(Slim):
    """The fields common to all events of a repository."""

    action: str | None = None
    repository: Repository
    sender: GitHubAccount | None = None
    installation: Installation | None = None

    @property
    def repository_ref(self) -> RepositoryRef:
        """Return the repository as a domain value."""
        owner, _, name = self.repository.full_name.partition("/")
        return RepositoryRef(
            id=self.repository.id,
            owner=owner,
            name=name,
            installation_id=self.installation.id if self.installation else None,
            default_branch=self.repository.default_branch or "main",
            private=bool(self.repository.private),
        )


class CheckRunEvent(Payload):
    """`check_run`."""

    check_run: CheckRun


class IssueCommentEvent(Payload):
    """`issue_comment`; it carries no head commit."""

    issue: Issue
    comment: Comment


class PullRequestEvent(Payload):
    """`pull_request`; `before` and `after` come when it was synchronized."""

    pull_request: PullRequest
    before: str | None = Field(default=None, pattern=SHA)
    after: str | None = Field(default=None, pattern=SHA)


class CheckSuiteEvent(Payload):
    """`check_suite`."""

    check_suite: CheckSuite


class WorkflowRunEvent(Payload):
    """`workflow_run`."""

    workflow_run: WorkflowRun


class WorkflowJobEvent(Payload):
    """`workflow_job`."""

    workflow_job: WorkflowJob


class StatusEvent(Payload):
    """`status`: a commit status of an older CI system."""

    sha: str = Field(pattern=SHA)
    state: str
    context: str = ""
    branches: Listed[Branch] = ()


class Pusher(Slim):
    """The person who pushed, as recorded by git."""

    name: str | None = None


class PushedCommit(Slim):
    """A commit of a push, with the paths that it changes."""

    added: Listed[str] = ()
    modified: Listed[str] = ()
    removed: Listed[str] = ()


class PushEvent(Payload):
    """`push`: a branch or a tag moved."""

    ref: str
    before: str | None = Field(default=None, pattern=SHA)
    after: str | None = Field(default=None, pattern=SHA)
    created: bool | None = None
    deleted: bool | None = None
    commits: Listed[PushedCommit] = ()
    pusher: Pusher | None = None


class Owner(Slim):
    """The owner of an installation: a user, an organisation, or an enterprise without a login."""

    login: str | None = None
    slug: str | None = None


class InstallationOwner(Slim):
    """An installation, as sent in its own events."""

    id: Id
    account: Owner | None = None


class Granted(Slim):
    """A repository accessible to an installation."""

    id: Id


class InstallationEvent(Slim):
    """`installation` and `installation_repositories`: not about a single repository."""

    action: str | None = None
    installation: InstallationOwner
    repositories: Listed[Granted] = ()
    repositories_added: Listed[Granted] = ()
    repositories_removed: Listed[Granted] = ()


class Hook(Slim):
    """The hook of a ping; an App's own hook carries its id."""

    app_id: Id | None = None
    events: Listed[str] = ()


class PingEvent(Slim):
    """`ping`."""

    hook_id: Id | None = None
    hook: Hook | None = None


class Delivery(Frozen):
    """An authentic webhook delivery; its body is parsed as JSON only."""

    id: str
    event: str
    action: str | None = None
    body: dict[str, Any]
    fingerprint: str | None = None
    """Identifies the same signed body under another id; None for unsigned deliveries."""


def check_headers(event: str | None, delivery: str | None) -> tuple[str, str]:
    """Return a delivery's event and id from its headers.

    Raises:
        DeliveryRejected: one is missing or malformed.
    """
    if event is None or _WORD.fullmatch(event) is None:
        raise DeliveryRejected("the X-GitHub-Event header is missing or malformed", status=400)
    if delivery is None or _DELIVERY.fullmatch(delivery) is None:
        raise DeliveryRejected("the X-GitHub-Delivery header is missing or malformed", status=400)
    return event, delivery


def read_delivery(
    event: str | None, delivery: str | None, body: bytes, *, fingerprint: str | None = None
) -> Delivery:
    """Return the delivery as a value.

    Raises:
        DeliveryRejected: a header is missing or malformed, or the body is not a JSON object.
    """
    event, delivery = check_headers(event, delivery)
    try:
        # NaN and Infinity are not JSON.
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise DeliveryRejected("the body is not JSON", status=400) from error
    if not isinstance(content, dict):
        raise DeliveryRejected("the body is not a JSON object", status=400)
    action = content.get("action")
    named = isinstance(action, str) and _WORD.fullmatch(action) is not None
    return Delivery(
        id=delivery,
        event=event,
        action=action if named else None,
        body=content,
        fingerprint=fingerprint,
    )


def cut(delivery: Delivery, event: type[Event]) -> Event:
    """Return the fields of the payload that we use.

    Raises:
        DeliveryRejected: a required field is missing or has another type; names it.
    """
    try:
        return event.model_validate(delivery.body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DeliveryRejected(
            f"the {delivery.event} payload has an unexpected form: {where}", status=422
        ) from error
