"""What may stand at a place in the code: names, literals, callables; and the edits templates are made of."""

from __future__ import annotations

import ast
from bisect import bisect
from functools import cached_property
from typing import Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.bindings import Point, span_of
from sandbox.guest.search.source.donors import Donors, collect_donors
from sandbox.guest.search.source.environment import Environment
from sandbox.guest.search.source.file_facts import file_facts, is_docstring
from sandbox.guest.search.source.inference import Inference
from sandbox.guest.search.source.kinds import Kind
from sandbox.guest.search.source.render import OPERATOR_TEXT, Edit, Place, Source, true_in_text
from sandbox.guest.search.source.sense import Sense
from sandbox.guest.search.source.string_lines import NONE, lines_in_strings
from sandbox.guest.search.source.surroundings import Surroundings

FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)


class Proposal:
    """One candidate a template proposes: what it costs before suspicion is added, and the edits.

    Args:
        cost: Lower is tried first.
        edits: What to change; or a function that makes them, called only when the candidate's turn comes.
    """

    __slots__ = ("_edits", "cost")

    def __init__(self, cost: float, edits: Tuple[Edit, ...] | Callable[[], Tuple[Edit, ...]]) -> None:
        self.cost = cost
        self._edits = edits

    @property
    def edits(self) -> Tuple[Edit, ...]:
        """What to change; nothing when it turns out not to work."""
        if not isinstance(self._edits, tuple):
            self._edits = self._edits()
        return self._edits


class SeenLiterals(NamedTuple):
    """What stands in the failing tests."""

    numbers: tuple[float, ...] = ()
    strings: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()
    """Names of exceptions they expect."""
    messages: tuple[str, ...] = ()
    """Texts that those exceptions must carry."""
    words: tuple[str, ...] = ()
    """Words of their strings, also of long ones."""


NO_LITERALS = SeenLiterals()
MOST_NAMES = 16
"""More names than this are never offered for one place."""


class Scope:
    """One function (or the module's own level) and everything templates may ask about it.

    Args:
        source: The file.
        root: The function, or the module.
        literals: What the failing tests mention.
        observed: What names held while tests ran: type names such as `int` or `list[str]`.
    """

    def __init__(
        self,
        source: Source,
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
        self.wrappers, self.methods, self.outer_names = known.wrappers, known.methods, known.outer_names
        self.normalisers = known.normalisers
        self.donors: Donors = collect_donors(source, self.nodes, self.dangers)
        self._kinds: Dict[ast.AST, Optional[Kind]] = {}
        self._names_at: Dict[Point, List[str]] = {}

    @cached_property
    def environment(self) -> Environment:
        """What is known about the names of the function."""
        return Environment(self.source, self.root, self.observed)

    @cached_property
    def sense(self) -> Sense:
        """Weighs edits."""
        return Sense(self.source, self.root, self.environment)

    @cached_property
    def surroundings(self) -> Surroundings:
        """What stands around the function."""
        return Surroundings(self.source, self.root, self.literals.exceptions)

    def names_at(self, node: ast.AST, *, behind: bool = False) -> List[str]:
        """Names bound where a node stands (or behind it), in the order of the source; a bounded number."""
        if not self.is_function or not hasattr(node, "lineno"):
            return self.names
        point = span_of(node)[1 if behind else 0]
        if point not in self._names_at:
            bound = self.environment.names_at(point)
            if len(bound) > MOST_NAMES:
                bound = sorted(bound, key=lambda name: self._distance(name, point[0]))[:MOST_NAMES]
            self._names_at[point] = bound
        return self._names_at[point]

    def kind_of(self, node: ast.expr) -> Optional[Kind]:
        """What kind of value an expression of the function gives, as far as is known."""
        if not self.is_function:
            return None
        if node not in self._kinds:
            try:
                self._kinds[node] = Inference(self.environment.world, span_of(node)[0]).of(node)
            except RecursionError:
                self._kinds[node] = None  # nested too deeply
        return self._kinds[node]

    def kind_of_name(self, name: str, node: ast.AST) -> Optional[Kind]:
        """What kind of value a name holds where a node stands."""
        return self.environment.kind_of(name, span_of(node)[0]) if self.is_function else None

    def names_for(self, node: ast.expr) -> List[Tuple[float, str]]:
        """Names that could stand in an expression's place, and what each costs more because its kind is another."""
        wanted = self.kind_of(node)
        found = []
        for name in self.names_at(node):
            kind = self.kind_of_name(name, node)
            if kind is None or wanted is None:
                found.append((0.1, name))
            else:
                found.append((0.0 if kinds.may_be(kind, wanted.names) else 0.6, name))
        return found

    def names_of(self, node: ast.AST, *types: str) -> List[str]:
        """Names bound where a node stands that may hold a value of one of these types."""
        wanted = frozenset(types)
        return [name for name in self.names_at(node) if kinds.may_be(self.kind_of_name(name, node), wanted)]

    @cached_property
    def _mentions(self) -> Dict[str, List[int]]:
        """The lines on which each name is mentioned, in order."""
        found: Dict[str, List[int]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.setdefault(node.id, []).append(node.lineno)
        return {name: sorted(lines) for name, lines in found.items()}

    def _distance(self, name: str, line: int) -> int:
        """How far from a line a name is mentioned."""
        lines = self._mentions.get(name, [])
        at = bisect(lines, line)
        return min((abs(number - line) for number in lines[max(0, at - 1) : at + 1]), default=9999)

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

    def is_operand(self, node: ast.AST) -> bool:
        """Whether a node is such an expression, and more than the owner that an attribute is read from."""
        if not self.is_value(node):
            return False
        owner = isinstance(node, ast.Name) and isinstance(self.parent(node), ast.Attribute)
        return not owner or not (node.id in ("self", "cls") or node.id in self.outer_names)  # type: ignore[attr-defined]

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
        return Proposal(cost, lambda: (self.source.replacement(node, text),))

    def swap(self, cost: float, one: ast.AST, other: ast.AST) -> Proposal:
        """Two expressions in each other's place."""
        return Proposal(
            cost,
            lambda: (self.source.replacement(one, self.text(other)), self.source.replacement(other, self.text(one))),
        )

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
        lines = self._indented(indent, code)
        if lines is None or getattr(statement, "decorator_list", None):
            return None
        return Proposal(cost, (Edit(at, at, "".join(line + self.source.newline for line in lines)),))

    def after(self, cost: float, statement: ast.stmt, code: str) -> Proposal | None:
        """A statement behind another."""
        lines, indent = self.source.whole_lines(statement), self.source.indent(statement)
        if lines is None or indent is None:
            return None
        put = self._indented(indent, code)
        if put is None:
            return None
        newline = self.source.newline
        text = newline.join([*put, ""])
        if not self.source.data[: lines[1]].endswith(b"\n"):
            text = newline.join(["", *put])
        return Proposal(cost, (Edit(lines[1], lines[1], text),))

    def restate(self, cost: float, statement: ast.stmt, code: str) -> Proposal | None:
        """A statement in another's place."""
        indent = self.source.indent(statement)
        if indent is None or getattr(statement, "decorator_list", None):
            return None
        start, end = self.source.span(statement)
        lines = self._indented(indent, code)
        if lines is None:
            return None
        lines[0] = lines[0][len(indent) :]
        return Proposal(cost, (Edit(start, end, self.source.newline.join(lines)),))

    def delete(self, cost: float, statement: ast.stmt) -> Proposal | None:
        """Without this statement."""
        block, _ = self.block(statement)
        if len(block) == 1:
            return self.restate(cost, statement, "pass")
        lines = self.source.whole_lines(statement)
        return Proposal(cost, (Edit(lines[0], lines[1], ""),)) if lines else None

    def dedented(self, statement: ast.stmt) -> str | None:
        """A statement's source as if it stood at the left margin; None when it cannot be moved.

        A string that goes on in the next line would say something else at another margin.
        """
        indent = self.source.indent(statement)
        if indent is None:
            return None
        first, *rest = self.text(statement).replace("\r\n", "\n").split("\n")
        if any(line.strip() and not line.startswith(indent) for line in rest):
            return None
        code = "\n".join([first, *(line[len(indent) :] for line in rest)])
        return code if lines_in_strings(code) == NONE else None

    # --- inside ----------------------------------------------------------------------------------

    def _indented(self, indent: str, code: str) -> Optional[List[str]]:
        """The lines of some code, all but those inside strings moved to the right; None where these cannot be told."""
        lines = code.replace("\r\n", "\n").split("\n")
        kept = lines_in_strings("\n".join(lines))
        if kept is None:
            return None
        return [indent + line if line and at not in kept else line for at, line in enumerate(lines)]

    def _mutable_nodes(self) -> Iterator[ast.AST]:
        """Nodes that templates may touch: not the docstring, not below a dangerous call, not in old f-strings."""
        body: list[ast.stmt] = getattr(self.root, "body", [])
        waiting: list[ast.AST] = list(reversed(body))
        while waiting:
            node = waiting.pop()
            if is_docstring(node, self.source) or self.dangers.is_dangerous(node):
                continue
            if not self.is_function and isinstance(node, (*FunctionNode, ast.Import, ast.ImportFrom)):
                continue
            yield node
            if isinstance(node, ast.JoinedStr):
                waiting += reversed([v for v in node.values if true_in_text(v, self.source)])
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
