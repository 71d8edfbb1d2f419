"""The one way foreign text takes: bound, strip, redact, cap; in this order, in linear time."""

import re
from collections.abc import Sequence

from sandbox.gate.redact import Needles, Secret, needles_of, redact
from sandbox.gate.strip import strip

CAP = 65_536
EDGE = 256
"""Dropped at each side of a cut, so that no half of a short secret is left there."""
TOKEN_EDGE = 16_384
"""How far a run of token characters at a cut is followed and dropped."""
LINE = 4_000
_TOKEN_END = re.compile(r"[A-Za-z0-9+/=_.~%-]*\Z")
_TOKEN_START = re.compile(r"\A[A-Za-z0-9+/=_.~%-]*")


def clean(text: str, *, cap: int = CAP, secrets: Sequence[Secret] | Needles = ()) -> str:
    """Text that may be logged, stored, shown or sent.

    Args:
        text: Anything.
        cap: Most characters of the result; the middle is left out.
        secrets: Values that must not be seen in any encoding; made ready once by whoever cleans many texts.
    """
    needles = secrets if isinstance(secrets, Needles) else needles_of(secrets)
    parts = [_long_lines(redact(strip(part), needles)) for part in _bounded(text, 2 * cap)]
    if len(parts) == 1:
        return _capped(parts[0], cap, 0)
    left_out = len(text) - sum(len(part) for part in parts)
    return _capped(_notice(left_out).join(parts), cap, left_out)


def _bounded(text: str, limit: int) -> list[str]:
    """The text, or its head and its tail, without whatever a cut went through."""
    if len(text) <= limit + 4 * EDGE:
        return [text]
    half = limit // 2
    head, tail = text[:half], text[-half:]
    head = _without_token(head, _TOKEN_END, slice(-TOKEN_EDGE, None), slice(None, -EDGE))
    tail = _without_token(tail, _TOKEN_START, slice(None, TOKEN_EDGE), slice(EDGE, None))
    return [head, tail]


def _without_token(text: str, pattern: re.Pattern[str], edge: slice, kept: slice) -> str:
    """Drop the edge, then what is left of a token the edge went through."""
    text = text[kept]
    found = pattern.search(text[edge])
    length = len(found.group()) if found is not None else 0
    # A whole edge of token characters is no token but a long line: keep it.
    if not length or length >= min(TOKEN_EDGE, len(text)):
        return text
    return text[:-length] if kept.start is None else text[length:]


def _long_lines(text: str) -> str:
    """Lines of readable length."""
    if len(text) <= LINE:
        return text
    return "\n".join(
        line
        if len(line) <= LINE
        else f"{line[: LINE // 2]}[... {len(line) - LINE} characters cut ...]{line[-LINE // 2 :]}"
        for line in text.split("\n")
    )


def _capped(text: str, cap: int, already: int) -> str:
    if len(text) <= cap:
        return text
    notice = _notice(len(text) - cap + already)
    room = cap - len(notice)
    if room <= 0:
        return text[:cap]
    return text[: room // 2] + notice + text[len(text) - (room - room // 2) :]


def _notice(count: int) -> str:
    return f"\n[... {count} characters cut ...]\n"
