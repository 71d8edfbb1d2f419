"""Where alternatives of one expression meet: the widest expression without effects around an edit."""

from __future__ import annotations

import ast
import contextlib
import types
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.execution.shared.chooser import CHOOSE
from sandbox.guest.search.execution.shared.purity import Impure, checked, is_pure
from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.render import ATOM, NAMED, Edit, Source, level_of, level_wanted, splice

TRUTH = f"{CHOOSE}truth__"
"""The name of the chooser where only truth counts."""
NUMBER = "__metaagent_number__"
CONDITIONS = ((ast.If, "test"), (ast.While, "test"), (ast.IfExp, "test"), (ast.Assert, "test"))
WITHOUT_EFFECT_ON_SCOPE = (ast.Lambda, ast.ClassDef)


class Site(NamedTuple):
    """An expression of a function."""

    start: int
    end: int
    node: ast.expr
    condition: bool
    """Only its truth counts."""


class Sites:
    """All expressions of a function that alternatives may be chosen for.

    Args:
        unit: The function.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._source: Source = unit.source
        self._found: List[Tuple[int, int, Site]] = []
        for statement in unit.node.body:
            self._visit(statement, None)
        self._found.sort(key=lambda found: (found[1] - found[0], found[0]))

    def of(self, edit: Edit) -> Optional[Site]:
        """The site of the smallest expression around an edit."""
        for start, end, site in self._found:
            if start <= edit.start and edit.end <= end:
                return site
        return None

    def _visit(self, node: ast.AST, above: Optional[Site]) -> None:
        """Remember the expressions below a node; `above` is the site that takes in whatever is pure inside."""
        if isinstance(node, WITHOUT_EFFECT_ON_SCOPE):
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            children: Sequence[ast.AST] = node.body
        elif isinstance(node, ast.AnnAssign):
            children = [node.target, *([node.value] if node.value is not None else [])]
        else:
            children = list(ast.iter_child_nodes(node))
        site = above
        if isinstance(node, ast.expr) and _stands_alone(node):
            start, end = self._source.span(node)
            if site is None:
                site = Site(start, end, node, self._is_condition(node))
            if site.node is not node or not isinstance(node, ast.GeneratorExp):
                self._found.append((start, end, site))
            if isinstance(node, (ast.JoinedStr, ast.GeneratorExp)):
                return  # their parts have no places of their own in every Python
            site = site if above is not None or is_pure(node) else None
        for child in children:
            self._visit(child, site)

    def _is_condition(self, node: ast.expr) -> bool:
        place = self._source.places[node]
        return any(isinstance(place.parent, kind) and place.field == field for kind, field in CONDITIONS)

    def alternative(self, site: Site, edit: Edit) -> Optional[ast.expr]:
        """What an edit makes of a site, with its operands checked; None when that is more than an expression."""
        inside = Edit(edit.start - site.start, edit.end - site.start, edit.text)
        text = splice(self._source.data[site.start : site.end], (inside,)).decode("utf-8", "replace")
        try:
            node = ast.parse(text if "\n" not in text else f"({text})", mode="eval").body
            level = ATOM if text.startswith("(") and node.col_offset else level_of(node)
            if level <= NAMED or level < level_wanted(self._source.places[site.node], site.node):
                return None
            return checked(node)
        except (SyntaxError, ValueError, Impure, RecursionError):
            return None

    def compile(self, site: Site, alternatives: Sequence[ast.expr]) -> Optional[types.CodeType]:
        """The function with a choice among alternatives in a site's place, and guards in its loops."""
        unit = self.unit
        tree = ast.parse(unit.text(()), unit.filename)
        place = _Put(self._position(site), site, alternatives)
        tree = place.visit(tree)
        if place.put != 1:
            return None
        try:
            with somewhere():
                return unit.compiled(tree)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            return None

    def _position(self, site: Site) -> Tuple[int, int, int, int]:
        """Lines and columns; a unit is compiled with its own line numbers."""
        node = site.node
        return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0


@contextlib.contextmanager
def somewhere() -> Iterator[None]:
    """New nodes stand at a place while this is entered; giving each its own would take longer than compiling them."""
    kinds: Tuple[Any, ...] = (ast.expr, ast.arg, ast.keyword)
    for kind in kinds:
        kind.lineno, kind.col_offset = 1, 0
    try:
        yield
    finally:
        for kind in kinds:
            del kind.lineno, kind.col_offset


def _stands_alone(node: ast.expr) -> bool:
    if isinstance(node, (ast.Slice, ast.Starred)):
        return False
    return hasattr(node, "lineno") and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


class _Put(ast.NodeTransformer):
    """Puts the choice into a site's place, and a guard into every loop.

    Args:
        position: Where the site is.
        site: The site.
        alternatives: What to choose among.
    """

    def __init__(self, position: Tuple[int, int, int, int], site: Site, alternatives: Sequence[ast.expr]) -> None:
        self._position = position
        self._site = site
        self._alternatives = alternatives
        self.put = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:  # type: ignore[explicit-override]
        """Down to the site and no further."""
        if type(node) is type(self._site.node) and self._is_here(node):
            self.put += 1
            return choice(self._alternatives, condition=self._site.condition)
        super().generic_visit(node)
        if isinstance(node, ast.While):
            tick = ast.Call(func=ast.Name(id=TICK_NAME, ctx=ast.Load()), args=[], keywords=[])
            node.test = ast.BoolOp(op=ast.And(), values=[tick, node.test])
        return node

    def _is_here(self, node: ast.AST) -> bool:
        found = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return found == self._position


def choice(alternatives: Sequence[ast.expr], *, condition: bool) -> ast.expr:
    """A call of the chooser with a function that gives the alternative of a number."""
    number = ast.arg(arg=NUMBER, annotation=None)
    arguments = ast.arguments(
        posonlyargs=[], args=[number], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    body = _switch(list(alternatives), 0)
    function = ast.Lambda(args=arguments, body=body)
    return ast.Call(func=ast.Name(id=TRUTH if condition else CHOOSE, ctx=ast.Load()), args=[function], keywords=[])


def _switch(alternatives: List[ast.expr], first: int) -> ast.expr:
    """A balanced tree of comparisons with the number."""
    if len(alternatives) == 1:
        return alternatives[0]
    half = len(alternatives) // 2
    test = ast.Compare(
        left=ast.Name(id=NUMBER, ctx=ast.Load()),
        ops=[ast.Lt()],
        comparators=[ast.Constant(value=first + half, kind=None)],
    )
    return ast.IfExp(
        test=test, body=_switch(alternatives[:half], first), orelse=_switch(alternatives[half:], first + half)
    )
