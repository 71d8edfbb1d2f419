"""Which lines of a piece of code begin inside a string: what is moved to another indentation must leave them alone."""

from __future__ import annotations

import io
import tokenize
from typing import FrozenSet, List, Optional, Set

NONE: FrozenSet[int] = frozenset()
LONG = ('"""', "'''", "\\\n")
"""Without one of these no string goes on in the next line."""


def lines_in_strings(code: str) -> Optional[FrozenSet[int]]:
    """The numbers (from 0) of these lines; None where it cannot be told.

    Args:
        code: Statements at the left margin, as they stand in a file.
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
                # Since Python 3.12 the parts of an f-string are tokens; lines of its expressions are left alone too.
                opened.append(token.start[0])
            elif name.endswith("STRING_END"):
                found.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return frozenset(found)
