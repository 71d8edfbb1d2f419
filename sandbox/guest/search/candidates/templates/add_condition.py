"""A missing condition: `if a` for `if a and b`."""

from __future__ import annotations

import ast
import itertools
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.templates.change_literal import KIN_TEXTS
from sandbox.guest.search.source.donors import size
from sandbox.guest.search.source.render import AND, COMPARE, NOT, OR, parenthesize
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 2.5
CHANGES = (
    (
        "def f(a, b):\n    if a:\n        return 1\n",
        "def f(a, b):\n    if a and b:\n        return 1\n",
    ),
    (
        "def f(a, b):\n    while a or b:\n        pass\n",
        "def f(a, b):\n    while (a or b) and b is not None:\n        pass\n",
    ),
    (
        "def f(a, b):\n    if a.next:\n        return 1\n",
        "def f(a, b):\n    if a is None or a.next:\n        return 1\n",
    ),
    (
        "def f(a, b):\n    if a or not b:\n        return 1\n",
        "def f(a, b):\n    if a or (a and not b):\n        return 1\n",
    ),
    (
        (
            "class A:\n    def f(self, a):\n        if a > 1:\n            self.b = 1\n\n"
            "    def g(self):\n        return self.c\n"
        ),
        (
            "class A:\n    def f(self, a):\n        if a > 1 and not self.c:\n"
            "            self.b = 1\n\n    def g(self):\n        return self.c\n"
        ),
    ),
    (
        "def f(a):\n    if '\\n' in a:\n        return 1\n",
        "def f(a):\n    if '\\n' in a or '\\r\\n' in a:\n        return 1\n",
    ),
    (
        "def f(a):\n    if a['b'] is None:\n        return 1\n",
        "def f(a):\n    if 'b' in a and a['b'] is None:\n        return 1\n",
    ),
    (
        "def f(n):\n    if n > 3:\n        return 1\n",
        "def f(n):\n    if n > 3 and n % 2 == 0:\n        return 1\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Join another test of a name, or another condition of the function, by `and` or `or`."""
    if not scope.is_value(node):
        return
    parent = scope.parent(node)
    if isinstance(parent, ast.BoolOp):
        yield from _inside(node, "or" if isinstance(parent.op, ast.And) else "and", scope)
    returned = isinstance(parent, ast.Return)
    if not scope.is_condition(node) and not (
        returned and isinstance(node, (ast.Compare, ast.BoolOp, ast.Call))
    ):
        return
    own = scope.text(node)
    for rank, text in enumerate(_alike(node, scope)):
        for word, level in (("or", OR), ("and", AND)):
            yield scope.replace(
                COST - 0.2 + 0.05 * rank, node, f"{scope.part(node, level)} {word} {text}"
            )
    for extra, atom in _atoms(node, scope):
        if atom == own:
            continue
        for word, level in (("and", AND), ("or", OR)):
            mine, other = scope.part(node, level), parenthesize(atom, level)
            yield scope.replace(COST + extra, node, f"{mine} {word} {other}")
            yield scope.replace(COST + extra + 0.2, node, f"{other} {word} {mine}")


def _inside(node: ast.AST, word: str, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Combine one operand of a boolean operator with another test."""
    own, level = scope.text(node), AND if word == "and" else OR
    mine = scope.part(node, level)
    for name in [name for name in scope.names_at(node) if name not in ("self", "cls", own)]:
        for extra, atom in (
            (0.4, name),
            (0.4, f"not {name}"),
            (0.5, f"{name} is None"),
            (0.5, f"{name} is not None"),
        ):
            yield scope.replace(COST + extra, node, f"({atom} {word} {mine})")
            yield scope.replace(COST + extra + 0.1, node, f"({mine} {word} {atom})")


def _alike(node: ast.AST, scope: CodeScope) -> List[str]:
    """Return the same condition on another text: `a == 'y'` for `a == 'x'`."""
    texts = [n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    # With several texts, it is unclear which one to vary.
    if len(texts) != 1 or isinstance(node, ast.BoolOp) or size(node) > 12:
        return []
    own = str(texts[0].value)
    others = [own.swapcase(), *(kin for group in KIN_TEXTS if own in group for kin in group), ""]
    others += [
        *scope.literals.strings[:6],
        *(text for text in scope.strings if len(text) <= max(3, len(own))),
    ]
    start, end = scope.source.span(texts[0])
    base = scope.source.span(node)[0]
    data = scope.text(node).encode("utf-8")
    made = [
        data[: start - base] + repr(text).encode() + data[end - base :]
        for text in dict.fromkeys(others)
    ]
    return [text.decode("utf-8") for text in made if text != data][:10]


def _subjects(node: ast.AST, scope: CodeScope) -> List[str]:
    """Return the names and attributes a condition tests, without those it calls."""
    called = {id(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    named = [
        n
        for n in ast.walk(node)
        if isinstance(n, (ast.Name, ast.Attribute)) and id(n) not in called
    ]
    return [text for text in dict.fromkeys(map(scope.text, named)) if text not in ("self", "cls")][
        :4
    ]


def _lookups(node: ast.AST, scope: CodeScope) -> List[str]:
    """Return conditions under which the subscripts of an expression do not fail."""
    found: List[str] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Subscript) and not isinstance(inner.slice, (ast.Slice, ast.Tuple)):
            owner, key = scope.text(inner.value), scope.part(inner.slice, COMPARE + 1)
            found += [f"{key} in {owner}"]
            found += [f"{key} < len({owner})"] if not isinstance(inner.slice, ast.UnaryOp) else []
    return found


def _attributes(node: ast.AST, scope: CodeScope) -> List[str]:
    """Return attributes that the function reads, then those that the class reads."""
    read = [
        e
        for e in scope.donors.expressions
        if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name)
    ]
    names = set(scope.names_at(node))
    found = [
        scope.text(e)
        for e in read
        if e.value.id in names and scope.place(e).field != "func"  # type: ignore[attr-defined]
    ][:8]
    own = scope.surroundings.self_name
    if own and own in names:
        found += [f"{own}.{name}" for name in scope.surroundings.attributes_read(own)[0][:10]]
    return list(dict.fromkeys(found))


def _atoms(node: ast.AST, scope: CodeScope) -> List[Tuple[float, str]]:
    names = [name for name in scope.names_at(node) if name not in ("self", "cls")]
    conditions = [c for c in scope.donors.conditions if c is not node]
    atoms = [(0.0, scope.text(c)) for c in conditions]
    for name in names:
        atoms += [
            (0.0, f"{name} is None"),
            (0.0, f"{name} is not None"),
            (0.0, name),
            (0.0, f"not {name}"),
        ]
        atoms += [
            (0.3, f"{name} == 0"),
            (0.3, f"{name} > 0"),
            (0.3, f"{name} < 0"),
            (0.4, f"{name} != 0"),
        ]
    atoms += [(0.1, f"not {scope.part(c, NOT)}") for c in conditions]
    compared = [e for e in scope.donors.expressions if isinstance(e, ast.Compare) and e is not node]
    atoms += [(0.2, scope.text(e)) for e in compared]
    for one, other in itertools.permutations(names[:7], 2):
        atoms += [(0.5, f"{one} < {other}"), (0.5, f"{one} in {other}")]
        if one < other:
            atoms += [(0.4, f"{one} {sign} {other}") for sign in ("==", "!=", "is not")]
    for text in _attributes(node, scope):
        atoms += [
            (0.3, f"{text} is None"),
            (0.3, f"{text} is not None"),
            (0.3, text),
            (0.3, f"not {text}"),
        ]
    subjects = _subjects(node, scope)
    for text in subjects:
        atoms += [(0.1, f"{text} is not None"), (0.2, f"{text} is None")]
    for kind in scope.types_asked:
        atoms += [(0.3, f"isinstance({text}, {kind})") for text in subjects]
        atoms += [(0.5, f"isinstance({name}, {kind})") for name in names[:6]]
    atoms += [(0.0, text) for text in _lookups(node, scope)]
    for name in names:
        atoms += [(0.6, f"{name} % 2 == 0"), (0.6, f"{name} % 2 != 0"), (0.5, f"len({name}) > 1")]
        atoms += [(0.5, f"isinstance({name}, str)"), (0.6, f"not isinstance({name}, str)")]
        atoms += [(0.5, f"{helper}({name})") for helper in scope.helpers]
    # Of equal conditions the first, and so the cheaper, is kept in its place.
    return list({text: (extra, text) for extra, text in reversed(atoms)}.values())[::-1]
