"""What GitHub really answered, recorded by others, goes through our readers: a value, or an error that names itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from bot.errors import Conflict, GitHubError, NotFound, NotPermitted, RateLimited
from bot.github.app_replies import (
    AppReply,
    InstallationReply,
    RepositoriesReply,
    TokenReply,
    UserReply,
)
from bot.github.manifest import NewApp
from bot.github.reading import read, read_as
from bot.github.refusals import refusal
from bot.github.replies import (
    CheckRunReply,
    CheckRunsReply,
    CommentReply,
    CommitReply,
    CompareReply,
    ContentReply,
    GitCommitReply,
    GitObject,
    JobReply,
    LabelReply,
    PermissionReply,
    PullReply,
    RefReply,
    ReviewCommentReply,
    ReviewReply,
    RuleReply,
    RunFile,
    RunReply,
    RunsReply,
)

pytestmark = pytest.mark.shared


def one(model: type[Any]) -> Callable[[httpx.Response], list[Any]]:
    return lambda reply: [read(reply, model)]


def many(model: type[Any]) -> Callable[[httpx.Response], list[Any]]:
    adapter: TypeAdapter[list[Any]] = TypeAdapter(list[model])  # type: ignore[valid-type]
    return lambda reply: read_as(reply, adapter)


def a_run(reply: httpx.Response) -> list[Any]:
    """One recording was cut by hand: it still names the workflow, and says what it lacks."""
    assert read(reply, RunFile).workflow_path is not None or "path" not in reply.json()
    if "head_sha" in reply.json():
        return [read(reply, RunReply)]
    with pytest.raises(GitHubError, match="head_sha missing"):
        read(reply, RunReply)
    return []


READERS: dict[str, Callable[[httpx.Response], list[Any]]] = {
    "actions__get-job-for-workflow-run": one(JobReply),
    "actions__get-workflow-run": a_run,
    "actions__list-workflow-runs": one(RunsReply),
    "actions__list-workflow-runs-for-repo": one(RunsReply),
    "apps__create-from-manifest": one(NewApp),
    "apps__create-installation-access-token": one(TokenReply),
    "apps__get-authenticated": one(AppReply),
    "apps__get-by-slug": one(AppReply),
    "apps__get-installation": one(InstallationReply),
    "apps__get-org-installation": one(InstallationReply),
    "apps__get-repo-installation": one(InstallationReply),
    "apps__get-user-installation": one(InstallationReply),
    "apps__list-installations": many(InstallationReply),
    "apps__list-repos-accessible-to-installation": one(RepositoriesReply),
    "checks__create": one(CheckRunReply),
    "checks__list-for-ref": one(CheckRunsReply),
    "checks__update": one(CheckRunReply),
    "git__create-blob": one(GitObject),
    "git__create-commit": one(GitCommitReply),
    "git__create-ref": one(RefReply),
    "git__create-tree": one(GitObject),
    "git__update-ref": one(RefReply),
    "issues__add-labels": many(LabelReply),
    "issues__create-comment": one(CommentReply),
    "issues__list-comments": many(CommentReply),
    "issues__remove-label": many(LabelReply),
    "pulls__create": one(PullReply),
    "pulls__create-reply-for-review-comment": one(ReviewCommentReply),
    "pulls__create-review": one(ReviewReply),
    "pulls__get": one(PullReply),
    "pulls__list": many(PullReply),
    "pulls__list-review-comments": many(ReviewCommentReply),
    "pulls__list-reviews": many(ReviewReply),
    "pulls__update": one(PullReply),
    "repos__compare-commits-with-basehead": one(CompareReply),
    "repos__get-branch-rules": many(RuleReply),
    "repos__get-collaborator-permission-level": one(PermissionReply),
    "repos__get-commit": one(CommitReply),
    "repos__get-content": lambda reply: (
        one(ContentReply)(reply) if not reply.content.startswith(b"[") else []
    ),
    "repos__list-pull-requests-associated-with-commit": many(PullReply),
    "users__get-authenticated": one(UserReply),
}
"""By operation: how we read its answer. Those absent here are not called, or their answers not looked at."""

KINDS: dict[int, type[GitHubError] | tuple[type[GitHubError], ...]] = {
    401: NotPermitted,
    403: (NotPermitted, RateLimited),
    404: NotFound,
    422: (GitHubError, Conflict),
    429: RateLimited,
}


def recorded(path: Path) -> httpx.Response:
    """An answer as it was recorded."""
    exchange = json.loads(path.read_text(encoding="utf-8"))
    given, body = exchange["response"], exchange["response"].get("body")
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    headers = [
        (name, one_value)
        for name, value in (given.get("headers") or {}).items()
        for one_value in (value if isinstance(value, list) else [value])
        if name.lower() != "content-encoding"
    ]
    request = httpx.Request(
        exchange["request"]["method"], f"https://api.github.com{exchange['request']['url']}"
    )
    return httpx.Response(given["status"], headers=headers, content=content, request=request)


def exchanges(shared: Path, operation: str = "*") -> list[Path]:
    return sorted((shared / "github" / "rest-recorded").glob(f"{operation}/*.json"))


@pytest.mark.parametrize("operation", READERS)
def test_what_was_answered_can_be_read(shared: Path, operation: str) -> None:
    answered = [
        reply for path in exchanges(shared, operation) if (reply := recorded(path)).is_success
    ]
    if not answered:
        pytest.skip("no answer of this operation is recorded")
    for reply in answered:
        for value in READERS[operation](reply):
            assert_state(value)


def assert_state(value: Any) -> None:
    """What the bot makes of it."""
    if isinstance(value, RunReply):
        assert value.state(1).id == value.id
    elif isinstance(value, RunsReply):
        assert all(run.state(1).from_fork for run in value.workflow_runs)
    elif isinstance(value, PullReply):
        assert value.pull_request(1).number == value.number
    elif isinstance(value, CheckRunsReply):
        assert all(run.state().name for run in value.check_runs)
    elif isinstance(value, CheckRunReply | CommitReply | InstallationReply):
        assert value.state() is not None


def test_what_was_refused_has_a_name(shared: Path) -> None:
    refused = [reply for path in exchanges(shared) if (reply := recorded(path)).is_error]
    for reply in refused:
        error = refusal(reply, "contents:read")
        assert isinstance(error, KINDS.get(reply.status_code, GitHubError)), reply.request.url
        assert len(error.message) < 1_000
        assert "<!DOCTYPE" not in error.message
        assert error.retryable == (isinstance(error, RateLimited) or reply.status_code >= 500)


def test_refusals_keep_what_github_said(shared: Path) -> None:
    for path in exchanges(shared):
        reply = recorded(path)
        said = spoken(reply) if reply.is_error else []
        assert not said or any(
            words in refusal(reply, "contents:read").message for words in said
        ), path


def spoken(reply: httpx.Response) -> list[str]:
    """Return the sentences of an error in JSON: the message, or those of its parts."""
    if "json" not in reply.headers.get("content-type", "json") or not reply.content.startswith(
        b"{"
    ):
        return []
    body = reply.json()
    parts = [one for one in body.get("errors") or [] if isinstance(one, dict)]
    return [
        words for one in (body, *parts) if isinstance(words := one.get("message"), str) and words
    ]


def test_some_operation_that_is_recorded_is_read(shared: Path) -> None:
    assert {path.parent.name for path in exchanges(shared)} & READERS.keys()
