"""Plausibility of edits: check bound names and types before a trial."""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from sandbox.guest.search.source.bindings import Point, node_span
from sandbox.guest.search.source.environment import FunctionEnvironment
from sandbox.guest.search.source.inference import Inference
from sandbox.guest.search.source.name_facts import Complaints
from sandbox.guest.search.source.operations import same
from sandbox.guest.search.source.render import SourceFile, TextEdit

PENALTY = 1.5
"""Extra cost of a candidate per likely complaint."""
COMPOUND = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While,
    ast.With, ast.AsyncWith, ast.Try,
)  # fmt: skip
NEWER_COMPOUND = ("Match", "TryStar")
EFFECTIVE = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.Constant, ast.NamedExpr)


class CheckedRegion(NamedTuple):
    """A simple statement, or an expression in the head of a compound one."""

    start: int
    end: int
    node: ast.AST
    how: str
    """`statement`, `test`, `iterated` or `value`."""


class Plausibility:
    """Checks the plausibility of edits in one function.

    Args:
        source: The file.
        root: The function.
        environment: The known facts about its names.
    """

    def __init__(self, source: SourceFile, root: ast.AST, environment: FunctionEnvironment) -> None:
        self._source = source
        self._environment = environment
        self._root = root
        regions = (CheckedRegion(*source.span(node), node, how) for node, how in _regions(root))
        self._regions = sorted(regions, key=lambda region: (region.start, region.end))
        self._starts = [region.start for region in self._regions]
        self._before: Dict[int, Optional[Complaints]] = {}
        self._heads: Dict[int, ast.stmt] = {}
        for node in ast.walk(root):
            if isinstance(node, ast.stmt):
                self._heads.setdefault(source.line_span(node.lineno, node.lineno)[0], node)

    def extra_cost(self, edits: Sequence[TextEdit]) -> Optional[float]:
        """Return the extra cost of an implausible edit, or None if it cannot work."""
        try:
            return self._extra_cost(edits)
        except RecursionError:
            return 0.0  # nested too deeply to be checked

    def _extra_cost(self, edits: Sequence[TextEdit]) -> Optional[float]:
        places: Dict[int, List[TextEdit]] = {}
        extra = 0.0
        for edit in edits:
            index = self._find_region(edit)
            if index is not None:
                places.setdefault(index, []).append(edit)
            elif edit.start == edit.end and "\n" in edit.text:
                cost = self._of_insertion(edit)
                if cost is None:
                    return None
                extra += cost
        for index, inside in places.items():
            cost = self._of_region(index, tuple(sorted(inside)))
            if cost is None:
                return None
            extra += cost
        return extra

    def _find_region(self, edit: TextEdit) -> Optional[int]:
        index = bisect_right(self._starts, edit.start) - 1
        if index < 0:
            return None
        region = self._regions[index]
        return index if edit.end <= region.end and edit.start <= region.end else None

    def _of_region(self, index: int, edits: Tuple[TextEdit, ...]) -> Optional[float]:
        before = self._complaints_before(index)
        if before is None:
            return 0.0
        region = self._regions[index]
        data = self._source.data
        pieces, at = [], region.start
        for edit in edits:
            if edit.start < at:
                return None
            pieces += [data[at : edit.start], edit.text.encode("utf-8")]
            at = edit.end
        text = b"".join([*pieces, data[at : region.end]]).decode("utf-8")
        tree = self._parse(text, region)
        if tree is None:
            return None
        return _extra(self._check(tree, region.how, node_span(region.node)[0], moved=True), before)

    def _complaints_before(self, index: int) -> Optional[Complaints]:
        """Return the complaints about the unedited region, or None if it cannot be checked."""
        if index not in self._before:
            region = self._regions[index]
            text = self._source.data[region.start : region.end].decode("utf-8")
            tree = self._parse(text, region)
            point = node_span(region.node)[0]
            self._before[index] = (
                self._check(tree, region.how, point, moved=True) if tree is not None else None
            )
        return self._before[index]

    def _parse(self, text: str, region: CheckedRegion) -> Optional[ast.AST]:
        try:
            if region.how != "statement":
                return ast.parse(f"({text})", mode="eval").body
            bare = text.lstrip(" \t")
            if "\n" in bare:
                statement: Any = region.node
                indent = text[: len(text) - len(bare)] or self._source.indent(statement)
                bare = bare.replace("\r\n", "\n").replace("\n" + (indent or ""), "\n")
            return ast.parse(bare)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _of_insertion(self, edit: TextEdit) -> Optional[float]:
        lines = edit.text.replace("\r\n", "\n").split("\n")
        if not edit.text.strip() or lines[0].lstrip().startswith(
            ("else", "elif", "except", "finally", "case")
        ):
            return 0.0
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        text = "\n".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        complaints = self._check(
            tree, "statement", self._insertion_point(edit.start, indent), moved=True
        )
        return _extra(complaints, Complaints())

    def _insertion_point(self, at: int, indent: str) -> Point:
        """Return the position of a statement that is inserted at the start of a line.

        It is before the statement there, or after the line above.
        """
        head = self._heads.get(at)
        if head is not None and head.col_offset == len(indent):
            return node_span(head)[0]
        start, text = self._source.position(at)
        while not text.strip() and start > 1:
            start -= 1
            text = self._source.line(start)
        return (start, len(text.rstrip().encode("utf-8")))

    def _check(self, tree: ast.AST, how: str, point: Point, *, moved: bool) -> Complaints:
        inference = Inference(self._environment.name_facts, point, moved=moved)
        if how == "test":
            inference.test(tree)  # type: ignore[arg-type]
        elif how == "iterated":
            inference.iterated(inference.of(tree))
        elif how == "value":
            inference.of(tree)
        else:
            new: Set[str] = set()
            for statement in getattr(tree, "body", []):
                inference.unbound.clear()
                check_statement(statement, inference)
                if inference.unbound:
                    # Names that the new text binds itself are not unbound.
                    mine = new | _bound_first(statement)
                    inference.complaints.sure -= sum(name in mine for name in inference.unbound)
                new |= _stored(statement)
        return inference.complaints


def _extra(now: Complaints, before: Complaints) -> Optional[float]:
    if now.sure > before.sure:
        return None
    return PENALTY * max(0, now.likely - before.likely)


def _regions(root: ast.AST) -> Iterator[Tuple[ast.AST, str]]:
    waiting: List[ast.AST] = list(getattr(root, "body", []))
    while waiting:
        node = waiting.pop()
        if (
            isinstance(node, ast.stmt)
            and not isinstance(node, COMPOUND)
            and type(node).__name__ not in NEWER_COMPOUND
        ):
            yield node, "statement"
            continue
        if isinstance(node, (ast.If, ast.While)):
            yield node.test, "test"
        elif isinstance(node, (ast.For, ast.AsyncFor)):
            yield node.iter, "iterated" if isinstance(node, ast.For) else "value"
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            yield from ((item.context_expr, "value") for item in node.items)
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            yield node.type, "value"
        inner = (ast.stmt, ast.ExceptHandler)
        children = ast.iter_child_nodes(node)
        waiting += [c for c in children if isinstance(c, inner) or type(c).__name__ == "match_case"]


def _stored(tree: ast.AST) -> Set[str]:
    """Return the names that new code binds."""
    nodes = list(ast.walk(tree))
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}


def _bound_first(statement: ast.stmt) -> Set[str]:
    """Return the bound names that a statement may read itself, without assigned ones."""
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return _stored(statement.value) if statement.value is not None else set()
    return _stored(statement)


def check_statement(node: ast.stmt, inference: Inference) -> None:
    """Record the complaints about a statement."""
    if isinstance(node, ast.Expr):
        inference.of(node.value)
        if not isinstance(node.value, EFFECTIVE):
            inference.complaints.add()
    elif isinstance(node, ast.Assign):
        _assignment(node, inference)
    elif isinstance(node, ast.AugAssign):
        _augment(node, inference)
    else:
        _head(node, inference)
    for block in ("body", "orelse", "finalbody"):
        for inner in getattr(node, block, []):
            check_statement(inner, inference)


def _head(node: ast.stmt, inference: Inference) -> None:
    if isinstance(node, (ast.If, ast.While)):
        if not (isinstance(node, ast.While) and isinstance(node.test, ast.Constant)):
            inference.test(node.test)
    elif isinstance(node, ast.For):
        inference.iterated(inference.of(node.iter))
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                inference.of(child)


def _assignment(node: ast.Assign, inference: Inference) -> None:
    inference.of(node.value)
    for target in node.targets:
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            inference.of(target)
        if same_place(target, node.value):
            inference.complaints.add()


def _augment(node: ast.AugAssign, inference: Inference) -> None:
    value = inference.of(node.value)
    if isinstance(node.target, ast.Name):
        now = inference.of(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        if isinstance(node.op, ast.Add) and now is not None and now.names == {"list"}:
            inference.iterated(value)
        else:
            inference.combined(node.op, now, value)
    else:
        inference.of(node.target)


def same_place(target: ast.expr, value: ast.expr) -> bool:
    """Return True if an assignment assigns a target to itself."""
    if isinstance(target, ast.Name):
        return isinstance(value, ast.Name) and value.id == target.id
    if type(target) is not type(value):
        return False
    return ast.dump(target).replace("Store()", "Load()") == ast.dump(value) and not same(
        target, value
    )
