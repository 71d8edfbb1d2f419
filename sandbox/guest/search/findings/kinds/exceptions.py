"""Handlers: a bare `except`, or an error raised in a handler without its cause."""

from __future__ import annotations

import ast
from typing import Iterator

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FindingPlace
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset(
    {"E722", "W0702", "B001", "B904", "W0707", "TRY200", "B014", "W0706", "TRY203", "TRY302"}
)
CHANGES = (
    (
        "try:\n    f()\nexcept:\n    g()\n",
        (3, 1, "E722", "Do not use bare `except`"),
        "try:\n    f()\nexcept Exception:\n    g()\n",
    ),
    (
        "try:\n    f()\nexcept KeyError as error:\n    raise ValueError(1)\n",
        (4, 5, "B904", ""),
        "try:\n    f()\nexcept KeyError as error:\n    raise ValueError(1) from error\n",
    ),
    (
        "try:\n    f()\nexcept KeyError:\n    raise ValueError(1)\n",
        (4, 5, "W0707", ""),
        "try:\n    f()\nexcept KeyError as error:\n    raise ValueError(1) from error\n",
    ),
    (
        "try:\n    f()\nexcept KeyError:\n    raise ValueError(1)\n",
        (4, 5, "B904", ""),
        "try:\n    f()\nexcept KeyError:\n    raise ValueError(1) from None\n",
    ),
)
UNTOUCHED = (
    ("try:\n    f()\nexcept KeyError:\n    g()\n", (3, 1, "E722", "")),
    ("def f():\n    raise ValueError(1)\n", (2, 5, "B904", "")),
)


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Name the caught exception; add the cause of a raised one."""
    for node in place.here(ast.ExceptHandler):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            at = place.source.span(node)[0] + len("except")
            yield FixDraft(0.2, (TextEdit(at, at, " Exception"),))
            if any(isinstance(inner, ast.Raise) and inner.exc is None for inner in ast.walk(node)):
                yield FixDraft(0.1, (TextEdit(at, at, " BaseException"),))
    for node in place.here(ast.Raise):
        if isinstance(node, ast.Raise) and node.exc is not None and node.cause is None:
            yield from _add_cause(place, node)


def _add_cause(place: FindingPlace, node: ast.Raise) -> Iterator[FixDraft]:
    handler: ast.AST = node
    while not isinstance(handler, ast.ExceptHandler):
        if handler not in place.source.places or isinstance(
            handler, (ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            return
        handler = place.source.places[handler].parent
    end = place.source.span(node)[1]
    if handler.name:
        yield FixDraft(0.2, (TextEdit(end, end, f" from {handler.name}"),))
    elif handler.type is not None:
        used = {n.id for n in place.nodes if isinstance(n, ast.Name)}
        name = next(
            word for word in ("error", "exc", "caught", "cause_of_this") if word not in used
        )
        behind = place.source.span(handler.type)[1]
        wrapped = place.source.data[behind : behind + 1] == b")"
        if not wrapped:
            yield FixDraft(
                0.3, (TextEdit(behind, behind, f" as {name}"), TextEdit(end, end, f" from {name}"))
            )
    yield FixDraft(0.6, (TextEdit(end, end, " from None"),))
