"""Wrongly formatted text: `% x` for `% (x,)`, `join` of non-strings, no `f`, `str` for `repr`."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import ATOM, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.6
CHANGES = (
    ("def f(a):\n    return '%s' % a\n", "def f(a):\n    return '%s' % (a,)\n"),
    ("def f(a):\n    return ','.join(a)\n", "def f(a):\n    return ','.join(map(str, a))\n"),
    ("def f(a):\n    return '<{a}>'\n", "def f(a):\n    return f'<{a}>'\n"),
    ("def f(a):\n    return f'<{a}>'\n", "def f(a):\n    return f'<{a!r}>'\n"),
    ("def f(a):\n    return str(a)\n", "def f(a):\n    return repr(a)\n"),
    ("def f(a):\n    return '%s' % a\n", "def f(a):\n    return '%r' % a\n"),
    ("def f(a):\n    return 'a' + a\n", "def f(a):\n    return 'a' + str(a)\n"),
    ("def f(a):\n    return ''.join(a)\n", "def f(a):\n    return ' '.join(a)\n"),
    ("def f(a):\n    return a.strip()\n", "def f(a):\n    return a.rstrip('\\n')\n"),
    ("def f(a):\n    return a.split(' ')\n", "def f(a):\n    return a.split()\n"),
    ("def f(a):\n    return f'<{a}>'\n", "def f(a):\n    return f'<{str(a)}>'\n"),
    ("def f(a):\n    return f'<{a}>'\n", "def f(a):\n    return f'<{abs(a)}>'\n"),
    ("def f(a):\n    return f'<{a}>'\n", "def f(a):\n    return f'<{a + 1}>'\n"),
)
UNTOUCHED = ("def f(a, b):\n    return a - b\n",)

SEPARATORS = ("''", "' '", "', '", "','", "'\\n'", "'-'", "'_'", "'.'", "'/'", "':'")
SPLITS = ("' '", "','", "'\\n'", "'.'", "'/'", "':'", "'-'", "'='", "', '")
JOINED = (
    "map(str, {})",
    "str(item) for item in {}",
    "sorted({})",
    "reversed({})",
    "item for item in {} if item",
)
CONVERSIONS = ("%s", "%r", "%d", "%i", "%f", "%x", "%a", "%.2f", "%5d")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Wrap format arguments in tuples, convert items to text, change conversions and separators."""
    if isinstance(node, ast.BinOp):
        yield from _operator(node, scope)
    elif isinstance(node, ast.Call):
        yield from _call(node, scope)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and scope.is_value(node):
        yield from _constant(node, scope)
    elif isinstance(node, ast.FormattedValue):
        yield from _format(node, scope)


def _operator(node: ast.BinOp, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
    if isinstance(node.op, ast.Mod) and not isinstance(node.right, (ast.Tuple, ast.Dict)):
        kind = scope.infer_kind(node.left)
        if text or kind is None or "str" in kind.names:
            yield scope.replace(COST - 0.2 * text, node.right, f"({scope.text(node.right)},)")
            yield scope.replace(COST + 0.6, node.right, f"tuple({scope.text(node.right)})")
    if isinstance(node.op, ast.Add):
        for side in (node.left, node.right):
            if not isinstance(side, ast.Constant):
                yield scope.replace(COST + 0.4, side, f"str({scope.text(side)})")


CHEAPEST = COST - 0.2


def _call(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    function, arguments = node.func, node.args
    if isinstance(function, ast.Name) and function.id in ("str", "repr") and len(arguments) == 1:
        other = "repr" if function.id == "str" else "str"
        yield ProposedEdits(COST - 0.2, (TextEdit(*scope.source.span(function), other),))
    if not isinstance(function, ast.Attribute) or node.keywords:
        return
    if function.attr == "join" and len(arguments) == 1:
        yield from _join(node, function.value, scope)
    elif function.attr in (
        "strip",
        "lstrip",
        "rstrip",
        "split",
        "rsplit",
        "pop",
        "encode",
        "decode",
    ):
        yield from _without_or_with(node, function, scope)


def _join(
    node: ast.Call, separator: ast.expr, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    items, base = node.args[0], scope.part(separator, ATOM)
    text = scope.text(items)
    if not isinstance(items, ast.GeneratorExp):
        for form in JOINED:
            yield scope.replace(COST, node, f"{base}.join({form.format(text)})")
    for other in SEPARATORS:
        if other != base:
            yield scope.replace(COST + 0.3, separator, other)


def _without_or_with(
    node: ast.Call, function: ast.Attribute, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    base = scope.part(function.value, ATOM)
    if node.args:
        yield scope.replace(COST, node, f"{base}.{function.attr}()")
    elif function.attr in ("split", "rsplit"):
        for separator in SPLITS:
            yield scope.replace(COST + 0.3, node, f"{base}.{function.attr}({separator})")
    elif function.attr in ("strip", "lstrip", "rstrip"):
        for name in ("strip", "lstrip", "rstrip"):
            for what in ("'\\n'", "' '", "'/'", "'\\r\\n'"):
                yield scope.replace(COST + 0.5, node, f"{base}.{name}({what})")


def _constant(node: ast.Constant, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    start, end = scope.source.span(node)
    text = scope.source.data[start:end].decode("utf-8")
    if (
        "{" in str(node.value)
        and text[:1] in "'\""
        and not isinstance(scope.parent(node), ast.Attribute)
    ):
        yield ProposedEdits(COST - 0.2, (TextEdit(start, start, "f"),))
    for old in CONVERSIONS[:7]:
        at = text.find(old)
        if at >= 0:
            for new in CONVERSIONS:
                if new != old:
                    yield scope.replace(COST + 0.2, node, text[:at] + new + text[at + len(old) :])


def _format(node: ast.FormattedValue, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    value = node.value
    start, end = scope.source.span(value)
    if node.conversion == -1:
        for conversion in ("!r", "!s"):
            yield ProposedEdits(COST, (TextEdit(end, end, conversion),))
        if node.format_spec is None:
            for spec in (":.2f", ":d", ":,", ":02d"):
                yield ProposedEdits(COST + 0.7, (TextEdit(end, end, spec),))
    else:
        yield ProposedEdits(COST, (TextEdit(end, end + 2, ""),))
    text = scope.text(value)
    inner = scope.part(value, ATOM)
    for form in (
        "str({0})",
        "repr({0})",
        "len({0})",
        "{1}.strip()",
        "{1}.name",
        "{1}.lower()",
        "{0} or ''",
        "int({0})",
        "abs({0})",
        "round({0})",
        "{1} + 1",
        "{1} - 1",
        *(f"{name}({{0}})" for name in dict.fromkeys([*scope.wrappers[:4], *scope.helpers[:4]])),
    ):
        changed = form.format(text, inner)
        # Before Python 3.12, an f-string must not contain its own kind of quote.
        if "'" not in changed or b'"' in scope.source.data[max(0, start - 80) : start]:
            yield ProposedEdits(COST + 0.3, (TextEdit(start, end, changed),))
    for name in scope.names_at(node):
        if name != text:
            yield ProposedEdits(COST, (TextEdit(start, end, name),))
