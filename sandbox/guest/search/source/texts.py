"""String literals in source text (parts, quotes, body), and similar names."""

from __future__ import annotations

import io
import token
import tokenize
from typing import Iterable, List, NamedTuple


class StringPart(NamedTuple):
    """One quoted part of a string literal; adjacent parts are concatenated."""

    start: int
    """Offset in bytes from the start of the literal."""
    end: int
    prefix: str
    quote: str
    body: str
    """The text between the quotes, as written."""

    @property
    def body_start(self) -> int:
        """The offset of the text between the quotes."""
        return self.start + len(self.prefix) + len(self.quote)

    @property
    def is_plain(self) -> bool:
        """True if the text has no escapes: raw, or without a backslash."""
        return "r" in self.prefix.lower() or "\\" not in self.body


def string_parts(literal: bytes) -> List[StringPart]:
    """Return the quoted parts of a literal; empty if it is no plain string."""
    text = b"(" + literal + b")"
    starts = [0]
    for line in text.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    lines = text.decode("utf-8", "replace").split("\n")
    parts: List[StringPart] = []
    try:
        for found in tokenize.generate_tokens(io.StringIO(text.decode("utf-8")).readline):
            if found.type == token.STRING:
                (row, column), (last_row, last_column) = found.start, found.end
                start = starts[row - 1] + len(lines[row - 1][:column].encode()) - 1
                end = starts[last_row - 1] + len(lines[last_row - 1][:last_column].encode()) - 1
                parts.append(_part(found.string, start, end))
    except (tokenize.TokenError, SyntaxError, UnicodeError, IndexError):
        return []
    return parts


def _part(text: str, start: int, end: int) -> StringPart:
    prefix = text[: min(i for i in (text.find("'"), text.find('"')) if i >= 0)]
    rest = text[len(prefix) :]
    quote = rest[:3] if rest[:3] in ("'''", '"""') else rest[:1]
    return StringPart(start, end, prefix, quote, rest[len(quote) : -len(quote)])


def quoted(text: str, like: str) -> str:
    """Return a text as a literal, with the quotes of another one."""
    shown = repr(text)
    if like.lstrip("rbuRBU").startswith('"') and shown.startswith("'") and '"' not in shown:
        return '"' + shown[1:-1] + '"'
    return shown


def distance(one: str, other: str, most: int = 4) -> int:
    """Return the Damerau-Levenshtein distance of two texts, or `most` + 1 if it is larger."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    # Optimal string alignment, row by row: adjacent letters may be exchanged.
    before: List[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        now = [i]
        for j, match in enumerate(other, 1):
            cost = min(last[j] + 1, now[j - 1] + 1, last[j - 1] + (letter != match))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == match:
                cost = min(cost, before[j - 2] + 1)
            now.append(cost)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return min(last[-1], most + 1)


def close_names(name: str, others: Iterable[str], most: int = 5) -> List[str]:
    """Return similar names, nearest first, by letters and by words."""
    ranked = []
    for position, other in enumerate(dict.fromkeys(others)):
        if other != name:
            away = _away(name, other)
            if away is not None:
                ranked.append((away, position, other))
    return [other for _, _, other in sorted(ranked)[:most]]


def _away(name: str, other: str) -> float | None:
    plain, near = name.replace("_", "").lower(), other.replace("_", "").lower()
    if plain == near and plain:
        return 0.5
    limit = 1 if len(name) <= 3 else 2 if len(name) <= 7 else 3
    letters = distance(name, other, limit)
    if letters <= limit and letters < max(len(name), len(other)):
        return float(letters)
    mine, theirs = set(split_words(name)), set(split_words(other))
    if mine and theirs and (mine <= theirs or theirs <= mine):
        return 2.0 + len(mine ^ theirs)
    if len(mine & theirs) * 2 >= len(mine | theirs) and mine & theirs:
        return 3.0 + len(mine ^ theirs)
    return None


def split_words(name: str) -> List[str]:
    """Return the words of a name in lower case: get, http, code, 2 for `getHTTPCode_2`."""
    words: List[str] = []
    current = ""
    for index, letter in enumerate(name):
        following = name[index + 1 : index + 2]
        starts = letter.isupper() and (
            not current[-1:].isupper() or (following.islower() and following.isalpha())
        )
        if letter == "_" or (starts and current):
            words.append(current)
            current = ""
        if letter != "_":
            current += letter
    return [word.lower() for word in [*words, current] if word]
