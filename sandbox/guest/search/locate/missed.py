"""Branches that failing tests nearly take: they evaluate the condition and never enter the body."""

from __future__ import annotations

import ast
import builtins
from typing import Any, Iterator, List, Mapping, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.locate.code import CodeFile
from sandbox.guest.search.locate.failure_report import FailureReport
from sandbox.guest.search.locate.signs import clue_score, node_name
from sandbox.guest.search.locate.spectrum import Place
from sandbox.guest.search.locate.values import collect_clues
from sandbox.guest.search.source.functions import Unit

MOST_MISSED = 20
"""Maximum number of branches that share something; with more, none is meaningful."""
NAMED = 0.5
"""Share of a branch that has a name of the failing statement, but no literal that explains it."""
BODY = 0.3
"""Share of the lines of the body: an edit there alone changes nothing that a failing test does."""
MOST_BODY = 12
LEAST_PART = 3
"""Minimum number of characters of a part in which two texts differ."""
USUAL = frozenset(("self", "cls", *dir(builtins)))
"""Names that say nothing about a branch."""
REASON = "failing tests do not enter a branch that has what they expect"


class MissedBranch(NamedTuple):
    """A branch whose condition failing tests evaluate."""

    head: Place
    body: Tuple[Place, ...]
    share: float
    """Share of the sign: 1 if a literal of the body explains the failure."""


def missed_branches(
    said: Sequence[FailureReport],
    files: Mapping[str, CodeFile],
    units: Sequence[Unit],
    hit: Set[Place],
) -> List[MissedBranch]:
    """Return the branches that share a name or literal with what the failing tests expect.

    Args:
        said: The failures.
        files: The source files.
        units: The functions that failing tests run.
        hit: The lines that failing tests run.
    """
    names = {name for one in said for name in one.called} - USUAL
    clues = collect_clues([pair for one in said for pair in one.pairs][:40])
    parts = [text.strip() for text in clues.texts if len(text.strip()) >= LEAST_PART]
    found: List[MissedBranch] = []
    for unit in units:
        path = unit.source.path
        file = files.get(path)
        for head, body in _branches(unit.node) if file else ():
            if (path, head) not in hit or any((path, line) in hit for line in body):
                continue
            nodes = [node for line in body for node in file.on(line)] if file else []
            is_named = any(_has(node_name(node), names, parts) for node in nodes)
            share = max(clue_score(nodes, clues), NAMED if is_named else 0.0)
            if share > 0:
                places = tuple((path, line) for line in body[:MOST_BODY])
                found.append(MissedBranch((path, head), places, share))
    return found if len(found) <= MOST_MISSED else []


def _has(name: Any, names: Set[str], parts: Sequence[str]) -> bool:
    """Return True for a name of the failing statement, or one with a part of a differing text."""
    return isinstance(name, str) and (name in names or any(part in name for part in parts))


def _branches(function: ast.AST) -> Iterator[Tuple[int, List[int]]]:
    """Yield the line of each condition or `except`, and the lines of its body."""
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While, ast.ExceptHandler)):
            first, last = node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno
            # The tracer cannot separate a body from a head on the same line.
            if first > node.lineno:
                yield node.lineno, list(range(first, last + 1))
