"""A function as templates see it: names, literals and callables at a place, and the usual edits."""

from __future__ import annotations

import ast
from bisect import bisect
from functools import cached_property
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.bindings import Point, node_span
from sandbox.guest.search.source.donors import Donors, collect_donors
from sandbox.guest.search.source.environment import FunctionEnvironment
from sandbox.guest.search.source.file_facts import file_facts, is_docstring
from sandbox.guest.search.source.function_context import FunctionContext
from sandbox.guest.search.source.inference import Inference
from sandbox.guest.search.source.kinds import ValueKind
from sandbox.guest.search.source.plausibility import Plausibility
from sandbox.guest.search.source.render import (
    OPERATOR_TEXT,
    NodePosition,
    SourceFile,
    TextEdit,
    has_true_position,
)
from sandbox.guest.search.source.string_lines import NONE, lines_in_strings

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)


class ProposedEdits:
    """A candidate of a template: its edits, and its cost before suspiciousness is added.

    Args:
        cost: Lower costs are tried first.
        edits: The edits, or a function that creates them when the candidate is tried.
    """

    __slots__ = ("_edits", "cost")

    def __init__(
        self, cost: float, edits: Tuple[TextEdit, ...] | Callable[[], Tuple[TextEdit, ...]]
    ) -> None:
        self.cost = cost
        self._edits = edits

    @property
    def edits(self) -> Tuple[TextEdit, ...]:
        """The edits; empty if they turn out to be impossible."""
        if not isinstance(self._edits, tuple):
            self._edits = self._edits()
        return self._edits


class SeenLiterals(NamedTuple):
    """Literals in the failing tests."""

    numbers: tuple[float, ...] = ()
    strings: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    """Names of expected exceptions."""
    messages: tuple[str, ...] = ()
    """Texts that satisfy the expected messages."""
    words: tuple[str, ...] = ()
    """Words of all strings, including long ones."""


NO_LITERALS = SeenLiterals()
MOST_NAMES = 16
"""Maximum number of names that are offered for one place."""


class CodeScope:
    """A function (or the module level) and everything that templates may ask about it.

    Args:
        source: The file.
        root: The function or the module.
        literals: Literals in the failing tests.
        observed: Type names of values while tests ran, such as `int` or `list[str]`.
    """

    def __init__(
        self,
        source: SourceFile,
        root: ast.AST,
        literals: SeenLiterals = NO_LITERALS,
        observed: Optional[Mapping[str, Tuple[str, ...]]] = None,
    ) -> None:
        self.source = source
        self.observed = observed or {}
        self.dangers = file_facts(source).dangers
        self.root = root
        self.literals = literals
        self.is_function = isinstance(root, FunctionNode)
        self.nodes = list(self._mutable_nodes())
        self.parameters = _parameters(root)
        self.names = _local_names(root, self.parameters)
        known = file_facts(source)
        self.helpers, self.strings, self.numbers = known.helpers, known.strings, known.numbers
        self.attributes, self.types_asked = known.attributes, known.types_asked
        self.wrappers, self.methods, self.outer_names = (
            known.wrappers,
            known.methods,
            known.outer_names,
        )
        self.normalisers = known.normalisers
        self.donors: Donors = collect_donors(source, self.nodes, self.dangers)
        self._kinds: Dict[ast.AST, Optional[ValueKind]] = {}
        self._names_at: Dict[Point, List[str]] = {}

    @cached_property
    def environment(self) -> FunctionEnvironment:
        """The known facts about the names of the function."""
        return FunctionEnvironment(self.source, self.root, self.observed)

    @cached_property
    def plausibility(self) -> Plausibility:
        """The plausibility check of edits."""
        return Plausibility(self.source, self.root, self.environment)

    @cached_property
    def surroundings(self) -> FunctionContext:
        """The context of the function."""
        return FunctionContext(self.source, self.root, self.literals.exceptions)

    def names_at(self, node: ast.AST, *, behind: bool = False) -> List[str]:
        """Return a limited number of names bound at a node (or after it), in source order."""
        if not self.is_function or not hasattr(node, "lineno"):
            return self.names
        point = node_span(node)[1 if behind else 0]
        if point not in self._names_at:
            bound = self.environment.names_at(point)
            if len(bound) > MOST_NAMES:
                bound = sorted(bound, key=lambda name: self._distance(name, point[0]))[:MOST_NAMES]
            self._names_at[point] = bound
        return self._names_at[point]

    def infer_kind(self, node: ast.expr) -> Optional[ValueKind]:
        """Return the type of an expression, if it can be inferred."""
        if not self.is_function:
            return None
        if node not in self._kinds:
            try:
                self._kinds[node] = Inference(self.environment.name_facts, node_span(node)[0]).of(
                    node
                )
            except RecursionError:
                self._kinds[node] = None  # nested too deeply
        return self._kinds[node]

    def infer_name(self, name: str, node: ast.AST) -> Optional[ValueKind]:
        """Return the type of a name at a node."""
        return self.environment.infer_kind(name, node_span(node)[0]) if self.is_function else None

    def names_for(self, node: ast.expr) -> List[Tuple[float, str]]:
        """Return names that could replace an expression, with the cost of a different type."""
        wanted = self.infer_kind(node)
        found = []
        for name in self.names_at(node):
            kind = self.infer_name(name, node)
            if kind is None or wanted is None:
                found.append((0.1, name))
            else:
                found.append((0.0 if kinds.may_be(kind, wanted.names) else 0.6, name))
        return found

    def names_with_type(self, node: ast.AST, *types: str) -> List[str]:
        """Return the names bound at a node that may have one of these types."""
        wanted = frozenset(types)
        return [
            name
            for name in self.names_at(node)
            if kinds.may_be(self.infer_name(name, node), wanted)
        ]

    @cached_property
    def _mentions(self) -> Dict[str, List[int]]:
        """The lines on which each name is mentioned, in order."""
        found: Dict[str, List[int]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.setdefault(node.id, []).append(node.lineno)
        return {name: sorted(lines) for name, lines in found.items()}

    def _distance(self, name: str, line: int) -> int:
        """Return the distance of a name's nearest mention from a line."""
        lines = self._mentions.get(name, [])
        at = bisect(lines, line)
        return min((abs(number - line) for number in lines[max(0, at - 1) : at + 1]), default=9999)

    # --- context of a node -----------------------------------------------------------------------

    def place(self, node: ast.AST) -> NodePosition:
        """Return the position of a node in the tree."""
        return self.source.places[node]

    def parent(self, node: ast.AST) -> ast.AST:
        """Return the parent of a node."""
        return self.source.places[node].parent

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        return self.source.text(node)

    def part(self, node: ast.AST, level: int) -> str:
        """Return the source of a node as an operand with this precedence."""
        return self.source.part(node, level)

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """Return the block that contains a statement, and its index there."""
        place = self.source.places[statement]
        return getattr(place.parent, place.field), place.position or 0

    def is_value(self, node: ast.AST) -> bool:
        """Return True if a node is an expression that is read and may be replaced by any other."""
        if not isinstance(node, ast.expr) or isinstance(
            node, (ast.Starred, ast.Slice, ast.JoinedStr)
        ):
            return False
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return False
        place = self.source.places[node]
        return place.field != "func" and not isinstance(
            place.parent, (ast.Expr, ast.FormattedValue, ast.JoinedStr)
        )

    def is_operand(self, node: ast.AST) -> bool:
        """Return True for such an expression that is not just the owner of an attribute."""
        if not self.is_value(node):
            return False
        if not isinstance(node, ast.Name) or not isinstance(self.parent(node), ast.Attribute):
            return True
        return node.id not in ("self", "cls") and node.id not in self.outer_names

    def is_inside(self, node: ast.AST) -> bool:
        """Return True if a node is inside the function."""
        return self.is_function and node is not self.root

    def is_condition(self, node: ast.AST) -> bool:
        """Return True if a node decides a branch."""
        place = self.source.places[node]
        tests = (
            isinstance(place.parent, (ast.If, ast.While, ast.IfExp, ast.Assert))
            and place.field == "test"
        )
        return tests or (isinstance(place.parent, ast.comprehension) and place.field == "ifs")

    # --- edits -----------------------------------------------------------------------------------

    def replace(self, cost: float, node: ast.AST, text: str) -> ProposedEdits:
        """Return a proposal that replaces a node by an expression."""
        return ProposedEdits(cost, lambda: (self.source.replacement(node, text),))

    def swap(self, cost: float, one: ast.AST, other: ast.AST) -> ProposedEdits:
        """Return a proposal that exchanges two expressions."""
        return ProposedEdits(
            cost,
            lambda: (
                self.source.replacement(one, self.text(other)),
                self.source.replacement(other, self.text(one)),
            ),
        )

    def gap(self, left: ast.AST, right: ast.AST, old: str, new: str) -> TextEdit | None:
        """Return an edit that replaces the operator between two expressions."""
        start, end = self.source.span(left)[1], self.source.span(right)[0]
        between = self.source.data[start:end].decode("utf-8")
        words = old.split()
        at = between.find(words[0])
        if at < 0 or "#" in between:
            return None
        stop = between.find(words[-1], at if len(words) == 1 else at + len(words[0])) + len(
            words[-1]
        )
        return TextEdit(start + at, start + stop, new)

    def operator(
        self, cost: float, node: ast.BinOp | ast.AugAssign, new: type[ast.operator]
    ) -> ProposedEdits | None:
        """Return a proposal that replaces only the text of an arithmetic operator."""
        left, right = (
            (node.target, node.value)
            if isinstance(node, ast.AugAssign)
            else (node.left, node.right)
        )
        edit = self.gap(left, right, OPERATOR_TEXT[type(node.op)], OPERATOR_TEXT[new])
        return ProposedEdits(cost, (edit,)) if edit else None

    def before(self, cost: float, statement: ast.stmt, code: str) -> ProposedEdits | None:
        """Return a proposal that inserts a statement before another."""
        indent = self.source.indent(statement)
        if indent is None:
            return None
        at = self.source.line_span(statement.lineno, statement.lineno)[0]
        lines = self._indent(indent, code)
        if lines is None or getattr(statement, "decorator_list", None):
            return None
        return ProposedEdits(
            cost, (TextEdit(at, at, "".join(line + self.source.newline for line in lines)),)
        )

    def after(self, cost: float, statement: ast.stmt, code: str) -> ProposedEdits | None:
        """Return a proposal that inserts a statement after another."""
        lines, indent = self.source.whole_lines(statement), self.source.indent(statement)
        if lines is None or indent is None:
            return None
        put = self._indent(indent, code)
        if put is None:
            return None
        newline = self.source.newline
        text = newline.join([*put, ""])
        if not self.source.data[: lines[1]].endswith(b"\n"):
            text = newline.join(["", *put])
        return ProposedEdits(cost, (TextEdit(lines[1], lines[1], text),))

    def restate(self, cost: float, statement: ast.stmt, code: str) -> ProposedEdits | None:
        """Return a proposal that replaces a statement."""
        indent = self.source.indent(statement)
        if indent is None or getattr(statement, "decorator_list", None):
            return None
        start, end = self.source.span(statement)
        lines = self._indent(indent, code)
        if lines is None:
            return None
        lines[0] = lines[0][len(indent) :]
        return ProposedEdits(cost, (TextEdit(start, end, self.source.newline.join(lines)),))

    def delete(self, cost: float, statement: ast.stmt) -> ProposedEdits | None:
        """Return a proposal that deletes a statement."""
        block, _ = self.block(statement)
        if len(block) == 1:
            return self.restate(cost, statement, "pass")
        lines = self.source.whole_lines(statement)
        return ProposedEdits(cost, (TextEdit(lines[0], lines[1], ""),)) if lines else None

    def dedented(self, statement: ast.stmt) -> str | None:
        """Return a statement's source without its indentation; None if it cannot be moved.

        A multi-line string would change its value.
        """
        indent = self.source.indent(statement)
        if indent is None:
            return None
        first, *rest = self.text(statement).replace("\r\n", "\n").split("\n")
        if any(line.strip() and not line.startswith(indent) for line in rest):
            return None
        code = "\n".join([first, *(line[len(indent) :] for line in rest)])
        return code if lines_in_strings(code) == NONE else None

    # --- helpers ---------------------------------------------------------------------------------

    def _indent(self, indent: str, code: str) -> Optional[List[str]]:
        """Return the lines of code, indented except inside strings.

        Return None if the strings cannot be located.
        """
        lines = code.replace("\r\n", "\n").split("\n")
        kept = lines_in_strings("\n".join(lines))
        if kept is None:
            return None
        return [indent + line if line and at not in kept else line for at, line in enumerate(lines)]

    def _mutable_nodes(self) -> Iterator[ast.AST]:
        """Yield nodes that may be changed: no docstrings, dangerous calls, or old f-strings."""
        body: list[ast.stmt] = getattr(self.root, "body", [])
        waiting: list[ast.AST] = list(reversed(body))
        while waiting:
            node = waiting.pop()
            if is_docstring(node, self.source) or self.dangers.is_dangerous(node):
                continue
            if not self.is_function and isinstance(
                node, (*FunctionNode, ast.Import, ast.ImportFrom)
            ):
                continue
            yield node
            if isinstance(node, ast.JoinedStr):
                waiting += reversed([v for v in node.values if has_true_position(v, self.source)])
                continue
            waiting += reversed(list(ast.iter_child_nodes(node)))


def _parameters(root: ast.AST) -> list[str]:
    if not isinstance(root, FunctionNode):
        return []
    arguments = root.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [a.arg for a in plain] + [a.arg for a in (arguments.vararg, arguments.kwarg) if a]


def _local_names(root: ast.AST, parameters: list[str]) -> list[str]:
    inside = [n for statement in getattr(root, "body", []) for n in ast.walk(statement)]
    stored = [n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    nested = [n.arg for n in inside if isinstance(n, ast.arg)]
    functions = [n.name for n in inside if isinstance(n, FunctionNode)]
    return list(dict.fromkeys([*parameters, *stored, *nested, *functions]))[:24]
