"""The wrong function or attribute: `any` for `all`, `append` for `extend`, a sibling attribute."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.2
CHANGES = (
    ("def f(a):\n    return any(a)\n", "def f(a):\n    return all(a)\n"),
    ("def f(a, b):\n    a.append(b)\n", "def f(a, b):\n    a.extend(b)\n"),
    ("def f(a):\n    return a.left + a.right\n", "def f(a):\n    return a.right + a.right\n"),
    (
        "def g(a):\n    return a\n\n\ndef f(a):\n    return f(a)\n",
        "def g(a):\n    return a\n\n\ndef f(a):\n    return g(a)\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

FAMILIES = (
    ("any", "all"),
    ("min", "max"),
    ("floor", "ceil", "round", "trunc", "int"),
    ("lower", "upper", "swapcase", "title", "capitalize", "casefold"),
    ("islower", "isupper", "isalpha", "isdigit", "isalnum", "isdecimal", "isnumeric", "isspace"),
    ("startswith", "endswith"),
    ("append", "extend", "add", "update", "insert", "appendleft"),
    ("strip", "lstrip", "rstrip"),
    ("find", "rfind", "index", "rindex"),
    ("split", "rsplit", "splitlines"),
    ("partition", "rpartition"),
    ("keys", "values", "items"),
    ("sum", "max", "min", "len", "abs"),
    ("sorted", "reversed", "list", "set", "tuple"),
    ("pop", "popleft", "discard"),
    ("union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset"),
    ("heappush", "heappop", "heapify"),
    ("match", "search", "fullmatch"),
    ("isfile", "exists", "isdir"),
    ("int", "float", "str"),
    ("ljust", "rjust", "center"),
    ("bytes", "bytearray"),
    ("type", "isinstance"),
    ("get", "setdefault"),
    ("sin", "cos", "tan"),
)


def family(name: str) -> List[str]:
    """Return names that are easily confused with this one."""
    return list(
        dict.fromkeys(
            other for group in FAMILIES if name in group for other in group if other != name
        )
    )


def _siblings(node: ast.Attribute, scope: CodeScope) -> List[str]:
    """Return attributes of the same owner, then those of other objects, most similar first."""
    owner = getattr(node.value, "attr", getattr(node.value, "id", ""))
    near = set(scope.surroundings.attributes_read(owner)[0])
    if owner and owner == scope.surroundings.self_name:
        near |= set(scope.surroundings.members)

    def order(name: str) -> Tuple[bool, float, str]:
        return (name not in near, -SequenceMatcher(None, name, node.attr).ratio(), name)

    return sorted({*near, *scope.attributes[:60]}, key=order)[:30]


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Use another name of the same family, function of the file, or attribute used in the file."""
    if isinstance(node, ast.Attribute):
        end = scope.source.span(node)[1]
        start = end - len(node.attr.encode())
        kin = family(node.attr)
        for name in kin:
            yield ProposedEdits(COST, (TextEdit(start, end, name),))
        for rank, name in enumerate(_siblings(node, scope)):
            if name != node.attr and name not in kin:
                yield ProposedEdits(
                    COST + 0.3 + min(0.6, 0.04 * rank), (TextEdit(start, end, name),)
                )
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        place = scope.place(node)
        if isinstance(place.parent, ast.Call) and place.field == "func":
            start, end = scope.source.span(node)
            for name in dict.fromkeys([*family(node.id), *scope.helpers]):
                if name != node.id:
                    yield ProposedEdits(COST, (TextEdit(start, end, name),))
