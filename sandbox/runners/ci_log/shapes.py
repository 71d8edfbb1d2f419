"""The shape of a log line, shared by lines of one kind, and the headings above a line."""

import re
from collections.abc import Iterator, Sequence

_LOOKED_AT = 200
_TOKENS = 8
_HEADLINE = re.compile(
    r"^\s{0,4}(?:>>>|=+>|[=\-_*#\u2500\u2501\u2550]{3,} ?\S|#{1,6} |\u25cf |\*+ \S)|\S.{0,200}:$"
)
REACH = 30
"""Number of lines above a finding that are searched for its heading."""
_LEVELS = 3
"""Maximum number of headings of one finding, each indented less than the one below it."""


def shape(line: str) -> str:
    """Return a line with placeholders for numbers and names; messages of one kind share it."""
    return " ".join(_token(word) for word in line[:_LOOKED_AT].split()[:_TOKENS])


def _token(word: str) -> str:
    if any(letter in word for letter in "/\\._:"):
        return "P"
    return "0" if any(letter.isdigit() for letter in word) else word.lower()


def headlines(lines: Sequence[str], index: int) -> Iterator[int]:
    """Yield the headings above a line, the nearest first.

    Args:
        lines: The lines of one step.
        index: The index of the finding.
    """
    depth = _indent(lines[index])
    found = 0
    for above in range(index - 1, max(-1, index - REACH - 1), -1):
        line = lines[above]
        if not line.strip() or line.startswith("##["):
            continue
        marked = _HEADLINE.match(line) is not None
        if marked or _indent(line) < depth:
            yield above
            depth = min(depth, _indent(line))
            found += 1
            if found == _LEVELS or (marked and depth == 0):
                return


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
