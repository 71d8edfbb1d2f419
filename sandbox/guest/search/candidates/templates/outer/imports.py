"""A wrong import: another module, another name, another package level, or a missing import."""

from __future__ import annotations

import ast
from typing import Dict, Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.known_names import HOMES, STANDARD_MODULES, import_lines
from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits
from sandbox.guest.search.source.texts import close_names

COST = 1.4
CHEAPEST = COST - 0.8
CHANGES = (
    ("def f(a):\n    return math.floor(a)\n", "import math\ndef f(a):\n    return math.floor(a)\n"),
    (
        "import os\n\n\ndef f():\n    return defaultdict(list)\n",
        (
            "import os\nfrom collections import defaultdict\n\n\ndef f():\n"
            "    return defaultdict(list)\n"
        ),
    ),
    ("from os import joni\nprint(join)\n", "from os import join\nprint(join)\n"),
    ("from .a import x\n", "from a import x\n"),
    ("from a import x\n", "from .a import x\n"),
    ("from .a import x\n", "from ..a import x\n"),
    ("from a import x\nfrom b import y\n", "from b import x\nfrom b import y\n"),
    ("import numpy\nprint(np)\n", "import numpy as np\nprint(np)\n"),
    ("from time import time\nprint(time.time())\n", "import time\nprint(time.time())\n"),
    (
        "import datetime\nprint(datetime.now())\n",
        "from datetime import datetime\nprint(datetime.now())\n",
    ),
    ("from a import x, y\n", "from a import x\n"),
)
UNTOUCHED = ("x = 1\n", "def f(a):\n    return a\n")


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change names, modules and levels of imports, and add imports for unbound names."""
    if not isinstance(scope, OuterScope):
        return
    if isinstance(node, ast.ImportFrom):
        yield from _levels(node, scope)
        yield from _modules(node, scope)
        yield from _names(node, scope)
    if isinstance(node, ast.Import):
        yield from _plain(node, scope)
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)) and _is_first(
        node, scope
    ):
        for name in scope.unbound:
            for rank, line in enumerate(import_lines(name)):
                yield ProposedEdits(COST - 0.8 + 0.2 * rank, scope.importing(line))


def _is_first(node: ast.AST, scope: OuterScope) -> bool:
    return next((p.statement for p in scope.pieces()), None) is node


def _after_from(node: ast.ImportFrom, scope: CodeScope) -> Tuple[int, int]:
    """Return the byte range of the dots and the module name."""
    start, end = scope.source.span(node)
    text = scope.source.data[start:end]
    first = start + text.index(b"from") + 4
    first += len(text[first - start :]) - len(text[first - start :].lstrip())
    stop = start + text.index(b"import", first - start)
    while scope.source.data[stop - 1 : stop].isspace():
        stop -= 1
    return first, stop


def _levels(node: ast.ImportFrom, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    # These exist at one level only.
    if node.module in ("__future__", "typing"):
        return
    first, stop = _after_from(node, scope)
    name = node.module or ""
    for level in (node.level + 1, node.level - 1):
        text = "." * level + name
        if level >= 0 and text:
            cost = COST + 0.3 if node.level else COST + 0.9
            if node.level or name.split(".")[0] not in STANDARD_MODULES:
                yield ProposedEdits(cost, (TextEdit(first, stop, text),))
    if "." in name:
        yield ProposedEdits(
            COST + 0.6, (TextEdit(first, stop, "." * node.level + name.rpartition(".")[0]),)
        )


def _modules(node: ast.ImportFrom, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    """Import from the known module of a name, or from other modules that the file uses."""
    first, stop = _after_from(node, scope)
    own = scope.source.data[first:stop].decode("utf-8")
    others: Dict[str, float] = {}
    for alias in node.names:
        for home in HOMES.get(alias.name, ()):
            others.setdefault(home, COST - 0.4)
    for piece in scope.pieces():
        if isinstance(piece.statement, ast.ImportFrom) and piece.statement is not node:
            start, end = _after_from(piece.statement, scope)
            others.setdefault(scope.source.data[start:end].decode("utf-8"), COST + 0.5)
    for name, cost in list(others.items())[:10]:
        if name not in (own, "__future__"):
            yield ProposedEdits(cost, (TextEdit(first, stop, name),))


def _names(node: ast.ImportFrom, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    spans = alias_spans(node, scope)
    for index, (alias, span) in enumerate(zip(node.names, spans)):
        used = alias.asname or alias.name
        for name in close_names(used, scope.unbound, 3):
            yield ProposedEdits(COST - 0.7, (TextEdit(*span, name),))
        if scope.unbound and alias.asname is None:
            yield from (
                ProposedEdits(COST + 0.4, (TextEdit(*span, f"{alias.name} as {n}"),))
                for n in scope.unbound[:3]
            )
        if len(node.names) > 1:
            edit = (
                TextEdit(spans[index - 1][1], span[1], "")
                if index
                else TextEdit(span[0], spans[1][0], "")
            )
            yield ProposedEdits(COST + 0.8, (edit,))
        if alias.name == node.module and not node.level:
            start, end = scope.source.span(node)
            if len(node.names) == 1:
                yield ProposedEdits(COST - 0.2, (TextEdit(start, end, f"import {node.module}"),))


def alias_spans(node: ast.ImportFrom | ast.Import, scope: CodeScope) -> List[Tuple[int, int]]:
    """Return the byte range of each imported name with its `as`."""
    start, end = scope.source.span(node)
    if all(hasattr(alias, "lineno") for alias in node.names):
        return [scope.source.span(alias) for alias in node.names]
    at = start + scope.source.data[start:end].index(b"import") + len(b"import")
    spans = []
    for alias in node.names:
        first = scope.source.data.index(alias.name.encode("utf-8"), at)
        stop = first + len(alias.name.encode("utf-8"))
        if alias.asname:
            stop = scope.source.data.index(alias.asname.encode("utf-8"), stop + 3) + len(
                alias.asname.encode("utf-8")
            )
        spans.append((first, stop))
        at = stop
    return spans


def _plain(node: ast.Import, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    start, end = scope.source.span(node)
    if len(node.names) != 1:
        return
    alias = node.names[0]
    for name in scope.unbound[:3]:
        if alias.asname is None:
            yield ProposedEdits(COST, (TextEdit(end, end, f" as {name}"),))
        else:
            yield ProposedEdits(COST, (TextEdit(start, end, f"import {alias.name} as {name}"),))
    if alias.name == "datetime" or "." in alias.name:
        head, _, tail = alias.name.rpartition(".")
        line = f"from {head or alias.name} import {tail}"
        yield ProposedEdits(COST + 0.4, (TextEdit(start, end, line),))
