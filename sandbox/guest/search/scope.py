"""What may stand at a place in the code: names, literals, callables; and the edits templates are made of."""

from __future__ import annotations

import ast
import sys
from typing import Iterator, NamedTuple

from sandbox.guest.search.dangers import is_dangerous
from sandbox.guest.search.donors import Donors, collect_donors
from sandbox.guest.search.render import OPERATOR_TEXT, Edit, Place, Source

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)


class Proposal(NamedTuple):
    """One candidate a template proposes: what it costs before suspicion is added, and the edits."""

    cost: float
    edits: tuple[Edit, ...]


class SeenLiterals(NamedTuple):
    """Literals that stand in the failing tests."""

    numbers: tuple[float, ...] = ()
    strings: tuple[str, ...] = ()


NO_LITERALS = SeenLiterals()


class Scope:
    """One function (or the module's own level) and everything templates may ask about it.

    Args:
        source: The file.
        root: The function, or the module.
        literals: What the failing tests mention.
    """

    def __init__(self, source: Source, root: ast.AST, literals: SeenLiterals = NO_LITERALS) -> None:
        self.source = source
        self.root = root
        self.literals = literals
        self.is_function = isinstance(root, FunctionNode)
        self.nodes = list(self._mutable_nodes())
        self.parameters = _parameters(root)
        self.names = _local_names(root, self.parameters)
        self.helpers = [n.name for n in ast.walk(source.tree) if isinstance(n, FunctionNode)]
        self.helpers = list(dict.fromkeys(name for name in self.helpers if not name.startswith("__")))[:12]
        constants = [n for n in ast.walk(source.tree) if isinstance(n, ast.Constant) and not self._is_docstring(n)]
        self.strings = sorted({n.value for n in constants if isinstance(n.value, str) and len(n.value) <= 60})
        numbers = {n.value for n in constants if isinstance(n.value, (int, float)) and not isinstance(n.value, bool)}
        self.numbers = sorted(numbers, key=lambda value: (abs(value), str(value)))
        self.attributes = sorted({n.attr for n in ast.walk(source.tree) if isinstance(n, ast.Attribute)})
        self.donors: Donors = collect_donors(source, self.nodes)

    # --- what stands around a node ---------------------------------------------------------------

    def place(self, node: ast.AST) -> Place:
        """Where a node hangs."""
        return self.source.places[node]

    def parent(self, node: ast.AST) -> ast.AST:
        """The node around a node."""
        return self.source.places[node].parent

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        return self.source.text(node)

    def part(self, node: ast.AST, level: int) -> str:
        """The source of a node, fit to be an operand at this level."""
        return self.source.part(node, level)

    def block(self, statement: ast.stmt) -> tuple[list[ast.stmt], int]:
        """The statements among which one stands, and its index."""
        place = self.source.places[statement]
        return getattr(place.parent, place.field), place.position or 0

    def is_value(self, node: ast.AST) -> bool:
        """Whether a node is an expression that is read, and may be replaced by any other."""
        if not isinstance(node, ast.expr) or isinstance(node, (ast.Starred, ast.Slice, ast.JoinedStr)):
            return False
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return False
        place = self.source.places[node]
        return place.field != "func" and not isinstance(place.parent, (ast.Expr, ast.FormattedValue, ast.JoinedStr))

    def is_inside(self, node: ast.AST) -> bool:
        """Whether a node stands in the function, and is not the function itself."""
        return self.is_function and node is not self.root

    def is_condition(self, node: ast.AST) -> bool:
        """Whether a node decides a branch."""
        place = self.source.places[node]
        tests = isinstance(place.parent, (ast.If, ast.While, ast.IfExp, ast.Assert)) and place.field == "test"
        return tests or (isinstance(place.parent, ast.comprehension) and place.field == "ifs")

    # --- edits -----------------------------------------------------------------------------------

    def replace(self, cost: float, node: ast.AST, text: str) -> Proposal:
        """Another expression in this node's place."""
        return Proposal(cost, (self.source.replacement(node, text),))

    def swap(self, cost: float, one: ast.AST, other: ast.AST) -> Proposal:
        """Two expressions in each other's place."""
        edits = (self.source.replacement(one, self.text(other)), self.source.replacement(other, self.text(one)))
        return Proposal(cost, edits)

    def gap(self, left: ast.AST, right: ast.AST, old: str, new: str) -> Edit | None:
        """Exchange the operator between two expressions."""
        start, end = self.source.span(left)[1], self.source.span(right)[0]
        between = self.source.data[start:end].decode("utf-8")
        words = old.split()
        at = between.find(words[0])
        if at < 0 or "#" in between:
            return None
        stop = between.find(words[-1], at if len(words) == 1 else at + len(words[0])) + len(words[-1])
        return Edit(start + at, start + stop, new)

    def operator(self, cost: float, node: ast.BinOp | ast.AugAssign, new: type[ast.operator]) -> Proposal | None:
        """Exchange an arithmetic operator, letter for letter."""
        left, right = (node.target, node.value) if isinstance(node, ast.AugAssign) else (node.left, node.right)
        edit = self.gap(left, right, OPERATOR_TEXT[type(node.op)], OPERATOR_TEXT[new])
        return Proposal(cost, (edit,)) if edit else None

    def before(self, cost: float, statement: ast.stmt, code: str) -> Proposal | None:
        """A statement in front of another."""
        indent = self.source.indent(statement)
        if indent is None:
            return None
        at = self.source.line_span(statement.lineno, statement.lineno)[0]
        decorators = getattr(statement, "decorator_list", None)
        return None if decorators else Proposal(cost, (Edit(at, at, self._lines(indent, code)),))

    def after(self, cost: float, statement: ast.stmt, code: str) -> Proposal | None:
        """A statement behind another."""
        lines, indent = self.source.whole_lines(statement), self.source.indent(statement)
        if lines is None or indent is None:
            return None
        text = self._lines(indent, code)
        if not self.source.data[: lines[1]].endswith(b"\n"):
            text = self.source.newline + text[: -len(self.source.newline)]
        return Proposal(cost, (Edit(lines[1], lines[1], text),))

    def restate(self, cost: float, statement: ast.stmt, code: str) -> Proposal | None:
        """A statement in another's place."""
        indent = self.source.indent(statement)
        if indent is None or getattr(statement, "decorator_list", None):
            return None
        start, end = self.source.span(statement)
        first, *rest = code.split("\n")
        text = self.source.newline.join([first, *(indent + line if line else "" for line in rest)])
        return Proposal(cost, (Edit(start, end, text),))

    def delete(self, cost: float, statement: ast.stmt) -> Proposal | None:
        """Without this statement."""
        block, _ = self.block(statement)
        if len(block) == 1:
            return self.restate(cost, statement, "pass")
        lines = self.source.whole_lines(statement)
        return Proposal(cost, (Edit(lines[0], lines[1], ""),)) if lines else None

    def dedented(self, statement: ast.stmt) -> str | None:
        """A statement's source as if it stood at the left margin; None when it cannot be moved."""
        indent = self.source.indent(statement)
        if indent is None:
            return None
        first, *rest = self.text(statement).replace("\r\n", "\n").split("\n")
        if any(line.strip() and not line.startswith(indent) for line in rest):
            return None
        return "\n".join([first, *(line[len(indent) :] for line in rest)])

    # --- inside ----------------------------------------------------------------------------------

    def _lines(self, indent: str, code: str) -> str:
        newline = self.source.newline
        return "".join((indent + line if line else "") + newline for line in code.split("\n"))

    def _mutable_nodes(self) -> Iterator[ast.AST]:
        """Nodes that templates may touch: not the docstring, not below a dangerous call, not in old f-strings."""
        body: list[ast.stmt] = getattr(self.root, "body", [])
        waiting: list[ast.AST] = list(reversed(body))
        while waiting:
            node = waiting.pop()
            if self._is_docstring(node) or is_dangerous(node):
                continue
            if not self.is_function and isinstance(node, (*FunctionNode, ast.Import, ast.ImportFrom)):
                continue
            if isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
                continue
            yield node
            waiting += reversed(list(ast.iter_child_nodes(node)))

    def _is_docstring(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Constant) and node in self.source.places:
            node = self.source.places[node].parent
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


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
