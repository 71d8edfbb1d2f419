"""Write calls; each one is idempotent when repeated."""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from bot.domain.github import CheckAnnotation, CheckUpdate, PullRequestState
from bot.domain.request import RepositoryRef
from bot.errors import GitHubError, NotPermitted
from bot.github.client import Identity
from bot.github.commits import GitHubCommits
from bot.github.events import GitHubAccount
from bot.github.names import branch_segment, sha_segment
from bot.github.reading import read
from bot.github.replies import CheckRunReply, CommentReply, PullReply
from bot.github.text import CHECK_TEXT_LIMIT, cut, with_marker

ANNOTATIONS_A_REQUEST = 50
"""GitHub's limit of annotations per request."""
TITLE_LIMIT = 255
"""GitHub's limit for titles, in characters."""
_NO_DRAFTS = "draft pull requests are not supported"
"""Part of GitHub's message. No repository or branch in it can be so named: names have no spaces."""
ANNOTATION_LIMIT = 60_000
"""Longest annotation message, in characters; GitHub's limit is 64 KB."""


class GitHubWriting(GitHubCommits):
    """Write calls to GitHub."""

    async def open_pull_request(
        self, repository: RepositoryRef, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> PullRequestState:
        """Open a pull request.

        Raises:
            Conflict: one already exists for this head.
        """
        branch_segment(head)
        branch_segment(base)
        content = {
            "title": title[:TITLE_LIMIT],
            "head": head,
            "base": base,
            "body": cut(body),
            "draft": draft,
        }
        try:
            reply = await self._post(repository, "/pulls", content, needs="pull_requests:write")
        except GitHubError as error:
            if not draft or _NO_DRAFTS not in error.message.lower():
                raise
            # Not every GitHub plan has drafts in private repositories.
            reply = await self._post(
                repository, "/pulls", {**content, "draft": False}, needs="pull_requests:write"
            )
        return read(reply, PullReply).pull_request(repository.id)

    async def update_pull_request(
        self,
        repository: RepositoryRef,
        number: int,
        *,
        title: str | None = None,
        body: str | None = None,
    ) -> None:
        """Update the title and body."""
        content = {
            "title": title[:TITLE_LIMIT] if title else None,
            "body": cut(body) if body is not None else None,
        }
        given = {key: value for key, value in content.items() if value is not None}
        await self._client.call(
            repository, "PATCH", f"/pulls/{number}", needs="pull_requests:write", json=given
        )

    async def comment(
        self,
        repository: RepositoryRef,
        number: int,
        body: str,
        *,
        marker: str,
        is_pull_request: bool = True,
    ) -> int:
        """Create a comment and return its id.

        Our existing comment with the same `marker` is updated instead.

        Args:
            repository: The repository.
            number: The pull request or issue.
            body: The text.
            marker: The hidden marker of the comment.
            is_pull_request: False if the number is probably that of an issue.
        """
        text = with_marker(body, marker)
        # Pull requests and issues need different permissions.
        first, other = "pull_requests", "issues"
        if not is_pull_request:
            first, other = other, first
        try:
            return await self._comment(repository, number, text, marker, on=first)
        except NotPermitted as error:
            try:
                return await self._comment(repository, number, text, marker, on=other)
            except NotPermitted:
                raise error from None

    async def _comment(
        self, repository: RepositoryRef, number: int, text: str, marker: str, *, on: str
    ) -> int:
        """Write a comment with the permission for pull requests or for issues."""
        # GitHub has no idempotency key; the hidden marker finds the comment of an earlier try.
        me = await self._client.identity()
        pages = await self._client.pages(
            repository, f"/issues/{number}/comments", needs=f"{on}:read", params={}
        )
        many = TypeAdapter(tuple[CommentReply, ...])
        for page in pages:
            for there in many.validate_json(page.content):
                if marker in (there.body or "") and is_by(there.user, me):
                    if there.body != text:
                        path = f"/issues/comments/{there.id}"
                        await self._client.call(
                            repository,
                            "PATCH",
                            path,
                            needs=f"{on}:write",
                            json={"body": text},
                        )
                    return there.id
        path = f"/issues/{number}/comments"
        return read(
            await self._post(repository, path, {"body": text}, needs=f"{on}:write"),
            CommentReply,
        ).id

    async def react(self, repository: RepositoryRef, comment_id: int, content: str) -> None:
        """Add a reaction to a comment; GitHub ignores a second one."""
        path = f"/issues/comments/{comment_id}/reactions"
        await self._post(repository, path, {"content": content}, needs="pull_requests:write")

    async def publish_check(self, repository: RepositoryRef, sha: str, update: CheckUpdate) -> int:
        """Create our check run on a commit, or update the one with its name and external id."""
        there = await self._own_check(repository, sha, update.name, update.external_id)
        shown = (
            there.output.annotations_count if there is not None and there.output is not None else 0
        )
        # GitHub appends annotations, so existing ones are not sent again.
        first, *more = _batches(update.annotations[shown:])
        if there is None:
            body = _check_body(update, first) | {"name": update.name, "head_sha": sha_segment(sha)}
            run = read(
                await self._post(repository, "/check-runs", body, needs="checks:write"),
                CheckRunReply,
            ).id
        else:
            run = there.id
            more = [first, *more]
        for batch in more:
            body = _check_body(update, batch)
            await self._client.call(
                repository, "PATCH", f"/check-runs/{run}", needs="checks:write", json=body
            )
        return run

    async def _own_check(
        self, repository: RepositoryRef, sha: str, name: str, external_id: str | None
    ) -> CheckRunReply | None:
        app_id = (await self._client.identity()).app_id
        if app_id is None:
            # Only an App can have check runs; GitHub refuses the write later.
            return None
        # `latest` returns only our newest check run, which would hide this mission's older one.
        runs = await self._check_runs(repository, sha, check_name=name, app_id=app_id, filter="all")
        mine = [r for r in runs if r.app is not None and r.app.id == app_id and r.name == name]
        return max(
            (r for r in mine if r.external_id == external_id), key=lambda r: r.id, default=None
        )


def is_by(user: GitHubAccount | None, me: Identity) -> bool:
    """Return True if we wrote something; logins are unique."""
    return user is not None and user.login == me.login


def _batches(annotations: Sequence[CheckAnnotation]) -> list[Sequence[CheckAnnotation]]:
    """Split annotations into batches; at least one, because an update may have none."""
    step = ANNOTATIONS_A_REQUEST
    return [annotations[at : at + step] for at in range(0, len(annotations), step)] or [()]


def _check_body(update: CheckUpdate, annotations: Sequence[CheckAnnotation]) -> dict[str, Any]:
    output: dict[str, Any] = {
        "title": update.title[:TITLE_LIMIT],
        "summary": cut(update.summary, CHECK_TEXT_LIMIT),
        "annotations": [_annotation(a) for a in annotations],
    }
    if update.text:
        output["text"] = cut(update.text, CHECK_TEXT_LIMIT)
    buttons = [action.model_dump() for action in update.actions]
    body: dict[str, Any] = {"status": update.status, "output": output, "actions": buttons}
    if update.status == "completed":
        # Always neutral: our check must never block a merge.
        body["conclusion"] = "neutral"
    if update.details_url is not None:
        body["details_url"] = update.details_url
    if update.external_id is not None:
        body["external_id"] = update.external_id
    return body


def _annotation(annotation: CheckAnnotation) -> dict[str, Any]:
    note: dict[str, Any] = {
        "path": annotation.path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": annotation.level,
        "message": annotation.message[:ANNOTATION_LIMIT] or annotation.title or "see the report",
    }
    return note | {"title": annotation.title[:TITLE_LIMIT]} if annotation.title else note
