"""A wrong constant: off by one, another literal of the file or the test, several at once."""

from __future__ import annotations

import ast
import itertools
from typing import Any, Dict, Iterator, List, Optional, Tuple

from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.0
APART, TOGETHER = 0.6, 0.1
"""Additional cost of changing one of several equal literals of a statement, and of changing all.

Equal literals usually mean the same.
"""
CHANGES = (
    ("def f(n):\n    return n % 2 == 1\n", "def f(n):\n    return n % 2 == 0\n"),
    ("def f(n):\n    return n * 10\n", "def f(n):\n    return n * 11\n"),
    ("def f():\n    return True\n", "def f():\n    return False\n"),
    ("def f(s):\n    return s + 'Ab'\n", "def f(s):\n    return s + 'ab'\n"),
    ("def f(s):\n    return s in 'aeiouy'\n", "def f(s):\n    return s in 'aeiou'\n"),
    ("def f():\n    return None\n", "def f():\n    return []\n"),
    ("def f(a):\n    return a[2] + 2\n", "def f(a):\n    return a[3] + 3\n"),
    ("def f(a):\n    return a[2:7]\n", "def f(a):\n    return a[7:2]\n"),
    ("def f():\n    return []\n", "def f():\n    return [[]]\n"),
    ("def f(n):\n    return 9 if n > 9 else n\n", "def f(n):\n    return 8 if n > 8 else n\n"),
)
UNTOUCHED = ('def f(a):\n    """Says 1."""\n    return a\n',)


KIN_TEXTS = (
    ("(", "[", "{", "<"), (")", "]", "}", ">"), ("(", ")"), ("[", "]"), ("{", "}"), ("'", '"', "`"),
    ("/", "\\"), (",", ";", ", ", ": ", ":"), (".", ",", "-", "_", " "),
    ("\n", "\r\n", "\t", " ", ""), ("-", "+"), ("*", "/"),
    ("utf-8", "ascii", "latin-1", "utf-8-sig"), ("True", "true"), ("False", "false"), ("0", "1"),
)  # fmt: skip
"""Groups of texts that are confused with one another."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change one constant; at the function itself, change all equal constants or swap two."""
    if node is scope.root:
        yield from _several(scope)
    if isinstance(node, ast.Constant) and scope.is_value(node):
        apart = APART if _means_something(node.value) and len(_twins(node, scope)) > 1 else 0.0
        for rank, value in enumerate(_others(node.value, scope)):
            yield scope.replace(COST + apart + 0.1 * rank, node, repr(value))
        if node.value is None:
            yield scope.replace(COST + 1.5, node, "[]")
            yield scope.replace(COST + 1.5, node, "{}")
    if isinstance(node, ast.List) and scope.is_value(node) and not node.elts:
        yield scope.replace(COST + 1.0, node, "[[]]")
        yield scope.replace(COST + 1.5, node, "None")
        for name in scope.parameters:
            yield scope.replace(COST + 1.2, node, f"[{name}]")


def _others(value: Any, scope: CodeScope) -> List[Any]:
    others: List[Any] = []
    if isinstance(value, bool):
        others = [not value]
    elif isinstance(value, int):
        others = [
            value + 1,
            value - 1,
            0,
            1,
            -1,
            2,
            *[n for n in scope.numbers if isinstance(n, int)][:8],
            -value,
        ]
        # Values from the failing test come last, since they invite overfitting.
        others += [value * 2, *[n for n in scope.literals.numbers if isinstance(n, int)][:8]]
    elif isinstance(value, float):
        others = [
            value + 1,
            value - 1,
            0.0,
            1.0,
            2.0,
            value * 2,
            value / 2,
            -value,
            1 / value if value else 1.0,
        ]
        others += list(scope.literals.numbers[:6])
    elif isinstance(value, str):
        others = _other_strings(value, scope)
    elif value is None:
        others = [0, "", False]
    kept = dict.fromkeys((type(other), other) for other in others)
    return [other for kind, other in kept if (kind, other) != (type(value), value)]


def _other_strings(value: str, scope: CodeScope) -> List[str]:
    others = [s for s in scope.strings if s != value][:25]
    others += [
        "",
        " ",
        "_",
        "0",
        value.lower(),
        value.upper(),
        value.capitalize(),
        value.strip(),
        value + " ",
    ]
    others += [
        " " + value,
        value * 2,
        value.swapcase(),
        value + value.upper(),
        value[:-1],
        value[1:],
    ]
    others += [kin for group in KIN_TEXTS if value in group for kin in group]
    if len(value) == 2:
        others.append(value[::-1])
    if 2 < len(value) <= 12:
        others += [value[:k] + value[k + 1 :] for k in range(len(value))]
    if len(value) == 1:
        others += sorted(
            {
                letter
                for text in scope.literals.strings[:10]
                for letter in text
                if not letter.isalnum()
            }
        )[:8]
    return [*others, *scope.literals.strings[:10]] if len(value) <= 200 else []


def _several(scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    constants = [n for n in scope.nodes if isinstance(n, ast.Constant) and scope.is_value(n)]
    constants = [n for n in constants if type(n.value) in (int, float, str)][:40]
    yield from _all_equal(constants, scope)
    for one, two in itertools.combinations(constants, 2):
        if one.value != two.value and type(one.value) is type(two.value):
            yield scope.swap(COST + 1.6, one, two)
    words = [(n, n.value) for n in constants if isinstance(n.value, str)]
    if len(words) > 1:
        for change in (str.capitalize, str.upper, str.lower, str.title):
            yield ProposedEdits(
                COST + 2.0,
                tuple(scope.source.replacement(n, repr(change(word))) for n, word in words),
            )


def _means_something(value: Any) -> bool:
    """Return True if two equal values in a statement are unlikely to be a coincidence."""
    return (type(value) in (int, float) and abs(value) > 2) or (
        type(value) is str and len(value) > 1
    )


def _twins(node: ast.Constant, scope: CodeScope) -> List[ast.Constant]:
    """Return all literals of the statement that equal this one, including itself."""
    statement: ast.AST = node
    while not isinstance(statement, ast.stmt):
        statement = scope.parent(statement)
    head = [statement] if not hasattr(statement, "body") else list(ast.iter_child_nodes(statement))
    inside = [
        n
        for part in head
        if part is statement or not isinstance(part, ast.stmt)
        for n in ast.walk(part)
    ]
    return [
        n
        for n in inside
        if isinstance(n, ast.Constant)
        and (type(n.value), n.value) == (type(node.value), node.value)
    ]


def _all_equal(
    constants: List[ast.Constant], scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    same: Dict[Tuple[type, Any], List[ast.Constant]] = {}
    for node in constants:
        same.setdefault((type(node.value), node.value), []).append(node)
    for (kind, value), nodes in same.items():
        if len(nodes) < 2:
            continue
        if kind is str:
            others: List[Any] = [
                value.lower(),
                value.upper(),
                value.capitalize(),
                value.strip(),
                "",
                " ",
            ]
            others += [s for s in scope.strings if s != value][:10]
        else:
            others = [value + 1, value - 1, -value]
        extra = (
            TOGETHER
            if _means_something(value) and len(_twins(nodes[0], scope)) == len(nodes)
            else 1.6
        )
        for rank, other in enumerate(others):
            if other != value:
                yield ProposedEdits(
                    COST + extra + (0.1 * rank if extra == TOGETHER else 0.0),
                    tuple(scope.source.replacement(n, repr(other)) for n in nodes),
                )
