"""Wrong base classes: in the wrong order, one missing, one superfluous, the wrong exception."""

from __future__ import annotations

import ast
import builtins
from typing import Iterator, List, Optional

from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.8
CHANGES = (
    ("class A(B, C):\n    pass\n", "class A(C, B):\n    pass\n"),
    ("class A(B, C):\n    pass\n", "class A(B):\n    pass\n"),
    ("class A(B):\n    pass\n", "class A:\n    pass\n"),
    ("class BadKey(Exception):\n    pass\n", "class BadKey(KeyError):\n    pass\n"),
    ("class BadKey(Exception):\n    pass\n", "class BadKey(Exception, KeyError):\n    pass\n"),
    (
        "class B:\n    pass\n\n\nclass A:\n    pass\n",
        "class B:\n    pass\n\n\nclass A(B):\n    pass\n",
    ),
    (
        "from enum import Enum\nclass A(Enum):\n    X = 'x'\n",
        "from enum import Enum\nclass A(str, Enum):\n    X = 'x'\n",
    ),
)
UNTOUCHED = ("class A:\n    pass\n", "def f(a):\n    return a\n")

ERRORS = (
    "ValueError", "KeyError", "TypeError", "AttributeError", "LookupError", "RuntimeError",
    "Exception", "IndexError", "OSError", "ImportError", "ArithmeticError", "NotImplementedError",
    "BaseException", "Warning", "UserWarning",
)  # fmt: skip


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Swap, drop, replace and add base classes."""
    if not isinstance(scope, OuterScope) or not isinstance(node, ast.ClassDef):
        return
    for one, other in zip(node.bases, node.bases[1:]):
        yield scope.swap(COST, one, other)
    for index in range(len(node.bases)):
        yield _drop(node, index, scope)
    present = [scope.text(base) for base in node.bases]
    for rank, name in enumerate(n for n in _kin(node, present, scope) if n not in present):
        if len(node.bases) == 1:
            yield scope.replace(COST + 0.1 + 0.05 * rank, node.bases[0], name)
        yield _added(scope, COST + 0.4 + 0.05 * rank, node, name)
        if node.bases:
            at = scope.source.span(node.bases[0])[0]
            yield ProposedEdits(COST + 0.3 + 0.05 * rank, (TextEdit(at, at, f"{name}, "),))


def _kin(node: ast.ClassDef, present: List[str], scope: OuterScope) -> List[str]:
    """Return candidate bases: earlier classes and their bases, or errors for an error class."""
    # A base must be defined above the class.
    before = [c for c in scope.classes() if c.lineno < node.lineno]
    names = [scope.text(b) for c in before for b in c.bases] + [c.name for c in before]
    if any(_is_error(name) for name in present):
        names = [*ERRORS, *(n for n in names if _is_error(n) or n.endswith("Exception"))]
    elif any(name.split(".")[-1] in ("Enum", "Flag") for name in present):
        names = ["str", "int"]
    return list(dict.fromkeys(n for n in names if "\n" not in n))[:16]


def _is_error(name: str) -> bool:
    found = getattr(builtins, name, None)
    return name.endswith(("Error", "Exception", "Warning")) or (
        isinstance(found, type) and issubclass(found, BaseException)
    )


def _drop(node: ast.ClassDef, index: int, scope: CodeScope) -> Optional[ProposedEdits]:
    span = scope.source.span
    if len(node.bases) > 1:
        if index:
            return ProposedEdits(
                COST + 0.2,
                (TextEdit(span(node.bases[index - 1])[1], span(node.bases[index])[1], ""),),
            )
        return ProposedEdits(
            COST + 0.2, (TextEdit(span(node.bases[0])[0], span(node.bases[1])[0], ""),)
        )
    if node.keywords:
        return None
    data, (start, end) = scope.source.data, span(node.bases[0])
    before, after = data[:start].rstrip(), data[end:].lstrip()
    if not before.endswith(b"(") or not after.startswith(b")"):
        return None
    return ProposedEdits(COST + 0.5, (TextEdit(len(before) - 1, len(data) - len(after) + 1, ""),))


def _added(scope: CodeScope, cost: float, node: ast.ClassDef, name: str) -> Optional[ProposedEdits]:
    if node.bases:
        at = scope.source.span(node.bases[-1])[1]
        return ProposedEdits(cost, (TextEdit(at, at, f", {name}"),))
    if node.keywords:
        return None
    start = scope.source.offset(node.lineno, node.col_offset)
    at = scope.source.data.index(node.name.encode("utf-8"), start + len("class")) + len(
        node.name.encode("utf-8")
    )
    if scope.source.data[at : at + 1] != b":":
        return None
    return ProposedEdits(cost + 0.3, (TextEdit(at, at, f"({name})"),))
