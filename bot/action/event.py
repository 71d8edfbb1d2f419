"""Read the commit, branch and actors that an Action run is about from its event. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from bot.domain.request import SHA, Ignored, RepositoryRef
from bot.errors import UsageError
from bot.github.events import GitHubAccount, Id, Repository, Slim
from bot.intake.guards import RED, is_queue_branch
from sandbox.types import Frozen

IN_WORKSPACE = frozenset(
    {"push", "schedule", "workflow_dispatch", "repository_dispatch", "merge_group"}
)
"""Events whose checkout is the failed commit. A pull request's checkout is its merge commit."""

PUSHED_BY_A_WRITER = IN_WORKSPACE - {"repository_dispatch"}
"""Events that need write access: a push, a dispatch, or a schedule on the default branch."""

_FULL_NAME = re.compile(r"(?P<owner>[A-Za-z0-9_.-]{1,100})/(?P<name>[A-Za-z0-9_.-]{1,100})")
_HEADS = "refs/heads/"


class RunnerFacts(Frozen):
    """The runner's variables about the run, apart from the event's payload."""

    event_name: str
    repository: str = ""
    """`owner/name`."""
    repository_id: str = ""
    sha: str = ""
    ref: str = ""
    actor: str = ""
    triggering_actor: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "RunnerFacts":
        """Read `GITHUB_EVENT_NAME` and the other variables."""
        return cls(
            **{name: environment.get(f"GITHUB_{name.upper()}", "") for name in cls.model_fields}
        )


class ActionEvent(Frozen):
    """The event that an Action run is about."""

    name: str
    """The event's name on GitHub."""
    repository: RepositoryRef | None = None
    """None if the runner does not know it: a local runner in a folder without a remote."""
    head_sha: str | None = Field(default=None, pattern=SHA)
    """The commit to fix: a pull request's head, not the merge commit that was tested."""
    head_branch: str | None = None
    pull_request: int | None = None
    from_fork: bool = False
    head_repository_id: int | None = None
    """The repository of a pull request's head; None if it was deleted."""
    actors: tuple[str, ...] = ()
    """The accounts that triggered this run and the failed run before it."""
    place: Literal["workspace", "remote"] = "workspace"
    """The location of the failing files: the runner's checkout, or still to be fetched."""
    workflow_run: int | None = None

    @property
    def needs_writers(self) -> bool:
        """Return True if the run may have been triggered without write access."""
        return self.from_fork or self.name not in PUSHED_BY_A_WRITER


class _HeadRepository(Slim):
    id: Id | None = None
    full_name: str = ""


class _Side(Slim):
    ref: str
    sha: str = Field(pattern=SHA)
    repo: _HeadRepository | None = None


class _Pull(Slim):
    number: Id
    state: str = "open"
    head: _Side
    user: GitHubAccount | None = None


class _LinkedBase(Slim):
    repo: _HeadRepository | None = None


class _LinkedPull(Slim):
    number: Id
    base: _LinkedBase


class _Run(Slim):
    id: Id
    conclusion: str | None = None
    head_sha: str = Field(pattern=SHA)
    head_branch: str | None = None
    head_repository: _HeadRepository | None = None
    pull_requests: tuple[_LinkedPull, ...] = ()
    actor: GitHubAccount | None = None
    triggering_actor: GitHubAccount | None = None


class _Payload(Slim):
    """The parts of a payload that identify the failed commit."""

    repository: Repository | None = None
    pull_request: _Pull | None = None
    workflow_run: _Run | None = None
    deleted: bool = False


def read_event(
    payload: Mapping[str, Any], runner: RunnerFacts, *, branch_prefix: str
) -> ActionEvent | Ignored:
    """Return the event to work on, or the reason to ignore it.

    Args:
        payload: The content of the event's file.
        runner: The runner's variables.
        branch_prefix: Prefix of MetaAgent's own branches, whose events are ignored.

    Raises:
        UsageError: the payload does not have GitHub's format.
    """
    try:
        read = _Payload.model_validate(payload)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors(include_url=False)[0]["loc"])
        raise UsageError(f"the event's payload does not have GitHub's format ({where})") from error
    found = _found(read, runner)
    # A fork's branch may have the prefix too, and is not one of ours.
    if (
        isinstance(found, ActionEvent)
        and (found.head_branch or "").startswith(branch_prefix)
        and not found.from_fork
    ):
        return Ignored(
            reason=f"{found.head_branch} is one of MetaAgent's branches, which it does not repair"
        )
    return found


def _found(payload: _Payload, runner: RunnerFacts) -> ActionEvent | Ignored:
    repository = _repository(payload.repository, runner)
    event = ActionEvent(
        name=runner.event_name, repository=repository, actors=_names(_of_run(runner))
    )
    if (
        runner.event_name in {"pull_request", "pull_request_target"}
        and payload.pull_request is not None
    ):
        return _pull_request(event, payload.pull_request)
    if runner.event_name == "workflow_run" and payload.workflow_run is not None:
        return _workflow_run(event, payload.workflow_run)
    if runner.event_name in IN_WORKSPACE:
        # GitHub sends a `push` event for a deleted branch as well.
        if payload.deleted:
            return Ignored(reason="the branch was deleted")
        return event.with_(head_sha=_sha(runner.sha), head_branch=_branch(runner.ref))
    return Ignored(reason=f"{runner.event_name or 'a run without an event'} is not handled")


def _pull_request(event: ActionEvent, pull: _Pull) -> ActionEvent | Ignored:
    if pull.state != "open":
        return Ignored(reason="the pull request is not open")
    return event.with_(
        head_sha=pull.head.sha,
        head_branch=pull.head.ref,
        pull_request=pull.number,
        from_fork=_is_elsewhere(pull.head.repo, event.repository),
        head_repository_id=pull.head.repo.id if pull.head.repo is not None else None,
        # `pull_request_target` checks out the base branch, where nothing failed.
        place="workspace" if event.name == "pull_request" else "remote",
    )


def _workflow_run(event: ActionEvent, run: _Run) -> ActionEvent | Ignored:
    if run.conclusion not in RED:
        return Ignored(reason=f"the workflow run ended {run.conclusion or 'without a conclusion'}")
    here = event.repository.id if event.repository else None
    # GitHub also lists pull requests of this repository's forks.
    pulls = [
        pull.number
        for pull in run.pull_requests
        if pull.base.repo is not None and pull.base.repo.id == here
    ]
    # This run has the repository's rights, even after a stranger's run: check both runs' actors.
    upstream = (person.login for person in (run.actor, run.triggering_actor) if person is not None)
    return event.with_(
        head_sha=run.head_sha,
        head_branch=_lasting(run.head_branch),
        pull_request=pulls[0] if pulls else None,
        from_fork=_is_elsewhere(run.head_repository, event.repository),
        actors=_names((*event.actors, *upstream)),
        place="remote",
        workflow_run=run.id,
    )


def _repository(told: Repository | None, runner: RunnerFacts) -> RepositoryRef | None:
    found = _FULL_NAME.fullmatch(told.full_name if told is not None else runner.repository)
    if found is None:
        return None
    known = int(runner.repository_id) if runner.repository_id.isdecimal() else 0
    return RepositoryRef(
        id=told.id if told is not None else known,
        owner=found["owner"],
        name=found["name"],
        default_branch=(told.default_branch if told is not None else None) or "main",
        private=bool(told.private) if told is not None else False,
    )


def _is_elsewhere(head: _HeadRepository | None, here: RepositoryRef | None) -> bool:
    """Return True if a head is in another repository; a deleted fork counts as one."""
    return head is None or here is None or head.id != here.id


def _of_run(runner: RunnerFacts) -> tuple[str, ...]:
    # A re-run keeps its `actor`; `triggering_actor` is the account that asked for it.
    return (runner.actor, runner.triggering_actor)


def _names(found: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in found if name))


def _sha(text: str) -> str | None:
    return text if re.fullmatch(SHA, text) else None


def _branch(ref: str) -> str | None:
    return _lasting(ref.removeprefix(_HEADS)) if ref.startswith(_HEADS) else None


def _lasting(branch: str | None) -> str | None:
    """Return None for a merge queue's branch: it lives for minutes, so a fix is only shown."""
    return None if is_queue_branch(branch) else branch
