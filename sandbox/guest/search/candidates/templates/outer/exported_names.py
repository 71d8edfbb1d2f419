"""Wrong `__all__` or `__slots__`: a missing, misspelt or outdated name."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Sequence

from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits
from sandbox.guest.search.source.texts import close_names

COST = 1.0
CHEAPEST = COST - 0.3
CHANGES = (
    (
        "__all__ = ['f']\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n",
        "__all__ = ['f', 'g']\n\n\ndef f():\n    pass\n\n\ndef g():\n    pass\n",
    ),
    ("__all__ = ['ff']\n\n\ndef f():\n    pass\n", "__all__ = ['f']\n\n\ndef f():\n    pass\n"),
    (
        "__all__ = ['f', 'gone']\n\n\ndef f():\n    pass\n",
        "__all__ = ['f']\n\n\ndef f():\n    pass\n",
    ),
    (
        (
            "class A:\n    __slots__ = ('a',)\n\n    def __init__(self):\n        self.a = 1\n"
            "        self.b = 2\n"
        ),
        (
            "class A:\n    __slots__ = ('a', 'b')\n\n    def __init__(self):\n"
            "        self.a = 1\n        self.b = 2\n"
        ),
    ),
    (
        "class A:\n    __slots__ = ()\n    x: int\n",
        "class A:\n    __slots__ = ('x',)\n    x: int\n",
    ),
    (
        "class A:\n    __slots__ = ('a', 'b')\n",
        "class A:\n    __slots__ = ('a', 'b', '__dict__')\n",
    ),
    (
        "class A:\n    __slots__ = ('a', 'b')\n",
        "class A:\n    __slots__ = ('a', 'b', '__weakref__')\n",
    ),
)
UNTOUCHED = ("x = ['f']\n\n\ndef f():\n    pass\n", "def f():\n    pass\n")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add, correct and remove names."""
    if not isinstance(scope, OuterScope) or not isinstance(node, (ast.List, ast.Tuple)):
        return
    statement = scope.parent(node)
    targets = (
        statement.targets
        if isinstance(statement, ast.Assign)
        else [getattr(statement, "target", None)]
    )
    kind = next((t.id for t in targets if isinstance(t, ast.Name)), "")
    owner = scope.parent(statement)
    if kind == "__all__" and isinstance(owner, ast.Module):
        yield from _correct(
            node, [n for n in scope.bound if not n.startswith("_")], scope.bound, scope
        )
    elif kind == "__slots__" and isinstance(owner, ast.ClassDef):
        names = _attributes_set(owner)
        yield from _correct(node, [*names, "__dict__", "__weakref__"], None, scope)


def _correct(
    node: ast.List | ast.Tuple,
    names: Sequence[str],
    known: Optional[Sequence[str]],
    scope: OuterScope,
) -> Iterator[Optional[ProposedEdits]]:
    listed = [e for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    present = {e.value for e in listed}
    missing = [n for n in names if n not in present]
    for rank, name in enumerate(missing[:20]):
        yield _added(node, name, COST + 0.03 * rank, scope)
    if 1 < len(missing) <= 20 and known is None:
        yield _added(node, "', '".join(n for n in missing if not n.startswith("__")), COST, scope)
    for index, element in enumerate(node.elts):
        if not isinstance(element, ast.Constant) or not isinstance(element.value, str):
            continue
        # A listed name that does not exist is certainly wrong.
        gone = known is not None and element.value not in known
        for name in close_names(element.value, missing, 3):
            yield scope.replace(COST - 0.3 if gone else COST + 0.2, element, repr(name))
        yield _drop(node, index, COST - 0.1 if gone else COST + 0.6, scope)


def _added(
    node: ast.List | ast.Tuple, name: str, cost: float, scope: CodeScope
) -> Optional[ProposedEdits]:
    if not name:
        return None
    if not node.elts:
        start, end = scope.source.span(node)
        text = f"['{name}']" if isinstance(node, ast.List) else f"('{name}',)"
        return ProposedEdits(cost, (TextEdit(start, end, text),))
    last = node.elts[-1]
    at = scope.source.span(last)[1]
    before = scope.source.data[scope.source.offset(last.lineno, 0) : scope.source.span(last)[0]]
    gap = " " if before.strip() else scope.source.newline + before.decode("utf-8")
    quote = '"' if scope.text(last).startswith('"') else "'"
    start, end = scope.source.span(node)
    if len(node.elts) == 1 and isinstance(node, ast.Tuple) and gap == " ":
        shown = scope.text(last)
        return ProposedEdits(
            cost,
            (TextEdit(start, end, f"({shown}, {quote}{name.replace(chr(39), quote)}{quote})"),),
        )
    return ProposedEdits(
        cost, (TextEdit(at, at, f",{gap}{quote}{name.replace(chr(39), quote)}{quote}"),)
    )


def _drop(
    node: ast.List | ast.Tuple, index: int, cost: float, scope: CodeScope
) -> Optional[ProposedEdits]:
    span = scope.source.span
    if index:
        return ProposedEdits(
            cost, (TextEdit(span(node.elts[index - 1])[1], span(node.elts[index])[1], ""),)
        )
    if len(node.elts) < 2:
        return scope.replace(cost, node, "()" if isinstance(node, ast.Tuple) else "[]")
    return ProposedEdits(cost, (TextEdit(span(node.elts[0])[0], span(node.elts[1])[0], ""),))


def _attributes_set(owner: ast.ClassDef) -> List[str]:
    """Return annotated fields and the attributes that methods assign on `self`."""
    inside = [n for s in owner.body for n in ast.walk(s)]
    stored = [n for n in inside if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    names = [n.attr for n in stored if isinstance(n.value, ast.Name) and n.value.id == "self"]
    annotated = [
        s.target.id
        for s in owner.body
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    ]
    return list(dict.fromkeys([*annotated, *names]))
