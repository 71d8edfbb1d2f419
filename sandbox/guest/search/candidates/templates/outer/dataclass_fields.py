"""A wrong field of a data class: a shared or missing default, a wrong order, wrong flags."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.source.outer_scope import OuterScope
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits

COST = 1.4
CHEAPEST = COST - 0.5
CHANGES = (
    (
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: list = []\n",
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
            "    x: list = field(default_factory=list)\n"
        ),
    ),
    (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: list = [1]\n",
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
            "    x: list = field(default_factory=lambda: [1])\n"
        ),
    ),
    (
        "@dataclass\nclass A:\n    x: int\n    y: int\n",
        "@dataclass(order=True)\nclass A:\n    x: int\n    y: int\n",
    ),
    (
        "@dataclass(frozen=True)\nclass A:\n    x: int\n    y: int\n",
        "@dataclass\nclass A:\n    x: int\n    y: int\n",
    ),
    (
        "@dataclass\nclass A:\n    x: int\n    y: int\n",
        "@dataclass\nclass A:\n    y: int\n    x: int\n",
    ),
    (
        "@dataclass\nclass A:\n    x: int\n    y: int\n",
        "@dataclass\nclass A:\n    x: int\n    y: int = 0\n",
    ),
    ("@dataclass\nclass A:\n    x: str = ''\n", "@dataclass\nclass A:\n    x: str\n"),
    (
        "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    x: int = 0\n",
        (
            "from dataclasses import dataclass, field\n@dataclass\nclass A:\n"
            "    x: int = field(default=0, compare=False)\n"
        ),
    ),
    (
        "from dataclasses import dataclass\n\n\nclass A:\n    x: int\n",
        "from dataclasses import dataclass\n\n\n@dataclass\nclass A:\n    x: int\n",
    ),
    (
        "@dataclass\nclass A:\n    x: list = field(default=list)\n",
        "@dataclass\nclass A:\n    x: list = field(default_factory=list)\n",
    ),
)
UNTOUCHED = ("class A:\n    x = []\n", "def f(a):\n    return a\n")

FLAGS = (
    "order=True",
    "frozen=True",
    "eq=False",
    "unsafe_hash=True",
    "kw_only=True",
    "repr=False",
    "slots=True",
)
FIELD_FLAGS = ("compare=False", "repr=False", "init=False", "hash=False", "kw_only=True")
EMPTY = {
    "int": "0",
    "str": "''",
    "float": "0.0",
    "bool": "False",
    "list": "None",
    "dict": "None",
    "tuple": "()",
}


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change the flags of a data class, and the defaults and order of its fields."""
    if not isinstance(scope, OuterScope):
        return
    if isinstance(node, ast.ClassDef):
        yield from _flags(node, scope)
    if isinstance(node, ast.Call) and scope.text(node.func).split(".")[-1] == "field":
        yield from _field_call(node, scope)
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return
    owner = scope.parent(node)
    if not isinstance(owner, ast.ClassDef) or not _is_record(owner, scope):
        return
    yield from _default(node, scope)
    block, index = scope.block(node)
    following = block[index + 1] if index + 1 < len(block) else None
    if isinstance(following, ast.AnnAssign):
        edits = (_restate(node, following, scope), _restate(following, node, scope))
        yield ProposedEdits(COST + 0.6, edits)


def _is_record(owner: ast.ClassDef, scope: CodeScope) -> bool:
    texts = [scope.text(d) for d in owner.decorator_list] + [scope.text(b) for b in owner.bases]
    return any(
        "dataclass" in t or "NamedTuple" in t or "define" in t or "attr.s" in t for t in texts
    )


def _restate(place: ast.stmt, other: ast.stmt, scope: CodeScope) -> TextEdit:
    start, end = scope.source.span(place)
    return TextEdit(start, end, scope.text(other))


def _default(node: ast.AnnAssign, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    if node.value is None:
        at = scope.source.span(node)[1]
        usual = EMPTY.get(scope.text(node.annotation).split("[")[0].lower(), "None")
        for rank, text in enumerate(dict.fromkeys([usual, "None", "0", "''", "()", "False"])):
            yield ProposedEdits(COST + 0.2 + 0.2 * rank, (TextEdit(at, at, f" = {text}"),))
        return
    value, text = node.value, scope.text(node.value)
    yield ProposedEdits(
        COST + 0.8,
        (TextEdit(scope.source.span(node.annotation)[1], scope.source.span(value)[1], ""),),
    )
    word, extra = _field_word(scope)
    if isinstance(value, (ast.List, ast.Dict, ast.Set)) or (
        isinstance(value, ast.Call) and not word_in(value, scope)
    ):
        factory = {"[]": "list", "{}": "dict"}.get(text, f"lambda: {text}")
        if isinstance(value, ast.Call) and not value.args and not value.keywords:
            factory = scope.text(value.func)
        edit = scope.source.replacement(value, f"{word}(default_factory={factory})")
        yield ProposedEdits(COST - 0.5, (*extra, edit))
    elif not word_in(value, scope):
        for rank, flag in enumerate(FIELD_FLAGS):
            edit = scope.source.replacement(value, f"{word}(default={text}, {flag})")
            yield ProposedEdits(COST + 1.0 + 0.1 * rank, (*extra, edit))


def word_in(value: ast.expr, scope: CodeScope) -> bool:
    """Return True if a value is already a call of `field`."""
    return isinstance(value, ast.Call) and scope.text(value.func).split(".")[-1] in (
        "field",
        "Field",
        "attrib",
        "ib",
    )


def _field_word(scope: OuterScope) -> Tuple[str, Tuple[TextEdit, ...]]:
    """Return the file's name for `field`, with edits that import it if it is missing."""
    if "field" in scope.bound:
        return "field", ()
    if "dataclasses" in scope.bound:
        return "dataclasses.field", ()
    for statement in scope.source.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "dataclasses":
            text = scope.text(statement)
            end = scope.source.span(statement)[1]
            # A parenthesized import list is left alone; a new import line is added.
            at = end if not text.endswith(")") else -1
            if at >= 0:
                return "field", (TextEdit(at, at, ", field"),)
    return "field", scope.importing("from dataclasses import field")


def _flags(node: ast.ClassDef, scope: OuterScope) -> Iterator[Optional[ProposedEdits]]:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = scope.text(call.func if call else decorator)
        # attrs calls it `attr.s`, `define` and `frozen`.
        if name.split(".")[-1] not in ("dataclass", "define", "s", "frozen"):
            continue
        given: List[str] = (
            [scope.text(k.value) and f"{k.arg}={scope.text(k.value)}" for k in call.keywords]
            if call
            else []
        )
        for flag in FLAGS:
            key = flag.split("=")[0]
            kept = [g for g in given if not g.startswith(key + "=")]
            if flag not in given:
                yield scope.replace(COST + 0.3, decorator, f"{name}({', '.join([*kept, flag])})")
        for one in given:
            kept = [g for g in given if g != one]
            yield scope.replace(
                COST + 0.1, decorator, f"{name}({', '.join(kept)})" if kept else name
            )
    # Annotated attributes in a class without bases suggest a forgotten decorator.
    if (
        not node.decorator_list
        and not node.bases
        and any(isinstance(s, ast.AnnAssign) for s in node.body)
    ):
        indent = scope.source.indent(node)
        word = next(
            (w for w in ("dataclass", "dataclasses.dataclass") if w.split(".")[0] in scope.bound),
            None,
        )
        if word and indent is not None:
            at = scope.source.offset(node.lineno, 0)
            yield ProposedEdits(
                COST - 0.2, (TextEdit(at, at, f"{indent}@{word}{scope.source.newline}"),)
            )


def _field_call(node: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange `default` and `default_factory`, and add flags."""
    start = scope.source.span(node)[0]
    for keyword in node.keywords:
        value = scope.source.span(keyword.value)
        if keyword.arg in ("default", "default_factory"):
            other = "default_factory" if keyword.arg == "default" else "default"
            before = scope.source.data[start : value[0]].decode("utf-8")
            at = start + len(before[: before.rindex(keyword.arg)].encode("utf-8"))
            yield ProposedEdits(COST, (TextEdit(at, at + len(keyword.arg), other),))
    given = {k.arg for k in node.keywords}
    end = scope.source.span(node)[1] - 1
    for rank, flag in enumerate(FIELD_FLAGS):
        if flag.split("=")[0] not in given and (node.args or node.keywords):
            yield ProposedEdits(COST + 0.6 + 0.1 * rank, (TextEdit(end, end, f", {flag}"),))
