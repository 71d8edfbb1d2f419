"""Find lines of code that begin inside a string, because re-indenting them would change it."""

from __future__ import annotations

import io
import tokenize
from typing import FrozenSet, List, Optional, Set

NONE: FrozenSet[int] = frozenset()
LONG = ('"""', "'''", "\\\n")
"""Only strings with one of these continue on the next line."""


def lines_in_strings(code: str) -> Optional[FrozenSet[int]]:
    """Return the line numbers, from 0; None if they cannot be determined.

    Args:
        code: Statements without indentation.
    """
    if "\n" not in code or not any(sign in code for sign in LONG):
        return NONE
    found: Set[int] = set()
    opened: List[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            name = tokenize.tok_name[token.type]
            if name == "STRING":
                found.update(range(token.start[0], token.end[0]))
            elif name.endswith("STRING_START"):
                # Since Python 3.12 f-strings have several tokens. Lines of their expressions count
                # too.
                opened.append(token.start[0])
            elif name.endswith("STRING_END"):
                found.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return frozenset(found)
