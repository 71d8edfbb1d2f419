"""Unused imports, variables and exception names; repeated definitions; dead code."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List, Optional, Tuple, Union

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FindingPlace, last_line
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({
    "F401", "W0611", "F811", "W0404", "E0102", "F841", "W0612", "B007", "W0101", "unreachable",
    "reportUnusedImport", "reportUnusedVariable", "no-redef", "reportRedeclaration", "F504",
    "PIE790", "W0107", "W0104", "B018", "RUF059", "reportUnusedExpression",
})  # fmt: skip
CHANGES = (
    (
        "import os\nimport re\nx = re\n",
        (1, 8, "F401", "`os` imported but unused"),
        "import re\nx = re\n",
    ),
    (
        "from a import b, c\nx = c\n",
        (1, 15, "F401", "`a.b` imported but unused"),
        "from a import c\nx = c\n",
    ),
    (
        "from a import b, c\nx = b\n",
        (1, 1, "W0611", "Unused c imported from a"),
        "from a import b\nx = b\n",
    ),
    (
        "def f():\n    x = g()\n    return 1\n",
        (2, 5, "F841", "Local variable `x` is assigned to but never used"),
        "def f():\n    g()\n    return 1\n",
    ),
    (
        "def f():\n    x = 1\n    return 1\n",
        (2, 5, "F841", "Local variable `x` is assigned to but never used"),
        "def f():\n    return 1\n",
    ),
    (
        "try:\n    f()\nexcept E as error:\n    g()\n",
        (3, 13, "F841", "Local variable `error` is assigned to but never used"),
        "try:\n    f()\nexcept E:\n    g()\n",
    ),
    (
        "def f():\n    with g() as h:\n        k()\n",
        (2, 17, "F841", "Local variable `h` is assigned to but never used"),
        "def f():\n    with g():\n        k()\n",
    ),
    (
        "for i in a:\n    f()\n",
        (1, 5, "B007", "Loop control variable `i` not used within loop body"),
        "for _i in a:\n    f()\n",
    ),
    (
        "def f():\n    a, b = g()\n    return a\n",
        (2, 8, "RUF059", "Unpacked variable `b` is never used"),
        "def f():\n    a, _b = g()\n    return a\n",
    ),
    (
        "def f():\n    return 1\n    g()\n    h()\n",
        (3, 5, "W0101", "Unreachable code"),
        "def f():\n    return 1\n",
    ),
    (
        "import os\nimport os\nx = os\n",
        (2, 8, "F811", "Redefinition of unused `os`"),
        "import os\nx = os\n",
    ),
    (
        "def f():\n    a = 1\n    pass\n",
        (3, 5, "W0107", "Unnecessary pass statement"),
        "def f():\n    a = 1\n",
    ),
)
UNTOUCHED = (
    ("import os\n", (1, 8, "F401", "`re` imported but unused")),
    ("def f():\n    g()\n    h()\n", (2, 5, "W0101", "Unreachable code")),
)
_NAME = re.compile(r"[`'\"]([\w.]+)(?: as \w+)?[`'\"]")


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Remove the unused name, but keep side effects."""
    code = place.finding.code
    if code in {
        "F401",
        "W0611",
        "F811",
        "W0404",
        "reportUnusedImport",
        "no-redef",
        "reportRedeclaration",
    }:
        yield from _imports(place)
    if code in {"F841", "W0612", "reportUnusedVariable", "B007", "RUF059"}:
        for name in _names(place):
            yield from _variable(place, name)
    statement = place.statement()
    if statement is not None and code in {"W0101", "unreachable"}:
        yield from _dead(place, statement)
    if statement is not None and code in {"PIE790", "W0107"} and isinstance(statement, ast.Pass):
        parent = place.source.places[statement]
        if len(getattr(parent.parent, parent.field, [])) > 1:
            yield FixDraft(0.2, place.remove(statement))


def _names(place: FindingPlace) -> List[str]:
    found = [match.split(".")[-1] for match in _NAME.findall(place.message)]
    found += re.findall(r"(?:[Uu]nused (?:variable )?|Variable )(\w+)", place.message)
    return [name for name in dict.fromkeys(found) if name.isidentifier()][:3]


def _imports(place: FindingPlace) -> Iterator[FixDraft]:
    whole = set(_NAME.findall(place.message))
    whole |= set(re.findall(r"[Uu]nused (?:import )?([\w.]+)", place.message))
    short = {name.split(".")[-1] for name in whole} | {name.split(".")[0] for name in whole}
    statement = place.statement()
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return
    for alias in statement.names:
        bound = alias.asname or alias.name
        if bound in short or alias.name in whole or bound.split(".")[0] in short:
            edits = _without_alias(place, statement, alias)
            if edits:
                yield FixDraft(0.2, edits)


def _without_alias(
    place: FindingPlace, statement: Union[ast.Import, ast.ImportFrom], alias: ast.alias
) -> Tuple[TextEdit, ...]:
    if len(statement.names) == 1:
        return place.remove(statement)
    start, end = place.source.span(statement)
    text = place.source.data[start:end].decode("utf-8")
    spelt = re.escape(alias.name) + (rf"\s+as\s+{re.escape(alias.asname)}" if alias.asname else "")
    head = text.index("import") + len("import")
    alone = rf"{spelt}(?![\w.])(?!\s+as\b)"
    pattern = rf"(?<![\w.]){alone}\s*,[ \t]*(?:\n[ \t]*(?=\w))?|,\s*{alone}"
    match = re.compile(pattern).search(text, head)
    if match is None:
        return ()
    begin = start + len(text[: match.start()].encode("utf-8"))
    return (TextEdit(begin, begin + len(match.group().encode("utf-8")), ""),)


def _variable(place: FindingPlace, name: str) -> Iterator[FixDraft]:
    """Remove an assignment's target or a handler's name, or prefix a name by `_`."""
    for node in place.here(ast.Name, ast.ExceptHandler, ast.withitem):
        if isinstance(node, ast.ExceptHandler) and node.name == name and node.type is not None:
            start, end = place.source.span(node.type)[1], place.source.span(node.body[0])[0]
            head = place.source.data[start:end].decode("utf-8")
            yield FixDraft(
                0.2, (TextEdit(start, start + len(head[: head.index(":")].encode("utf-8")), ""),)
            )
        elif isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            yield from _target(place, node)


def _target(place: FindingPlace, node: ast.Name) -> Iterator[FixDraft]:
    parent = place.source.places[node].parent
    if isinstance(parent, ast.withitem) and parent.optional_vars is node:
        start, end = place.source.span(parent.context_expr)[1], place.source.span(node)[1]
        yield FixDraft(0.2, (TextEdit(start, end, ""),))
        return
    if isinstance(parent, (ast.Assign, ast.AnnAssign)) and _only_target(parent):
        if parent.value is None or not any(
            isinstance(n, (ast.Call, ast.Await)) for n in ast.walk(parent.value)
        ):
            yield FixDraft(0.3, place.remove(parent))
        if parent.value is not None:
            yield place.rewrite(0.4, parent, place.source.text(parent.value))
        return
    yield place.rewrite(0.3, node, f"_{node.id}")
    yield place.rewrite(0.5, node, "_")


def _only_target(node: ast.AST) -> bool:
    targets: List[ast.expr] = getattr(node, "targets", [])
    return isinstance(node, ast.AnnAssign) or (
        len(targets) == 1 and isinstance(targets[0], ast.Name)
    )


def _dead(place: FindingPlace, statement: ast.stmt) -> Iterator[FixDraft]:
    """Remove all statements after one that leaves the block."""
    where = place.source.places[statement]
    block = getattr(where.parent, where.field, None)
    if not isinstance(block, list) or where.position is None:
        return
    before: Optional[ast.stmt] = block[where.position - 1] if where.position else None
    if isinstance(before, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        span = place.source.whole_lines(statement)
        if span is not None and not any(
            isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(statement)
        ):
            yield FixDraft(
                0.6,
                (
                    TextEdit(
                        span[0],
                        place.source.line_span(last_line(block[-1]), last_line(block[-1]))[1],
                        "",
                    ),
                ),
            )
