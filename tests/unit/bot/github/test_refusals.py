"""GitHub's refusals become errors that say what to do."""

from typing import Any

import httpx
import pytest

from bot.errors import Conflict, GitHubError, NotFound, NotPermitted, RateLimited
from bot.github.refusals import graphql_refusal, refusal


def an_answer(status: int, body: Any = None, **headers: str) -> httpx.Response:
    request = httpx.Request("POST", "https://api.github.com/repos/o/n/pulls")
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body, headers=named, request=request)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"message": "Bad credentials"}, NotPermitted),
        (403, {"message": "Resource not accessible by integration"}, NotPermitted),
        (404, {"message": "Not Found"}, NotFound),
        (410, {"message": "Gone"}, NotFound),
        (409, {"message": "Git Repository is empty."}, Conflict),
        (422, {"message": "Reference already exists"}, Conflict),
        (
            422,
            {
                "message": "Validation Failed",
                "errors": [{"message": "A pull request already exists for o:b."}],
            },
            Conflict,
        ),
        (
            422,
            {"message": "Validation Failed", "errors": [{"message": "No commits between a and b"}]},
            Conflict,
        ),
        (422, {"message": "No commit found for SHA: x"}, NotFound),
        (
            422,
            {
                "message": "Repository rule violations found\n\nChanges must be made through a pull request."
            },
            NotPermitted,
        ),
        (
            422,
            {"message": "refusing to allow a GitHub App to create or update workflow `x.yml`"},
            NotPermitted,
        ),
        (403, {"message": "This workflow run is already running"}, Conflict),
        (
            422,
            {"message": "The permissions requested are not granted to this installation."},
            NotPermitted,
        ),
        (422, {"message": "Validation Failed", "errors": ["text"]}, GitHubError),
        (502, None, GitHubError),
        (403, {"message": "You have exceeded a secondary rate limit"}, RateLimited),
        (429, None, RateLimited),
    ],
)
def test_each_refusal_has_its_kind(status: int, body: Any, kind: type[GitHubError]) -> None:
    error = refusal(an_answer(status, body), "pull_requests:write")
    assert type(error) is kind
    assert error.status == status or kind is RateLimited


def test_the_missing_permission_is_named_by_github_or_by_us() -> None:
    ours = refusal(an_answer(403, {"message": "no"}), "checks:write")
    assert "checks:write" in ours.advice
    theirs = refusal(
        an_answer(403, {"message": "no"}, x_accepted_github_permissions="statuses=write"),
        "checks:write",
    )
    assert "statuses=write" in theirs.advice


def test_the_setting_that_keeps_actions_from_opening_pull_requests_is_named() -> None:
    said = "GitHub Actions is not permitted to create or approve pull requests."
    assert (
        "Settings, Actions"
        in refusal(an_answer(403, {"message": said}), "pull_requests:write").advice
    )


def test_only_failures_of_github_itself_are_worth_a_repeat() -> None:
    assert refusal(an_answer(503), "contents:read").retryable
    assert not refusal(an_answer(422), "contents:read").retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        (
            {
                "x_ratelimit_remaining": "0",
                "x_ratelimit_reset": "1000",
                "date": "Thu, 01 Jan 1970 00:15:00 GMT",
            },
            100.0,
        ),
        ({"x_ratelimit_remaining": "0", "x_ratelimit_reset": "1000"}, 60.0),
        ({"retry_after": "soon"}, 60.0),
        ({}, 60.0),
    ],
)
def test_the_wait_is_githubs_or_a_minute(headers: dict[str, str], seconds: float) -> None:
    error = refusal(an_answer(429, None, **headers), "contents:read")
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == seconds


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"type": "STALE_DATA", "message": "Expected branch to point to x"}, Conflict, False),
        ({"type": "NOT_FOUND", "message": "Could not resolve"}, NotFound, False),
        (
            {"type": "FORBIDDEN", "message": "Resource not accessible by integration"},
            NotPermitted,
            False,
        ),
        (
            {"type": "UNPROCESSABLE", "message": "Repository rule violations found"},
            NotPermitted,
            False,
        ),
        (
            {
                "type": "UNPROCESSABLE",
                "message": "A path was requested for deletion which does not exist",
            },
            GitHubError,
            False,
        ),
        ({"type": "RATE_LIMITED", "message": "API rate limit exceeded"}, RateLimited, True),
        (
            {"message": "Field 'x' doesn't exist", "extensions": {"code": "undefinedField"}},
            NotFound,
            False,
        ),
        ({"message": "Something went wrong while executing your query."}, GitHubError, True),
    ],
)
def test_graphql_refuses_with_status_200(
    error: dict[str, Any], kind: type[GitHubError], *, retryable: bool
) -> None:
    found = graphql_refusal(an_answer(200, {"data": None, "errors": [error]}), "contents:write")
    assert type(found) is kind
    assert found.retryable == retryable


def test_a_graphql_answer_without_errors_is_none_and_without_data_is_one() -> None:
    assert graphql_refusal(an_answer(200, {"data": {"x": 1}}), "contents:write") is None
    assert graphql_refusal(an_answer(200, {"data": None}), "contents:write") is not None
    assert graphql_refusal(an_answer(200, "nonsense"), "contents:write") is not None
