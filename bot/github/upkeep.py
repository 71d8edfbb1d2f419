"""Maintenance calls for published fixes: closing, reviews, labels, branch rules, reruns."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import TypeAdapter

from bot.domain.github import BranchRules, PullRequestFile, PullRequestState, Suggestion
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotFound
from bot.github.names import branch_segment, label_segment
from bot.github.reading import read_as
from bot.github.replies import CommitFile, LabelReply, ReviewCommentReply, ReviewReply, RuleReply
from bot.github.text import cut, fenced, with_marker
from bot.github.writing import GitHubWriting, is_by

Item = TypeVar("Item")
TALK = "pull_requests:write"
LOOK = "pull_requests:read"


class GitHubKeeping(GitHubWriting):
    """Maintenance of pull requests, reviews and labels."""

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Rerun the failed jobs of a run.

        Raises:
            NotPermitted: the App lacks `actions:write`.
        """
        await self._post(
            repository, f"/actions/runs/{run_id}/rerun-failed-jobs", {}, needs="actions:write"
        )

    async def open_pull_requests(self, repository: RepositoryRef) -> tuple[PullRequestState, ...]:
        """Return all open pull requests, newest first."""
        found = await self._pulls(repository, "/pulls", {"state": "open"})
        return tuple(sorted(found, key=lambda pull: pull.number, reverse=True))

    async def close_pull_request(self, repository: RepositoryRef, number: int) -> None:
        """Close a pull request; a closed one is accepted."""
        await self._client.call(
            repository, "PATCH", f"/pulls/{number}", needs=TALK, json={"state": "closed"}
        )

    async def pull_request_files(
        self, repository: RepositoryRef, number: int
    ) -> tuple[PullRequestFile, ...]:
        """Return the files of a pull request."""
        files = await self._list(repository, f"/pulls/{number}/files", CommitFile)
        return tuple(
            PullRequestFile(path=f.filename, status=f.status, patch=f.patch or "") for f in files
        )

    async def suggest(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        head_sha: str,
        body: str,
        suggestions: Sequence[Suggestion],
    ) -> int:
        """Create a review with suggestion blocks and return its id.

        A repeated call finds the earlier review by a marker in its body.
        """
        comments = [_review_comment(one) for one in suggestions]
        # The marker depends on the content, so another review of the same head is written.
        content = f"{number}\n{head_sha}\n{body}\n{comments}".encode()
        marker = f"<!-- metaagent-review: {sha256(content).hexdigest()[:16]} -->"
        me = await self._client.identity()
        for review in await self._list(repository, f"/pulls/{number}/reviews", ReviewReply):
            if marker in (review.body or "") and is_by(review.user, me):
                return review.id
        given = {
            "commit_id": head_sha,
            # Neither approves nor requests changes, which would block the merge.
            "event": "COMMENT",
            "body": with_marker(body, marker),
            "comments": comments,
        }
        reply = await self._post(repository, f"/pulls/{number}/reviews", given, needs=TALK)
        return read_as(reply, TypeAdapter(ReviewReply)).id

    async def reply_in_review(
        self, repository: RepositoryRef, number: int, comment_id: int, body: str, *, marker: str
    ) -> int:
        """Reply in a review thread, once per marker. Return the id of the reply."""
        me = await self._client.identity()
        there = await self._list(repository, f"/pulls/{number}/comments", ReviewCommentReply)
        asked = next((comment for comment in there if comment.id == comment_id), None)
        # GitHub accepts replies to the first comment of a thread only.
        thread = (asked.in_reply_to_id if asked is not None else None) or comment_id
        for comment in there:
            if (
                comment.in_reply_to_id == thread
                and marker in (comment.body or "")
                and is_by(comment.user, me)
            ):
                return comment.id
        path = f"/pulls/{number}/comments/{thread}/replies"
        reply = await self._post(repository, path, {"body": with_marker(body, marker)}, needs=TALK)
        return read_as(reply, TypeAdapter(ReviewCommentReply)).id

    async def react_in_review(
        self, repository: RepositoryRef, comment_id: int, content: str
    ) -> None:
        """Add a reaction to a review comment; GitHub ignores a second one."""
        await self._post(
            repository, f"/pulls/comments/{comment_id}/reactions", {"content": content}, needs=TALK
        )

    async def add_labels(
        self, repository: RepositoryRef, number: int, labels: Sequence[str]
    ) -> None:
        """Add labels to an issue or pull request; missing labels are created."""
        if labels:
            await self._post(
                repository, f"/issues/{number}/labels", {"labels": list(labels)}, needs=TALK
            )

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Remove a label; a missing one is ignored."""
        path = f"/issues/{number}/labels/{label_segment(label)}"
        try:
            await self._client.call(repository, "DELETE", path, needs=TALK)
        except NotFound:
            return

    async def labels(self, repository: RepositoryRef, number: int) -> tuple[str, ...]:
        """Return the labels of an issue or pull request."""
        return tuple(
            label.name
            for label in await self._list(repository, f"/issues/{number}/labels", LabelReply)
        )

    async def request_reviewers(
        self, repository: RepositoryRef, number: int, reviewers: Sequence[str]
    ) -> None:
        """Request reviews from users (logins) and teams (`org/team`).

        Reviewers that GitHub refuses are skipped.
        """
        if not reviewers:
            return
        try:
            await self._ask(repository, number, reviewers)
        except GitHubError as error:
            if error.status not in {404, 422}:
                raise
            # One invalid reviewer fails the whole request, so the others are requested one by one.
            for one in reviewers if len(reviewers) > 1 else ():
                await self._ask_if_possible(repository, number, one)

    async def branch_rules(self, repository: RepositoryRef, branch: str) -> BranchRules:
        """Return the requirements of a branch."""
        path = f"/rules/branches/{branch_segment(branch)}"
        rules = await self._list(repository, path, RuleReply, needs="metadata:read")
        names = tuple(dict.fromkeys(rule.type for rule in rules))
        return BranchRules(
            needs_pull_request="pull_request" in names,
            needs_signature="required_signatures" in names,
            no_update="update" in names,
            names=names,
        )

    async def _ask_if_possible(self, repository: RepositoryRef, number: int, reviewer: str) -> None:
        try:
            await self._ask(repository, number, [reviewer])
        except GitHubError as error:
            if error.status not in {404, 422}:
                raise

    async def _ask(self, repository: RepositoryRef, number: int, reviewers: Sequence[str]) -> None:
        teams = [one.partition("/")[2] for one in reviewers if "/" in one]
        people = [one for one in reviewers if "/" not in one]
        body = {"reviewers": people, "team_reviewers": teams}
        await self._post(repository, f"/pulls/{number}/requested_reviewers", body, needs=TALK)

    async def _list(
        self, repository: RepositoryRef, path: str, item: type[Item], *, needs: str = LOOK
    ) -> list[Item]:
        pages = await self._client.pages(repository, path, needs=needs, params={})
        many: TypeAdapter[tuple[Item, ...]] = TypeAdapter(tuple[item, ...])  # type: ignore[valid-type]
        return [one for page in pages for one in read_as(page, many)]


def _review_comment(suggestion: Suggestion) -> dict[str, Any]:
    """Return a review comment that suggests a replacement for lines of the head."""
    block = fenced(suggestion.text, "suggestion")
    comment: dict[str, Any] = {
        "path": suggestion.path,
        "line": suggestion.end_line,
        "side": "RIGHT",
        "body": cut(f"{suggestion.why}\n\n{block}".lstrip()),
    }
    # GitHub refuses a start line that equals the end line.
    if suggestion.start_line != suggestion.end_line:
        comment |= {"start_line": suggestion.start_line, "start_side": "RIGHT"}
    return comment


__all__ = ["GitHubKeeping"]
