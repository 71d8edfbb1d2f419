"""An exception that an enclosing handler should have caught."""

from __future__ import annotations

import ast
import builtins
from typing import Iterator, List

from sandbox.guest.search.candidates.spots import FailureContext, GuidedProposal, Spot
from sandbox.guest.search.source.function_context import kin_of_exception
from sandbox.guest.search.source.render import TextEdit

COST = 0.6
CHANGES = (
    (
        "TypeError: bad",
        3,
        "def f(a):\n    try:\n        return int(a)\n    except ValueError:\n        return None\n",
        (
            "def f(a):\n    try:\n        return int(a)\n    except (ValueError, TypeError):\n"
            "        return None\n"
        ),
    ),
    (
        "OverflowError: bad",
        3,
        (
            "def f(a):\n    try:\n        return g(a)\n    except (KeyError, ValueError):\n"
            "        return 1\n"
        ),
        (
            "def f(a):\n    try:\n        return g(a)\n"
            "    except (KeyError, ValueError, OverflowError):\n        return 1\n"
        ),
    ),
    (
        "KeyError: 1",
        3,
        "def f(a):\n    try:\n        return a[1]\n    except IndexError:\n        return 1\n",
        "def f(a):\n    try:\n        return a[1]\n    except LookupError:\n        return 1\n",
    ),
)
UNTOUCHED = (
    ("KeyError: 1", 2, "def f(a):\n    return a[1]\n"),
    (
        "KeyError: 1",
        5,
        "def f(a):\n    try:\n        return 1\n    except ValueError:\n        return a[1]\n",
    ),
    (
        "AssertionError: no",
        3,
        "def f(a):\n    try:\n        return g(a)\n    except KeyError:\n        return 1\n",
    ),
)


def propose(view: FailureContext) -> Iterator[GuidedProposal]:
    """Let each enclosing handler catch the exception too."""
    kind = view.failure.kind.rpartition(".")[2]
    if not kind.isidentifier() or view.failure.is_a("AssertionError"):
        return
    for depth, spot in enumerate(view.spots):
        if not hasattr(builtins, kind) and kind not in spot.names:
            continue
        for rank, handler in enumerate(_let_through(spot)[:3]):
            for change in _widen(spot, handler, kind):
                yield change._replace(cost=change.cost + 0.1 * depth + 0.1 * rank)


def _let_through(spot: Spot) -> List[ast.ExceptHandler]:
    """Return the handlers of the `try` bodies around the frame, innermost first."""
    found: List[ast.ExceptHandler] = []
    node: ast.AST = spot.statement or spot.source.tree
    while node in spot.source.places and node is not spot.function:
        place = spot.source.places[node]
        if isinstance(place.parent, ast.Try) and place.field == "body":
            found += [handler for handler in place.parent.handlers if handler.type is not None]
        node = place.parent
    return found


def _widen(spot: Spot, handler: ast.ExceptHandler, kind: str) -> Iterator[GuidedProposal]:
    if handler.type is None:
        return
    caught = list(handler.type.elts) if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [spot.text(node) for node in caught]
    if kind in names:
        return
    span = spot.source.span(handler.type)
    yield spot.edit(COST, TextEdit(*span, f"({', '.join([*names, kind])})"))
    if len(names) == 1:
        above = [name for name in kin_of_exception(kind) if name in kin_of_exception(names[0])]
        for rank, name in enumerate([kind, *above, "Exception"]):
            yield spot.edit(COST + 0.2 + 0.1 * rank, TextEdit(*span, name))
