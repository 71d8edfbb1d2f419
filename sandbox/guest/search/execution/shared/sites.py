"""Sites for alternatives: the widest expression without side effects around an edit."""

from __future__ import annotations

import ast
import contextlib
import types
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from sandbox.guest.search.execution.shared.chooser import CHOOSE
from sandbox.guest.search.execution.shared.purity import Impure, checked, is_pure
from sandbox.guest.search.process.limits import TICK_NAME
from sandbox.guest.search.source.functions import Unit
from sandbox.guest.search.source.render import (
    ATOM,
    NAMED,
    SourceFile,
    TextEdit,
    precedence,
    required_precedence,
    splice,
)

TRUTH = f"{CHOOSE}truth__"
"""The chooser's name for conditions, where only the truth value counts."""
NUMBER = "__metaagent_number__"
CONDITIONS = ((ast.If, "test"), (ast.While, "test"), (ast.IfExp, "test"), (ast.Assert, "test"))
WITHOUT_EFFECT_ON_SCOPE = (ast.Lambda, ast.ClassDef)


class ExpressionSite(NamedTuple):
    """An expression of a function."""

    start: int
    end: int
    node: ast.expr
    condition: bool
    """True if only the truth value counts."""


class Sites:
    """All expressions of a function that can be replaced by a choice of alternatives.

    Args:
        unit: The function.
    """

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self._source: SourceFile = unit.source
        self._found: List[Tuple[int, int, ExpressionSite]] = []
        for statement in unit.node.body:
            self._visit(statement, None)
        self._found.sort(key=lambda found: (found[1] - found[0], found[0]))

    def of(self, edit: TextEdit) -> Optional[ExpressionSite]:
        """Return the site of the smallest expression around an edit, or None."""
        for start, end, site in self._found:
            if start <= edit.start and edit.end <= end:
                return site
        return None

    def _visit(self, node: ast.AST, above: Optional[ExpressionSite]) -> None:
        """Record the expressions below a node; `above` is the site that contains its pure parts."""
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
                site = ExpressionSite(start, end, node, self._is_condition(node))
            if site.node is not node or not isinstance(node, ast.GeneratorExp):
                self._found.append((start, end, site))
            if isinstance(node, (ast.JoinedStr, ast.GeneratorExp)):
                return  # their parts have no positions in some Python versions
            if above is None and not is_pure(node):
                site = None
        for child in children:
            self._visit(child, site)

    def _is_condition(self, node: ast.expr) -> bool:
        place = self._source.places[node]
        return any(
            isinstance(place.parent, kind) and place.field == field for kind, field in CONDITIONS
        )

    def alternative(self, site: ExpressionSite, edit: TextEdit) -> Optional[ast.expr]:
        """Return the edited expression with checked operands.

        Return None if the edit changes more than the expression.
        """
        inside = TextEdit(edit.start - site.start, edit.end - site.start, edit.text)
        text = splice(self._source.data[site.start : site.end], (inside,)).decode(
            "utf-8", "replace"
        )
        try:
            node = ast.parse(text if "\n" not in text else f"({text})", mode="eval").body
            level = ATOM if text.startswith("(") and node.col_offset else precedence(node)
            if level <= NAMED or level < required_precedence(
                self._source.places[site.node], site.node
            ):
                return None
            return checked(node)
        except (SyntaxError, ValueError, Impure, RecursionError):
            return None

    def compile(
        self, site: ExpressionSite, alternatives: Sequence[ast.expr]
    ) -> Optional[types.CodeType]:
        """Compile the function with a choice at a site and with guards in its loops."""
        unit = self.unit
        tree = ast.parse(unit.text(()), unit.filename)
        place = _Put(self._position(site), site, alternatives)
        tree = place.visit(tree)
        if place.store != 1:
            return None
        try:
            with default_positions():
                return unit.compiled(tree)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            return None

    def _position(self, site: ExpressionSite) -> Tuple[int, int, int, int]:
        """Return the lines and columns of a site; a unit is compiled with its own line numbers."""
        node = site.node
        return (
            node.lineno,
            node.col_offset,
            node.end_lineno or node.lineno,
            node.end_col_offset or 0,
        )


@contextlib.contextmanager
def default_positions() -> Iterator[None]:
    """Give all new nodes one position while this context is active.

    Setting it on each node takes longer than compiling them.
    """
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
    """Replaces a site by the choice, and adds a guard to every loop.

    Args:
        position: The position of the site.
        site: The site.
        alternatives: The expressions to choose from.
    """

    def __init__(
        self,
        position: Tuple[int, int, int, int],
        site: ExpressionSite,
        alternatives: Sequence[ast.expr],
    ) -> None:
        self._position = position
        self._site = site
        self._alternatives = alternatives
        self.store = 0

    def generic_visit(self, node: ast.AST) -> ast.AST:  # type: ignore[explicit-override]
        """Visit nodes down to the site."""
        if type(node) is type(self._site.node) and self._is_here(node):
            self.store += 1
            return choice(self._alternatives, condition=self._site.condition)
        super().generic_visit(node)
        if isinstance(node, ast.While):
            # The guard of `loop_guard`, as a syntax tree.
            tick = ast.Call(func=ast.Name(id=TICK_NAME, ctx=ast.Load()), args=[], keywords=[])
            node.test = ast.BoolOp(op=ast.And(), values=[tick, node.test])
        return node

    def _is_here(self, node: ast.AST) -> bool:
        placed: Any = node
        found = (placed.lineno, placed.col_offset, placed.end_lineno, placed.end_col_offset)
        return found == self._position


def choice(alternatives: Sequence[ast.expr], *, condition: bool) -> ast.expr:
    """Return a call of the chooser with a function from number to alternative."""
    number = ast.arg(arg=NUMBER, annotation=None)
    arguments = ast.arguments(
        posonlyargs=[],
        args=[number],
        vararg=None,
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None,
        defaults=[],
    )
    body = _switch(list(alternatives), 0)
    function = ast.Lambda(args=arguments, body=body)
    return ast.Call(
        func=ast.Name(id=TRUTH if condition else CHOOSE, ctx=ast.Load()),
        args=[function],
        keywords=[],
    )


def _switch(alternatives: List[ast.expr], first: int) -> ast.expr:
    """Return a balanced tree of comparisons with the number."""
    if len(alternatives) == 1:
        return alternatives[0]
    half = len(alternatives) // 2
    test = ast.Compare(
        left=ast.Name(id=NUMBER, ctx=ast.Load()),
        ops=[ast.Lt()],
        comparators=[ast.Constant(value=first + half, kind=None)],
    )
    return ast.IfExp(
        test=test,
        body=_switch(alternatives[:half], first),
        orelse=_switch(alternatives[half:], first + half),
    )
