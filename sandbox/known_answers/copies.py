"""Write copies of test functions that must pass, and copies that must fail.

A copy runs every statement of the original, with its assertions in another form, and ends with a
check of numbers. In a copy that must fail this check is false, or an assertion of the original is
negated: also one that a method makes (`self.assertEqual` becomes `self.assertNotEqual`), or a block
that expects an exception (its body goes). So a helper that accepts everything passes it. Both kinds
look alike, so that a program has to evaluate a copy to tell them apart.
"""

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from random import Random  # noqa: TID251 - passed in

from typing_extensions import override

from sandbox.changes.syntax import parse
from sandbox.types import Frozen

Function = ast.FunctionDef | ast.AsyncFunctionDef
Qualname = tuple[str, ...]
"""Names of classes and the function, outermost first: `("TestCart", "test_total")`."""

WORDS = (
    "amount",
    "batch",
    "count",
    "depth",
    "extra",
    "first",
    "given",
    "height",
    "index",
    "level",
)
_OPPOSITES = {
    "assertEqual": "assertNotEqual",
    "assertTrue": "assertFalse",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIn": "assertNotIn",
    "assertIsInstance": "assertNotIsInstance",
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertGreater": "assertLessEqual",
    "assertLess": "assertGreaterEqual",
    "assertRegex": "assertNotRegex",
}
_OPPOSITES |= {after: before for before, after in _OPPOSITES.items()}
"""Methods of `unittest.TestCase`, and those that fail where they pass."""
_EXPECTING = frozenset(
    {
        "raises",
        "warns",
        "deprecated_call",
        "assertRaises",
        "assertRaisesRegex",
        "assertWarns",
        "assertWarnsRegex",
    }
)
"""Context managers that fail if their block does nothing."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Copy(Frozen):
    """One copy of a test function."""

    original: Qualname
    name: Qualname
    passes: bool
    """The known answer."""


class Rewritten(Frozen):
    """The text of a test file with copies in it."""

    text: str
    copies: tuple[Copy, ...]


def add_copies(source: str, wanted: Mapping[Qualname, int], random: Random) -> Rewritten | None:
    """Add copies under new names after the originals.

    Args:
        source: Text of the test file.
        wanted: Number of copies of each kind for each function.
        random: Source of names, numbers and the order of copies.

    Returns:
        The new text with the copies of all functions that the file plainly defines, or None without
        any.
    """
    tree = parse(source)
    if tree is None:
        return None
    added: list[Copy] = []
    for qualname, number in wanted.items():
        place = _find(tree, qualname)
        if place is None:
            continue
        body, function = place
        negates_first = random.random() < 0.5  # noqa: PLR2004 - a coin
        kinds = [(True, False)] * number
        # Of two copies that must fail, one has a negated assertion.
        kinds += [(False, (index % 2 == 0) is negates_first) for index in range(number)]
        random.shuffle(kinds)
        made = []
        for offset, (passes, negates) in enumerate(kinds):
            name = f"{function.name}_{random.choice(WORDS)}_{random.randrange(100, 1000)}{offset}"
            made.append(_copy(function, name, random, passes=passes, negates=negates))
        copies = [one for one in made if one is not None]
        # Copies that must pass prove nothing without those that must fail.
        if len(copies) < len(made):
            continue
        first = body.index(function) + 1
        body[first:first] = copies
        added += [
            Copy(original=qualname, name=(*qualname[:-1], copied.name), passes=passes)
            for copied, (passes, _) in zip(copies, kinds, strict=True)
        ]
    return _rewritten(tree, added)


def replace_originals(
    source: str,
    wanted: Iterable[Qualname],
    random: Random,
    *,
    passes: bool,
    negates: bool = False,
) -> Rewritten | None:
    """Put copies of one kind in the place of the originals, under the same names.

    Args:
        source: Text of the test file.
        wanted: The functions.
        random: Source of names and numbers.
        passes: The known answer.
        negates: Negate an assertion in copies that must fail, if a function has one.
    """
    tree = parse(source)
    if tree is None:
        return None
    replaced: list[Copy] = []
    for qualname in wanted:
        place = _find(tree, qualname)
        if place is None:
            continue
        body, function = place
        copied = _copy(function, function.name, random, passes=passes, negates=negates)
        if copied is None:
            continue
        body[body.index(function)] = copied
        replaced.append(Copy(original=qualname, name=qualname, passes=passes))
    return _rewritten(tree, replaced)


def _rewritten(tree: ast.Module, copies: list[Copy]) -> Rewritten | None:
    if not copies:
        return None
    try:
        return Rewritten(
            text=ast.unparse(ast.fix_missing_locations(tree)) + "\n", copies=tuple(copies)
        )
    except (RecursionError, ValueError):
        return None


def _find(tree: ast.Module, qualname: Qualname) -> tuple[list[ast.stmt], Function] | None:
    """Return the body that defines a function, and the function; None if it cannot be copied."""
    body: list[ast.stmt] = tree.body
    for name in qualname[:-1]:
        classes = [node for node in body if isinstance(node, ast.ClassDef) and node.name == name]
        if not classes:
            return None
        body = classes[-1].body
    named = [node for node in body if isinstance(node, Function) and node.name == qualname[-1]]
    # A generator runs after its call, so that its end proves nothing about the test.
    if not named or any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(named[-1])
    ):
        return None
    return body, named[-1]


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions and classes inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def _copy(
    function: Function, name: str, random: Random, *, passes: bool, negates: bool
) -> Function | None:
    """Return a copy; None for a function with long chains, such as a sum of 300 terms."""
    try:
        return _make_copy(function, name, random, passes=passes, negates=negates)
    except RecursionError:
        return None


def _make_copy(
    function: Function, name: str, random: Random, *, passes: bool, negates: bool
) -> Function:
    made = copy.deepcopy(function)
    made.name = name
    if ast.get_docstring(made, clean=False) is not None:
        made.body = made.body[1:]  # an example in it would be a separate test
    false_sum = not passes and not (negates and _negate_one(made, random))
    local = f"{random.choice(WORDS)}_{random.randrange(1000, 10000)}"
    start, step = random.randrange(100, 900), random.randrange(10, 90)
    claim = start + step + (random.randrange(1, 9) if false_sum else 0)
    rewriter = _Rewriter(local, step, claim, random)
    body = [rewriter.visit(statement) for statement in made.body]
    begin = ast.Assign(targets=[ast.Name(local, ast.Store())], value=ast.Constant(start))
    made.body = [begin, *_flat(body), rewriter.final()]
    return made


def _negate_one(function: Function, random: Random) -> bool:
    """Negate an assertion that surely runs; return False if there is none."""
    if any(isinstance(node, ast.Return) for node in _own_nodes(function)):
        return False
    helped = [node for node in function.body if _is_helped(node)]
    certain = helped or [node for node in function.body if isinstance(node, ast.Assert)]
    if not certain:
        return False
    match random.choice(certain):
        case ast.Assert() as chosen:
            chosen.test = ast.UnaryOp(ast.Not(), chosen.test)
        case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
            method.attr = _OPPOSITES[method.attr]
        case ast.With() as block:
            block.body = [ast.Pass()]
        case _:
            return False
    return True


def _is_helped(node: ast.stmt) -> bool:
    """Return True for an assertion that a function makes, which a liar may have replaced."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in _OPPOSITES
        case ast.With(items=[ast.withitem(context_expr=ast.Call(func=function))]):
            return getattr(function, "attr", getattr(function, "id", "")) in _EXPECTING
        case _:
            return False


def _flat(statements: list[ast.stmt | list[ast.stmt]]) -> Iterator[ast.stmt]:
    for statement in statements:
        if isinstance(statement, list):
            yield from statement
        else:
            yield statement


class _Rewriter(ast.NodeTransformer):
    """Gives assertions another form, and checks the numbers before the function returns.

    Args:
        local: Name of the local variable with the first number.
        step: The number that is added.
        claim: The sum that the copy asserts.
        random: Chooses forms.
    """

    def __init__(self, local: str, step: int, claim: int, random: Random) -> None:
        self._local = local
        self._step = step
        self._claim = claim
        self._random = random
        self._depth = 0

    def final(self) -> ast.stmt:
        """Return the statement that decides the copy's outcome."""
        total = ast.BinOp(ast.Name(self._local, ast.Load()), ast.Add(), ast.Constant(self._step))
        check = ast.Compare(total, [ast.Eq()], [ast.Constant(self._claim)])
        return self._assertion(check, None)

    @override
    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """Write an assertion in another form."""
        disguised = _Disguise(self._random).visit(self.visit(node.test))
        return self._assertion(disguised, node.msg)

    @override
    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """Write the values of `self.assertEqual(...)` and the like in another form."""
        call = self.generic_visit(node.value)
        named = (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr
        )
        if isinstance(call, ast.Call) and named and named.startswith("assert"):
            call.args = [_Disguise(self._random).visit(argument) for argument in call.args]
        return node

    @override
    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        """Check the numbers before the test returns early."""
        return [self.final(), node] if self._depth == 0 else node

    @override
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave the returns of an inner function alone."""
        return self._inner(node)

    @override
    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Leave the returns of an inner function alone."""
        return self._inner(node)

    @override
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Leave the returns of methods alone."""
        return self._inner(node)

    def _inner(self, node: ast.AST) -> ast.AST:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    def _assertion(self, test: ast.expr, message: ast.expr | None) -> ast.stmt:
        form = self._random.randrange(3)
        if form == 0:
            error = ast.Call(
                ast.Name("AssertionError", ast.Load()), [message] if message else [], []
            )
            return ast.If(ast.UnaryOp(ast.Not(), test), [ast.Raise(error, None)], [])
        if form == 1:
            return ast.Assert(ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), test)), message)
        number = ast.Constant(self._random.randrange(2, 100))
        return ast.Assert(ast.BoolOp(ast.And(), [test, number]), message)


class _Disguise(ast.NodeTransformer):
    """Writes numbers and texts as sums, so that an expected value cannot be found by its text.

    Args:
        random: Chooses the summands.
    """

    def __init__(self, random: Random) -> None:
        self._random = random

    @override
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Write a number or a text as a sum."""
        value = node.value
        if type(value) is int:
            part = self._random.randrange(1, 100)
            return ast.BinOp(ast.Constant(value + part), ast.Sub(), ast.Constant(part))
        if type(value) is str and len(value) > 1:
            cut = self._random.randrange(1, len(value))
            return ast.BinOp(ast.Constant(value[:cut]), ast.Add(), ast.Constant(value[cut:]))
        return node

    @override
    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """Leave a formatted string alone: its parts can only be constants."""
        return node
