"""The only path of untrusted text: bound, strip, redact, cap; in this order, in linear time."""

import re
from collections.abc import Sequence

from sandbox.gate.redact import Needles, Secret, prepare_needles, redact
from sandbox.gate.strip import strip

CAP = 65_536
EDGE = 256
"""Characters dropped at each side of a cut, so that no half of a short secret remains."""
TOKEN_EDGE = 16_384
"""Limit for token characters at a cut that are dropped, too."""
LINE = 4_000
_TOKEN_END = re.compile(r"[A-Za-z0-9+/=_.~%-]*\Z")
_TOKEN_START = re.compile(r"\A[A-Za-z0-9+/=_.~%-]*")


def clean(text: str, *, cap: int = CAP, secrets: Sequence[Secret] | Needles = ()) -> str:
    """Return text that is safe to log, store, show and send.

    Args:
        text: Any text.
        cap: Maximum length of the result; the middle is cut out.
        secrets: Values to mask in every encoding. Prepare them once with `prepare_needles` to clean
            many texts.
    """
    needles = secrets if isinstance(secrets, Needles) else prepare_needles(secrets)
    parts = [_shorten_lines(redact(strip(part), needles)) for part in _bound(text, 2 * cap)]
    if len(parts) == 1:
        return _cap(parts[0], cap, 0)
    left_out = len(text) - sum(len(part) for part in parts)
    return _cap(_cut_notice(left_out).join(parts), cap, left_out)


def _bound(text: str, limit: int) -> list[str]:
    """Return the text, or its head and tail without partial tokens at the cut."""
    if len(text) <= limit + 4 * EDGE:
        return [text]
    half = limit // 2
    head, tail = text[:half], text[-half:]
    head = _without_token(head, _TOKEN_END, slice(-TOKEN_EDGE, None), slice(None, -EDGE))
    tail = _without_token(tail, _TOKEN_START, slice(None, TOKEN_EDGE), slice(EDGE, None))
    return [head, tail]


def _without_token(text: str, pattern: re.Pattern[str], edge: slice, kept: slice) -> str:
    """Drop the edge, then the rest of a token that the edge cut through."""
    text = text[kept]
    found = pattern.search(text[edge])
    length = len(found.group()) if found is not None else 0
    # A whole edge of token characters is a long line and not a token: keep it.
    if not length or length >= min(TOKEN_EDGE, len(text)):
        return text
    return text[:-length] if kept.start is None else text[length:]


def _shorten_lines(text: str) -> str:
    """Shorten overlong lines."""
    if len(text) <= LINE:
        return text
    return "\n".join(
        line
        if len(line) <= LINE
        else f"{line[: LINE // 2]}[... {len(line) - LINE} characters cut ...]{line[-LINE // 2 :]}"
        for line in text.split("\n")
    )


def _cap(text: str, cap: int, already: int) -> str:
    if len(text) <= cap:
        return text
    notice = _cut_notice(len(text) - cap + already)
    room = cap - len(notice)
    if room <= 0:
        return text[:cap]
    return text[: room // 2] + notice + text[len(text) - (room - room // 2) :]


def _cut_notice(count: int) -> str:
    return f"\n[... {count} characters cut ...]\n"
