"""A missing, superfluous, misplaced or wrong decorator."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit, first_line
from sandbox.guest.search.source.scope import CodeScope, FunctionNode, ProposedEdits

COST = 1.6
CHEAPEST = COST - 0.4
CHANGES = (
    (
        "class A:\n    def f(self):\n        return 1\n",
        "class A:\n    @property\n    def f(self):\n        return 1\n",
    ),
    (
        "class A:\n    def f(x):\n        return x\n",
        "class A:\n    @staticmethod\n    def f(x):\n        return x\n",
    ),
    (
        "class A:\n    def f(cls):\n        return cls\n",
        "class A:\n    @classmethod\n    def f(cls):\n        return cls\n",
    ),
    (
        "@cache\n@other\ndef f(a):\n    return a\n",
        "@other\n@cache\ndef f(a):\n    return a\n",
    ),
    ("@cache\ndef f(a):\n    return a\n", "def f(a):\n    return a\n"),
    (
        "@cache\ndef f(a):\n    return a\n\n\ndef g(a):\n    return a\n",
        "@cache\ndef f(a):\n    return a\n\n\n@cache\ndef g(a):\n    return a\n",
    ),
    (
        "class A:\n    @staticmethod\n    def f(cls):\n        return cls\n",
        "class A:\n    @classmethod\n    def f(cls):\n        return cls\n",
    ),
    (
        (
            "import functools\n\n\ndef d(f):\n    def inner(*a):\n        return f(*a)\n"
            "    return inner\n"
        ),
        (
            "import functools\n\n\ndef d(f):\n    @functools.wraps(f)\n    def inner(*a):\n"
            "        return f(*a)\n    return inner\n"
        ),
    ),
    (
        "def d(f):\n    def inner(*a):\n        return f(*a)\n    return inner\n",
        (
            "import functools\ndef d(f):\n    @functools.wraps(f)\n    def inner(*a):\n"
            "        return f(*a)\n    return inner\n"
        ),
    ),
    (
        (
            "class A:\n    @property\n    def x(self):\n        return 1\n\n    @y.setter\n"
            "    def x(self, v):\n        pass\n"
        ),
        (
            "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n"
            "    def x(self, v):\n        pass\n"
        ),
    ),
    (
        "def f():\n    yield 1\n",
        "from contextlib import contextmanager\n@contextmanager\ndef f():\n    yield 1\n",
    ),
)
UNTOUCHED = ("x = 1\n", "def f(a):\n    return a\n")

OF_METHODS = ("property", "staticmethod", "classmethod")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Drop, swap, replace and add decorators."""
    if not isinstance(scope, OuterScope) or not isinstance(node, (*FunctionNode, ast.ClassDef)):
        return
    present = [scope.text(d) for d in node.decorator_list]
    for index, decorator in enumerate(node.decorator_list):
        yield _drop(decorator, scope)
        if index:
            yield scope.swap(COST, node.decorator_list[index - 1], decorator)
        yield from _replace(decorator, node, scope)
    for rank, text in enumerate(t for t in _fitting(node, scope) if t not in present):
        yield _added(COST + 0.3 + 0.1 * rank, node, text, scope)
    if isinstance(node, FunctionNode):
        yield from _wraps(node, scope)
        yield from _context_manager(node, scope)


def _drop(decorator: ast.expr, scope: CodeScope) -> Optional[ProposedEdits]:
    start, end = scope.source.line_span(decorator.lineno, decorator.end_lineno or decorator.lineno)
    return ProposedEdits(COST + 0.2, (TextEdit(start, end, ""),))


def _replace(
    decorator: ast.expr, node: ast.AST, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    text = scope.text(decorator)
    if text in OF_METHODS:
        yield from (
            scope.replace(COST + 0.2, decorator, other) for other in OF_METHODS if other != text
        )
    if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "getter", "deleter"):
        name = getattr(node, "name", "")
        yield scope.replace(COST - 0.4, decorator.value, name)
        for other in ("setter", "getter", "deleter"):
            yield scope.replace(COST, decorator, f"{scope.text(decorator.value)}.{other}")
    if isinstance(decorator, ast.Call) and not decorator.args and not decorator.keywords:
        yield scope.replace(COST + 0.3, decorator, scope.text(decorator.func))
    if isinstance(decorator, (ast.Name, ast.Attribute)) and text not in OF_METHODS:
        yield scope.replace(COST + 0.3, decorator, f"{text}()")


def _fitting(node: ast.AST, scope: OuterScope) -> List[str]:
    """Return decorators of siblings and, for methods, those that match the first parameter."""
    place = scope.source.places[node]
    block: List[ast.stmt] = getattr(place.parent, place.field)
    alike = [s for s in block if isinstance(s, type(node)) and s is not node]
    texts = [
        scope.text(d) for s in alike for d in getattr(s, "decorator_list", ()) if not _is_setter(d)
    ]
    if not isinstance(place.parent, ast.ClassDef) or not isinstance(node, FunctionNode):
        return list(dict.fromkeys(texts))[:6]
    names = [a.arg for a in node.args.args]
    own = list(OF_METHODS)
    if not names or names[0] not in ("self", "cls"):
        own = ["staticmethod", "classmethod"]
    elif names[0] == "cls":
        own = ["classmethod"]
    elif len(names) > 1:
        own = ["staticmethod", "classmethod"]
    return list(dict.fromkeys([*own, *texts]))[:8]


def _is_setter(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr in (
        "setter",
        "getter",
        "deleter",
    )


def _added(cost: float, node: ast.stmt, text: str, scope: CodeScope) -> Optional[ProposedEdits]:
    indent = scope.source.indent(node)
    if indent is None or "\n" in text:
        return None
    at = scope.source.line_span(first_line(node), first_line(node))[0]
    return ProposedEdits(cost, (TextEdit(at, at, f"{indent}@{text}{scope.source.newline}"),))


def _wraps(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: OuterScope
) -> Iterator[Optional[ProposedEdits]]:
    """Add `functools.wraps` to a wrapper function that is returned by a decorator."""
    parameters = [a.arg for a in node.args.args if a.arg not in ("self", "cls")]
    returned = {
        s.value.id for s in node.body if isinstance(s, ast.Return) and isinstance(s.value, ast.Name)
    }
    for inner in node.body:
        if not isinstance(inner, FunctionNode) or inner.name not in returned or not parameters:
            continue
        if any("wraps" in scope.text(d) for d in inner.decorator_list):
            continue
        short = "wraps" in scope.bound
        word = "wraps" if short else "functools.wraps"
        proposal = _added(COST, inner, f"{word}({parameters[0]})", scope)
        if proposal:
            known = short or "functools" in scope.bound
            edits = (
                proposal.edits if known else scope.importing("import functools", *proposal.edits)
            )
            yield ProposedEdits(proposal.cost, edits)


def _context_manager(
    node: ast.FunctionDef | ast.AsyncFunctionDef, scope: OuterScope
) -> Iterator[Optional[ProposedEdits]]:
    yields = [n for n in ast.walk(node) if isinstance(n, ast.Yield)]
    if len(yields) != 1 or node.decorator_list:
        return
    word = "contextmanager" if isinstance(node, ast.FunctionDef) else "asynccontextmanager"
    module = "contextlib" in scope.bound and word not in scope.bound
    # A generator with a single `yield` is often meant as a context manager.
    proposal = _added(COST + 0.6, node, f"contextlib.{word}" if module else word, scope)
    if proposal:
        known = module or word in scope.bound
        line = f"from contextlib import {word}"
        yield ProposedEdits(
            proposal.cost, proposal.edits if known else scope.importing(line, *proposal.edits)
        )
