"""A loop that stops too early or too late, runs backwards, or modifies its iterable."""

from __future__ import annotations

import ast
from typing import Iterator, Optional

from sandbox.guest.search.source.render import SUM, TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.7
CHANGES = (
    (
        "def f(a):\n    for x in a:\n        if x:\n            break\n",
        "def f(a):\n    for x in a:\n        if x:\n            continue\n",
    ),
    ("def f(a):\n    while a:\n        g(a)\n", "def f(a):\n    if a:\n        g(a)\n"),
    ("def f(a):\n    if a > 1:\n        a -= 1\n", "def f(a):\n    while a > 1:\n        a -= 1\n"),
    (
        "def f(a):\n    for x in a:\n        a.remove(x)\n",
        "def f(a):\n    for x in list(a):\n        a.remove(x)\n",
    ),
    ("def f(a, b):\n    return range(a, b)\n", "def f(a, b):\n    return range(a, b, -1)\n"),
    ("def f(n):\n    return range(n)\n", "def f(n):\n    return range(n - 1, -1, -1)\n"),
    ("def f(n):\n    return range(0, n)\n", "def f(n):\n    return range(0, n, 2)\n"),
    (
        "def f(d):\n    for k, v in d:\n        g(k, v)\n",
        "def f(d):\n    for k, v in d.items():\n        g(k, v)\n",
    ),
    (
        "def f(d):\n    for k, v in d:\n        g(k, v)\n",
        "def f(d):\n    for k, v in enumerate(d):\n        g(k, v)\n",
    ),
    (
        "def f(a):\n    for x in a:\n        g(x)\n",
        "def f(a):\n    for x in a:\n        g(x)\n        break\n",
    ),
)
UNTOUCHED = ("def f(a, b):\n    return a + b\n",)

JUMPS = {ast.Break: ("continue", "return", "pass"), ast.Continue: ("break", "return", "pass")}


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change jumps, loop kinds, ranges and iterables."""
    for kind, others in JUMPS.items():
        if isinstance(node, kind):
            for other in others:
                yield scope.restate(COST + 0.6 * (other == "pass"), node, other)
    if isinstance(node, (ast.While, ast.If)) and not node.orelse and _is_written(node, scope):
        start = scope.source.span(node)[0]
        old, new = ("while", "if") if isinstance(node, ast.While) else ("if", "while")
        yield ProposedEdits(COST + 0.2, (TextEdit(start, start + len(old), new),))
    if isinstance(node, (ast.For, ast.comprehension)):
        yield from _iterate(node.iter, node.target, scope)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        yield from _range(node, scope)
    if (
        isinstance(node, ast.stmt)
        and scope.is_inside(node)
        and not isinstance(node, (ast.Break, ast.Continue))
    ):
        yield from _left_at_end(node, scope)


def _is_written(node: ast.stmt, scope: CodeScope) -> bool:
    """Return True if the statement starts with its own keyword, which an `elif` does not."""
    word = b"while" if isinstance(node, ast.While) else b"if"
    start = scope.source.span(node)[0]
    return scope.source.data[start : start + len(word)] == word


def _iterate(
    over: ast.expr, target: ast.expr, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    text = scope.text(over)
    if isinstance(over, ast.GeneratorExp):
        return
    # Two targets suggest that pairs are iterated over.
    pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
    for extra, form in (
        (0.3, "list({})"),
        (0.5, "sorted({})"),
        (0.5, "reversed({})"),
        (0.5, "set({})"),
    ):
        yield scope.replace(COST + extra, over, form.format(text))
    yield scope.replace(COST + (0.0 if pair else 1.0), over, f"enumerate({text})")
    if isinstance(over, (ast.Name, ast.Attribute, ast.Subscript)):
        yield scope.replace(COST + (0.0 if pair else 0.6), over, f"{text}.items()")
        yield scope.replace(COST + 0.5, over, f"{text}.values()")
        yield scope.replace(COST + 0.6, over, f"range(len({text}))")


def _range(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args) or not node.args:
        return
    texts = [scope.text(a) for a in node.args]
    if len(texts) == 1:
        last = scope.part(node.args[0], SUM)
        yield scope.replace(COST + 0.3, node, f"range({last} - 1, -1, -1)")
        yield scope.replace(COST + 0.4, node, f"range({last}, 0, -1)")
        yield scope.replace(COST + 0.5, node, f"range(0, {texts[0]}, 2)")
        yield scope.replace(COST, node, f"range(1, {last} + 1)")
        for name in scope.names_with_type(node, "int"):
            yield scope.replace(COST + 0.5, node, f"range({name}, {texts[0]})")
    if len(texts) == 2:
        yield scope.replace(COST + 0.2, node, f"range({texts[0]}, {texts[1]}, -1)")
        yield scope.replace(COST + 0.3, node, f"range({texts[1]}, {texts[0]}, -1)")
        for step in ("2", *scope.names_with_type(node, "int")):
            yield scope.replace(COST + 0.5, node, f"range({texts[0]}, {texts[1]}, {step})")
    if len(texts) == 3:
        yield scope.replace(COST + 0.2, node, f"range({texts[0]}, {texts[1]})")


def _left_at_end(node: ast.stmt, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Append `break` or `continue` to a block in a loop."""
    block, index = scope.block(node)
    if index != len(block) - 1 or isinstance(node, (ast.Return, ast.Raise)):
        return
    if scope.surroundings.around(node, (ast.For, ast.AsyncFor, ast.While)):
        for word in ("break", "continue"):
            if word == "break" or not isinstance(scope.parent(node), (ast.For, ast.While)):
                yield scope.after(COST + 0.7, node, word)
