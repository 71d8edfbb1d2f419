"""Name binding: parameters, assignments that may have run, and comprehension variables."""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

Point = Tuple[int, int]
"""Line and column."""
Span = Tuple[Point, Point]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
LEAVES = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
BUILTINS: FrozenSet[str] = frozenset(dir(builtins))


class Binding(NamedTuple):
    """One place that binds a name."""

    name: str
    how: str
    """`parameter`, `assigned`, `looped` (over `value`), or `other`."""
    value: Optional[ast.AST]
    """The bound expression, or the argument node of a parameter."""
    path: Tuple[int, ...]
    """Part of the value: (0,) is the first of `a, b = value`."""
    start: Point
    """The name is bound from here on."""
    scope: Span
    """The function or comprehension that it belongs to."""
    loop: Optional[Span]
    """The innermost loop around it; in its next iteration the name is bound everywhere."""
    elsewhere: Tuple[Span, ...]
    """Branches that do not run if this binding does."""


def node_span(node: ast.AST) -> Span:
    """Return the position of a node."""
    placed: Any = node
    return (placed.lineno, placed.col_offset), (placed.end_lineno, placed.end_col_offset)


def inside(point: Point, span: Span) -> bool:
    """Return True if a point is in a span."""
    return span[0] <= point < span[1]


@lru_cache(maxsize=64)
def module_names(module: ast.Module) -> Tuple[FrozenSet[str], bool]:
    """Return the names of a file, and True if there may be unknown ones (`from x import *`)."""
    # Module attributes that the interpreter sets.
    names = {"__name__", "__file__", "__doc__", "__class__", "__all__", "__package__", "__spec__"}
    elsewhere = False
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            names.update(node.names)
        elif isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            elsewhere = True
    waiting: List[ast.AST] = list(module.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        waiting += ast.iter_child_nodes(node)
    return frozenset(names), elsewhere


class Bindings:
    """The bindings of one outermost function.

    Args:
        root: The function.
        module: Its file.
    """

    def __init__(self, root: ast.AST, module: ast.Module) -> None:
        self._found: Dict[str, List[Binding]] = {}
        self._functions: List[Span] = []
        for binding in self._walk(root):
            self._found.setdefault(binding.name, []).append(binding)
        # A name that is read but bound nowhere has an unknown origin; it counts as available.
        read = {
            n.id for n in ast.walk(root) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        known, self.elsewhere = module_names(module)
        self.globals = known | (read - self._found.keys() - BUILTINS)

    @property
    def names(self) -> Sequence[str]:
        """Every local name in source order."""
        return list(self._found)

    def of(self, name: str, point: Point) -> List[Binding]:
        """Return the bindings of a name that may be valid at a point.

        They are those of the innermost scope with any.
        """
        found = [b for b in self._found.get(name, ()) if self._visible(b, point)]
        innermost = max((b.scope[0] for b in found), default=None)
        return [b for b in found if b.scope[0] == innermost]

    def is_bound(self, name: str, point: Point) -> bool:
        """Return True if reading a name at a point may succeed."""
        if self.elsewhere or any(self._visible(b, point) for b in self._found.get(name, ())):
            return True
        local = any(
            inside(point, b.scope) and b.how != "comprehended" for b in self._found.get(name, ())
        )
        return not local and (name in self.globals or name in BUILTINS)

    def at(self, point: Point) -> List[str]:
        """Return the local names bound at a point.

        Names that only an earlier iteration binds come last.
        """
        first: List[str] = []
        late: List[str] = []
        for name, bindings in self._found.items():
            found = [b for b in bindings if self._visible(b, point)]
            if found:
                (first if any(b.start <= point for b in found) else late).append(name)
        return first + late

    def _visible(self, binding: Binding, point: Point) -> bool:
        if not inside(point, binding.scope):
            return False
        if binding.loop and inside(point, binding.loop):
            return True  # in the next iteration
        if any(inside(point, span) for span in binding.elsewhere):
            return False
        if binding.start <= point:
            return True
        # A nested function is called later, when everything around it is bound.
        return any(inside(point, f) and f[0] > binding.scope[0] for f in self._functions)

    # --- collecting ------------------------------------------------------------------------------

    def _walk(self, root: ast.AST) -> Iterator[Binding]:
        outside = [
            n
            for node in ast.walk(root)
            if isinstance(node, (ast.Global, ast.Nonlocal))
            for n in node.names
        ]
        frames: List[Tuple[ast.AST, Span, Optional[Span], Tuple[Span, ...]]] = [
            (root, node_span(root), None, ())
        ]
        while frames:
            node, scope, loop, elsewhere = frames.pop()
            if isinstance(node, LOOPS):
                loop = (node_span(node.body[0])[0], node_span(node)[1])
            for name, how, value, path, start in _bound_by(node) if node is not root else ():
                own = (node_span(node)[0], _past(node_span(node)[1])) if how == "caught" else scope
                if name not in outside:
                    yield Binding(name, how, value, path, start, own, loop, elsewhere)
            if isinstance(node, FUNCTIONS):
                scope, loop, elsewhere = _body_span(node), None, ()
                self._functions.append(scope)
                yield from _parameters(node, scope)
            elif isinstance(node, COMPREHENSIONS):
                yield from _comprehended(node)
            frames += [
                (child, scope, loop, (*elsewhere, *_not_run(node, child)))
                for child in _children(node)
            ]


def _children(node: ast.AST) -> List[ast.AST]:
    """Return the child nodes in reverse, without operators and contexts."""
    return [n for n in reversed(list(ast.iter_child_nodes(node))) if not isinstance(n, LEAVES)]


def _not_run(node: ast.AST, child: ast.AST) -> Tuple[Span, ...]:
    """Return the other branch of an `if`."""
    if isinstance(node, ast.If) and node.orelse and child in node.body:
        return ((node_span(node.orelse[0])[0], node_span(node.orelse[-1])[1]),)
    return ()


def _body_span(node: ast.AST) -> Span:
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else body
    if not isinstance(first, ast.AST):
        return node_span(node)
    # Decorators and defaults are outside. Return annotations between them and the body are ignored.
    return node_span(first)[0], _past(node_span(node)[1])


def _past(point: Point) -> Point:
    """Return the next column: an insertion after a block's last statement belongs to the block."""
    return point[0], point[1] + 1


def _parameters(node: ast.AST, scope: Span) -> Iterator[Binding]:
    arguments: ast.arguments = node.args  # type: ignore[attr-defined]
    plain = [*arguments.posonlyargs, *arguments.args]
    for argument in [*plain, *arguments.kwonlyargs]:
        yield Binding(argument.arg, "parameter", argument, (), scope[0], scope, None, ())
    for rest, how in ((arguments.vararg, "rest"), (arguments.kwarg, "keywords")):
        if rest:
            yield Binding(rest.arg, how, rest, (), scope[0], scope, None, ())


Made = Tuple[str, str, Optional[ast.AST], Tuple[int, ...], Point]


def _bound_by(node: ast.AST) -> Iterator[Made]:
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            for target in targets:
                yield from _targets(target, "assigned", node.value, node_span(node)[1])
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from _targets(node.target, "looped", node.iter, node_span(node.iter)[1])
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield from _targets(
                    item.optional_vars, "other", None, node_span(item.optional_vars)[1]
                )
    else:
        yield from _named_by(node)


def _named_by(node: ast.AST) -> Iterator[Made]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield (
                alias.asname or alias.name.partition(".")[0],
                "other",
                None,
                (),
                node_span(node)[1],
            )
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, "defined", node, (), node_span(node)[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, "caught", node.type, (), node_span(node.body[0])[0]
    else:
        yield from _match(node)


def _match(node: ast.AST) -> Iterator[Made]:
    name = None
    if type(node).__name__ in ("MatchAs", "MatchStar"):
        name = getattr(node, "name", None)
    elif type(node).__name__ == "MatchMapping":
        name = getattr(node, "rest", None)
    if name:
        yield name, "other", None, (), node_span(node)[1]


def _targets(target: ast.AST, how: str, value: ast.AST | None, start: Point) -> Iterator[Made]:
    for name, path, starred in _paths(target, ()):
        yield name, "other" if starred else how, None if starred else value, path, start


def _paths(target: ast.AST, path: Tuple[int, ...]) -> Iterator[Tuple[str, Tuple[int, ...], bool]]:
    """Yield each name of a target, its part of the value, and True if it gets several."""
    if isinstance(target, ast.Name):
        yield target.id, path, False
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, element in enumerate(target.elts):
            yield from _paths(element, (*path, index))
    elif isinstance(target, ast.Starred):
        yield from ((name, inner, True) for name, inner, _ in _paths(target.value, path))


def _comprehended(node: ast.AST) -> Iterator[Binding]:
    generators: List[ast.comprehension] = node.generators  # type: ignore[attr-defined]
    around, first = node_span(node), node_span(generators[0].iter)
    for generator in generators:
        for name, _, value, path, _ in _targets(
            generator.target, "looped", generator.iter, around[0]
        ):
            own = (
                *(node_span(g.iter) for g in generators[: generators.index(generator) + 1]),
                first,
            )
            yield Binding(name, "comprehended", value, path, around[0], around, None, own)
