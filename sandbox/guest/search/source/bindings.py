"""Which names are bound where: parameters, assignments that may have happened, variables of comprehensions."""

from __future__ import annotations

import ast
import builtins
from functools import lru_cache
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Sequence, Tuple

Point = Tuple[int, int]
"""Line and column."""
Span = Tuple[Point, Point]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
LEAVES = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
BUILTINS: FrozenSet[str] = frozenset(dir(builtins))


class Binding(NamedTuple):
    """One place where a name gets a value."""

    name: str
    how: str
    """`parameter`, `assigned`, `looped` (over `value`), `other`."""
    value: Optional[ast.AST]
    """What it gets: an expression, or for a parameter its argument node."""
    path: Tuple[int, ...]
    """Which part of the value: (0,) is the first of `a, b = value`."""
    start: Point
    """From here on it is bound."""
    scope: Span
    """The function or comprehension it belongs to."""
    loop: Optional[Span]
    """The innermost loop around it, in whose next round it is bound everywhere."""
    elsewhere: Tuple[Span, ...]
    """Branches that are not run when this binding is."""


def span_of(node: ast.AST) -> Span:
    """Where a node stands."""
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def inside(point: Point, span: Span) -> bool:
    """Whether a point lies in a span."""
    return span[0] <= point < span[1]


@lru_cache(maxsize=64)
def module_names(module: ast.Module) -> Tuple[FrozenSet[str], bool]:
    """The names of a file, and whether others may come from where we do not see them (`from x import *`)."""
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
        module: The file it stands in.
    """

    def __init__(self, root: ast.AST, module: ast.Module) -> None:
        self._found: Dict[str, List[Binding]] = {}
        self._functions: List[Span] = []
        for binding in self._walk(root):
            self._found.setdefault(binding.name, []).append(binding)
        # What the function reads and nobody binds comes from where we cannot see; it is as good as any other.
        read = {n.id for n in ast.walk(root) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        known, self.elsewhere = module_names(module)
        self.globals = known | (read - self._found.keys() - BUILTINS)

    @property
    def names(self) -> Sequence[str]:
        """Every local name, in the order of the source."""
        return list(self._found)

    def of(self, name: str, point: Point) -> List[Binding]:
        """The bindings of a name that may hold at a point, of the innermost scope that has one."""
        found = [b for b in self._found.get(name, ()) if self._visible(b, point)]
        innermost = max((b.scope[0] for b in found), default=None)
        return [b for b in found if b.scope[0] == innermost]

    def is_bound(self, name: str, point: Point) -> bool:
        """Whether reading a name at a point may work."""
        if self.elsewhere or any(self._visible(b, point) for b in self._found.get(name, ())):
            return True
        local = any(inside(point, b.scope) and b.how != "comprehended" for b in self._found.get(name, ()))
        return not local and (name in self.globals or name in BUILTINS)

    def at(self, point: Point) -> List[str]:
        """The local names bound at a point; those of the last round of a loop only come last."""
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
            return True  # in the next round
        if any(inside(point, span) for span in binding.elsewhere):
            return False
        if binding.start <= point:
            return True
        # A function inside is called later, when everything around it is bound.
        return any(inside(point, f) and f[0] > binding.scope[0] for f in self._functions)

    # --- collecting ------------------------------------------------------------------------------

    def _walk(self, root: ast.AST) -> Iterator[Binding]:
        outside = [n for node in ast.walk(root) if isinstance(node, (ast.Global, ast.Nonlocal)) for n in node.names]
        frames: List[Tuple[ast.AST, Span, Optional[Span], Tuple[Span, ...]]] = [(root, span_of(root), None, ())]
        while frames:
            node, scope, loop, elsewhere = frames.pop()
            if isinstance(node, LOOPS):
                loop = (span_of(node.body[0])[0], span_of(node)[1])
            for name, how, value, path, start in _bound_by(node) if node is not root else ():
                own = (span_of(node)[0], _past(span_of(node)[1])) if how == "caught" else scope
                if name not in outside:
                    yield Binding(name, how, value, path, start, own, loop, elsewhere)
            if isinstance(node, FUNCTIONS):
                scope, loop, elsewhere = _body_span(node), None, ()
                self._functions.append(scope)
                yield from _parameters(node, scope)
            elif isinstance(node, COMPREHENSIONS):
                yield from _comprehended(node)
            frames += [(child, scope, loop, (*elsewhere, *_not_run(node, child))) for child in _children(node)]


def _children(node: ast.AST) -> List[ast.AST]:
    """Last first, without what holds no name."""
    return [n for n in reversed(list(ast.iter_child_nodes(node))) if not isinstance(n, LEAVES)]


def _not_run(node: ast.AST, child: ast.AST) -> Tuple[Span, ...]:
    """The other branch of an `if`."""
    if isinstance(node, ast.If) and node.orelse and child in node.body:
        return ((span_of(node.orelse[0])[0], span_of(node.orelse[-1])[1]),)
    return ()


def _body_span(node: ast.AST) -> Span:
    body = getattr(node, "body", None)
    first = body[0] if isinstance(body, list) and body else body
    if not isinstance(first, ast.AST):
        return span_of(node)
    # Decorators and defaults stand outside; between the last argument and the body there is no expression of ours.
    return span_of(first)[0], _past(span_of(node)[1])


def _past(point: Point) -> Point:
    """One further: what is put behind the last statement of a block still belongs to it."""
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
                yield from _targets(target, "assigned", node.value, span_of(node)[1])
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from _targets(node.target, "looped", node.iter, span_of(node.iter)[1])
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                yield from _targets(item.optional_vars, "other", None, span_of(item.optional_vars)[1])
    else:
        yield from _named_by(node)


def _named_by(node: ast.AST) -> Iterator[Made]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], "other", None, (), span_of(node)[1]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, "defined", node, (), span_of(node)[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name, "caught", node.type, (), span_of(node.body[0])[0]
    else:
        yield from _matched(node)


def _matched(node: ast.AST) -> Iterator[Made]:
    name = None
    if type(node).__name__ in ("MatchAs", "MatchStar"):
        name = getattr(node, "name", None)
    elif type(node).__name__ == "MatchMapping":
        name = getattr(node, "rest", None)
    if name:
        yield name, "other", None, (), span_of(node)[1]


def _targets(target: ast.AST, how: str, value: ast.AST | None, start: Point) -> Iterator[Made]:
    for name, path, starred in _paths(target, ()):
        yield name, "other" if starred else how, None if starred else value, path, start


def _paths(target: ast.AST, path: Tuple[int, ...]) -> Iterator[Tuple[str, Tuple[int, ...], bool]]:
    """The names of a target, which part of the value each gets, and whether it gets several."""
    if isinstance(target, ast.Name):
        yield target.id, path, False
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, element in enumerate(target.elts):
            yield from _paths(element, (*path, index))
    elif isinstance(target, ast.Starred):
        yield from ((name, inner, True) for name, inner, _ in _paths(target.value, path))


def _comprehended(node: ast.AST) -> Iterator[Binding]:
    generators: List[ast.comprehension] = node.generators  # type: ignore[attr-defined]
    around, first = span_of(node), span_of(generators[0].iter)
    for generator in generators:
        for name, _, value, path, _ in _targets(generator.target, "looped", generator.iter, around[0]):
            own = (*(span_of(g.iter) for g in generators[: generators.index(generator) + 1]), first)
            yield Binding(name, "comprehended", value, path, around[0], around, None, own)
