"""Interpret a server's replies: kind of error, pause, and whether a retry may help."""

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NamedTuple

from bot.domain.model import ModelTrouble
from bot.domain.model_error import ModelError

OVERLOADED_STATUS = 529
"""Anthropic's status for an overloaded server."""

MOST_TOKENS = 10**9
MOST_USD = 100_000.0
"""Limit for the cost of one answer."""

SAID_LIMIT = 4_096
"""Maximum number of characters read from an error."""

INVALID = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors of reading JSON that has another form than the wire format."""

_TOO_LARGE = re.compile(
    r"context.{0,3}(length|size|window)|(prompt|input) is too long"
    r"|too many (input )?tokens|request_too_large",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"content.?(filter|policy|management)|responsible.?ai|safety (system|policy)", re.IGNORECASE
)
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance|billing_(hard|not)|insufficient (funds|credits)",
    re.IGNORECASE,
)
_CODE = re.compile(r"[a-z][a-z_]{2,48}")


class HttpReply(NamedTuple):
    """A server's reply."""

    status: int
    headers: Mapping[str, str]
    """Names are in lower case."""
    content: bytes
    streamed: bool = False
    """True if the content was assembled from events."""


class RequestFailed(ModelError):
    """A failed request.

    Args:
        message: Description of the error.
        advice: Advice for the operator.
        trouble: Kind of error.
        retry_after_s: Pause requested by the server, in seconds.
        final: True if asking this server again cannot help.
    """

    def __init__(
        self,
        message: str,
        advice: str = "",
        *,
        trouble: ModelTrouble,
        retry_after_s: float | None = None,
        final: bool = False,
    ) -> None:
        super().__init__(message, advice, trouble=trouble, retry_after_s=retry_after_s)
        self.final = final or not trouble.retryable


class _Kind(NamedTuple):
    trouble: ModelTrouble
    what: str
    advice: str = ""


_KEY = "check the provider's key and its permissions"
_ADDRESS = "check the model's name and the address after the @"
_BY_STATUS = {
    400: _Kind(ModelTrouble.BAD_REQUEST, "the request was rejected"),
    401: _Kind(ModelTrouble.AUTH, "the key was rejected", _KEY),
    402: _Kind(ModelTrouble.AUTH, "the account has no credit", "top up the provider's account"),
    403: _Kind(ModelTrouble.AUTH, "the key lacks permission", _KEY),
    404: _Kind(ModelTrouble.BAD_REQUEST, "there is no such model or address", _ADDRESS),
    408: _Kind(ModelTrouble.TIMEOUT, "the request timed out on the server"),
    409: _Kind(ModelTrouble.OVERLOADED, "the server reports a conflict"),
    413: _Kind(ModelTrouble.TOO_LARGE, "the prompt is too large"),
    429: _Kind(ModelTrouble.RATE_LIMIT, "the server limits our requests"),
    503: _Kind(ModelTrouble.OVERLOADED, "the server is overloaded"),
    OVERLOADED_STATUS: _Kind(ModelTrouble.OVERLOADED, "the server is overloaded"),
}

_BY_CLASS = {
    3: _Kind(
        ModelTrouble.BAD_REQUEST, "the server redirects, and no key is sent elsewhere", _ADDRESS
    ),
    4: _BY_STATUS[400],
    5: _Kind(ModelTrouble.TRANSPORT, "the server failed"),
}


_STATUSES = range(400, 600)
_STATUS_BY_TYPE: Mapping[object, int] = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": OVERLOADED_STATUS,
}
"""Statuses of types and codes of errors, which an event has instead of a status."""


def refusal(reply: HttpReply, status: int | None = None) -> RequestFailed:
    """Convert a reply other than 200 to an error.

    Of the server's text only its error code is kept: the rest may quote the key or the prompt.

    Args:
        reply: The reply.
        status: The status in its body, if it differs from its own.
    """
    status = status or reply.status
    kind = _kind(status, error_text(reply))
    codes = ", ".join([str(status), *_codes(reply.content)])
    return RequestFailed(
        f"{kind.what} ({codes})",
        kind.advice,
        trouble=kind.trouble,
        retry_after_s=retry_after_s(reply.headers),
        final=reply.headers.get("x-should-retry", "").strip().lower() == "false",
    )


def find_status(error: Mapping[str, Any]) -> int:
    """Return the status of an error inside an answer with status 200.

    Args:
        error: The error; untrusted.
    """
    code = error.get("code")
    if isinstance(code, int | float) and code in _STATUSES:
        return int(code)
    named = _STATUS_BY_TYPE.get(code) or _STATUS_BY_TYPE.get(error.get("type"))
    return named or HTTPStatus.BAD_GATEWAY


def error_text(reply: HttpReply) -> str:
    """Return the beginning of a server's text; untrusted."""
    return reply.content[:SAID_LIMIT].decode(errors="replace")


def _kind(status: int, words: str) -> _Kind:
    # Some providers report missing credit as a rate limit or bad request.
    if status in {400, 403, 429} and _NO_CREDIT.search(words):
        return _BY_STATUS[402]
    if status in {400, 422}:
        if _TOO_LARGE.search(words):
            return _BY_STATUS[413]
        if _REFUSED.search(words):
            return _Kind(ModelTrouble.REFUSAL, "the provider's content rules reject the prompt")
    return _BY_STATUS.get(status) or _BY_CLASS.get(
        status // 100, _Kind(ModelTrouble.BAD_RESPONSE, "an unexpected answer")
    )


def _codes(content: bytes) -> tuple[str, ...]:
    """Return the error codes: lower-case letters only, so that no key can match."""
    try:
        data: Any = json.loads(content[:SAID_LIMIT])
    except (ValueError, RecursionError):
        return ()
    error = data.get("error") if isinstance(data, dict) else None
    found = [error.get(name) for name in ("type", "code")] if isinstance(error, dict) else []
    return tuple(
        dict.fromkeys(word for word in found if isinstance(word, str) and _CODE.fullmatch(word))
    )


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return the pause requested by the server.

    A date is compared with the server's own clock, because ours may differ.

    Args:
        headers: Names are in lower case.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        until, now = (parsedate_to_datetime(headers[name]) for name in ("retry-after", "date"))
        return max(0.0, (until - now).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None  # TypeError: only one of them has a time zone


def count(value: object) -> int:
    """Return a number of tokens, bounded for the ledger; 0 for any other value.

    Args:
        value: A value from a server or tool.
    """
    return min(value, MOST_TOKENS) if type(value) is int and value > 0 else 0


def amount(value: object) -> float | None:
    """Return an amount of money; None for any other value.

    Args:
        value: A value from a server or tool.
    """
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_USD
    return float(value) if good and isinstance(value, int | float) else None
