"""Read calls."""

import base64
import binascii
from typing import TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from bot.domain.github import (
    CheckRunState,
    CommitState,
    FailedJob,
    PullRequestState,
    StatusState,
    WorkflowRunState,
)
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound, NotPermitted
from bot.github.client import GitHubClient
from bot.github.names import (
    branch_segment,
    commit_segment,
    file_segment,
    is_branch_name,
    login_segment,
    sha_segment,
)
from bot.github.replies import (
    CheckRunReply,
    CheckRunsReply,
    CommitReply,
    CompareReply,
    ContentReply,
    JobReply,
    PermissionReply,
    PullReply,
    RefReply,
    RunFile,
    RunReply,
    RunsReply,
    StatusesReply,
)
from sandbox.types import CalledWorkflow

Read = TypeVar("Read")

LOG_KEPT = 8 * 1024 * 1024
"""Bytes kept from the end of a job's log; ample for the failed step."""

LOG_READ = 64 * 1024 * 1024
"""Most bytes read from a job's log; a longer one is treated as if it ended there."""


class GitHubReading:
    """Read calls to GitHub.

    Args:
        client: Authenticates and sends the requests.
    """

    def __init__(self, client: GitHubClient) -> None:
        self._client = client

    async def permission(self, repository: RepositoryRef, login: str) -> str:
        """Return a user's permission: `admin`, `write`, `read` or `none`."""
        path = f"/collaborators/{login_segment(login)}/permission"
        reply = await self._maybe(repository, path, needs="metadata:read")
        return "none" if reply is None else read(reply, PermissionReply).permission

    async def read_file(self, repository: RepositoryRef, path: str, ref: str) -> bytes | None:
        """Return the content of a file at a ref, or None; GitHub serves at most 1 MiB this way."""
        return await self._file(repository, path, ref)

    async def read_called(
        self, repository: RepositoryRef, workflow: CalledWorkflow
    ) -> bytes | None:
        """Return the text of a reusable workflow of a run of this repository; None if refused.

        The repository's own token reads public ones. Private ones need the App's installation
        that sent the event to include them: no other token is used.
        """
        owner, _, name = workflow.repository.partition("/")
        other = RepositoryRef(
            id=0, owner=owner, name=name, installation_id=repository.installation_id
        )
        content = await self._if_allowed(repository, workflow, other)
        # An installation covers repositories of one owner.
        may_cover = (
            repository.installation_id is not None and owner.lower() == repository.owner.lower()
        )
        if content is not None or not may_cover or name.lower() == repository.name.lower():
            return content
        return await self._if_allowed(other, workflow)

    async def _if_allowed(
        self,
        repository: RepositoryRef,
        workflow: CalledWorkflow,
        about: RepositoryRef | None = None,
    ) -> bytes | None:
        try:
            return await self._file(repository, workflow.path, workflow.sha, about)
        except NotPermitted:
            return None

    async def _file(
        self, repository: RepositoryRef, path: str, ref: str, about: RepositoryRef | None = None
    ) -> bytes | None:
        if not is_branch_name(ref):
            raise GitHubError(f"{ref[:80]!r} is not a ref")
        reply = await self._maybe(
            repository,
            f"/contents/{file_segment(path)}",
            needs="contents:read",
            params={"ref": ref},
            about=about,
        )
        # A JSON list is the content of a folder.
        if reply is None or reply.content.lstrip().startswith(b"["):
            return None
        file = read(reply, ContentReply)
        if file.type != "file":
            return None
        if file.encoding != "base64" or file.content is None:
            raise GitHubError(f"{path} is too large to read")
        try:
            return base64.b64decode(file.content)
        except binascii.Error as error:
            raise GitHubError(f"GitHub sent {path} in an unreadable form") from error

    async def failed_job(self, repository: RepositoryRef, job_id: int) -> FailedJob | None:
        """Return the Actions job that shares its id with a check run, or None."""
        reply = await self._maybe(repository, f"/actions/jobs/{job_id}", needs="actions:read")
        if reply is None:
            return None
        job = read(reply, JobReply)
        run = await self._maybe(repository, f"/actions/runs/{job.run_id}", needs="actions:read")
        files = read(run, RunFile) if run is not None else RunFile()
        return FailedJob(
            id=job.id,
            name=job.name,
            run_id=job.run_id,
            workflow_path=files.workflow_path,
            called=files.called,
            steps=tuple(step.state() for step in job.steps or ()),
        )

    async def job_log(self, repository: RepositoryRef, job_id: int) -> str | None:
        """Return the end of the job's log; None if there is none (yet, or any more)."""
        reply = await self._maybe(repository, f"/actions/jobs/{job_id}/logs", needs="actions:read")
        if reply is None:
            return None
        if reply.next_request is None:
            return reply.content[-LOG_KEPT:].decode("utf-8", "replace").lstrip("\ufeff")
        try:
            content = await self._client.read_tail(str(reply.next_request.url), LOG_KEPT, LOG_READ)
        except NotFound:
            return None
        # Logs begin with a byte order mark.
        return content.decode("utf-8", "replace").lstrip("\ufeff")

    async def commit(self, repository: RepositoryRef, ref: str) -> CommitState:
        """Return a commit."""
        path = f"/commits/{commit_segment(ref)}"
        # GitHub pages the changed files, which are not needed here.
        reply = await self._client.call(
            repository, "GET", path, needs="contents:read", params={"per_page": 1}
        )
        return read(reply, CommitReply).state()

    async def merge_base(self, repository: RepositoryRef, base: str, head: str) -> str | None:
        """Return the merge base of two commits; None if they share no history."""
        # GitHub pages the commits in between, which are not needed here.
        path = f"/compare/{commit_segment(base)}...{commit_segment(head)}"
        reply = await self._maybe(repository, path, needs="contents:read", params={"per_page": 1})
        if reply is None:
            return None
        merge_base = read(reply, CompareReply).merge_base_commit
        return merge_base.sha if merge_base else None

    async def branch_head(self, repository: RepositoryRef, branch: str) -> str | None:
        """Return the head commit of a branch, or None."""
        reply = await self._maybe(
            repository, f"/git/ref/heads/{branch_segment(branch)}", needs="contents:read"
        )
        return None if reply is None else read(reply, RefReply).object.sha

    async def check_runs(self, repository: RepositoryRef, sha: str) -> tuple[CheckRunState, ...]:
        """Return all check runs of a commit, from every page."""
        return tuple(run.state() for run in await self._check_runs(repository, sha))

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        """Return a pull request, or None if the number belongs to an issue."""
        reply = await self._maybe(repository, f"/pulls/{number}", needs="pull_requests:read")
        return None if reply is None else read(reply, PullReply).pull_request(repository.id)

    async def pull_requests_from(
        self, repository: RepositoryRef, branch: str
    ) -> tuple[PullRequestState, ...]:
        """Return pull requests in any state from this branch of this repository, newest first."""
        branch_segment(branch)
        found = await self._pulls(
            repository, "/pulls", {"state": "all", "head": f"{repository.owner}:{branch}"}
        )
        mine = (pull for pull in found if pull.head_ref == branch and not pull.from_fork)
        return tuple(sorted(mine, key=lambda pull: pull.number, reverse=True))

    async def pull_requests_at(
        self, repository: RepositoryRef, sha: str
    ) -> tuple[PullRequestState, ...]:
        """Return open pull requests with this head; forks are searched among the newest only."""
        found = await self._pulls(repository, f"/commits/{sha_segment(sha)}/pulls", {})
        here = tuple(pull for pull in found if pull.state == "open" and pull.head_sha == sha)
        if here:
            return here
        # That list lacks pull requests from forks.
        newest = await self._pulls(
            repository, "/pulls", {"state": "open", "sort": "updated", "direction": "desc"}, 1
        )
        return tuple(pull for pull in newest if pull.head_sha == sha)

    async def _check_runs(
        self, repository: RepositoryRef, sha: str, **more: str | int
    ) -> tuple[CheckRunReply, ...]:
        path = f"/commits/{sha_segment(sha)}/check-runs"
        pages = await self._client.pages(repository, path, needs="checks:read", params=more)
        return tuple(run for page in pages for run in read(page, CheckRunsReply).check_runs)

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRunState | None:
        """Return a workflow run, or None."""
        reply = await self._maybe(repository, f"/actions/runs/{run_id}", needs="actions:read")
        return None if reply is None else read(reply, RunReply).state(repository.id)

    async def runs_at(self, repository: RepositoryRef, sha: str) -> tuple[WorkflowRunState, ...]:
        """Return the workflow runs of a commit, newest first."""
        params = {"head_sha": sha_segment(sha)}
        pages = await self._client.pages(
            repository, "/actions/runs", needs="actions:read", params=params
        )
        runs = (
            run.state(repository.id)
            for page in pages
            for run in read(page, RunsReply).workflow_runs
        )
        return tuple(sorted(runs, key=lambda run: run.id, reverse=True))

    async def commit_statuses(self, repository: RepositoryRef, sha: str) -> tuple[StatusState, ...]:
        """Return the newest commit status of each context; empty without the permission."""
        path = f"/commits/{sha_segment(sha)}/status"
        try:
            pages = await self._client.pages(repository, path, needs="statuses:read", params={})
        except NotPermitted:
            return ()
        there = (status for page in pages for status in read(page, StatusesReply).statuses)
        return tuple(
            StatusState(context=status.context, state=status.state, updated_at=status.updated_at)
            for status in there
        )

    async def _pulls(
        self, repository: RepositoryRef, path: str, params: dict[str, str | int], most: int = 30
    ) -> tuple[PullRequestState, ...]:
        pages = await self._client.pages(
            repository, path, needs="pull_requests:read", params=params, most=most
        )
        many = TypeAdapter(tuple[PullReply, ...])
        # GitHub also lists pull requests of other repositories of the fork network: other base.
        return tuple(
            pull.pull_request(repository.id)
            for page in pages
            for pull in read_as(page, many)
            if pull.base.repo is not None and pull.base.repo.id == repository.id
        )

    async def _maybe(
        self,
        repository: RepositoryRef,
        path: str,
        *,
        needs: str,
        params: dict[str, str | int] | None = None,
        about: RepositoryRef | None = None,
    ) -> httpx.Response | None:
        """Return the response, or None if the object is missing."""
        try:
            if about is not None:
                return await self._client.read_elsewhere(
                    repository, about, path, needs=needs, params=params
                )
            return await self._client.call(repository, "GET", path, needs=needs, params=params)
        except NotFound:
            return None


def read(reply: httpx.Response, model: type[Read]) -> Read:
    """Parse a response.

    Raises:
        GitHubError: a required field is missing.
    """
    return read_as(reply, TypeAdapter(model))


def read_as(reply: httpx.Response, adapter: TypeAdapter[Read]) -> Read:
    """Parse a response with a type adapter."""
    try:
        return adapter.validate_json(reply.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        path = reply.request.url.path
        raise GitHubError(
            f"GitHub's response to {path} cannot be parsed: {where} {first['type']}"
        ) from error
