"""Type inference for expressions.

It also finds what cannot work: `len` of a number, or an unbound name.
"""

from __future__ import annotations

import ast
from typing import Any, Callable, Dict, List, Optional, Sequence

from sandbox.guest.search.source import kinds
from sandbox.guest.search.source.bindings import Point
from sandbox.guest.search.source.kinds import (
    BOOL,
    NOTHING,
    NUMERIC,
    STR,
    ValueKind,
    kind,
    may_be,
    union,
)
from sandbox.guest.search.source.name_facts import Arity, Complaints, NameFacts
from sandbox.guest.search.source.operations import INTEGERS, alike, comparable, has, same, works
from sandbox.guest.search.source.results import result_of_built_in, result_of_method


class Inference:
    """Infers types of expressions at one point of a function.

    Args:
        name_facts: The known facts about names.
        point: The assumed position of the expressions.
        moved: They are new text, so their own positions are meaningless.
    """

    def __init__(self, name_facts: NameFacts, point: Point, *, moved: bool = False) -> None:
        self._name_facts = name_facts
        self._point = point
        self._moved = moved
        self._inner: List[Dict[str, Optional[ValueKind]]] = []
        self.complaints = Complaints()
        self.unbound: List[str] = []
        """Names that were read but are not bound."""

    def of(self, node: Optional[ast.AST]) -> Optional[ValueKind]:
        """Return the type of an expression, and record complaints."""
        if node is None:
            return None
        rule = RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.expr, ast.keyword)):
                self.of(child)
        return None

    # --- leaves ----------------------------------------------------------------------------------

    def name(self, node: ast.Name) -> Optional[ValueKind]:
        """Infer the type of a variable."""
        for names in reversed(self._inner):
            if node.id in names:
                return names[node.id]
        if not isinstance(node.ctx, ast.Load):
            return None
        point = self._point if self._moved else (node.lineno, node.col_offset)
        if not self._name_facts.is_bound(node.id, point):
            self.unbound.append(node.id)
            self.complaints.add()
            return None
        return self._name_facts.infer_kind(node.id, point)

    def constant(self, node: ast.Constant) -> Optional[ValueKind]:
        """Infer the type of a literal."""
        return kinds.of_value(node.value)

    def text(self, node: ast.JoinedStr) -> Optional[ValueKind]:
        """Infer the type of an f-string."""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self.of(part.value)
        return STR._replace(item=STR)

    # --- operators -------------------------------------------------------------------------------

    def binary(self, node: ast.BinOp) -> Optional[ValueKind]:
        """Infer the type of an arithmetic expression."""
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, SELF_ANNIHILATING) and same(node.left, node.right):
            self.complaints.add()
        return self.combined(node.op, left, right)

    def combined(
        self, op: ast.operator, left: Optional[ValueKind], right: Optional[ValueKind]
    ) -> Optional[ValueKind]:
        """Return the type of `left op right`."""
        if left is not None and right is not None and not (left.names and right.names):
            return left if left.names else right
        text = left is not None and left.names <= {"str", "bytes"}
        if isinstance(op, ast.Mod) and text:
            return left
        if left is None or right is None:
            # The left operand decides; an unknown one may accept anything.
            fails = left is not None and not any(works(op, name, None) for name in left.names)
            if fails and not isinstance(op, ast.Mod):
                self.complaints.add(left)
            return None
        results = [
            r for a in sorted(left.names) for b in sorted(right.names) if (r := works(op, a, b))
        ]
        if not results:
            self.complaints.add(left, right)
            return None
        names = frozenset(name for result in results for name in result.split("|"))
        if "unknown" in names:
            return None
        item = union([left.item, right.item]) if isinstance(op, ast.Add) else left.item
        return ValueKind(names, item, left.value, left.sure and right.sure)

    def boolean(self, node: ast.BoolOp) -> Optional[ValueKind]:
        """Infer the type of `and` and `or`."""
        found = [self.of(value) for value in node.values]
        values = node.values
        twice = any(alike(one, other) for k, one in enumerate(values) for other in values[k + 1 :])
        if twice or any(isinstance(v, ast.Constant) for v in values[:-1]):
            self.complaints.add()
        return union(found)

    def unary(self, node: ast.UnaryOp) -> Optional[ValueKind]:
        """Infer the type of a sign or of `not`."""
        operand = self.of(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(node.operand, (ast.Constant, ast.UnaryOp)) and _is_settled(node.operand):
                self.complaints.add()
            return BOOL
        if not may_be(operand, NUMERIC):
            self.complaints.add(operand)
        return operand

    def comparison(self, node: ast.Compare) -> Optional[ValueKind]:
        """Infer the type of `<`, `==`, `in` and `is`."""
        sides = [node.left, *node.comparators]
        found = [self.of(side) for side in sides]
        for index, op in enumerate(node.ops):
            left, right = found[index], found[index + 1]
            pair = sides[index : index + 2]
            literal = isinstance(op, (ast.Is, ast.IsNot)) and any(map(_is_plain_literal, pair))
            if literal or same(*pair) or _all_constant(pair):
                self.complaints.add()
            elif not comparable(op, left, right):
                self.complaints.add(left, right)
        return BOOL

    def ternary(self, node: ast.IfExp) -> Optional[ValueKind]:
        """Infer the type of `a if b else c`."""
        self.test(node.test)
        if same(node.body, node.orelse):
            self.complaints.add()
        return union([self.of(node.body), self.of(node.orelse)])

    def test(self, node: ast.expr) -> None:
        """Check a condition, which should not be constant."""
        found = self.of(node)
        if isinstance(node, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Lambda)):
            self.complaints.add()
        if found is not None and found.names and found.names <= kinds.CALLABLE:
            self.complaints.add(found)

    # --- access ----------------------------------------------------------------------------------

    def subscript(self, node: ast.Subscript) -> Optional[ValueKind]:
        """Infer the type of an item or a slice."""
        base = self.of(node.value)
        index = (
            getattr(node.slice, "value", node.slice)
            if type(node.slice).__name__ == "Index"
            else node.slice
        )
        if isinstance(index, ast.Slice):
            for bound in (index.lower, index.upper, index.step):
                found = self.of(bound)
                if bound is not None and not may_be(found, INTEGERS | {"NoneType"}):
                    self.complaints.add(found)
            if not may_be(base, kinds.SEQUENCES):
                self.complaints.add(base)
            return base
        found = self.of(index)
        if not may_be(base, kinds.INDEXED | {"type"}):
            self.complaints.add(base)
        if base is None or not base.names:
            return None
        if base.names <= kinds.SEQUENCES and not may_be(found, INTEGERS):
            self.complaints.add(base, found)
        if (
            base.names <= {"dict"}
            and found is not None
            and found.names
            and found.names <= kinds.UNHASHABLE
        ):
            self.complaints.add(base, found)
        return base.value if base.names <= {"dict"} else base.item

    def attribute(self, node: ast.Attribute) -> Optional[ValueKind]:
        """Check `a.b`."""
        base = self.of(node.value)
        if not has(base, node.attr):
            self.complaints.add(base)
        return None

    # --- calls -----------------------------------------------------------------------------------

    def call(self, node: ast.Call) -> Optional[ValueKind]:
        """Infer the type of a call."""
        starred = any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        )
        given = [self.of(argument) for argument in node.args]
        named = {k.arg: self.of(k.value) for k in node.keywords}
        function = node.func
        if (
            isinstance(function, ast.Name)
            and not self._is_inner(function.id)
            and not self._name_facts.is_local(function.id)
        ):
            result = self._built_in(function.id, node, given, starred=starred)
            if function.id in kinds.BUILTIN_NAMES:
                return result
        if isinstance(function, ast.Attribute):
            return self._method(function, node, given, starred=starred)
        found = self.of(function)
        if not may_be(found, kinds.CALLABLE):
            self.complaints.add(found)
        if not starred:
            self._count(self._name_facts.find_arity(function), len(given), len(named))
        return None

    def _is_inner(self, name: str) -> bool:
        return any(name in names for names in self._inner)

    def _count(self, arity: Optional[Arity], given: int, named: int) -> None:
        if arity and (given > arity[1] or given + named < arity[0]):
            self.complaints.add()

    def _built_in(
        self, name: str, node: ast.Call, given: Sequence[Optional[ValueKind]], *, starred: bool
    ) -> Optional[ValueKind]:
        if not starred and name not in ("max", "min"):
            self._count(kinds.ARITIES.get(name), len(given), len(node.keywords))
        if name in ("max", "min") and len(given) > 1:
            if alike(node.args[0], node.args[1]) or not comparable(ast.Lt(), given[0], given[1]):
                self.complaints.add(*given[:2])
            return union(given)
        takes = kinds.TAKES.get(name, kinds.ITERABLES if name in ("max", "min") else None)
        first = given[0] if given else None
        if takes is not None and given and not may_be(first, takes):
            self.complaints.add(first)
        if (
            name == "isinstance"
            and len(given) == 2
            and not may_be(given[1], frozenset(("type", "tuple")))
        ):
            self.complaints.add(given[1])
        return result_of_built_in(name, given)

    def _method(
        self,
        function: ast.Attribute,
        node: ast.Call,
        given: Sequence[Optional[ValueKind]],
        *,
        starred: bool,
    ) -> Optional[ValueKind]:
        base = self.of(function.value)
        if not has(base, function.attr):
            self.complaints.add(base)
            return None
        if base is None or not base.names or base.names - kinds.MEMBERS.keys():
            if not starred and base is None:
                self._count(self._name_facts.find_arity(function), len(given), len(node.keywords))
            return None
        if not starred:
            self._count(kinds.METHOD_ARITIES.get(function.attr), len(given), len(node.keywords))
        takes = kinds.METHOD_TAKES.get(function.attr)
        if takes is not None and given and not may_be(given[0], takes):
            self.complaints.add(base, given[0])
        return result_of_method(base, function.attr)

    # --- containers ------------------------------------------------------------------------------

    def display(self, node: ast.AST) -> Optional[ValueKind]:
        """Infer the type of `[a, b]`, `(a, b)` and `{a, b}`."""
        elements: List[ast.expr] = node.elts  # type: ignore[attr-defined]
        found = [self.of(e) for e in elements]
        if any(isinstance(e, ast.Starred) for e in elements):
            found = [None]
        name = type(node).__name__.lower()
        return kind(name, item=union(found) if found else NOTHING)

    def dictionary(self, node: ast.Dict) -> Optional[ValueKind]:
        """Infer the type of `{a: b}`."""
        keys, values = [self.of(k) for k in node.keys if k], [self.of(v) for v in node.values]
        if any(k is None for k in node.keys):
            return kind("dict")
        return kind(
            "dict",
            item=union(keys) if keys else NOTHING,
            value=union(values) if values else NOTHING,
        )

    def comprehension(self, node: ast.AST) -> Optional[ValueKind]:
        """Infer the type of `[f(x) for x in y if z]`."""
        names: Dict[str, Optional[ValueKind]] = {}
        generators: List[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        for index, generator in enumerate(generators):
            item = self.iterated(self.of(generator.iter))
            if index == 0:
                self._inner.append(names)
            names.update(targets(generator.target, item))
            for condition in generator.ifs:
                self.test(condition)
        try:
            if isinstance(node, ast.DictComp):
                return kind("dict", item=self.of(node.key), value=self.of(node.value))
            name = COMPREHENDED.get(type(node).__name__, "generator")
            return kind(name, item=self.of(node.elt))  # type: ignore[attr-defined]
        finally:
            self._inner.pop()

    def iterated(self, found: Optional[ValueKind]) -> Optional[ValueKind]:
        """Return the type of the items of an iterable."""
        if not may_be(found, kinds.ITERABLES):
            self.complaints.add(found)
            return None
        return found.item if found is not None else None

    def function(self, node: ast.Lambda) -> Optional[ValueKind]:
        """Infer the type of `lambda x: y`."""
        arguments = node.args
        plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        rest = [a for a in (arguments.vararg, arguments.kwarg) if a]
        self._inner.append({a.arg: None for a in [*plain, *rest]})
        self.of(node.body)
        self._inner.pop()
        return kind("function")

    def assigned(self, node: ast.NamedExpr) -> Optional[ValueKind]:
        """Infer the type of `x := y`."""
        return self.of(node.value)

    def starred(self, node: ast.Starred) -> Optional[ValueKind]:
        """Check `*x`."""
        self.iterated(self.of(node.value))
        return None


RULES: Dict[type, Callable[[Inference, Any], Optional[ValueKind]]] = {
    ast.Name: Inference.name, ast.Constant: Inference.constant, ast.JoinedStr: Inference.text,
    ast.BinOp: Inference.binary, ast.BoolOp: Inference.boolean, ast.UnaryOp: Inference.unary,
    ast.Compare: Inference.comparison, ast.IfExp: Inference.ternary,
    ast.Subscript: Inference.subscript, ast.Attribute: Inference.attribute,
    ast.Call: Inference.call, ast.List: Inference.display, ast.Tuple: Inference.display,
    ast.Set: Inference.display, ast.Dict: Inference.dictionary,
    ast.ListComp: Inference.comprehension, ast.SetComp: Inference.comprehension,
    ast.DictComp: Inference.comprehension, ast.GeneratorExp: Inference.comprehension,
    ast.Lambda: Inference.function, ast.NamedExpr: Inference.assigned,
    ast.Starred: Inference.starred,
}  # fmt: skip

COMPREHENDED = {"ListComp": "list", "SetComp": "set"}
SELF_ANNIHILATING = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.BitXor, ast.BitAnd, ast.BitOr)


def targets(node: ast.AST, item: Optional[ValueKind]) -> Dict[str, Optional[ValueKind]]:
    """Return the types of the names in a loop's target."""
    if isinstance(node, ast.Name):
        return {node.id: item}
    inner = item.item if item is not None else None
    found: Dict[str, Optional[ValueKind]] = {}
    for child in ast.iter_child_nodes(node):
        found.update(targets(child, inner if isinstance(node, (ast.Tuple, ast.List)) else None))
    return found


def _is_settled(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    )


def _is_plain_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bytes)


def _all_constant(sides: Sequence[ast.expr]) -> bool:
    return all(isinstance(side, ast.Constant) for side in sides)
