"""Input and output of type inference: facts about names, and complaints."""

from __future__ import annotations

import ast
from typing import Callable, NamedTuple, Optional, Tuple

from sandbox.guest.search.source.bindings import Point
from sandbox.guest.search.source.kinds import ValueKind

Arity = Tuple[int, int]
"""Minimum and maximum number of positional arguments."""


class NameFacts(NamedTuple):
    """The facts that inference needs about the place of an expression."""

    infer_kind: Callable[[str, Point], Optional[ValueKind]]
    is_bound: Callable[[str, Point], bool]
    is_local: Callable[[str], bool]
    find_arity: Callable[[ast.expr], Optional[Arity]]
    """The arity of a called function, if it is a plain one of the same file."""


class Complaints:
    """The number of errors in an expression.

    Attributes:
        sure: Errors on every run, or code without effect.
        likely: Errors if an annotation or an inferred type is correct.
    """

    def __init__(self) -> None:
        self.sure = 0
        self.likely = 0

    def add(self, *about: Optional[ValueKind]) -> None:
        """Count one complaint about values of these types."""
        if all(one is None or one.sure for one in about):
            self.sure += 1
        else:
            self.likely += 1
