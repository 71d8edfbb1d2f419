"""Translation of GitHub's error responses to our errors."""

from email.utils import parsedate_to_datetime

import httpx
from pydantic import ValidationError

from bot.errors import Conflict, GitHubError, NotFound, NotPermitted, RateLimited
from bot.github.replies import ErrorReply, GraphQLError, GraphQLReply

SECONDARY_WAIT_S = 60.0
"""Wait in seconds when GitHub names none; it asks for at least a minute."""

# GitHub documents no codes for these errors, so they are recognized by their words.
_TAKEN = (
    "already exists",
    "no commits between",
    "is not a fast forward",
    "reference update failed",
)

_RULED = (
    "rule violation",
    "protected branch",
    "branch protection",
    "required status check",
    "must be made through",
)


def refusal(response: httpx.Response, needs: str) -> GitHubError:
    """Return the error for a response.

    Args:
        response: A response with status 400 or above, body read.
        needs: The permission that the call requires, `checks:write`.
    """
    said = message(response)
    # First, because a rate limit also has status 403.
    if is_rate_limit(response, said):
        return RateLimited(f"GitHub limits us: {said}", retry_after_s=wait_s(response))
    return _by_status(response, said, needs)


def _by_status(response: httpx.Response, said: str, needs: str) -> GitHubError:
    status = response.status_code
    what = f"{response.request.method} {response.request.url.path}: {status} {said}".rstrip()
    if status == httpx.codes.UNAUTHORIZED:
        return NotPermitted(
            what,
            "check the token, or METAAGENT_APP_ID, the private key and the clock",
            status=status,
        )
    if status == httpx.codes.FORBIDDEN:
        return _forbidden(response, what, said, needs)
    if status in {httpx.codes.NOT_FOUND, httpx.codes.GONE}:
        # GitHub also answers 404 to hide what a token may not see.
        return NotFound(what, f"it is absent, or the App lacks {needs}", status=status)
    if status == httpx.codes.CONFLICT:
        return Conflict(what, status=status)
    if status == httpx.codes.UNPROCESSABLE_ENTITY:
        return _unprocessable(what, said.lower(), needs)
    return GitHubError(what, status=status, retryable=status >= httpx.codes.INTERNAL_SERVER_ERROR)


def _forbidden(response: httpx.Response, what: str, said: str, needs: str) -> GitHubError:
    """Return the error for status 403, which has several causes."""
    status = response.status_code
    # The reply to a second rerun of the same jobs.
    if "already running" in said.lower():
        return Conflict(what, status=status)
    if "suspended" in said.lower():
        return NotPermitted(what, "the owner has suspended the installation", status=status)
    if "not permitted to create or approve pull requests" in said.lower():
        advice = (
            "allow Actions to create pull requests: "
            "Settings, Actions, General, Workflow permissions"
        )
        return NotPermitted(what, advice, status=status)
    named = response.headers.get("x-accepted-github-permissions") or needs
    return NotPermitted(what, f"grant the permission {named}", status=status)


def _unprocessable(what: str, said: str, needs: str) -> GitHubError:
    """Return the error for status 422, whose causes differ only in the text."""
    status = int(httpx.codes.UNPROCESSABLE_ENTITY)
    if "no commit found" in said:
        return NotFound(what, status=status)
    if any(word in said for word in _RULED):
        return NotPermitted(what, "the rules of the branch do not allow it", status=status)
    if "refusing to allow" in said and "workflow" in said:
        return NotPermitted(what, "a repair never changes workflows", status=status)
    if any(word in said for word in _TAKEN):
        return Conflict(what, status=status)
    if "not accessible to the parent installation" in said:
        return NotFound(what, "install the App on this repository", status=status)
    if "permissions requested are not granted" in said:
        return NotPermitted(what, f"grant the permission {needs}", status=status)
    return GitHubError(what, status=status)


def graphql_refusal(response: httpx.Response, needs: str) -> GitHubError | None:
    """Return the error in a GraphQL response, or None; GraphQL errors have status 200.

    Args:
        response: The response.
        needs: The permission that the call requires, `contents:write`.
    """
    try:
        reply = GraphQLReply.model_validate_json(response.content)
    except ValidationError:
        return GitHubError("GitHub's response to a GraphQL query cannot be parsed")
    if reply.errors:
        return _by_type(reply.errors[0], response, needs)
    return (
        None
        if reply.data is not None
        else GitHubError("GitHub's response to a GraphQL query is empty")
    )


def _by_type(error: GraphQLError, response: httpx.Response, needs: str) -> GitHubError:
    said = error.message[:500]
    what = f"GraphQL: {error.type or 'error'} {said}"
    if error.type == "RATE_LIMITED":
        return RateLimited(f"GitHub limits us: {said}", retry_after_s=wait_s(response))
    if error.type == "STALE_DATA":
        return Conflict(what, status=409)
    if error.extensions.get("code") == "undefinedField":
        return NotFound(what, "this version of GitHub does not support it", status=404)
    if error.type == "NOT_FOUND":
        return NotFound(what, f"it is absent, or the App lacks {needs}", status=404)
    ruled = any(word in said.lower() for word in _RULED)
    if error.type in {"FORBIDDEN", "INSUFFICIENT_SCOPES"} or ruled:
        advice = (
            "the rules of the branch do not allow it" if ruled else f"grant the permission {needs}"
        )
        return NotPermitted(what, advice, status=403)
    # An error without a type is an internal failure of GitHub.
    return GitHubError(what, status=422 if error.type else 0, retryable=not error.type)


def is_rate_limit(response: httpx.Response, said: str) -> bool:
    """Return True if a retry after a wait may succeed.

    The secondary rate limit often comes without any header.
    """
    if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return True
    if response.status_code != httpx.codes.FORBIDDEN:
        return False
    spent = response.headers.get("x-ratelimit-remaining") == "0"
    words = said.lower()
    return (
        spent
        or "retry-after" in response.headers
        or "rate limit" in words
        or "abuse detection" in words
    )


def wait_s(response: httpx.Response) -> float:
    """Return the wait that GitHub asks for, in seconds, measured by GitHub's clock."""
    after = response.headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    reset = response.headers.get("x-ratelimit-reset", "")
    if response.headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        try:
            now = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
        except ValueError:
            return SECONDARY_WAIT_S
        return max(float(reset) - now, 1.0)
    return SECONDARY_WAIT_S


def message(response: httpx.Response) -> str:
    """Return the message in the body."""
    try:
        return ErrorReply.model_validate_json(response.content).text()
    except ValidationError:
        return response.reason_phrase
