"""What inference is told of the place where an expression stands, and what it says of it: the complaints."""

from __future__ import annotations

import ast
from typing import Callable, NamedTuple, Optional, Tuple

from sandbox.guest.search.source.bindings import Point
from sandbox.guest.search.source.kinds import Kind

Arity = Tuple[int, int]
"""Fewest and most positional arguments."""


class World(NamedTuple):
    """What inference may ask about the place where an expression stands."""

    kind_of: Callable[[str, Point], Optional[Kind]]
    is_bound: Callable[[str, Point], bool]
    is_local: Callable[[str], bool]
    arity_of: Callable[[ast.expr], Optional[Arity]]
    """Of a call's function, when it is a plain one of the same file."""


class Complaints:
    """What cannot work in an expression.

    Attributes:
        sure: It fails as soon as it is run, or makes no difference.
        likely: It fails if an annotation is right, or if a name holds what it seems to hold.
    """

    def __init__(self) -> None:
        self.sure = 0
        self.likely = 0

    def add(self, *about: Optional[Kind]) -> None:
        """One more, about values of these kinds."""
        if all(one is None or one.sure for one in about):
            self.sure += 1
        else:
            self.likely += 1
