"""Locations in editable files that an exception passed through, as seen by guided templates."""

from __future__ import annotations

import ast
from typing import (
    Callable,
    Dict,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    Type,
    TypeVar,
)

from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.session.failures import FailureRecord
from sandbox.guest.search.source.dangers import is_dangerous
from sandbox.guest.search.source.outer_scope import OuterScope, outer_names
from sandbox.guest.search.source.render import SourceFile, TextEdit, first_line
from sandbox.guest.search.source.scope import (
    NO_LITERALS,
    CodeScope,
    FunctionNode,
    ProposedEdits,
    SeenLiterals,
)

Node = TypeVar("Node", bound=ast.AST)
MAX_SPOTS = 4
"""Maximum frames of a traceback to repair, innermost first."""


class GuidedProposal(NamedTuple):
    """A proposed edit with its cost, file and line."""

    cost: float
    source: SourceFile
    edits: Tuple[TextEdit, ...]
    line: int
    harmless: bool = False
    """True if the edit may touch a destructive call because it does not alter its effect."""


class Spot:
    """One frame of a traceback in an editable file.

    Args:
        source: The file.
        line: Line of the frame.
        span: Position of the failing expression, if known.
        facts: Types of local names, and the names that were None.
    """

    def __init__(
        self,
        source: SourceFile,
        line: int,
        span: Optional[Sequence[int]],
        facts: Dict[str, Dict[str, str]],
    ) -> None:
        self.source = source
        self.line = line
        # Recorded at the failing frame, and therefore of this one run only.
        self.types: Dict[str, str] = facts.get("types", {})
        self.none: Set[str] = set(facts.get("none", ()))
        around = _around(source.tree, line)
        functions = [n for n in around if isinstance(n, FunctionNode) and n.body[0].lineno <= line]
        self.function: Optional[ast.AST] = functions[-1] if functions else None
        self.classes = [n for n in around if isinstance(n, ast.ClassDef)]
        statements = [n for n in around if isinstance(n, ast.stmt)]
        self.statement: Optional[ast.stmt] = statements[-1] if statements else None
        self.scope: CodeScope = CodeScope(source, functions[0]) if functions else OuterScope(source)
        self.nodes = _own_expressions(self.statement) if self.statement else []
        self.at_work = [n for n in self.nodes if span and _same(n, span)]

    def find(self, kind: Type[Node], test: Callable[[Node], bool] = lambda _: True) -> List[Node]:
        """Return nodes of a type in the statement: the failing one, then those on the line."""
        found = [n for n in self.nodes if isinstance(n, kind) and test(n)]
        return sorted(found, key=lambda n: (n not in self.at_work, not self._on_line(n)))

    def _on_line(self, node: ast.AST) -> bool:
        return getattr(node, "lineno", 0) <= self.line <= (getattr(node, "end_lineno", 0) or 0)

    @property
    def names(self) -> List[str]:
        """Return the names bound in the function, then those of the module."""
        inside = self.scope.names if self.function else []
        return list(dict.fromkeys([*inside, *outer_names(self.source.tree.body)]))

    @property
    def own(self) -> Optional[str]:
        """Return the name of the first parameter if it is `self` or `cls`, else None."""
        arguments = getattr(getattr(self.function, "args", None), "args", [])
        return arguments[0].arg if arguments and arguments[0].arg in ("self", "cls") else None

    def text(self, node: ast.AST) -> str:
        """Return the source text of a node."""
        return self.source.text(node)

    def text_of_keyword(self, keyword: ast.keyword) -> str:
        """Return a keyword argument as `name=value` or `**value`."""
        value = self.text(keyword.value)
        return f"{keyword.arg}={value}" if keyword.arg else f"**{value}"

    def replace(self, cost: float, node: ast.AST, text: str) -> GuidedProposal:
        """Replace a node by another expression."""
        return GuidedProposal(
            cost,
            self.source,
            (self.source.replacement(node, text),),
            getattr(node, "lineno", self.line),
        )

    def edit(self, cost: float, *edits: TextEdit, harmless: bool = False) -> GuidedProposal:
        """Create a change from edits of this file."""
        return GuidedProposal(cost, self.source, edits, self.line, harmless)

    def insert(self, cost: float, at: int, text: str, *, harmless: bool = False) -> GuidedProposal:
        """Insert text at an offset."""
        return self.edit(cost, TextEdit(at, at, text), harmless=harmless)

    def take(self, proposal: Optional[ProposedEdits]) -> Iterator[GuidedProposal]:
        """Convert a proposal of a scope into a change at this location."""
        if proposal is not None:
            yield GuidedProposal(proposal.cost, self.source, proposal.edits, self.line)

    def before(self, cost: float, code: str) -> Iterator[GuidedProposal]:
        """Insert a statement before this one."""
        if self.statement is not None and self.function is not None:
            yield from self.take(self.scope.before(cost, self.statement, code))

    def attribute_span(self, node: ast.Attribute) -> Tuple[int, int]:
        """Return the byte range of the name after the dot."""
        end = self.source.span(node)[1]
        return end - len(node.attr.encode("utf-8")), end

    def in_annotation(self, node: ast.AST) -> bool:
        """Return True if a node is part of an annotation."""
        while node in self.source.places:
            place = self.source.places[node]
            if place.field in ("annotation", "returns"):
                return True
            if isinstance(node, ast.stmt):
                return False
            node = place.parent
        return False


class FailureContext(NamedTuple):
    """The context available to templates guided by an exception."""

    failure: FailureRecord
    spots: List[Spot]
    """Innermost first; empty if only tests and installed packages took part."""
    open: Callable[[str], Optional[SourceFile]]
    """Returns an editable file by its path, or None."""
    lookups: Lookups
    literals: SeenLiterals = NO_LITERALS
    """Literals of the failing tests."""

    def module_name(self, path: str) -> str:
        """Return the import name of a file of the checkout."""
        stem = path[:-3].replace("\\", "/")
        # In a `src` layout the package is imported without the folder's name.
        stem = stem[len("src/") :] if stem.startswith("src/") else stem
        stem = stem[: -len("/__init__")] if stem.endswith("/__init__") else stem
        return stem.replace("/", ".")

    def sources(self) -> List[SourceFile]:
        """Return the editable files of the frames, then those that the failure refers to."""
        found = {spot.source.path: spot.source for spot in self.spots}
        for path in self.failure.extra.get("files") or ():
            source = self.open(str(path))
            if source is not None:
                found.setdefault(source.path, source)
        return list(found.values())

    def class_named(self, path: str, name: str) -> Iterator[Tuple[SourceFile, ast.ClassDef]]:
        """Yield the classes with a name in an editable file."""
        source = self.open(path) if path else None
        if source is not None:
            yield from (
                (source, n)
                for n in ast.walk(source.tree)
                if isinstance(n, ast.ClassDef) and n.name == name
            )

    def function_at(
        self, path: str, line: int
    ) -> Iterator[Tuple[SourceFile, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Yield the function of an editable file that starts at a line.

        The line of the first decorator counts too, since code objects start there.
        """
        source = self.open(path) if path else None
        if source is not None:
            for node in ast.walk(source.tree):
                if isinstance(node, FunctionNode) and line in (first_line(node), node.lineno):
                    yield source, node


def find_spots(
    failure: FailureRecord, open_source: Callable[[str], Optional[SourceFile]]
) -> List[Spot]:
    """Return the innermost frames that lie in editable files."""
    spots: List[Spot] = []
    seen: Set[Tuple[str, int]] = set()
    spans, facts = failure.extra.get("spans") or [], failure.extra.get("locals") or {}
    # Tracebacks list the outermost frame first.
    for index in range(len(failure.frames) - 1, -1, -1):
        path, line, _ = failure.frames[index]
        source = open_source(path) if (path, line) not in seen else None
        seen.add((path, line))
        if source is None or not 1 <= line <= source.data.count(b"\n") + 1:
            continue
        span = spans[index] if index < len(spans) else None
        spots.append(Spot(source, line, span, facts.get(str(index), {})))
        if len(spots) >= MAX_SPOTS:
            break
    return [spot for spot in spots if spot.statement is not None]


def _around(tree: ast.Module, line: int) -> List[ast.AST]:
    """Return the statements that contain a line, outermost first."""
    found: List[ast.AST] = []
    body: Sequence[ast.AST] = tree.body
    while True:
        inner = [s for s in body if first_line(s) <= line <= (getattr(s, "end_lineno", None) or 0)]
        if not inner:
            return found
        found.append(inner[-1])
        body = [s for s in ast.iter_child_nodes(inner[-1]) if isinstance(s, ast.stmt)]
        # Handlers and cases are no statements, but contain some.
        for handler in [*getattr(inner[-1], "handlers", []), *getattr(inner[-1], "cases", [])]:
            body = [*body, *handler.body]


def _own_expressions(statement: ast.stmt) -> List[ast.AST]:
    """Return a statement's own expressions, without nested statements."""
    waiting: List[ast.AST] = [statement]
    found: List[ast.AST] = []
    while waiting:
        node = waiting.pop(0)
        found.append(node)
        waiting += [
            child
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt) and type(child).__name__ != "match_case"
        ]
    return found


def _same(node: ast.AST, span: Sequence[int]) -> bool:
    return [
        getattr(node, a, None) for a in ("lineno", "end_lineno", "col_offset", "end_col_offset")
    ] == list(span)


def dangerous_spans(source: SourceFile) -> List[Tuple[int, int]]:
    """Return the byte ranges of calls that a candidate may not touch."""
    return [source.span(node) for node in ast.walk(source.tree) if is_dangerous(node)]
