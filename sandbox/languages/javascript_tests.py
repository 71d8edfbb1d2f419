"""Find the tests of a JavaScript or TypeScript file and the assertions in them."""

import re
from collections.abc import Iterator
from itertools import takewhile

from tree_sitter import Node

from sandbox.languages.javascript import grammar_for
from sandbox.languages.javascript_assertions import (
    DEEPEST,
    Assertion,
    Place,
    arguments_of,
    place_of,
    read_assertions,
)
from sandbox.languages.syntax_tree import SyntaxTree, parse_text, walk
from sandbox.types import Frozen

_TESTS = frozenset({"it", "test", "specify"})
_SUITES = frozenset({"describe", "suite", "context"})
_PLAIN = frozenset({"only", "concurrent", "sequential", "serial"})
_CONDITIONS = frozenset({"skipIf", "runIf"})
_ROWS = frozenset({"each", "for"})
_VALUES = re.compile(r"%[sdifjoOp#$c]|\$[#\w][\w.]*")
"""Places for values in the title of a test that runs once for each row of a table."""
_UNUSUAL = re.compile(r"\b(?:todo|skip|fails|failing|expectFailure)\b")
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_SCOPES = _FUNCTIONS | {
    "class", "class_declaration", "function_declaration", "generator_function",
    "generator_function_declaration", "method_definition",
}  # fmt: skip
_ESCAPES = re.compile(r"\\(.)", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "`": "`", "\\": "\\"}


class TestFunction(Frozen):
    """A test that a file plainly defines."""

    parts: tuple[str, ...]
    """Titles of its suites and its own, as our runners join them, cut where values are put in."""
    title: str
    title_place: Place
    place: Place
    """The whole statement."""
    body: Place
    """Inside of the braces, after directives; or the expression that the function returns."""
    is_expression: bool
    ends: bool
    """It runs to the end of its body: no callback is waited for, and nothing returns early."""
    assertions: tuple[Assertion, ...] = ()

    @property
    def is_literal(self) -> bool:
        """Return True if its titles are known to the letter."""
        return len(self.parts) == 1

    def matches(self, name: str) -> bool:
        """Return True if the test, or one of its rows, may have a name."""
        if self.is_literal:
            return name == self.parts[0]
        first, *inner, last = self.parts
        if not name.startswith(first):
            return False
        at = len(first)
        for part in inner:
            at = name.find(part, at)
            if at < 0:
                return False
            at += len(part)
        return len(name) - len(last) >= at and name.endswith(last)


class TestFile(Frozen):
    """The tests of a file."""

    tests: tuple[TestFunction, ...]
    first: int
    """Start of its first statement."""


def read_tests(path: str, text: str) -> TestFile | None:
    """Return a file's tests; None if it cannot be parsed.

    Args:
        path: Its path, which names its language.
        text: Its text; hostile.
    """
    tree = parse_text(text, grammar_for(path))
    if tree is None or tree.root.has_error:
        return None
    calls = (node for node in walk(tree.root, deepest=DEEPEST) if node.type == "call_expression")
    tests = [found for call in calls if (found := _read_test(tree, call)) is not None]
    above = {"comment", "hash_bang_line"}
    first = next((one.start_byte for one in tree.root.named_children if one.type not in above), 0)
    return TestFile(tests=tuple(tests), first=first)


def _read_test(tree: SyntaxTree, call: Node) -> TestFunction | None:
    statement = call.parent
    arguments = arguments_of(call)
    if statement is None or statement.type != "expression_statement" or not arguments:
        return None
    if statement.parent is None or statement.parent.type not in {"program", "statement_block"}:
        return None
    kind = _kind(tree, call.child_by_field_name("function"), _TESTS)
    if not kind:
        return None
    title = _read_title(tree, arguments[0])
    function = next((one for one in arguments[1:] if one.type in _FUNCTIONS), None)
    body = function.child_by_field_name("body") if function is not None else None
    above = _suite_titles(tree, statement)
    if title is None or above is None or function is None or body is None:
        return None
    if any(one.type == "object" and _UNUSUAL.search(tree.text(one)) for one in arguments[1:]):
        return None
    is_block = body.type == "statement_block"
    returns = any(one.type == "return_statement" for one in _own_nodes(body))
    parameters = function.child_by_field_name("parameters")
    takes = function.child_by_field_name("parameter") or (parameters and parameters.named_children)
    statements = body.named_children
    directives = list(takewhile(_is_directive, statements if is_block else ()))
    start = directives[-1].end_byte if directives else body.start_byte + 1
    return TestFunction(
        parts=_join([*above, _parts(title, kind)]),
        title=title,
        title_place=place_of(arguments[0]),
        place=place_of(statement),
        body=(start, body.end_byte - 1) if is_block else place_of(body),
        is_expression=not is_block,
        ends=is_block and not returns and not takes,
        assertions=tuple(read_assertions(tree, body, certain=is_block and not returns)),
    )


def _suite_titles(tree: SyntaxTree, node: Node) -> list[list[str]] | None:
    """Return the parts of the titles of the suites around a statement; None if one is unknown."""
    titles: list[list[str]] = []
    above = node.parent
    while above is not None:
        if above.type == "call_expression":
            arguments = arguments_of(above)
            kind = _kind(tree, above.child_by_field_name("function"), _SUITES)
            title = _read_title(tree, arguments[0]) if arguments and kind else None
            if title is None:
                return None
            titles.insert(0, _parts(title, kind))
        above = above.parent
    return titles


def _parts(title: str, kind: str) -> list[str]:
    """Return a title, cut at the places for the values of a row."""
    return [title] if kind == "plain" else _VALUES.split(title)


def _join(titles: list[list[str]]) -> tuple[str, ...]:
    parts = [""]
    for number, title in enumerate(titles):
        parts[-1] += (" > " if number else "") + title[0]
        parts += title[1:]
    return tuple(parts)


def _kind(tree: SyntaxTree, callee: Node | None, words: frozenset[str]) -> str:
    """Return `plain` for `it`, `it.only`, `it.skipIf(…)`; `rows` for `it.each(…)`; or nothing."""
    kind, allowed = "plain", _PLAIN
    if callee is not None and callee.type == "call_expression":
        callee, allowed = callee.child_by_field_name("function"), _CONDITIONS | _ROWS
        if callee is None or callee.type != "member_expression":
            return ""
    while callee is not None and callee.type == "member_expression":
        last = callee.child_by_field_name("property")
        word = tree.text(last) if last is not None else ""
        if word not in allowed:
            return ""
        kind = "rows" if word in _ROWS else kind
        callee, allowed = callee.child_by_field_name("object"), _PLAIN
    is_known = callee is not None and callee.type == "identifier" and tree.text(callee) in words
    return kind if is_known else ""


def _read_title(tree: SyntaxTree, node: Node) -> str | None:
    """Return the value of a text without substitutions."""
    if node.type not in {"string", "template_string"}:
        return None
    if any(one.type == "template_substitution" for one in node.named_children):
        return None
    inside = tree.text(node)[1:-1]
    if any(one not in _SIMPLE_ESCAPES for one in _ESCAPES.findall(inside)):
        return None
    return _ESCAPES.sub(lambda match: _SIMPLE_ESCAPES[match[1]], inside)


def _is_directive(node: Node) -> bool:
    inside = node.named_children
    return node.type == "expression_statement" and len(inside) == 1 and inside[0].type == "string"


def _own_nodes(body: Node) -> Iterator[Node]:
    """Yield the nodes of a function without those of functions and classes inside it."""
    return walk(body, into=lambda one: one == body or one.type not in _SCOPES)
