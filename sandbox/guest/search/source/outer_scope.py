"""Code outside function bodies: statements of modules and classes, heads of functions."""

from __future__ import annotations

import ast
import builtins
import copy
import sys
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Sequence, Set, Tuple

from sandbox.guest.search.source.dangers import is_dangerous
from sandbox.guest.search.source.render import SourceFile, TextEdit, first_line
from sandbox.guest.search.source.scope import (
    NO_LITERALS,
    CodeScope,
    FunctionNode,
    ProposedEdits,
    SeenLiterals,
)

BUILTINS = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__doc__",
    "__path__",
    "__class__",
    "__spec__",
}


class OuterStatement(NamedTuple):
    """A statement outside functions, or the head of a compound one, with its own nodes."""

    statement: ast.stmt
    nodes: Tuple[ast.AST, ...]
    classes: Tuple[ast.ClassDef, ...]
    """The classes around it, outermost first."""

    @property
    def lines(self) -> range:
        """The lines of the statement, without the body of a compound one."""
        body = getattr(self.statement, "body", None)
        last = self.statement.end_lineno or self.statement.lineno
        if isinstance(body, list) and body:
            last = max(self.statement.lineno, first_line(body[0]) - 1)
        return range(first_line(self.statement), last + 1)


def iterate_statements(
    body: Sequence[ast.stmt], classes: Tuple[ast.ClassDef, ...] = ()
) -> Iterator[OuterStatement]:
    """Yield every piece of a module or class in source order."""
    for statement in body:
        if isinstance(statement, FunctionNode):
            yield OuterStatement(statement, tuple(_function_head(statement)), classes)
        elif isinstance(statement, ast.ClassDef):
            heads: List[ast.AST] = [
                *statement.decorator_list,
                *statement.bases,
                *statement.keywords,
            ]
            yield OuterStatement(statement, (statement, *_walk(heads)), classes)
            yield from iterate_statements(statement.body, (*classes, statement))
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield OuterStatement(statement, (statement, *_walk(_compound_head(statement))), classes)
            for inner in _bodies(statement):
                yield from iterate_statements(inner, classes)
        elif not _is_docstring(statement):
            yield OuterStatement(statement, tuple(_walk([statement])), classes)


def _function_head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    yield node
    arguments = node.args
    yield from _walk(
        [*node.decorator_list, *arguments.defaults, *(d for d in arguments.kw_defaults if d)]
    )


def _compound_head(statement: ast.stmt) -> List[ast.AST]:
    if isinstance(statement, ast.If):
        return [statement.test]
    if isinstance(statement, ast.With):
        return [item.context_expr for item in statement.items]
    return [handler.type for handler in getattr(statement, "handlers", []) if handler.type]


def _bodies(statement: ast.stmt) -> Iterator[List[ast.stmt]]:
    yield getattr(statement, "body", [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    yield getattr(statement, "orelse", [])
    yield getattr(statement, "finalbody", [])


def _walk(roots: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield nodes that may be changed.

    Annotations, dangerous calls, functions and f-strings of old Python versions may not.
    """
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        if is_dangerous(node) or isinstance(node, FunctionNode):
            continue
        # Before Python 3.12, parts of f-strings have wrong positions.
        if isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
            continue
        yield node
        children = [c for field, c in _children(node) if field != "annotation"]
        waiting += reversed(children)


def _children(node: ast.AST) -> Iterator[Tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


class OuterScope(CodeScope):
    """The module and class level of a file, as templates see it.

    Args:
        source: The file.
        literals: Literals in the failing tests.
    """

    def __init__(self, source: SourceFile, literals: SeenLiterals = NO_LITERALS) -> None:
        self._pieces = list(iterate_statements(source.tree.body))
        super().__init__(source, source.tree, literals)
        self.bound = outer_names(source.tree.body)
        self.names = [name for name in self.bound if not name.startswith("__")][:24]
        self.unbound = unbound_names(source.tree)

    def pieces(self) -> Sequence[OuterStatement]:
        """Return all pieces of the file."""
        return self._pieces

    def of(self, piece: OuterStatement) -> OuterScope:
        """Return the same scope, limited to one piece."""
        narrow = copy.copy(self)
        narrow.root = piece.statement
        narrow.nodes = [node for node in piece.nodes if node is not piece.statement]
        return narrow

    def classes(self) -> List[ast.ClassDef]:
        """Return every class outside functions."""
        return [
            piece.statement for piece in self._pieces if isinstance(piece.statement, ast.ClassDef)
        ]

    def functions(self) -> List[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return every function outside functions."""
        return [p.statement for p in self._pieces if isinstance(p.statement, FunctionNode)]

    def importing(self, line: str, *edits: TextEdit) -> Tuple[TextEdit, ...]:
        """Return these edits and an import at the top of the file."""
        return with_import(self.source, line, edits)

    # Python 3.8 has no `override`.
    def _mutable_nodes(self) -> Iterator[ast.AST]:  # type: ignore[explicit-override]
        for piece in self._pieces:
            yield from piece.nodes


def is_outer(scope: CodeScope) -> bool:
    """Return True if a template runs at module or class level."""
    return isinstance(scope, OuterScope)


def import_edit(source: SourceFile, line: str) -> TextEdit:
    """Return an edit that adds an import after the leading imports, or at the top."""
    last = 0
    for index, statement in enumerate(source.tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or (
            index == 0 and _is_docstring(statement)
        ):
            last = statement.end_lineno or statement.lineno
            continue
        if not last and index == 0:
            last = min(first_line(statement) - 1, _comments_at_top(source))
        break
    at = (
        source.line_span(1, last)[1]
        if last
        else len(source.data) - len(source.data.lstrip(b"\xef\xbb\xbf"))
    )
    text = line + source.newline
    if at and source.data[at - 1 : at] != b"\n" and last:
        text = source.newline + text
    return TextEdit(at, at, text)


def with_import(
    source: SourceFile, line: str, edits: Sequence[TextEdit] = ()
) -> Tuple[TextEdit, ...]:
    """Return these edits with an import, unless the file has it.

    At the same place, the import comes first.
    """
    if any(
        isinstance(s, (ast.Import, ast.ImportFrom)) and source.text(s) == line
        for s in source.tree.body
    ):
        return tuple(edits)
    new = import_edit(source, line)
    same = [e for e in edits if e.start == e.end == new.start]
    others = tuple(e for e in edits if e not in same)
    return (*others, new._replace(text=new.text + "".join(e.text for e in same)))


def _comments_at_top(source: SourceFile) -> int:
    count = 0
    for line in source.data.split(b"\n"):
        if not line.startswith(b"#"):
            return count
        count += 1
    return count


def outer_names(body: Sequence[ast.stmt]) -> List[str]:
    """Return the names that a module binds at its own level, in source order."""
    names: List[str] = []
    for statement in body:
        if isinstance(statement, (*FunctionNode, ast.ClassDef)):
            names.append(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            names += [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            for inner in _bodies(statement):
                names += outer_names(inner)
        else:
            names += [
                n.id
                for n in ast.walk(statement)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            ]
    return list(dict.fromkeys(names))


def unbound_names(tree: ast.Module) -> List[str]:
    """Return the names that a file reads and never binds."""
    bound: Set[str] = set(BUILTINS)
    read: Dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                read[node.id] = None
            else:
                bound.add(node.id)
        elif isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names):
            return []
        else:
            bound |= _bound_by(node)
    return [name for name in read if name not in bound]


def _bound_by(node: ast.AST) -> FrozenSet[str]:
    if isinstance(node, ast.arg):
        return frozenset((node.arg,))
    if isinstance(node, (*FunctionNode, ast.ClassDef)):
        return frozenset((node.name,))
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return frozenset((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.ExceptHandler) and node.name:
        return frozenset((node.name,))
    if type(node).__name__ in ("MatchAs", "MatchStar", "MatchMapping", "TypeVar"):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        return frozenset((str(name),)) if name else frozenset()
    return frozenset()


def end_of_argument(source: SourceFile, argument: ast.arg) -> int:
    """Return the end of a parameter with its annotation, which Python 3.8 omits."""
    end = source.span(argument)[1]
    return max(end, source.span(argument.annotation)[1]) if argument.annotation else end


def top_of_body(
    scope: CodeScope, cost: float, node: ast.AST, code: str, *, beside: Tuple[TextEdit, ...] = ()
) -> ProposedEdits | None:
    """Return a proposal that inserts a statement after a function's docstring."""
    body = node.body  # type: ignore[attr-defined]
    if len(body) > 1 and _is_docstring(body[0]):
        proposal = scope.before(cost, body[1], code)
    else:
        proposal = (
            scope.after(cost, body[0], code)
            if _is_docstring(body[0])
            else scope.before(cost, body[0], code)
        )
    return ProposedEdits(cost, (*beside, *proposal.edits)) if proposal else None
