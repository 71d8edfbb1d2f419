"""A missing or superfluous `self.`: a local name for an attribute, a function for a method."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.6
CHANGES = (
    (
        "class A:\n    def f(self, x):\n        self.x = 1\n        return x\n",
        "class A:\n    def f(self, x):\n        self.x = 1\n        return self.x\n",
    ),
    (
        "class A:\n    def f(self, x):\n        self.x = 1\n        return self.x\n",
        "class A:\n    def f(self, x):\n        self.x = 1\n        return x\n",
    ),
    (
        (
            "class A:\n    def f(self):\n        return g(1)\n\n    def g(self, a):\n"
            "        return a\n"
        ),
        (
            "class A:\n    def f(self):\n        return self.g(1)\n\n    def g(self, a):\n"
            "        return a\n"
        ),
    ),
    (
        "class A:\n    n = 1\n\n    def f(self):\n        return A.n\n",
        "class A:\n    n = 1\n\n    def f(self):\n        return self.n\n",
    ),
    (
        "class A:\n    def f(self, n):\n        m = n\n",
        "class A:\n    def f(self, n):\n        self.n = n\n        m = n\n",
    ),
    (
        "class A:\n    def __init__(self, n, m):\n        self.n = n\n        g(self)\n",
        (
            "class A:\n    def __init__(self, n, m):\n        self.n = n\n        self.m = m\n"
            "        g(self)\n"
        ),
    ),
    (
        "class A(B):\n    def __init__(self, n):\n        self.n = n\n",
        "class A(B):\n    def __init__(self, n):\n        super().__init__()\n        self.n = n\n",
    ),
    (
        "class A:\n    def f(self, b):\n        return b.g(1)\n",
        "class A:\n    def f(self, b):\n        return b.g(self, 1)\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange local names and attributes of `self`; store parameters; call the base method."""
    if not scope.is_function or not scope.surroundings.self_name:
        return
    own = scope.surroundings.self_name
    if isinstance(node, ast.Name) and node.id != own:
        yield from _name(node, own, scope)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield from _attribute(node, node.value.id, own, scope)
    elif isinstance(node, ast.Call):
        yield from _call(node, own, scope)
    elif isinstance(node, ast.stmt) and scope.is_inside(node) and scope.parent(node) is scope.root:
        yield from _store_parameters(node, own, scope)


def _store_parameters(
    node: ast.stmt, own: str, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    """Store a parameter on the object, or call the method of the base class."""
    block, index = scope.block(node)
    first = index == int(_is_text(block[0])) and not _is_text(node)
    keeps = isinstance(node, ast.Assign) and scope.text(node.targets[0]).startswith(f"{own}.")
    following = block[index + 1] if index + 1 < len(block) else None
    ends = keeps and not (
        isinstance(following, ast.Assign) and scope.text(following.targets[0]).startswith(f"{own}.")
    )
    used = {
        n.value.id
        for n in scope.nodes
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Name)
    }
    for name in scope.parameters[1:]:
        extra = 0.7 if ends and name not in used else 0.9
        # The private spelling counts only if the class already uses it.
        for kept in (name, f"_{name}"):
            if kept == name or kept in scope.surroundings.members:
                yield scope.before(COST + 0.9, node, f"{own}.{kept} = {name}") if first else None
                yield scope.after(COST + extra, node, f"{own}.{kept} = {name}") if ends else None
    if scope.surroundings.owner is not None and scope.surroundings.owner.bases:
        method, given = getattr(scope.root, "name", ""), scope.parameters[1:]
        for arguments in dict.fromkeys(("", ", ".join(given), *given[:2])):
            yield (
                scope.before(COST + 1.0, node, f"super().{method}({arguments})") if first else None
            )
            last = index == len(block) - 1 and not isinstance(node, (ast.Return, ast.Raise))
            yield scope.after(COST + 1.2, node, f"super().{method}({arguments})") if last else None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.Name, own: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    members = scope.surroundings.members
    start, end = scope.source.span(node)
    for name in (node.id, f"_{node.id}", node.id.lstrip("_")):
        if name in members:
            yield ProposedEdits(COST, (TextEdit(start, end, f"{own}.{name}"),))
    if isinstance(node.ctx, ast.Load) and scope.is_value(node):
        yield scope.replace(COST + 1.2, node, own)


def _attribute(
    node: ast.Attribute, owner: str, own: str, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    start, end = scope.source.span(node)
    if owner == own and node.attr in scope.names_at(node):
        yield ProposedEdits(COST, (TextEdit(start, end, node.attr),))
    if owner == own:
        base = scope.source.span(node.value)
        yield ProposedEdits(COST + 0.9, (TextEdit(*base, f"type({own})"),))
        yield ProposedEdits(COST + 0.9, (TextEdit(*base, "super()"),))
    elif node.attr in scope.surroundings.members:
        yield ProposedEdits(COST, (TextEdit(start, end, f"{own}.{node.attr}"),))


def _call(node: ast.Call, own: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Name) and first.id == own:
        return
    if isinstance(node.func, (ast.Name, ast.Attribute)) and not isinstance(first, ast.GeneratorExp):
        at = scope.source.span(first)[0] if first is not None else scope.source.span(node)[1] - 1
        if first is not None or not node.keywords:
            yield ProposedEdits(
                COST + 0.6, (TextEdit(at, at, f"{own}, " if first is not None else own),)
            )
