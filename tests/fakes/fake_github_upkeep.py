"""FakeGitHub's workflow runs, follow-up on fixes, and the port AppHooks, in memory."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha1

from bot.domain.github import (
    BranchCommit,
    BranchRules,
    CommitState,
    HookDelivery,
    InstallationRef,
    IssueState,
    PullRequestFile,
    PullRequestState,
    StatusState,
    Suggestion,
    WorkflowRunState,
)
from bot.domain.request import RepositoryRef
from bot.errors import Conflict, GitHubError, NotFound, NotPermitted
from sandbox.types import FileEdit
from tests.fakes.fake_github_state import FakeComment, FakeIssue, FakeReview, FakeState


def sha_of(commit: BranchCommit, edits: Sequence[FileEdit]) -> str:
    """The same commit has the same name."""
    content = "\n".join(edit.model_dump_json() for edit in edits)
    return sha1(
        f"{commit.parent}\n{commit.message}\n{content}".encode(), usedforsecurity=False
    ).hexdigest()


class FakeRuns(FakeState):
    """Workflow runs in memory."""

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRunState | None:
        """As set in `runs`."""
        self._begin("workflow_run")
        return self.runs.get(run_id)

    async def commit_statuses(self, repository: RepositoryRef, sha: str) -> tuple[StatusState, ...]:
        """As set in `statuses`."""
        self._begin("commit_statuses")
        return self.statuses.get(sha, ())

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Noted in `reruns`; one that runs already is refused."""
        self._begin("rerun_failed_jobs")
        run = self.runs.get(run_id)
        if run is None:
            raise NotFound(f"no run {run_id}", status=404)
        if run.status != "completed":
            raise Conflict("the workflow run is already running", status=403)
        self.reruns.append(run_id)
        self.runs[run_id] = run.with_(
            status="queued", conclusion=None, run_attempt=run.run_attempt + 1
        )
        self._end("rerun_failed_jobs")

    async def runs_at(self, repository: RepositoryRef, sha: str) -> tuple[WorkflowRunState, ...]:
        """Newest first."""
        self._begin("runs_at")
        found = (run for run in self.runs.values() if run.head_sha == sha)
        return tuple(sorted(found, key=lambda run: run.id, reverse=True))


class FakeUpkeep(FakeState):
    """Calls that follow up on fixes, in memory."""

    async def open_pull_requests(self, repository: RepositoryRef) -> tuple[PullRequestState, ...]:
        """Newest first."""
        self._begin("open_pull_requests")
        found = (pull for pull in self.pulls.values() if pull.state == "open")
        return tuple(sorted(found, key=lambda pull: pull.number, reverse=True))

    async def close_pull_request(self, repository: RepositoryRef, number: int) -> None:
        """Closed twice is closed."""
        self._begin("close_pull_request")
        self._pull(number)
        self.pulls[number] = self.pulls[number].with_(state="closed")
        self._end("close_pull_request")

    async def delete_branch(self, repository: RepositoryRef, branch: str, *, expected: str) -> bool:
        """Gone already is gone."""
        self._begin("delete_branch")
        if self.branches.get(branch, expected) != expected:
            return False
        self.branches.pop(branch, None)
        self._end("delete_branch")
        return True

    async def commit_on_branch(
        self, repository: RepositoryRef, commit: BranchCommit, edits: Sequence[FileEdit]
    ) -> str:
        """The same commit again is found again."""
        self._begin("commit_on_branch")
        sha = sha_of(commit, edits)
        if self.branches.get(commit.branch) == sha:
            return sha
        if self.branches.get(commit.branch) != commit.parent:
            raise Conflict(f"the branch {commit.branch} moved", status=409)
        rules = self.rules.get(commit.branch, BranchRules())
        if rules.needs_pull_request or rules.no_update:
            raise NotPermitted(f"rules of {commit.branch} do not allow it", status=403)
        self.branches[commit.branch] = sha
        self.commits[sha] = CommitState(
            sha=sha, parents=(commit.parent,), message=commit.message, author=self.bot
        )
        self.edits[sha] = tuple(edits)
        for number, pull in self.pulls.items():
            if (pull.head_ref, pull.state, pull.from_fork) == (commit.branch, "open", False):
                self.pulls[number] = pull.with_(head_sha=sha)
        self._end("commit_on_branch")
        return sha

    async def pull_request_files(
        self, repository: RepositoryRef, number: int
    ) -> tuple[PullRequestFile, ...]:
        """As set in `pull_files`."""
        self._begin("pull_request_files")
        self._pull(number)
        return self.pull_files.get(number, ())

    async def suggest(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        head_sha: str,
        body: str,
        suggestions: Sequence[Suggestion],
    ) -> int:
        """The same review twice is one; a file outside the pull request is refused."""
        self._begin("suggest")
        self._check_length(body)
        self._pull(number)
        for review in self.reviews:
            if (review.number, review.head_sha, review.body) == (number, head_sha, body):
                return review.id
        if number in self.pull_files:
            there = {file.path for file in self.pull_files[number]}
            if any(one.path not in there for one in suggestions):
                raise GitHubError("path could not be resolved", status=422)
        review = FakeReview(self._next(), number, head_sha, body, tuple(suggestions))
        self.reviews.append(review)
        self._end("suggest")
        return review.id

    async def reply_in_review(
        self, repository: RepositoryRef, number: int, comment_id: int, body: str, *, marker: str
    ) -> int:
        """Ours with the marker is updated; the answer goes to the first comment of the thread."""
        self._begin("reply_in_review")
        self._check_length(body)
        asked = next((c for c in self.review_comments if c.id == comment_id), None)
        if asked is None:
            raise NotFound(f"no review comment {comment_id}", status=404)
        thread = asked.in_reply_to or asked.id
        for reply in self.review_comments:
            if reply.in_reply_to == thread and reply.author == self.bot and marker in reply.body:
                reply.body = body
                break
        else:
            reply = FakeComment(self._next(), number, self.bot, body, in_reply_to=thread)
            self.review_comments.append(reply)
        self._end("reply_in_review")
        return reply.id

    async def react_in_review(
        self, repository: RepositoryRef, comment_id: int, content: str
    ) -> None:
        """A reaction twice is one."""
        self._begin("react_in_review")
        if (comment_id, content) not in self.review_reactions:
            self.review_reactions.append((comment_id, content))
        self._end("react_in_review")

    async def add_labels(
        self, repository: RepositoryRef, number: int, labels: Sequence[str]
    ) -> None:
        """A label twice is one."""
        self._begin("add_labels")
        held = self.pull_labels.setdefault(number, [])
        held.extend(label for label in labels if label not in held)
        self._end("add_labels")

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Absent is fine."""
        self._begin("remove_label")
        if label in self.pull_labels.get(number, []):
            self.pull_labels[number].remove(label)
        self._end("remove_label")

    async def labels(self, repository: RepositoryRef, number: int) -> tuple[str, ...]:
        """As set in `pull_labels`."""
        self._begin("labels")
        return tuple(self.pull_labels.get(number, ()))

    async def request_reviewers(
        self, repository: RepositoryRef, number: int, reviewers: Sequence[str]
    ) -> None:
        """Strangers are left out."""
        self._begin("request_reviewers")
        held = self.reviewers.setdefault(number, [])
        held.extend(one for one in reviewers if one not in held and one not in self.strangers)
        self._end("request_reviewers")

    async def own_issue(self, repository: RepositoryRef, marker: str) -> IssueState | None:
        """An open one first, then the newest."""
        self._begin("own_issue")
        ours = [one for one in self.issues if one.author == self.bot and marker in one.body]
        ours.sort(key=lambda one: (one.is_open, one.number))
        return next(
            (IssueState(number=i.number, is_open=i.is_open, body=i.body) for i in ours[::-1]), None
        )

    async def open_issue(self, repository: RepositoryRef, *, title: str, body: str) -> int:
        """Two equal ones are two."""
        self._begin("open_issue")
        self._check_length(body)
        self.issues.append(FakeIssue(self._next(), self.bot, title, body))
        self._end("open_issue")
        return self.issues[-1].number

    async def update_issue(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        body: str | None = None,
        is_open: bool | None = None,
    ) -> None:
        """What is not given stays."""
        self._begin("update_issue")
        issue = next((one for one in self.issues if one.number == number), None)
        if issue is None:
            raise NotFound(f"no issue {number}", status=404)
        if body is not None:
            self._check_length(body)
            issue.body = body
        issue.is_open = issue.is_open if is_open is None else is_open
        self._end("update_issue")

    async def branch_rules(self, repository: RepositoryRef, branch: str) -> BranchRules:
        """As set in `rules`."""
        self._begin("branch_rules")
        return self.rules.get(branch, BranchRules())

    def _pull(self, number: int) -> None:
        if number not in self.pulls:
            raise NotFound(f"no pull request {number}", status=404)


class FakeHooks(FakeState):
    """AppHooks in memory."""

    async def deliveries(self, *, since: datetime, most: int = 1_000) -> tuple[HookDelivery, ...]:
        """Those of `hook_log` that are young enough."""
        self._begin("deliveries")
        found = (one for one in self.hook_log if datetime.fromisoformat(one.delivered_at) >= since)
        return tuple(found)[:most]

    async def delivery_payload(self, delivery_id: int) -> tuple[str, bytes]:
        """As set in `payloads`."""
        self._begin("delivery_payload")
        if delivery_id not in self.payloads:
            raise NotFound(f"no delivery {delivery_id}", status=404)
        return self.payloads[delivery_id]

    async def installations(self) -> tuple[InstallationRef, ...]:
        """As set in `installed`."""
        self._begin("installations")
        return tuple(self.installed)

    async def repositories(self, installation_id: int) -> tuple[RepositoryRef, ...]:
        """As set in `installed_on`."""
        self._begin("repositories")
        return self.installed_on.get(installation_id, ())
