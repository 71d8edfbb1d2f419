"""Find edits of code that the tests check with: assertion helpers, fixtures, comparisons.

A test passes with such an edit because it checks less, whatever the product does.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
from itertools import islice
from typing import Any, Iterable, Iterator, List, NamedTuple, Sequence, Set, Union

from sandbox.guest.search.candidates.generator import CandidatePatch

DOUBT = "changes what the tests check with"
MOST_FILES, MOST_NODES, MOST_BYTES = 60, 60_000, 400_000
MOST_IN_ALL = 4_000_000
"""Bytes read at the first survivor; a megabyte takes about a second to parse and walk."""
_CHECKS = re.compile(
    r"_*(?:assert|check|verify|expect|ensure|should|must|require|raises|warns|fails|compare)"
    r"(?:[A-Z_]|s?$).*|_*(?:assert|raises|warns)\w*"
)
"""Names of functions that tests call for their exception only, or as a context."""
_HELPER_FILE = re.compile(r"(?:.*/)?_*(?:testing|test_?utils?|test_?helpers?|test_?support)\.py")
_COMPARISONS = {
    ast.Eq: {"__eq__"}, ast.NotEq: {"__ne__", "__eq__"}, ast.In: {"__contains__", "__eq__"},
    ast.NotIn: {"__contains__", "__eq__"}, ast.Lt: {"__lt__"}, ast.LtE: {"__le__"},
    ast.Gt: {"__gt__"}, ast.GtE: {"__ge__"},
}  # fmt: skip
_METHODS = {
    "assertEqual": {"__eq__"}, "assertNotEqual": {"__ne__", "__eq__"},
    "assertIn": {"__contains__", "__eq__"}, "assertNotIn": {"__contains__", "__eq__"},
    "assertLess": {"__lt__"}, "assertGreater": {"__gt__"}, "assertTrue": {"__bool__"},
    "assertFalse": {"__bool__"}, "assertListEqual": {"__eq__"}, "assertDictEqual": {"__eq__"},
}  # fmt: skip
_TRUTHS = frozenset({"assertTrue", "assertFalse", "assert_", "failUnless"})
_CONTEXT = frozenset({"__enter__", "__exit__", "__aenter__", "__aexit__"})
_MARKED = frozenset({"fixture", "hookimpl", "yield_fixture"})
Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef]


class TestOracles(NamedTuple):
    """The names that tests check with."""

    helpers: Set[str]
    """Functions and classes, called as statements or entered as contexts."""
    comparisons: Set[str]
    """Comparison methods that their assertions use."""
    has_contexts: bool
    """True if one of the helpers is entered as a context."""
    only_checking: Set[str]
    """Names of which every call discards its value, is entered, or decides an assertion alone."""


def read_test_files(root: str, names: Iterable[str]) -> Iterator[bytes]:
    """Yield the contents of the files of these tests, each once.

    Args:
        root: The checkout.
        names: Node ids, failing tests first.
    """
    for path in dict.fromkeys(name.split("::")[0] for name in names):
        with contextlib.suppress(OSError), open(os.path.join(root, path), "rb") as file:
            yield file.read(MOST_BYTES)


def read_oracles(texts: Iterable[bytes]) -> TestOracles:
    """Read the oracles from test files.

    Args:
        texts: The files' contents.
    """
    found = TestOracles(set(), set(), has_contexts=False, only_checking=set())
    uses = _CallUses()
    left = MOST_IN_ALL
    for text in islice(texts, MOST_FILES):
        left -= len(text)
        if left < 0:
            break
        try:
            tree = ast.parse(text[:MOST_BYTES])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in islice(ast.walk(tree), MOST_NODES):
            found = _read_node(node, found)
            uses.read(node)
    return found._replace(only_checking=uses.only_checking())


class _CallUses:
    """Uses of the values of calls in test files, by the last name of the callee."""

    def __init__(self) -> None:
        self._checking: Set[str] = set()
        self._used: Set[str] = set()
        self._known: Set[ast.AST] = set()
        """Calls whose use was seen at a node around them."""

    def only_checking(self) -> Set[str]:
        """Return the names of which no call's value is used."""
        return self._checking - self._used - {""}

    def read(self, node: ast.AST) -> None:
        """Read a node; those around it come first."""
        for call in _checking_calls(node):
            self._known.add(call)
            self._checking.add(_last_name(call.func))
        if isinstance(node, ast.Call) and node not in self._known:
            self._used.add(_last_name(node.func))


def _checking_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls whose value a statement discards, enters, or asserts as it is."""
    if isinstance(node, ast.Assert):
        yield from _deciding_calls(node.test)
    elif isinstance(node, ast.Expr):
        for call in _calls([node.value]):
            yield call
            if _last_name(call.func) in _TRUTHS and call.args:
                yield from _deciding_calls(call.args[0])
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from _calls(item.context_expr for item in node.items)


def _deciding_calls(test: ast.expr) -> Iterator[ast.Call]:
    """Yield the calls whose truth decides an assertion, or that make both sides of it."""
    if isinstance(test, ast.UnaryOp):
        yield from _deciding_calls(test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _deciding_calls(value)
    elif isinstance(test, ast.Compare):
        sides = [side for side in (test.left, *test.comparators) if not _is_truth(side)]
        calls = list(_calls(sides))
        if len(calls) == len(sides) and len({_last_name(call.func) for call in calls}) == 1:
            yield from calls
    else:
        yield from _calls([test])


def _is_truth(side: ast.expr) -> bool:
    return isinstance(side, ast.Constant) and type(side.value) is bool


def _calls(values: Iterable[ast.expr]) -> Iterator[ast.Call]:
    for value in values:
        plain = value.value if isinstance(value, ast.Await) else value
        if isinstance(plain, ast.Call):
            yield plain


def _read_node(node: ast.AST, found: TestOracles) -> TestOracles:
    if isinstance(node, ast.Assert):
        found.comparisons.update(_compared(node.test))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = _last_name(node.value.func)
        found.comparisons.update(_METHODS.get(name, ()))
        if _CHECKS.fullmatch(name):
            found.helpers.add(name)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            name = _last_name(getattr(item.context_expr, "func", item.context_expr))
            if _CHECKS.fullmatch(name):
                found.helpers.add(name)
                found = found._replace(has_contexts=True)
    return found


def _compared(test: ast.expr) -> Set[str]:
    found: Set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            for operator in node.ops:
                found |= _COMPARISONS.get(type(operator), set())
    plain = test.operand if isinstance(test, ast.UnaryOp) else test
    return found if not isinstance(plain, (ast.Name, ast.Attribute, ast.Call)) else {"__bool__"}


def _last_name(node: Any) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def changes_oracle(candidate: CandidatePatch, oracles: TestOracles) -> bool:
    """Return True if a candidate edits what the tests check with."""
    return any(_HELPER_FILE.fullmatch(source.path) for source, _ in candidate.changes) or any(
        _is_oracle(around, place, oracles)
        for around in _edited_definitions(candidate)
        for place in range(len(around))
    )


def may_change_oracle(candidate: CandidatePatch, oracles: TestOracles) -> bool:
    """Return True if a candidate edits a function that tests only check with, or call in vain.

    Functions with effects, such as `cart.add(book)`, are among them; see `compare.lost_oracle`.
    """
    return any(
        node.name in oracles.only_checking
        for around in _edited_definitions(candidate)
        for node in around
    )


def _edited_definitions(candidate: CandidatePatch) -> Iterator[List[Definition]]:
    """Yield the functions and classes around each edit, outermost first."""
    for source, edits in candidate.changes:
        for edit in edits:
            yield list(_around(source.tree, source.data.count(b"\n", 0, edit.start) + 1))


def _around(tree: ast.AST, line: int) -> Iterator[Definition]:
    """Yield the functions and classes around a line, outermost first."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first <= line <= (getattr(node, "end_lineno", None) or node.lineno):
                yield node


def _is_oracle(around: Sequence[Definition], place: int, oracles: TestOracles) -> bool:
    node = around[place]
    if node.name in oracles.helpers:
        return True
    if isinstance(node, ast.ClassDef):
        return False
    is_method = place > 0 and isinstance(around[place - 1], ast.ClassDef)
    if is_method and node.name in oracles.comparisons:
        return True
    if is_method and node.name in _CONTEXT and oracles.has_contexts:
        return True
    marks = {_last_name(getattr(one, "func", one)) for one in node.decorator_list}
    return bool(marks & _MARKED) or node.name.startswith("pytest_")
