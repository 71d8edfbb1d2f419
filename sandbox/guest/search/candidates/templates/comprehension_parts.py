"""A wrong part of a comprehension: a missing filter, the element, or the kind of collection."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional

from sandbox.guest.search.source.render import NOT, OR, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.2
CHANGES = (
    ("def f(a):\n    return [x for x in a]\n", "def f(a):\n    return [x for x in a if x]\n"),
    (
        "def f(a):\n    return [x for x in a]\n",
        "def f(a):\n    return [x for x in a if x is not None]\n",
    ),
    (
        "def f(a, b):\n    return [x for x in a]\n",
        "def f(a, b):\n    return [x for x in a if x not in b]\n",
    ),
    (
        "def f(d):\n    return {k: v for k, v in d}\n",
        "def f(d):\n    return {v: k for k, v in d}\n",
    ),
    ("def f(a):\n    return [g(x) for x in a]\n", "def f(a):\n    return [x for x in a]\n"),
    ("def f(a):\n    return [x for x in a]\n", "def f(a):\n    return {x for x in a}\n"),
    (
        "def f(a):\n    return [x for x in a if x > 1]\n",
        "def f(a):\n    return [x for x in a if x > 1 and x]\n",
    ),
    (
        "def f(a):\n    return [y for x in a for y in x]\n",
        "def f(a):\n    return [y for y in x for x in a]\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Add a filter, change the element or the collection, swap key and value or the loops."""
    if isinstance(node, ast.comprehension):
        yield from _filters(node, scope)
    if isinstance(node, ast.DictComp):
        yield scope.swap(COST - 0.4, node.key, node.value)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        yield from _element(node, scope)
        if len(node.generators) == 2:
            one, two = node.generators
            spans = [(scope.source.span(g.target)[0], _end(g, scope)) for g in (one, two)]
            texts = [scope.source.data[slice(*span)].decode("utf-8") for span in spans]
            yield ProposedEdits(
                COST, (TextEdit(*spans[0], texts[1]), TextEdit(*spans[1], texts[0]))
            )
    if isinstance(node, (ast.ListComp, ast.SetComp)):
        start, end = scope.source.span(node)
        # List and set comprehensions differ only in their brackets.
        opening, closing = "{}" if isinstance(node, ast.ListComp) else "[]"
        yield ProposedEdits(
            COST + 0.2, (TextEdit(start, start + 1, opening), TextEdit(end - 1, end, closing))
        )


def _end(node: ast.comprehension, scope: CodeScope) -> int:
    return scope.source.span(node.ifs[-1] if node.ifs else node.iter)[1]


def _filters(node: ast.comprehension, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    at = _end(node, scope)
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    for text in _conditions(names, scope):
        if node.ifs:
            yield scope.replace(
                COST + 0.3, node.ifs[-1], f"{scope.part(node.ifs[-1], NOT)} and {text}"
            )
        else:
            yield ProposedEdits(COST, (TextEdit(at, at, f" if {text}"),))
    here = [n for n in scope.names_at(node.iter) if n not in names][:8]
    for name in names:
        for other in here:
            for form in ("{} != {}", "{} not in {}", "{} in {}", "{} < {}", "{} > {}", "{} == {}"):
                text = form.format(name, other)
                if node.ifs:
                    yield scope.replace(
                        COST + 0.9, node.ifs[-1], f"{scope.part(node.ifs[-1], NOT)} and {text}"
                    )
                else:
                    yield ProposedEdits(COST + 0.6, (TextEdit(at, at, f" if {text}"),))


def _conditions(names: List[str], scope: CodeScope) -> List[str]:
    found: List[str] = []
    for name in names:
        found += [
            name,
            f"{name} is not None",
            f"not {name}",
            f"{name} > 0",
            f"{name} != 0",
            f"{name} % 2 == 0",
        ]
        found += [
            f"{name} % 2 == 1",
            f"{name} != ''",
            f"{name}.strip()",
            f"isinstance({name}, int)",
        ]
        found += [
            f"isinstance({name}, str)",
            f"{name}.isdigit()",
            f"{name} >= 0",
            f"len({name}) > 0",
        ]
    texts = [scope.part(c, OR) for c in scope.donors.conditions]
    return [*found, *(text for text in texts if "\n" not in text)]


def _element(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    names = [n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
    own = scope.text(node.elt)
    for name in names:
        if name != own:
            yield scope.replace(COST - 0.2, node.elt, name)
    if len(names) > 1:
        yield scope.replace(COST, node.elt, f"({', '.join(names)})")
        yield scope.replace(COST + 0.2, node.elt, f"({', '.join(reversed(names))})")
    for name in names[:2]:
        for form in ("str({})", "int({})", "{}.strip()", "{}[0]", "{}[1]", "{}.lower()"):
            yield scope.replace(COST + 0.6, node.elt, form.format(name))


CHEAPEST = COST - 0.4
