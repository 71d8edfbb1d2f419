"""Small edits as changes of tokens, so that an accepted one can be made elsewhere. Pure."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from sandbox.changes import parse_patch
from sandbox.diffs import line_changes
from sandbox.errors import ChangeRejected

MOST_TOKENS = 6
"""Longest edit that says something about other lines, in tokens."""
LONGEST_LINE = 400
"""Length of a line that is read, in characters: open quotes take quadratic time."""

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d[\w.]*|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
    r"|\*\*|//|<<|>>|[<>=!]=|->|:=|\S"
)


class Token(NamedTuple):
    """A token and its place in the line."""

    text: str
    start: int
    end: int


class TokenEdit(NamedTuple):
    """A replacement of tokens within one line, with the spaces around them."""

    old: tuple[str, ...]
    """The tokens that are replaced; empty for an insertion."""
    new: str
    before: str
    """The token in front of them; empty at the beginning of the line."""
    after: str


class TokenPlace(NamedTuple):
    """A part of a line that an edit may replace."""

    start: int
    end: int
    text: str
    """The text that replaces it."""
    strangers: int
    """Number of neighbouring tokens, of two, that differ from the original place."""


def read_tokens(line: str) -> tuple[Token, ...]:
    """Return the tokens of a line of source; none of a line that no person writes."""
    if len(line) > LONGEST_LINE:
        return ()
    return tuple(Token(one.group(), *one.span()) for one in _TOKEN.finditer(line))


def read_edits(diff: str) -> tuple[TokenEdit, ...]:
    """Return the small edits of a diff; none if it adds or removes lines.

    Args:
        diff: A unified diff.
    """
    try:
        files = parse_patch(diff.encode())
    except ChangeRejected:
        return ()
    found: dict[TokenEdit, None] = {}
    for hunk in (hunk for file in files if not file.creates for hunk in file.hunks):
        for first, last, low, high in line_changes(list(hunk.old), list(hunk.new)):
            if last - first != high - low:
                return ()
            for old, new in zip(hunk.old[first:last], hunk.new[low:high], strict=True):
                edit = _compare(old, new)
                if edit is None:
                    return ()
                found[edit] = None
    return tuple(found)


def find_places(edit: TokenEdit, line: str) -> Iterator[TokenPlace]:
    """Yield the parts of a line where the edit could be made."""
    tokens = read_tokens(line)
    if not tokens:
        return
    size = len(edit.old)
    for at in range(len(tokens) - size + 1):
        if tuple(token.text for token in tokens[at : at + size]) != edit.old:
            continue
        before = tokens[at - 1].text if at else ""
        after = tokens[at + size].text if at + size < len(tokens) else ""
        if not size and (after != edit.after or _kind(before) != _kind(edit.before)):
            continue
        strangers = (before != edit.before) + (after != edit.after)
        if size and edit.new.strip():
            # The spaces around tokens are those of this line.
            start, end = tokens[at].start, tokens[at + size - 1].end
            yield TokenPlace(start, end, edit.new.strip(), strangers)
        else:
            yield TokenPlace(*_span(tokens, at, at + size), edit.new, strangers)


def _compare(old: str, new: str) -> TokenEdit | None:
    """Return the edit that turns one line into another; None if it is large."""
    one, other = read_tokens(old), read_tokens(new)
    if not one or not other:
        return None
    texts = [token.text for token in one], [token.text for token in other]
    matcher = SequenceMatcher(None, *texts, autojunk=False)
    changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if not changed:
        return None
    first, last, low, high = changed[0][1], changed[-1][2], changed[0][3], changed[-1][4]
    if max(last - first, high - low) > MOST_TOKENS or not _is_partial(one, first, last):
        return None
    start, end = _span(other, low, high)
    return TokenEdit(
        old=tuple(texts[0][first:last]),
        new=new[start:end],
        before=texts[0][first - 1] if first else "",
        after=texts[0][last] if last < len(one) else "",
    )


def _is_partial(tokens: Sequence[Token], first: int, last: int) -> bool:
    """Return True if tokens of the old line are left, which tie the edit to such a line."""
    return last - first < len(tokens)


def _span(tokens: Sequence[Token], first: int, last: int) -> tuple[int, int]:
    """Return the characters between two tokens' neighbours, spaces included."""
    start = tokens[first - 1].end if first else tokens[0].start
    end = tokens[last].start if last < len(tokens) else tokens[-1].end
    return start, end


def _kind(token: str) -> str:
    if not token:
        return ""
    if token[0].isalpha() or token[0] == "_":
        return "name"
    return "number" if token[0].isdigit() else token
