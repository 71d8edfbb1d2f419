"""What a server answers, and what a refusal means: which trouble, how long to wait, whether to ask again."""

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from bot.domain.model import ModelTrouble
from bot.domain.model_error import ModelError

OVERLOADED_STATUS = 529
"""Anthropic's own."""

MOST_TOKENS = 10**9
MOST_USD = 100_000.0
"""Of one answer."""

SAID_LIMIT = 4_096
"""Characters of a refusal that are read."""

_TOO_LARGE = re.compile(
    r"context.{0,3}(length|size|window)|(prompt|input) is too long|too many (input )?tokens|request_too_large",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"content.?(filter|policy|management)|responsible.?ai|safety (system|policy)", re.IGNORECASE)
_NO_CREDIT = re.compile(
    r"insufficient_quota|credit balance|billing_(hard|not)|insufficient (funds|credits)", re.IGNORECASE
)
_CODE = re.compile(r"[a-z][a-z_]{2,48}")


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """With lower-case names."""
    content: bytes


class Fault(ModelError):
    """One request failed.

    Args:
        message: What happened.
        advice: What to do.
        trouble: Which kind.
        retry_after_s: How long the server asked to wait.
        final: Whether asking this server again is of no use, whatever another may do.
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


_KEY = "check the provider's key, and what it may do"
_ADDRESS = "check the model's name and the address behind the @"
_BY_STATUS = {
    400: _Kind(ModelTrouble.BAD_REQUEST, "the request was refused"),
    401: _Kind(ModelTrouble.AUTH, "the key was refused", _KEY),
    402: _Kind(ModelTrouble.AUTH, "the account has no credit", "top up the provider's account"),
    403: _Kind(ModelTrouble.AUTH, "the key may not do this", _KEY),
    404: _Kind(ModelTrouble.BAD_REQUEST, "there is no such model or address", _ADDRESS),
    408: _Kind(ModelTrouble.TIMEOUT, "the server waited too long"),
    409: _Kind(ModelTrouble.OVERLOADED, "the server is busy with something else"),
    413: _Kind(ModelTrouble.TOO_LARGE, "the prompt is too large"),
    429: _Kind(ModelTrouble.RATE_LIMIT, "the server limits us"),
    503: _Kind(ModelTrouble.OVERLOADED, "the server is overloaded"),
    OVERLOADED_STATUS: _Kind(ModelTrouble.OVERLOADED, "the server is overloaded"),
}

_BY_CLASS = {
    3: _Kind(ModelTrouble.BAD_REQUEST, "the server sends us elsewhere, where no key is sent", _ADDRESS),
    4: _BY_STATUS[400],
    5: _Kind(ModelTrouble.TRANSPORT, "the server failed"),
}


def refusal(reply: Reply, status: int | None = None) -> Fault:
    """The error that an answer other than 200 means.

    Nothing of the server's own words is passed on but its error code: they may quote the key or the prompt.

    Args:
        reply: The answer.
        status: What it says it is, where that is not its own status.
    """
    status = status or reply.status
    kind = _kind(status, said(reply))
    codes = ", ".join([str(status), *_codes(reply.content)])
    return Fault(
        f"{kind.what} ({codes})",
        kind.advice,
        trouble=kind.trouble,
        retry_after_s=retry_after_s(reply.headers),
        final=reply.headers.get("x-should-retry", "").strip().lower() == "false",
    )


def said(reply: Reply) -> str:
    """The beginning of a server's words; hostile."""
    return reply.content[:SAID_LIMIT].decode(errors="replace")


def _kind(status: int, words: str) -> _Kind:
    if status in {400, 403, 429} and _NO_CREDIT.search(words):
        return _BY_STATUS[402]
    if status in {400, 422}:
        if _TOO_LARGE.search(words):
            return _BY_STATUS[413]
        if _REFUSED.search(words):
            return _Kind(ModelTrouble.REFUSAL, "the provider's own rules refuse the prompt")
    return _BY_STATUS.get(status) or _BY_CLASS.get(status // 100, _Kind(ModelTrouble.BAD_RESPONSE, "an odd answer"))


def _codes(content: bytes) -> tuple[str, ...]:
    """The words a program is meant to read: lower-case letters only, as no key is written."""
    try:
        told: Any = json.loads(content[:SAID_LIMIT])
    except (ValueError, RecursionError):
        return ()
    error = told.get("error") if isinstance(told, dict) else None
    found = [error.get(name) for name in ("type", "code")] if isinstance(error, dict) else []
    return tuple(dict.fromkeys(word for word in found if isinstance(word, str) and _CODE.fullmatch(word)))


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait; a date is read by its own clock, so that ours may be wrong.

    Args:
        headers: With lower-case names.
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
        return None  # TypeError: only one of them names a time zone


def count(value: object) -> int:
    """A number of tokens; what is none counts as none, and more than any model reads would not fit into the ledger.

    Args:
        value: What a server or a tool says.
    """
    return min(value, MOST_TOKENS) if type(value) is int and value > 0 else 0


def amount(value: object) -> float | None:
    """A sum of money; None for whatever is none.

    Args:
        value: What a server or a tool says.
    """
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_USD
    return float(value) if good and isinstance(value, int | float) else None
