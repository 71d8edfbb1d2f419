"""A wrong table: an entry missing, superfluous or swapped, a wrong key, a missing comma."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Iterator, List, Optional, Sequence, Set

from sandbox.guest.search.source.outer_scope import OuterScope, is_outer
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits
from sandbox.guest.search.source.texts import quoted, string_parts

COST = 1.5
CHEAPEST = COST - 0.5
CHANGES = (
    ("T = {'a': 1, 'b': 2}\n", "T = {'a': 2, 'b': 1}\n"),
    ("T = {'a': 1, 'b': 2}\n", "T = {'a': 1}\n"),
    ("T = {'a': 1, 'b': 2}\n", "T = {'a': 1, 'b': 1}\n"),
    ("T = {\n    'a': 1,\n    'b': 2,\n}\n", "T = {\n    'b': 2,\n}\n"),
    ("T = [1, 2, 3]\n", "T = [1, 3, 2]\n"),
    ("T = ('a', 'b', 'c')\n", "T = ('a', 'c')\n"),
    ("T = ['a' 'b', 'c']\n", "T = ['a', 'b', 'c']\n"),
    ("class A:\n    T = ('a')\n", "class A:\n    T = ('a',)\n"),
    (
        "def add_x():\n    pass\n\n\ndef add_y():\n    pass\n\n\nT = {'x': add_x}\n",
        "def add_x():\n    pass\n\n\ndef add_y():\n    pass\n\n\nT = {'x': add_x, 'y': add_y}\n",
    ),
    (
        "class A:\n    pass\n\n\nclass B:\n    pass\n\n\nT = [A]\n",
        "class A:\n    pass\n\n\nclass B:\n    pass\n\n\nT = [A, B]\n",
    ),
    ("BASE = {'a': 1}\nT = {'b': 2}\n", "BASE = {'a': 1}\nT = {'b': 2, **BASE}\n"),
)
UNTOUCHED = ("def f():\n    return {'a': 1, 'b': 2}\n", "x = 1\n")

DISPLAYS = (ast.List, ast.Tuple, ast.Set)
MAX_ENTRIES = 40
"""Maximum entries of a table to change."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Swap, replace, add and remove entries."""
    if not isinstance(scope, OuterScope):
        return
    if isinstance(node, ast.Dict):
        yield from _dictionary(node, scope)
    elif isinstance(node, DISPLAYS) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield from _display(node, scope)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _commas(node, scope)


def _dictionary(node: ast.Dict, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    values = node.values[:MAX_ENTRIES]
    for index, value in enumerate(values):
        # Swapped values are usually close to each other.
        for other in range(index + 1, min(index + 1 + 6, len(values))):
            yield scope.swap(COST, value, values[other])
        for distance in (1, -1, 2, -2):
            if 0 <= index + distance < len(values) and node.keys[index + distance] is not None:
                yield scope.replace(COST + 0.4, value, scope.text(values[index + distance]))
        yield _without(node, index, scope)
        yield from _other_keys(node.keys[index], node, scope)
    for text in _new_pairs(node, scope):
        yield _added(scope, COST + 0.5, node, text)


def _other_keys(
    key: Optional[ast.expr], node: ast.Dict, scope: OuterScope
) -> Iterator[Optional[ProposedEdits]]:
    if not isinstance(key, ast.Constant) or not isinstance(key.value, (str, int)):
        return
    present = {repr(k.value) for k in node.keys if isinstance(k, ast.Constant)}
    seen: Sequence[object] = (
        scope.literals.strings if isinstance(key.value, str) else scope.literals.numbers
    )
    for rank, other in enumerate(seen[:12]):
        if repr(other) not in present:
            shown = quoted(other, scope.text(key)) if isinstance(other, str) else repr(other)
            yield scope.replace(COST + 0.4 + 0.05 * rank, key, shown)


def _new_pairs(node: ast.Dict, scope: OuterScope) -> Iterator[str]:
    """Yield new entries by analogy with others, and for literals of the failing tests."""
    pairs = [(k, v) for k, v in zip(node.keys, node.values) if k is not None]
    present = {scope.text(k) for k, _ in pairs} | {scope.text(v) for v in node.values}
    for key, value in pairs[:6]:
        if (
            isinstance(key, ast.Constant)
            and isinstance(key.value, str)
            and isinstance(value, ast.Name)
        ):
            yield from _by_analogy(key.value, value.id, present, scope)
    if pairs and isinstance(pairs[-1][0], ast.Constant):
        sample = pairs[-1][0].value
        seen: Sequence[object] = (
            scope.literals.strings if isinstance(sample, str) else scope.literals.numbers
        )
        keys = [repr(s) for s in seen[:10] if type(s) is type(sample) and repr(s) not in present]
        keys += [
            shown for shown in _words(sample, scope) if shown not in present and shown not in keys
        ]
        values = [text for text, _ in Counter(scope.text(v) for _, v in pairs).most_common(6)]
        values += [repr(s) for s in [*scope.literals.strings, *scope.literals.numbers][:10]]
        yield from (
            f"{key}: {value}" for key in keys for value in dict.fromkeys(values) if key != value
        )
    yield from (f"**{name}" for name in _tables(ast.Dict, node, scope))


def _words(sample: object, scope: OuterScope) -> List[str]:
    """Return words of the failing tests in the spelling of an entry that is one word."""
    if not isinstance(sample, str) or not sample.isidentifier():
        return []
    like = [_change_case(word, sample) for word in scope.literals.words]
    quote = "'" if scope.source.data.count(b"'") >= scope.source.data.count(b'"') else '"'
    return [f"{quote}{word}{quote}" for word in dict.fromkeys(like)][:12]


def _by_analogy(key: str, name: str, present: Set[str], scope: OuterScope) -> Iterator[str]:
    at = name.lower().find(key.lower()) if key else -1
    if at < 0:
        return
    before, after = name[:at], name[at + len(key) :]
    for other in scope.bound:
        middle = other[len(before) : len(other) - len(after)]
        if (
            other not in present
            and middle
            and other == before + middle + after
            and (before or after)
        ):
            yield f"{_change_case(middle, key)!r}: {other}"


def _change_case(text: str, like: str) -> str:
    return text.lower() if like.islower() else text.upper() if like.isupper() else text


def _display(node: ast.expr, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    elements: List[ast.expr] = node.elts  # type: ignore[attr-defined]
    for index, element in enumerate(elements[:MAX_ENTRIES]):
        if not isinstance(node, ast.Set):
            for other in elements[index + 1 : index + 4]:
                yield scope.swap(COST + 0.1, element, other)
        if len(elements) > 2 or not isinstance(node, ast.Tuple):
            yield _without(node, index, scope)
    present = {scope.text(e) for e in elements}
    added = [*_like(elements, scope), *(f"*{name}" for name in _tables(type(node), node, scope))]
    for rank, text in enumerate(t for t in dict.fromkeys(added) if t not in present):
        yield _added(scope, COST + 0.4 + 0.05 * min(rank, 12), node, text)


def _like(elements: Sequence[ast.expr], scope: OuterScope) -> List[str]:
    """Return names or literals of the same kind as the last element."""
    if not elements:
        return []
    last = elements[-1]
    if isinstance(last, ast.Constant):
        seen: Sequence[object] = (
            scope.literals.strings if isinstance(last.value, str) else scope.literals.numbers
        )
        return [repr(s) for s in seen[:12] if type(s) is type(last.value)] + _words(
            last.value, scope
        )
    if isinstance(last, ast.Name):
        kinds = {type(s) for s in scope.source.tree.body if getattr(s, "name", "") == last.id}
        alike = [getattr(s, "name", "") for s in scope.source.tree.body if type(s) in kinds]
        return alike or [name for name in scope.bound if name.isupper() == last.id.isupper()][:12]
    return []


def _tables(kind: type, node: ast.AST, scope: OuterScope) -> List[str]:
    """Return names of earlier tables of the same kind."""
    tables = [
        s for s in scope.source.tree.body if isinstance(s, ast.Assign) and isinstance(s.value, kind)
    ]
    earlier = [t for t in tables if t.value is not node and t.lineno < getattr(node, "lineno", 0)]
    return [t.id for table in earlier for t in table.targets if isinstance(t, ast.Name)][-3:]


def _added(scope: CodeScope, cost: float, node: ast.AST, text: str) -> Optional[ProposedEdits]:
    """Append an entry, on its own line if the last entry is on its own line."""
    start, end = scope.source.span(node)
    elements: Sequence[ast.expr] = (
        node.values if isinstance(node, ast.Dict) else getattr(node, "elts", ())
    )
    if not elements:
        if scope.source.data[start:end] not in (b"{}", b"[]"):
            return None
        return ProposedEdits(cost, (TextEdit(start + 1, start + 1, text),))
    at = scope.source.span(elements[-1])[1]
    last = elements[-1]
    indent = scope.source.data[scope.source.offset(last.lineno, 0) : scope.source.span(last)[0]]
    key = node.keys[-1] if isinstance(node, ast.Dict) else None
    if key is not None:
        indent = scope.source.data[scope.source.offset(key.lineno, 0) : scope.source.span(key)[0]]
    gap = " " if indent.strip() else scope.source.newline + indent.decode("utf-8")
    return ProposedEdits(cost, (TextEdit(at, at, f",{gap}{text}"),))


def _without(node: ast.AST, index: int, scope: CodeScope) -> Optional[ProposedEdits]:
    """Remove an entry with its comma and, if it was alone on it, its line."""
    if isinstance(node, ast.Dict):
        ends = node.values
        firsts = [k if k is not None else v for k, v in zip(node.keys, node.values)]
        if node.keys[index] is None:
            return None
    else:
        ends = firsts = node.elts  # type: ignore[attr-defined]
    span = scope.source.span
    if index:
        return ProposedEdits(
            COST + 0.2, (TextEdit(span(ends[index - 1])[1], span(ends[index])[1], ""),)
        )
    if len(ends) == 1:
        start, end = span(node)
        empty = (
            "set()" if isinstance(node, ast.Set) else "{}" if isinstance(node, ast.Dict) else "[]"
        )
        return ProposedEdits(COST + 0.4, (TextEdit(start, end, empty),))
    if isinstance(node, ast.Dict) and node.keys[1] is None:
        return None
    return ProposedEdits(COST + 0.2, (TextEdit(span(firsts[0])[0], span(firsts[1])[0], ""),))


def _commas(node: ast.Constant, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Separate implicitly concatenated strings, or turn a string in parentheses into a tuple."""
    start, end = scope.source.span(node)
    parent = scope.parent(node)
    parts = string_parts(scope.source.data[start:end])
    if isinstance(parent, DISPLAYS):
        for part in parts[:-1]:
            yield ProposedEdits(COST - 0.5, (TextEdit(start + part.end, start + part.end, ","),))
    around = scope.source.data[start - 1 : start] + scope.source.data[end : end + 1]
    if (
        around == b"()"
        and isinstance(parent, (ast.Assign, ast.AnnAssign, ast.keyword, ast.Dict))
        and is_outer(scope)
    ):
        yield ProposedEdits(COST, (TextEdit(end, end, ","),))
