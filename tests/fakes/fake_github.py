"""FakeGitHub: the GitHub ports in memory, strict about what the real one is strict about."""

from collections.abc import Sequence

from bot.domain.github import (
    BranchCommit,
    CheckRunState,
    CheckUpdate,
    CloneSource,
    CommitState,
    FailedJob,
    PullRequestState,
)
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, GitHubError, NotFound
from sandbox.types import CalledWorkflow, FileEdit
from tests.fakes.fake_github_state import BODY_LIMIT, FakeCheck, FakeComment
from tests.fakes.fake_github_upkeep import FakeHooks, FakeRuns, FakeUpkeep, sha_of


class FakeGitHub(FakeRuns, FakeUpkeep, FakeHooks):
    """One repository in memory; see `FakeState` for what tests fill in and read back."""

    # --- read --------------------------------------------------------------------------------------

    async def permission(self, repository: RepositoryRef, login: str) -> str:
        """As set in `permissions`, else `none`."""
        self._begin("permission")
        return self.permissions.get(login, "none")

    async def read_file(self, repository: RepositoryRef, path: str, ref: str) -> bytes | None:
        """As set in `files`."""
        self._begin("read_file")
        return self.files.get((ref, path))

    async def read_called(
        self, repository: RepositoryRef, workflow: CalledWorkflow
    ) -> bytes | None:
        """As set in `called`."""
        self._begin("read_called")
        return self.called.get(f"{workflow.repository}/{workflow.path}@{workflow.sha}")

    async def failed_job(self, repository: RepositoryRef, job_id: int) -> FailedJob | None:
        """As set in `jobs`."""
        self._begin("failed_job")
        return self.jobs.get(job_id)

    async def job_log(self, repository: RepositoryRef, job_id: int) -> str | None:
        """As set in `logs`."""
        self._begin("job_log")
        return self.logs.get(job_id)

    async def commit(self, repository: RepositoryRef, ref: str) -> CommitState:
        """By SHA or branch."""
        self._begin("commit")
        sha = self.branches.get(ref, ref)
        if sha not in self.commits:
            raise NotFound(f"no commit {ref}", status=404)
        return self.commits[sha]

    async def merge_base(self, repository: RepositoryRef, base: str, head: str) -> str | None:
        """As set in `merge_bases`."""
        self._begin("merge_base")
        return self.merge_bases.get((base, head))

    async def branch_head(self, repository: RepositoryRef, branch: str) -> str | None:
        """As set in `branches`, or as committed."""
        self._begin("branch_head")
        return self.branches.get(branch)

    async def check_runs(self, repository: RepositoryRef, sha: str) -> tuple[CheckRunState, ...]:
        """Ours and the others'."""
        self._begin("check_runs")
        ours = [
            CheckRunState(
                id=check.id,
                name="MetaAgent",
                head_sha=check.sha,
                status=check.updates[-1].status,
                conclusion="neutral" if check.updates[-1].status == "completed" else None,
                app_slug=self.bot.removesuffix("[bot]"),
            )
            for check in self.checks
        ]
        return tuple(run for run in (*self.other_checks, *ours) if run.head_sha == sha)

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequestState | None:
        """As set in `pulls`."""
        self._begin("pull_request")
        return self.pulls.get(number)

    async def pull_requests_from(
        self, repository: RepositoryRef, branch: str
    ) -> tuple[PullRequestState, ...]:
        """Newest first."""
        self._begin("pull_requests_from")
        found = [p for p in self.pulls.values() if p.head_ref == branch and not p.from_fork]
        return tuple(sorted(found, key=lambda pull: pull.number, reverse=True))

    async def pull_requests_at(
        self, repository: RepositoryRef, sha: str
    ) -> tuple[PullRequestState, ...]:
        """Open ones."""
        self._begin("pull_requests_at")
        return tuple(p for p in self.pulls.values() if p.head_sha == sha and p.state == "open")

    async def clone_source(self, repository: RepositoryRef) -> CloneSource:
        """A URL nobody answers at."""
        self._begin("clone_source")
        return CloneSource(
            url=f"https://github.invalid/{repository.full_name}.git", authorization="Basic none"
        )

    async def release(self, repository: RepositoryRef) -> None:
        """Noted in `released`."""
        self.calls.append("release")
        self.released.append(repository.id)

    # --- write -------------------------------------------------------------------------------------

    async def commit_on_new_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """The same commit again is found again; another one on the same branch is a conflict."""
        self._begin("commit_on_new_branch")
        sha = sha_of(commit, edits)
        if self.branches.get(commit.branch, sha) != sha:
            raise Conflict(f"the branch {commit.branch} exists", status=422)
        self.branches[commit.branch] = sha
        self.commits[sha] = CommitState(
            sha=sha, parents=(commit.parent,), message=commit.message, author=self.bot
        )
        self.edits[sha] = tuple(edits)
        self._end("commit_on_new_branch")
        return sha

    async def open_pull_request(
        self, repository: RepositoryRef, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequestState:
        """One open pull request per head and base."""
        self._begin("open_pull_request")
        self._check_length(body)
        if any(
            p.head_ref == head and p.base_ref == base and p.state == "open"
            for p in self.pulls.values()
        ):
            raise Conflict(
                f"a pull request already exists for {repository.owner}:{head}", status=422
            )
        if head not in self.branches or base not in self.branches:
            raise GitHubError("head or base is not there", status=422)
        number = self._next()
        self.pulls[number] = PullRequestState(
            number=number,
            state="open",
            head_sha=self.branches[head],
            head_ref=head,
            base_sha=self.branches[base],
            base_ref=base,
            from_fork=False,
            head_repository_id=repository.id,
            author=self.bot,
            url=f"https://github.invalid/{repository.full_name}/pull/{number}",
            body=body,
        )
        self.titles[number] = title
        if draft:
            self.drafts.add(number)
        self._end("open_pull_request")
        return self.pulls[number]

    async def update_pull_request(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
    ) -> None:
        """Change its words."""
        self._begin("update_pull_request")
        if number not in self.pulls:
            raise NotFound(f"no pull request {number}", status=404)
        if title is not None:
            self.titles[number] = title
        if body is not None:
            self._check_length(body)
            self.pulls[number] = self.pulls[number].with_(body=body)
        self._end("update_pull_request")

    async def comment(
        self,
        repository: RepositoryRef,
        number: int,
        body: str,
        *,
        marker: str,
        is_pull_request: bool = True,
    ) -> int:
        """Ours with the marker is updated."""
        self._begin("comment")
        self._check_length(body)
        for comment in self.comments:
            if comment.number == number and comment.author == self.bot and marker in comment.body:
                comment.body = body
                break
        else:
            comment = FakeComment(id=self._next(), number=number, author=self.bot, body=body)
            self.comments.append(comment)
        self._end("comment")
        return comment.id

    async def react(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """A reaction twice is one."""
        self._begin("react")
        if (comment_id, content) not in self.reactions:
            self.reactions.append((comment_id, content))
        self._end("react")

    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        """Found by name and external id."""
        self._begin("publish_check")
        for text in (update.summary, update.text):
            if len(text) > BODY_LIMIT - 1:
                raise GitHubError("output is too long", status=422)
        if len(update.title) > 255 or len(update.annotations) > 50:
            raise GitHubError("title or annotations are too long", status=422)
        for check in self.checks:
            last = check.updates[-1]
            if (check.sha, last.name, last.external_id) == (sha, update.name, update.external_id):
                break
        else:
            check = FakeCheck(id=self._next(), sha=sha)
            self.checks.append(check)
        check.updates.append(update)
        self._end("publish_check")
        return check.id
