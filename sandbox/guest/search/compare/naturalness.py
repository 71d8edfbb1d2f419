"""Naturalness of code: token statistics of the repository with back-off.

A cache holds the names of the edited file. See Hindle et al. 2012 and Tu et al. 2014 (cache
language models).
"""

from __future__ import annotations

import io
import keyword
import math
import tokenize
from collections import Counter
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

KEPT_NUMBERS = {"0", "1", "2", "-1"}
KEPT_NAMES = {
    "self", "cls", "len", "range", "str", "int", "float", "list", "dict", "set", "tuple", "sorted",
    "min", "max", "sum", "abs", "isinstance", "any", "all", "enumerate", "zip", "print", "super",
    "type", "append", "get", "items",
}  # fmt: skip
START = "<line>"
DISCOUNT = 0.4
"""Factor for falling back to a shorter context."""
CONTEXT = 2
"""Number of tokens on each side of an edit that are scored with it, since their context changes."""
MOST_BYTES = 400_000


class CodeToken(NamedTuple):
    """A token with its class in the statistics."""

    kind: str
    text: str
    start: int
    end: int


def tokenize_lines(data: bytes) -> List[List[CodeToken]]:
    """Return the tokens of each logical line; the list ends where the text cannot be tokenized."""
    text = data.decode("utf-8", "replace")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode("utf-8")))
    lines = text.splitlines(keepends=True)
    rows: List[List[CodeToken]] = [[]]
    for token in _cut(text):
        if token.type == tokenize.NEWLINE:
            rows.append([])
        elif token.type not in (
            tokenize.COMMENT,
            tokenize.NL,
            tokenize.INDENT,
            tokenize.DEDENT,
            tokenize.ENDMARKER,
        ):
            rows[-1].append(_token(token, starts, lines))
    return [row for row in rows if row]


def _cut(text: str) -> Iterator[Any]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _token(token: Any, starts: Sequence[int], lines: Sequence[str]) -> CodeToken:
    (first, left), (last, right) = token.start, token.end
    start = starts[first - 1] + len(lines[first - 1][:left].encode("utf-8"))
    end = starts[last - 1] + len(lines[last - 1][:right].encode("utf-8"))
    return CodeToken(_kind(token), token.string, start, end)


def _kind(token: Any) -> str:
    text: str = token.string
    if token.type == tokenize.NAME:
        return text if keyword.iskeyword(text) or text in KEPT_NAMES else "<name>"
    if token.type == tokenize.NUMBER:
        return text if text in KEPT_NUMBERS else "<number>"
    if token.type == tokenize.STRING:
        return text if len(text) <= 2 else "<string>"
    return text


class Language:
    """Token statistics of a repository.

    Args:
        files: Its sources, most relevant first.
        own: The edited file, for its own names.
    """

    def __init__(self, files: Sequence[bytes], own: bytes = b"") -> None:
        self._counts: Dict[Tuple[str, ...], Counter[str]] = {}
        self._rows: Dict[Tuple[str, ...], int] = {}
        self._cache: Counter[str] = Counter()
        left = MOST_BYTES
        for data in files:
            if len(data) <= left:
                left -= len(data)
                self._learn(tokenize_lines(data))
        for row in tokenize_lines(own):
            # Names that the file itself uses are expected in it.
            self._cache.update(token.text for token in row if token.kind == "<name>")

    def _learn(self, rows: Sequence[Sequence[CodeToken]]) -> None:
        for row in rows:
            kinds = [START, START, *(token.kind for token in row)]
            for place in range(2, len(kinds)):
                for context in (kinds[place - 2 : place], kinds[place - 1 : place], []):
                    self._counts.setdefault(tuple(context), Counter())[kinds[place]] += 1
            texts = tuple(token.text for token in row)
            self._rows[texts] = self._rows.get(texts, 0) + 1

    def _chance(self, context: Tuple[str, ...], kind: str) -> float:
        counts = self._counts.get(context)
        if counts and counts[kind]:
            return counts[kind] / sum(counts.values())
        if not context:
            total = sum(counts.values()) if counts else 0
            return 0.5 / (total + 1)
        # Back-off without normalization; see Brants et al. 2007 (stupid back-off, factor 0.4).
        return DISCOUNT * self._chance(context[1:], kind)

    def bits(self, row: Sequence[CodeToken]) -> List[float]:
        """Return the surprise of each token of a line, in bits."""
        kinds = [START, START, *(token.kind for token in row)]
        found = []
        for place, token in enumerate(row, start=2):
            bits = -math.log2(self._chance((kinds[place - 2], kinds[place - 1]), kinds[place]))
            found.append(bits + self._name_bits(token))
        return found

    def _name_bits(self, token: CodeToken) -> float:
        """Return the surprise of a name, in bits; frequent names of the file are expected."""
        if token.kind != "<name>":
            return 0.0
        total = sum(self._cache.values()) or 1
        return -math.log2((self._cache[token.text] + 0.5) / (total + 1.0)) / 2

    def stands(self, texts: Tuple[str, ...], times: int = 1) -> bool:
        """Return True if a logical line occurs at least this often."""
        return self._rows.get(texts, 0) >= times


def surprise(language: Language, old: bytes, new: bytes) -> Tuple[float, bool]:
    """Return the surprise of an edit, and whether its new lines occur elsewhere.

    The surprise is in bits per token, relative to the old text.

    Args:
        language: The statistics of the repository, including the old file.
        old: The file before the edit.
        new: The file after the edit.
    """
    before, after = tokenize_lines(old), tokenize_lines(new)
    start, end = _middle(before, after)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    donor = bool(come) and all(language.stands(tuple(t.text for t in row)) for row in come)
    return round(_mean(language, come, gone) - _mean(language, gone, come), 3), donor


def _middle(
    before: Sequence[Sequence[CodeToken]], after: Sequence[Sequence[CodeToken]]
) -> Tuple[int, int]:
    """Return the number of equal lines at the start and at the end."""

    def same(one: Sequence[CodeToken], other: Sequence[CodeToken]) -> bool:
        return [t.text for t in one] == [t.text for t in other]

    most = min(len(before), len(after))
    start = next((i for i in range(most) if not same(before[i], after[i])), most)
    end = next(
        (i for i in range(most - start) if not same(before[-1 - i], after[-1 - i])), most - start
    )
    return start, end


def _mean(
    language: Language, rows: Sequence[Sequence[CodeToken]], others: Sequence[Sequence[CodeToken]]
) -> float:
    """Return the bits per token around what differs from the other lines."""
    bits: List[float] = []
    for place, row in enumerate(rows):
        other: Optional[Sequence[CodeToken]] = others[place] if place < len(others) else None
        all_bits = language.bits(row)
        if other is None:
            bits += all_bits
            continue
        start, end = _middle_of_row(row, other)
        bits += all_bits[max(0, start - CONTEXT) : max(start, len(row) - end) + CONTEXT]
    return sum(bits) / len(bits) if bits else 0.0


def _middle_of_row(row: Sequence[CodeToken], other: Sequence[CodeToken]) -> Tuple[int, int]:
    most = min(len(row), len(other))
    start = next((i for i in range(most) if row[i].text != other[i].text), most)
    end = next(
        (i for i in range(most - start) if row[-1 - i].text != other[-1 - i].text), most - start
    )
    return start, end
