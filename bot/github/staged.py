"""GitHub for staged mode: reads pass through, writes are recorded instead of sent.

The only write that is sent is our own check run, which shows the recorded ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from html import escape
from typing import Any, cast

from bot.domain.github import (
    BranchCommit,
    CheckUpdate,
    PullRequestState,
    Suggestion,
)
from bot.domain.request import RepositoryRef
from bot.github.text import cut, fenced
from bot.ports.github import GitHub, GitHubReads, GitHubWrites
from sandbox.types import FileEdit, Frozen

_SHOWN = 8_000
"""Most characters shown of one write."""
_MOST = 30_000
"""Most characters of all writes; the report below them needs the rest of GitHub's limit."""


class StagedWrite(Frozen):
    """A write that was not sent."""

    repository: str
    """`owner/name`."""
    what: str
    """A one-line description."""
    text: str = ""
    """The text that would have been written."""
    marker: str = ""
    """Later writes with the same marker replace this one."""


@dataclass
class Notebook:
    """The recorded writes, in order."""

    writes: list[StagedWrite] = field(default_factory=list)

    def note(
        self, repository: RepositoryRef, what: str, text: str = "", *, marker: str = ""
    ) -> None:
        """Record a write."""
        line = " ".join(what.split())[:500]
        self.writes = [one for one in self.writes if not marker or one.marker != marker]
        self.writes.append(
            StagedWrite(repository=repository.full_name, what=line, text=text, marker=marker)
        )

    def commit(
        self, repository: RepositoryRef, where: str, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Record a commit and return an SHA that no commit has."""
        files = "\n".join(f"{edit.mode} {edit.path}" for edit in edits)
        what = f"commit {where} {commit.branch}, after {commit.parent[:12]}"
        self.note(repository, what, f"{commit.message}\n\n{files}")
        files = "".join(edit.model_dump_json() for edit in edits)
        content = f"{commit.parent}{commit.branch}{commit.message}{files}"
        return sha1(content.encode(), usedforsecurity=False).hexdigest()

    def markdown(self) -> str:
        """Return the writes for a check-run summary; external text is fenced or escaped."""
        if not self.writes:
            return "**Staged**: nothing would have been written besides this check."
        count = f"{len(self.writes)} writes would have been made:"
        parts = [f"**Staged**: nothing was written besides this check. {count}"]
        for one in self.writes:
            line = f"<code>{escape(one.what)}</code>"
            text = fenced(one.text[:_SHOWN], "")
            body = f"<details><summary>{line}</summary>\n\n{text}\n\n</details>"
            parts.append(body if one.text else f"<p>{line}</p>")
        return cut("\n\n".join(parts), _MOST)


class _Staged:
    """GitHub with recorded writes; reads know of them."""

    def __init__(self, inner: GitHub, notebook: Notebook, *, writes_check: bool) -> None:
        self._inner = inner
        self._notebook = notebook
        self._writes_check = writes_check
        self._heads: dict[tuple[int, str], str] = {}
        self._pulls: dict[tuple[int, str], PullRequestState] = {}

    def __getattr__(self, name: str) -> Any:
        """Return one of the port's reads, and nothing else: an unknown call may be a write."""
        if name not in vars(GitHubReads):
            raise AttributeError(name)
        return getattr(self._inner, name)

    # --- reads that show recorded writes ----------------------------------------------------------

    async def branch_head(self, repository: RepositoryRef, branch: str) -> str | None:
        """Return the head of a recorded branch, or pass the call through."""
        return self._heads.get((repository.id, branch)) or await self._inner.branch_head(
            repository, branch
        )

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        """Return a recorded pull request, or pass the call through."""
        staged = (
            pull
            for key, pull in self._pulls.items()
            if key[0] == repository.id and pull.number == number
        )
        return next(staged, None) or await self._inner.pull_request(repository, number)

    async def pull_requests_from(
        self, repository: RepositoryRef, branch: str
    ) -> tuple[PullRequestState, ...]:
        """Pass the call through, and add a recorded pull request."""
        staged = self._pulls.get((repository.id, branch))
        there = await self._inner.pull_requests_from(repository, branch)
        return (staged, *there) if staged is not None else there

    async def labels(self, repository: RepositoryRef, number: int) -> tuple[str, ...]:
        """Pass the call through; a recorded pull request has no labels."""
        return await self._inner.labels(repository, number) if number else ()

    # --- writes -----------------------------------------------------------------------------------

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Record the commit; the returned SHA is a placeholder."""
        sha = self._notebook.commit(repository, "on the new branch", commit, edits)
        self._heads[repository.id, commit.branch] = sha
        return sha

    async def open_pull_request(
        self, repository: RepositoryRef, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequestState:
        """Record the pull request; its number 0 is a placeholder."""
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
        self,
        repository: RepositoryRef,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
    ) -> None:
        """Record the update."""
        self._notebook.note(
            repository,
            f"change the words of {_pull(number)}" + (f": {title}" if title else ""),
            body or "",
        )

    async def comment(
        self,
        repository: RepositoryRef,
        number: int,
        body: str,
        *,
        marker: str,
        is_pull_request: bool = True,  # noqa: ARG002 -- no permission is needed
    ) -> int:
        """Record the comment."""
        self._notebook.note(repository, f"comment on {_pull(number)}", body, marker=marker)
        return 0

    async def react(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """Record the reaction."""
        self._notebook.note(repository, f"react to comment {comment_id} with {content}")

    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        """Write the check run with the recorded writes, or record it if nothing may be written."""
        if not self._writes_check:
            self._notebook.note(
                repository, f"check run on {sha[:12]}: {update.title}", update.summary
            )
            return 0
        if update.status == "completed":
            update = update.with_(summary=f"{self._notebook.markdown()}\n\n{update.summary}")
        return await self._inner.publish_check(repository, sha, update)

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Record the rerun."""
        self._notebook.note(repository, f"run the failed jobs of run {run_id} again")

    async def close_pull_request(self, repository: RepositoryRef, number: int) -> None:
        """Record the closing."""
        self._notebook.note(repository, f"close {_pull(number)}")

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Record the deletion, and report it as done."""
        self._notebook.note(repository, f"delete the branch {branch} at {expected[:12]}")
        return True

    async def commit_on_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """Record the commit; the returned SHA is a placeholder."""
        return self._notebook.commit(repository, "on the branch", commit, edits)

    async def suggest(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        head_sha: str,
        body: str,
        suggestions: Sequence[Suggestion],
    ) -> int:
        """Record the review."""
        lines = [f"{one.path}:{one.start_line}-{one.end_line}\n{one.text}" for one in suggestions]
        what = f"review {_pull(number)} at {head_sha[:12]} with {len(suggestions)} suggestions"
        self._notebook.note(repository, what, "\n\n".join([body, *lines]))
        return 0

    async def reply_in_review(
        self, repository: RepositoryRef, number: int, comment_id: int, body: str, *, marker: str
    ) -> int:
        """Record the reply."""
        self._notebook.note(
            repository,
            f"answer review comment {comment_id} of {_pull(number)}",
            body,
            marker=marker,
        )
        return 0

    async def react_in_review(
        self, repository: RepositoryRef, comment_id: int, content: str
    ) -> None:
        """Record the reaction."""
        self._notebook.note(repository, f"react to review comment {comment_id} with {content}")

    async def add_labels(
        self, repository: RepositoryRef, number: int, labels: Sequence[str]
    ) -> None:
        """Record the labels."""
        if labels:
            self._notebook.note(repository, f"label {_pull(number)}: {', '.join(labels)}")

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Record the removal."""
        self._notebook.note(repository, f"take the label {label} off {_pull(number)}")

    async def request_reviewers(
        self, repository: RepositoryRef, number: int, reviewers: Sequence[str]
    ) -> None:
        """Record the request."""
        if reviewers:
            self._notebook.note(
                repository, f"ask for reviews of {_pull(number)}: {', '.join(reviewers)}"
            )

    async def open_issue(self, repository: RepositoryRef, *, title: str, body: str) -> int:
        """Record the issue; its number 0 is a placeholder."""
        self._notebook.note(repository, f"open an issue: {title}", body)
        return 0

    async def update_issue(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        body: str | None = None,
        is_open: bool | None = None,
    ) -> None:
        """Record the change."""
        state = {None: "change", True: "open", False: "close"}[is_open]
        self._notebook.note(repository, f"{state} the issue #{number}", body or "")


def stage(inner: GitHub, notebook: Notebook, *, writes_check: bool = True) -> GitHub:
    """Return GitHub for staged mode.

    Args:
        inner: The real calls.
        notebook: Records the writes.
        writes_check: True to write our own check run instead of recording it.
    """
    writes: GitHubWrites = _Staged(inner, notebook, writes_check=writes_check)
    return cast("GitHub", writes)  # its reads are those of `inner`


def _pull(number: int) -> str:
    return f"#{number}" if number else "that pull request"
