"""GitHub for a dry run: reads go through, writes are noted down instead of done; only our own check run is written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from html import escape
from typing import Protocol

from bot.domain.github import (
    BranchCommit,
    BranchRules,
    CheckRunState,
    CheckUpdate,
    CloneSource,
    CommitState,
    FailedJob,
    PullRequestFile,
    PullRequestState,
    StatusState,
    Suggestion,
    WorkflowRunState,
)
from bot.domain.request import RepositoryRef
from bot.github.text import cut, fenced
from bot.ports.github import GitHub, GitHubRuns, GitHubUpkeep
from sandbox.types import FileEdit, Frozen

_SHOWN = 8_000
_MOST = 30_000
"""Characters; the report stands beneath."""


class StagedWrite(Frozen):
    """Something that would have been written."""

    repository: str
    """`owner/name`."""
    what: str
    """One line."""
    text: str = ""
    """What it would have said."""
    marker: str = ""
    """What is marked alike is written once, and changed afterwards."""


@dataclass
class Notebook:
    """What would have been written, in order."""

    writes: list[StagedWrite] = field(default_factory=list)

    def note(self, repository: RepositoryRef, what: str, text: str = "", *, marker: str = "") -> None:
        """Write it down here and nowhere else."""
        line = " ".join(what.split())[:500]
        self.writes = [one for one in self.writes if not marker or one.marker != marker]
        self.writes.append(StagedWrite(repository=repository.full_name, what=line, text=text, marker=marker))

    def commit(self, repository: RepositoryRef, where: str, commit: BranchCommit, edits: Sequence[FileEdit]) -> str:
        """Note a commit; the name it gets is one that no commit has."""
        files = "\n".join(f"{edit.mode} {edit.path}" for edit in edits)
        what = f"commit {where} {commit.branch}, after {commit.parent[:12]}"
        self.note(repository, what, f"{commit.message}\n\n{files}")
        content = f"{commit.parent}{commit.branch}{commit.message}{''.join(edit.model_dump_json() for edit in edits)}"
        return sha1(content.encode(), usedforsecurity=False).hexdigest()

    def markdown(self) -> str:
        """For the summary of a check run; what comes from elsewhere is text only: in a fence, or escaped."""
        if not self.writes:
            return "**Staged**: nothing would have been written besides this check."
        parts = [f"**Staged**: nothing was written besides this check. {len(self.writes)} writes would have been:"]
        for one in self.writes:
            line = f"<code>{escape(one.what)}</code>"
            body = f"<details><summary>{line}</summary>\n\n{fenced(one.text[:_SHOWN], '')}\n\n</details>"
            parts.append(body if one.text else f"<p>{line}</p>")
        return cut("\n\n".join(parts), _MOST)


class StagedGitHub:
    """The calls of a mission.

    Args:
        inner: Who is asked.
        notebook: Where writes are noted.
        writes_check: Whether our own check run is written; without, it is noted as well.
    """

    def __init__(self, inner: GitHub, notebook: Notebook, *, writes_check: bool = True) -> None:
        self._inner = inner
        self._notebook = notebook
        self._writes_check = writes_check
        self._heads: dict[tuple[int, str], str] = {}
        self._pulls: dict[tuple[int, str], PullRequestState] = {}

    async def permission(self, repository: RepositoryRef, login: str) -> str:
        """Read through."""
        return await self._inner.permission(repository, login)

    async def read_file(self, repository: RepositoryRef, path: str, ref: str) -> bytes | None:
        """Read through."""
        return await self._inner.read_file(repository, path, ref)

    async def failed_job(self, repository: RepositoryRef, job_id: int) -> FailedJob | None:
        """Read through."""
        return await self._inner.failed_job(repository, job_id)

    async def job_log(self, repository: RepositoryRef, job_id: int) -> str | None:
        """Read through."""
        return await self._inner.job_log(repository, job_id)

    async def commit(self, repository: RepositoryRef, ref: str) -> CommitState:
        """Read through."""
        return await self._inner.commit(repository, ref)

    async def merge_base(self, repository: RepositoryRef, base: str, head: str) -> str | None:
        """Read through."""
        return await self._inner.merge_base(repository, base, head)

    async def branch_head(self, repository: RepositoryRef, branch: str) -> str | None:
        """Read through, but for branches that would be there."""
        return self._heads.get((repository.id, branch)) or await self._inner.branch_head(repository, branch)

    async def check_runs(self, repository: RepositoryRef, sha: str) -> tuple[CheckRunState, ...]:
        """Read through."""
        return await self._inner.check_runs(repository, sha)

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        """Read through, but for one that would be there."""
        staged = (pull for key, pull in self._pulls.items() if key[0] == repository.id and pull.number == number)
        return next(staged, None) or await self._inner.pull_request(repository, number)

    async def pull_requests_from(self, repository: RepositoryRef, branch: str) -> tuple[PullRequestState, ...]:
        """Read through, and one that would be there."""
        staged = self._pulls.get((repository.id, branch))
        there = await self._inner.pull_requests_from(repository, branch)
        return (staged, *there) if staged is not None else there

    async def pull_requests_at(self, repository: RepositoryRef, sha: str) -> tuple[PullRequestState, ...]:
        """Read through."""
        return await self._inner.pull_requests_at(repository, sha)

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """Read through."""
        return await self._inner.clone_source(repository)

    async def release(self, repository: RepositoryRef) -> None:
        """Give back what reading needed."""
        await self._inner.release(repository)

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Noted; the SHA stands for a commit that is not there."""
        sha = self._notebook.commit(repository, "on the new branch", commit, edits)
        self._heads[repository.id, commit.branch] = sha
        return sha

    async def open_pull_request(
        self, repository: RepositoryRef, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequestState:
        """Noted; number 0 stands for a pull request that is not there."""
        kind = "a draft pull request" if draft else "a pull request"
        self._notebook.note(repository, f"open {kind} from {head} into {base}: {title}", body)
        into = await self._inner.branch_head(repository, base) or "0" * 40
        pull = PullRequestState(
            number=0,
            state="open",
            head_sha=self._heads.get((repository.id, head), into),
            head_ref=head,
            base_sha=into,
            base_ref=base,
            from_fork=False,
            body=body,
        )
        self._pulls[repository.id, head] = pull
        return pull

    async def update_pull_request(
        self, repository: RepositoryRef, number: int, *, title: str | None = None, body: str | None = None
    ) -> None:
        """Noted."""
        self._notebook.note(
            repository, f"change the words of {_pull(number)}" + (f": {title}" if title else ""), body or ""
        )

    async def comment(self, repository: RepositoryRef, number: int, body: str, *, marker: str) -> int:
        """Noted."""
        self._notebook.note(repository, f"comment on {_pull(number)}", body, marker=marker)
        return 0

    async def react(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """Noted."""
        self._notebook.note(repository, f"react to comment {comment_id} with {content}")

    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        """Written, with what would have been written besides; noted where nothing at all shall be written."""
        if not self._writes_check:
            self._notebook.note(repository, f"check run on {sha[:12]}: {update.title}", update.summary)
            return 0
        if update.status == "completed":
            update = update.with_(summary=f"{self._notebook.markdown()}\n\n{update.summary}")
        return await self._inner.publish_check(repository, sha, update)


class StagedRuns:
    """Runs of workflows.

    Args:
        inner: Who is asked.
        notebook: Where writes are noted.
    """

    def __init__(self, inner: GitHubRuns, notebook: Notebook) -> None:
        self._runs = inner
        self._notebook = notebook

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRunState | None:
        """Read through."""
        return await self._runs.workflow_run(repository, run_id)

    async def commit_statuses(self, repository: RepositoryRef, sha: str) -> tuple[StatusState, ...]:
        """Read through."""
        return await self._runs.commit_statuses(repository, sha)

    async def runs_at(self, repository: RepositoryRef, sha: str) -> tuple[WorkflowRunState, ...]:
        """Read through."""
        return await self._runs.runs_at(repository, sha)

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Noted."""
        self._notebook.note(repository, f"run the failed jobs of run {run_id} again")


class StagedUpkeep:
    """What the life of a fix needs besides.

    Args:
        inner: Who is asked.
        notebook: Where writes are noted.
    """

    def __init__(self, inner: GitHubUpkeep, notebook: Notebook) -> None:
        self._upkeep = inner
        self._notebook = notebook

    async def open_pull_requests(self, repository: RepositoryRef) -> tuple[PullRequestState, ...]:
        """Read through."""
        return await self._upkeep.open_pull_requests(repository)

    async def pull_request_files(self, repository: RepositoryRef, number: int) -> tuple[PullRequestFile, ...]:
        """Read through."""
        return await self._upkeep.pull_request_files(repository, number)

    async def labels(self, repository: RepositoryRef, number: int) -> tuple[str, ...]:
        """Read through; what would be there has none."""
        return await self._upkeep.labels(repository, number) if number else ()

    async def branch_rules(self, repository: RepositoryRef, branch: str) -> BranchRules:
        """Read through."""
        return await self._upkeep.branch_rules(repository, branch)

    async def close_pull_request(self, repository: RepositoryRef, number: int) -> None:
        """Noted."""
        self._notebook.note(repository, f"close {_pull(number)}")

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Noted; it counts as gone."""
        self._notebook.note(repository, f"delete the branch {branch} at {expected[:12]}")
        return True

    async def commit_on_branch(self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]) -> str:
        """Noted; the SHA stands for a commit that is not there."""
        return self._notebook.commit(repository, "on the branch", commit, edits)

    async def suggest(
        self, repository: RepositoryRef, number: int, *, head_sha: str, body: str, suggestions: Sequence[Suggestion]
    ) -> int:
        """Noted."""
        lines = [f"{one.path}:{one.start_line}-{one.end_line}\n{one.text}" for one in suggestions]
        what = f"review {_pull(number)} at {head_sha[:12]} with {len(suggestions)} suggestions"
        self._notebook.note(repository, what, "\n\n".join([body, *lines]))
        return 0

    async def reply_in_review(
        self, repository: RepositoryRef, number: int, comment_id: int, body: str, *, marker: str
    ) -> int:
        """Noted."""
        self._notebook.note(repository, f"answer review comment {comment_id} of {_pull(number)}", body, marker=marker)
        return 0

    async def react_in_review(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """Noted."""
        self._notebook.note(repository, f"react to review comment {comment_id} with {content}")

    async def add_labels(self, repository: RepositoryRef, number: int, labels: Sequence[str]) -> None:
        """Noted."""
        if labels:
            self._notebook.note(repository, f"label {_pull(number)}: {', '.join(labels)}")

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Noted."""
        self._notebook.note(repository, f"take the label {label} off {_pull(number)}")

    async def request_reviewers(self, repository: RepositoryRef, number: int, reviewers: Sequence[str]) -> None:
        """Noted."""
        if reviewers:
            self._notebook.note(repository, f"ask for reviews of {_pull(number)}: {', '.join(reviewers)}")


class Whole(GitHub, GitHubRuns, GitHubUpkeep, Protocol):
    """Every call there is about a repository."""


class StagedWhole(StagedGitHub, StagedRuns, StagedUpkeep):
    """All of it at once.

    Args:
        inner: Who is asked.
        notebook: Where writes are noted.
        writes_check: Whether our own check run is written.
    """

    def __init__(self, inner: Whole, notebook: Notebook, *, writes_check: bool = True) -> None:
        super().__init__(inner, notebook, writes_check=writes_check)
        self._runs = inner
        self._upkeep = inner


def _pull(number: int) -> str:
    return f"#{number}" if number else "that pull request"
