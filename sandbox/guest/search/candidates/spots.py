"""The places in editable files that an exception passed through, and what templates guided by exceptions may ask."""

from __future__ import annotations

import ast
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Type, TypeVar

from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.session.failures import Failure
from sandbox.guest.search.source.dangers import is_dangerous
from sandbox.guest.search.source.outer_scope import OuterScope, bound_outside
from sandbox.guest.search.source.render import Edit, Source, first_line
from sandbox.guest.search.source.scope import NO_LITERALS, FunctionNode, Proposal, Scope, SeenLiterals

Node = TypeVar("Node", bound=ast.AST)
MOST_SPOTS = 4


class Change(NamedTuple):
    """One candidate: its cost, the file, the edits, and the line it is about."""

    cost: float
    source: Source
    edits: Tuple[Edit, ...]
    line: int
    harmless: bool = False
    """It may touch a call that could destroy something, because it changes nothing of what the call does."""


class Spot:
    """One frame of a traceback in a file that may be edited.

    Args:
        source: The file.
        line: Where it stood.
        span: The expression that was at work, where it is known.
        facts: Types of local names, and which were None.
    """

    def __init__(
        self, source: Source, line: int, span: Optional[Sequence[int]], facts: Dict[str, Dict[str, str]]
    ) -> None:
        self.source = source
        self.line = line
        self.types: Dict[str, str] = facts.get("types", {})
        self.none: Set[str] = set(facts.get("none", ()))
        around = _around(source.tree, line)
        functions = [n for n in around if isinstance(n, FunctionNode) and n.body[0].lineno <= line]
        self.function: Optional[ast.AST] = functions[-1] if functions else None
        self.classes = [n for n in around if isinstance(n, ast.ClassDef)]
        statements = [n for n in around if isinstance(n, ast.stmt)]
        self.statement: Optional[ast.stmt] = statements[-1] if statements else None
        self.scope: Scope = Scope(source, functions[0]) if functions else OuterScope(source)
        self.nodes = _nodes_of(self.statement) if self.statement else []
        self.at_work = [n for n in self.nodes if span and _same(n, span)]

    def find(self, kind: Type[Node], test: Callable[[Node], bool] = lambda _: True) -> List[Node]:
        """Nodes of a kind in the statement, the one that was at work first; those on the line before others."""
        found = [n for n in self.nodes if isinstance(n, kind) and test(n)]
        return sorted(found, key=lambda n: (n not in self.at_work, not self._on_line(n)))

    def _on_line(self, node: ast.AST) -> bool:
        return getattr(node, "lineno", 0) <= self.line <= (getattr(node, "end_lineno", 0) or 0)

    @property
    def names(self) -> List[str]:
        """Names bound here: in the function, then in the module."""
        inside = self.scope.names if self.function else []
        return list(dict.fromkeys([*inside, *bound_outside(self.source.tree.body)]))

    @property
    def own(self) -> Optional[str]:
        """What the method at hand calls its object."""
        arguments = getattr(getattr(self.function, "args", None), "args", [])
        return arguments[0].arg if arguments and arguments[0].arg in ("self", "cls") else None

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        return self.source.text(node)

    def text_of_keyword(self, keyword: ast.keyword) -> str:
        """`name=value`, or `**value`."""
        value = self.text(keyword.value)
        return f"{keyword.arg}={value}" if keyword.arg else f"**{value}"

    def replace(self, cost: float, node: ast.AST, text: str) -> Change:
        """Another expression in this node's place."""
        return Change(cost, self.source, (self.source.replacement(node, text),), getattr(node, "lineno", self.line))

    def edit(self, cost: float, *edits: Edit, harmless: bool = False) -> Change:
        """Any edits of this file."""
        return Change(cost, self.source, edits, self.line, harmless)

    def insert(self, cost: float, at: int, text: str, *, harmless: bool = False) -> Change:
        """More text at one place."""
        return self.edit(cost, Edit(at, at, text), harmless=harmless)

    def take(self, proposal: Optional[Proposal]) -> Iterator[Change]:
        """What a scope made, as a change of this place."""
        if proposal is not None:
            yield Change(proposal.cost, self.source, proposal.edits, self.line)

    def before(self, cost: float, code: str) -> Iterator[Change]:
        """A statement in front of this one."""
        if self.statement is not None and self.function is not None:
            yield from self.take(self.scope.before(cost, self.statement, code))

    def attribute_span(self, node: ast.Attribute) -> Tuple[int, int]:
        """The bytes of the name behind the dot."""
        end = self.source.span(node)[1]
        return end - len(node.attr.encode("utf-8")), end

    def in_annotation(self, node: ast.AST) -> bool:
        """Whether a node stands in an annotation."""
        while node in self.source.places:
            place = self.source.places[node]
            if place.field in ("annotation", "returns"):
                return True
            if isinstance(node, ast.stmt):
                return False
            node = place.parent
        return False


class View(NamedTuple):
    """Everything a template guided by an exception may look at."""

    failure: Failure
    spots: List[Spot]
    """Innermost first; empty when only tests and installed packages took part."""
    open: Callable[[str], Optional[Source]]
    """An editable file by its path, or None."""
    lookups: Lookups
    literals: SeenLiterals = NO_LITERALS
    """What stands in the failing tests."""

    def module_of(self, path: str) -> str:
        """The module a file of the checkout is, as others import it."""
        stem = path[:-3].replace("\\", "/")
        stem = stem[len("src/") :] if stem.startswith("src/") else stem
        stem = stem[: -len("/__init__")] if stem.endswith("/__init__") else stem
        return stem.replace("/", ".")

    def sources(self) -> List[Source]:
        """Editable files of the frames, then files that were named as worth a look."""
        found = {spot.source.path: spot.source for spot in self.spots}
        for path in self.failure.extra.get("files") or ():
            source = self.open(str(path))
            if source is not None:
                found.setdefault(source.path, source)
        return list(found.values())

    def class_named(self, path: str, name: str) -> Iterator[Tuple[Source, ast.ClassDef]]:
        """A class of an editable file."""
        source = self.open(path) if path else None
        if source is not None:
            yield from ((source, n) for n in ast.walk(source.tree) if isinstance(n, ast.ClassDef) and n.name == name)

    def function_at(self, path: str, line: int) -> Iterator[Tuple[Source, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """A function of an editable file by its first line (of its decorators, as code objects count)."""
        source = self.open(path) if path else None
        if source is not None:
            for node in ast.walk(source.tree):
                if isinstance(node, FunctionNode) and line in (first_line(node), node.lineno):
                    yield source, node


def spots_of(failure: Failure, open_source: Callable[[str], Optional[Source]]) -> List[Spot]:
    """The innermost frames in editable files."""
    spots: List[Spot] = []
    seen: Set[Tuple[str, int]] = set()
    spans, facts = failure.extra.get("spans") or [], failure.extra.get("locals") or {}
    for index in range(len(failure.frames) - 1, -1, -1):
        path, line, _ = failure.frames[index]
        source = open_source(path) if (path, line) not in seen else None
        seen.add((path, line))
        if source is None or not 1 <= line <= source.data.count(b"\n") + 1:
            continue
        span = spans[index] if index < len(spans) else None
        spots.append(Spot(source, line, span, facts.get(str(index), {})))
        if len(spots) >= MOST_SPOTS:
            break
    return [spot for spot in spots if spot.statement is not None]


def _around(tree: ast.Module, line: int) -> List[ast.AST]:
    """The statements that a line lies in, outermost first."""
    found: List[ast.AST] = []
    body: Sequence[ast.AST] = tree.body
    while True:
        inner = [s for s in body if first_line(s) <= line <= (getattr(s, "end_lineno", None) or 0)]
        if not inner:
            return found
        found.append(inner[-1])
        body = [s for s in ast.iter_child_nodes(inner[-1]) if isinstance(s, ast.stmt)]
        for handler in [*getattr(inner[-1], "handlers", []), *getattr(inner[-1], "cases", [])]:
            body = [*body, *handler.body]


def _nodes_of(statement: ast.stmt) -> List[ast.AST]:
    """A statement's own expressions, not those of the statements inside it."""
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
    return [getattr(node, a, None) for a in ("lineno", "end_lineno", "col_offset", "end_col_offset")] == list(span)


def dangerous_spans(source: Source) -> List[Tuple[int, int]]:
    """The bytes of calls that a candidate may not touch."""
    return [source.span(node) for node in ast.walk(source.tree) if is_dangerous(node)]
