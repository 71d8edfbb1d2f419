"""A wrong class attribute: missing, misspelt, shared between instances, swapped with the next."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, List, Optional

from sandbox.guest.search.source.outer_scope import OuterScope, top_of_body
from sandbox.guest.search.source.scope import CodeScope, FunctionNode, ProposedEdits
from sandbox.guest.search.source.texts import close_names

COST = 1.5
CHEAPEST = COST - 0.6
CHANGES = (
    (
        "class A:\n    items = []\n\n    def __init__(self):\n        self.n = 0\n",
        (
            "class A:\n    items = []\n\n    def __init__(self):\n        self.items = []\n"
            "        self.n = 0\n"
        ),
    ),
    (
        "class A:\n    items = []\n    n = 1\n",
        "class A:\n    items = []\n    n = 1\n\n    def __init__(self):\n        self.items = []\n",
    ),
    ("class A:\n    low = 1\n    high = 2\n", "class A:\n    low = 2\n    high = 1\n"),
    (
        "class A:\n    size = 1\n    kind = 'a'\n\n\nclass B:\n    size = 2\n",
        "class A:\n    size = 1\n    kind = 'a'\n\n\nclass B:\n    size = 2\n    kind = 'a'\n",
    ),
    (
        "class A:\n    size = 1\n\n\nclass B:\n    size = 2\n",
        "class A:\n    size = 1\n\n\nclass B:\n    size = 1\n",
    ),
    (
        "class A:\n    lenght = 1\n\n    def f(self):\n        return self.length\n",
        "class A:\n    length = 1\n\n    def f(self):\n        return self.length\n",
    ),
    ("class A:\n    x = 1\n    __hash__ = None\n", "class A:\n    x = 1\n"),
    (
        "class A:\n    def __add__(self, o):\n        return 1\n",
        "class A:\n    def __add__(self, o):\n        return 1\n\n    __radd__ = __add__\n",
    ),
    (
        "class A:\n    def __eq__(self, o):\n        return True\n",
        (
            "class A:\n    def __eq__(self, o):\n        return True\n\n    def __hash__(self):\n"
            "        return id(self)\n"
        ),
    ),
)
ALIASES = (
    ("__radd__", "__add__"), ("__rmul__", "__mul__"), ("__rand__", "__and__"),
    ("__ror__", "__or__"), ("__rxor__", "__xor__"), ("__repr__", "__str__"),
    ("__str__", "__repr__"), ("__next__", "next"), ("__bool__", "__nonzero__"),
    ("__truediv__", "__div__"), ("__iadd__", "__add__"), ("__copy__", "copy"),
    ("__unicode__", "__str__"), ("__rsub__", "__sub__"), ("__index__", "__int__"),
    ("__len__", "__nonzero__"),
)  # fmt: skip
"""Methods that are often aliases of another one."""
METHODS = (
    ("__hash__", "__eq__", "return hash(tuple(sorted(vars(self).items())))"),
    ("__hash__", "__eq__", "return id(self)"),
    ("__ne__", "__eq__", "return not self == other"),
    ("__iter__", "__getitem__", "return (self[i] for i in range(len(self)))"),
    ("__eq__", "__init__", "return type(self) is type(other) and vars(self) == vars(other)"),
    ("__repr__", "__init__", "return f'{type(self).__name__}({vars(self)})'"),
)
"""Methods that are often forgotten next to another one."""
UNTOUCHED = ("x = 1\ny = 2\n", "def f(a):\n    return a.x\n")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change class attributes by what methods read and sibling classes define."""
    if not isinstance(scope, OuterScope):
        return
    if isinstance(node, ast.ClassDef):
        yield from _missing(node, scope)
        yield from _special_methods(node, scope)
    if not isinstance(node, ast.Assign) or not isinstance(
        scope.source.places[node].parent, ast.ClassDef
    ):
        return
    owner = scope.source.places[node].parent
    target = node.targets[0]
    if not isinstance(owner, ast.ClassDef) or not isinstance(target, ast.Name):
        return
    block, index = scope.block(node)
    following = block[index + 1] if index + 1 < len(block) else None
    if isinstance(following, ast.Assign):
        yield scope.swap(COST + 0.1, node.value, following.value)
    yield scope.delete(COST + 0.5, node)
    for sibling in _siblings(owner, scope):
        value = _attributes(sibling).get(target.id)
        if value is not None:
            yield scope.replace(COST, node.value, scope.text(value.value))
    for name in close_names(target.id, _read_but_absent(owner), 3):
        yield scope.replace(COST - 0.6, target, name)
    # A mutable class attribute is shared between all instances.
    if isinstance(node.value, (ast.List, ast.Dict, ast.Set, ast.Call)):
        yield _own_in_each_object(owner, target.id, scope.text(node.value), scope)


def _attributes(owner: ast.ClassDef) -> Dict[str, ast.Assign]:
    assigned = [s for s in owner.body if isinstance(s, ast.Assign)]
    return {s.targets[0].id: s for s in assigned if isinstance(s.targets[0], ast.Name)}


def _siblings(owner: ast.ClassDef, scope: OuterScope) -> List[ast.ClassDef]:
    """Return the classes of the file with a common base, or all if there are none."""
    others = [c for c in scope.classes() if c is not owner]
    mine = {ast.dump(base) for base in owner.bases}
    kin = [c for c in others if mine & {ast.dump(base) for base in c.bases}]
    return (kin or others)[:6]


def _missing(owner: ast.ClassDef, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    """Add attributes that siblings define, or that methods read without a definition."""
    have = {*_attributes(owner), *(getattr(s, "name", "") for s in owner.body)}
    for sibling in _siblings(owner, scope):
        for name, statement in _attributes(sibling).items():
            text = scope.dedented(statement)
            if name not in have and text:
                yield _insert_attribute(scope, COST + 0.6, text, owner)
    for name in _read_but_absent(owner)[:4]:
        for rank, value in enumerate(("None", "0", "()", "False", "''")):
            if not owner.bases:
                yield _insert_attribute(scope, COST + 0.8 + 0.1 * rank, f"{name} = {value}", owner)


def _special_methods(owner: ast.ClassDef, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    """Add aliases and companions of the special methods that exist."""
    have = {*_attributes(owner), *(getattr(s, "name", "") for s in owner.body)}
    functions = {s.name: s for s in owner.body if isinstance(s, FunctionNode)}
    for rank, (name, other) in enumerate(ALIASES):
        if other in functions and name not in have:
            yield scope.after(COST + 0.3 + 0.04 * rank, functions[other], f"\n{name} = {other}")
    for rank, (name, other, code) in enumerate(METHODS):
        if other in functions and name not in have:
            more = ", other" if "other" in code else ""
            text = f"\ndef {name}(self{more}):\n    {code}"
            yield scope.after(COST + 0.6 + 0.06 * rank, functions[other], text)


def _insert_attribute(
    scope: CodeScope, cost: float, text: str, owner: ast.ClassDef
) -> Optional[ProposedEdits]:
    assigned = [s for s in owner.body if isinstance(s, (ast.Assign, ast.AnnAssign))]
    if assigned:
        return scope.after(cost, assigned[-1], text)
    return top_of_body(scope, cost, owner, text)


def _read_but_absent(owner: ast.ClassDef) -> List[str]:
    """Return attributes of `self` that methods read and nothing in the class binds."""
    inside = [n for s in owner.body for n in ast.walk(s)]
    of_self = [n for n in inside if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    of_self = [
        n
        for n in of_self
        if isinstance(n.value, ast.Name) and n.value.id in ("self", "cls", owner.name)
    ]
    bound = {n.attr for n in of_self if not isinstance(n.ctx, ast.Load)}
    bound |= {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.name for n in inside if isinstance(n, (*FunctionNode, ast.ClassDef))}
    return list(
        dict.fromkeys(
            n.attr for n in of_self if n.attr not in bound and not n.attr.startswith("__")
        )
    )


def _own_in_each_object(
    owner: ast.ClassDef, name: str, value: str, scope: CodeScope
) -> Optional[ProposedEdits]:
    if "\n" in value:
        return None
    makers = [
        s
        for s in owner.body
        if isinstance(s, ast.FunctionDef) and s.name == "__init__" and s.args.args
    ]
    if makers:
        return top_of_body(
            scope, COST - 0.3, makers[0], f"{makers[0].args.args[0].arg}.{name} = {value}"
        )
    if owner.bases:
        return None
    last = owner.body[-1]
    lines = scope.source.whole_lines(last)
    method = f"\ndef __init__(self):\n    self.{name} = {value}"
    return scope.after(COST - 0.1, last, method) if lines else None
