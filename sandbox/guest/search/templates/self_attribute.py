"""A missing or needless `self.`: a local name for an attribute, a function for a method, the class for its instance."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.render import Edit
from sandbox.guest.search.scope import Proposal, Scope

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
        "class A:\n    def f(self):\n        return g(1)\n\n    def g(self, a):\n        return a\n",
        "class A:\n    def f(self):\n        return self.g(1)\n\n    def g(self, a):\n        return a\n",
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
        "class A:\n    def f(self, b):\n        return b.g(1)\n",
        "class A:\n    def f(self, b):\n        return b.g(self, 1)\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: Scope) -> Iterator[Optional[Proposal]]:
    """Look on the object instead of in the function, and the other way round."""
    if not scope.is_function or not scope.surroundings.self_name:
        return
    own = scope.surroundings.self_name
    if isinstance(node, ast.Name) and node.id != own:
        yield from _name(node, own, scope)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield from _attribute(node, node.value.id, own, scope)
    elif isinstance(node, ast.Call):
        yield from _call(node, own, scope)
    elif isinstance(node, ast.stmt) and scope.is_inside(node):
        _, index = scope.block(node)
        if scope.parent(node) is scope.root and index == 0:
            for name in scope.parameters[1:]:
                yield scope.before(COST + 0.9, node, f"{own}.{name} = {name}")


def _name(node: ast.Name, own: str, scope: Scope) -> Iterator[Optional[Proposal]]:
    members = scope.surroundings.members
    start, end = scope.source.span(node)
    for name in (node.id, f"_{node.id}", node.id.lstrip("_")):
        if name in members:
            yield Proposal(COST, (Edit(start, end, f"{own}.{name}"),))
    if isinstance(node.ctx, ast.Load) and scope.is_value(node):
        yield scope.replace(COST + 1.2, node, own)


def _attribute(node: ast.Attribute, owner: str, own: str, scope: Scope) -> Iterator[Optional[Proposal]]:
    start, end = scope.source.span(node)
    if owner == own and node.attr in scope.names_at(node):
        yield Proposal(COST, (Edit(start, end, node.attr),))
    if owner == own:
        base = scope.source.span(node.value)
        yield Proposal(COST + 0.9, (Edit(*base, f"type({own})"),))
        yield Proposal(COST + 0.9, (Edit(*base, "super()"),))
    elif node.attr in scope.surroundings.members:
        yield Proposal(COST, (Edit(start, end, f"{own}.{node.attr}"),))


def _call(node: ast.Call, own: str, scope: Scope) -> Iterator[Optional[Proposal]]:
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Name) and first.id == own:
        return
    if isinstance(node.func, (ast.Name, ast.Attribute)) and not isinstance(first, ast.GeneratorExp):
        at = scope.source.span(first)[0] if first is not None else scope.source.span(node)[1] - 1
        if first is not None or not node.keywords:
            yield Proposal(COST + 0.6, (Edit(at, at, f"{own}, " if first is not None else own),))
