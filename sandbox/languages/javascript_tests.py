"""Find the tests of a JavaScript or TypeScript file and the assertions in them.

Places are offsets in the text's UTF-8 bytes.
"""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import Literal

from tree_sitter import Node

from sandbox.languages.javascript import grammar_for
from sandbox.languages.syntax_tree import SyntaxTree, parse_text, walk
from sandbox.types import Frozen

Place = tuple[int, int]
Check = Literal["", "same", "equal", "strict", "true", "false", "null", "undefined", "defined"]
"""Relation of the value to the expected one that an assertion surely means; empty if unknown.

`equal` is that of `==`, `strict` of `===`; assertion libraries may have their own for objects.
"""

_TESTS = frozenset({"it", "test", "specify"})
_SUITES = frozenset({"describe", "suite", "context"})
_PLAIN = frozenset({"only", "concurrent", "sequential", "serial"})
_CONDITIONS = frozenset({"skipIf", "runIf"})
_UNUSUAL = re.compile(r"\b(?:todo|skip|fails|failing|expectFailure)\b")
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_SCOPES = _FUNCTIONS | {
    "class", "class_declaration", "function_declaration", "generator_function",
    "generator_function_declaration", "method_definition",
}  # fmt: skip
_ESCAPES = re.compile(r"\\(.)", re.DOTALL)
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "`": "`", "\\": "\\"}
_NUMBER = re.compile(rb"[1-9]\d{0,11}|0")
_TEXT = re.compile(rb"(['\"])[ !#-&(-\[\]-~]{2,400}\1")
_CONSTANTS = frozenset({"number", "string", "true", "false", "null", "undefined"})
_MATCHERS: dict[str, Check] = {
    "toBe": "same", "toEqual": "equal", "toStrictEqual": "equal", "toBeTruthy": "true",
    "toBeFalsy": "false", "toBeNull": "null", "toBeUndefined": "undefined",
    "toBeDefined": "defined", "toContain": "", "toContainEqual": "", "toMatch": "",
    "toMatchObject": "", "toHaveLength": "", "toHaveProperty": "", "toBeInstanceOf": "",
    "toBeGreaterThan": "", "toBeGreaterThanOrEqual": "", "toBeLessThan": "",
    "toBeLessThanOrEqual": "", "toBeCloseTo": "", "toBeNaN": "", "toThrow": "",
    "toThrowError": "", "toHaveBeenCalled": "", "toHaveBeenCalledTimes": "",
    "toHaveBeenCalledWith": "",
}  # fmt: skip
_CHAI: dict[str, Check] = {
    "equal": "strict", "equals": "strict", "eq": "strict", "true": "true", "ok": "true",
    "false": "false", "null": "null", "undefined": "undefined", "eql": "", "include": "",
    "contain": "", "match": "", "lengthOf": "", "throw": "", "instanceOf": "",
}  # fmt: skip
"""Ends of a chain of words: `expect(value).to.be.true`."""
_PROPERTIES = ("true", "ok", "false", "null", "undefined")
_CHAIN = frozenset({"to", "be", "been", "have", "deep"})
_ASSERT: dict[str, tuple[Check, str]] = {
    "strictEqual": ("same", "notStrictEqual"), "equal": ("equal", "notEqual"),
    "deepEqual": ("equal", "notDeepEqual"), "ok": ("true", ""), "match": ("", "doesNotMatch"),
    "deepStrictEqual": ("equal", "notDeepStrictEqual"), "throws": ("", "doesNotThrow"),
}  # fmt: skip
"""Functions of Node's `assert` with their opposites."""


class Assertion(Frozen):
    """A statement that only asserts something."""

    place: Place
    value: Place
    """The value that is checked."""
    expected: Place | None = None
    check: Check = ""
    awaited: Place | None = None
    """The word for the result of a promise: `.resolves`."""
    negation: tuple[Place, str] | None = None
    """What to write where, so that the assertion fails if it passed; `!` is before its value."""
    literals: tuple[Place, ...] = ()
    """Numbers and texts among the arguments, which may be written in another form."""
    is_certain: bool = False
    """It runs whenever the test's function runs to its end."""


class TestFunction(Frozen):
    """A test that a file plainly defines."""

    name: str
    """Titles of its suites and its own, as our runners join them."""
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


class TestFile(Frozen):
    """The tests of a file."""

    tests: tuple[TestFunction, ...]
    first: int
    """Where its first statement begins."""


def read_tests(path: str, text: str) -> TestFile | None:
    """Return a file's tests; None if it cannot be parsed.

    Args:
        path: Its path, which names its language.
        text: Its text; hostile.
    """
    tree = parse_text(text, grammar_for(path))
    if tree is None or tree.root.has_error:
        return None
    tests = []
    for node in walk(tree.root):
        if node.type == "call_expression" and (found := _read_test(tree, node)) is not None:
            tests.append(found)
    above = {"comment", "hash_bang_line"}
    first = next((one.start_byte for one in tree.root.named_children if one.type not in above), 0)
    return TestFile(tests=tuple(tests), first=first)


def _read_test(tree: SyntaxTree, call: Node) -> TestFunction | None:
    statement = call.parent
    arguments = _arguments(call)
    if statement is None or statement.type != "expression_statement" or not arguments:
        return None
    if statement.parent is None or statement.parent.type not in {"program", "statement_block"}:
        return None
    if not _is_named(tree, call.child_by_field_name("function"), _TESTS):
        return None
    title = _read_title(tree, arguments[0])
    function = next((one for one in arguments[1:] if one.type in _FUNCTIONS), None)
    body = function.child_by_field_name("body") if function is not None else None
    titles = _suite_titles(tree, statement)
    if title is None or titles is None or function is None or body is None:
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
        name=" > ".join((*titles, title)),
        title=title,
        title_place=_place(arguments[0]),
        place=_place(statement),
        body=(start, body.end_byte - 1) if is_block else _place(body),
        is_expression=not is_block,
        ends=is_block and not returns and not takes,
        assertions=tuple(_assertions(tree, body, certain=is_block and not returns)),
    )


def _suite_titles(tree: SyntaxTree, node: Node) -> list[str] | None:
    """Return the titles of the suites around a statement; None if one is not plain."""
    titles: list[str] = []
    above = node.parent
    while above is not None:
        if above.type == "call_expression":
            arguments = _arguments(above)
            if not arguments or not _is_named(tree, above.child_by_field_name("function"), _SUITES):
                return None
            title = _read_title(tree, arguments[0])
            if title is None:
                return None
            titles.insert(0, title)
        above = above.parent
    return titles


def _is_named(tree: SyntaxTree, callee: Node | None, words: frozenset[str]) -> bool:
    """Return True for `it`, `it.only` and `it.skipIf(…)`, but not for `it.each(…)`."""
    if callee is None:
        return False
    allowed = _PLAIN
    if callee.type == "call_expression":
        callee, allowed = callee.child_by_field_name("function"), _CONDITIONS
        if callee is None or callee.type != "member_expression":
            return False
    while callee is not None and callee.type == "member_expression":
        last = callee.child_by_field_name("property")
        if last is None or tree.text(last) not in allowed:
            return False
        callee, allowed = callee.child_by_field_name("object"), _PLAIN
    return callee is not None and callee.type == "identifier" and tree.text(callee) in words


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


def _assertions(tree: SyntaxTree, body: Node, *, certain: bool) -> Iterator[Assertion]:
    """Yield the outermost statements of a function that only assert something."""
    if body.type != "statement_block":
        found = _read_assertion(tree, body, body)
        if found is not None:
            yield found.with_(is_certain=found.awaited is None)
        return
    end = 0
    for node in walk(body):
        if node.type != "expression_statement" or node.start_byte < end:
            continue
        expression = next(iter(node.named_children), None)
        found = _read_assertion(tree, node, expression) if expression is not None else None
        if found is not None:
            end = node.end_byte
            yield found.with_(is_certain=certain and node.parent == body)


def _read_assertion(tree: SyntaxTree, statement: Node, node: Node) -> Assertion | None:
    is_awaited = node.type == "await_expression"
    if is_awaited and node.named_children:
        node = node.named_children[0]
    call = node if node.type == "call_expression" else None
    callee = call.child_by_field_name("function") if call is not None else node
    arguments = _arguments(call) if call is not None else []
    if callee is None or any(one.type == "spread_element" for one in arguments):
        return None
    literals = tuple(_literals(tree, arguments))
    place = _place(statement)
    name, words, root = _chain(tree, callee)
    if root is not None:
        made = _expectation(tree, name, words, root, arguments, is_call=call is not None)
    else:
        made = _assertion(tree, callee, name, arguments)
    if made is None:
        return None
    if made.awaited is not None and not is_awaited:
        made = made.with_(check="", awaited=None, expected=None)
    return made.with_(place=place, literals=literals)


def _chain(tree: SyntaxTree, callee: Node) -> tuple[str, list[Node], Node | None]:
    """Return the last word of `expect(…).a.b`, all of its words, and the call of `expect`."""
    words: list[Node] = []
    here: Node | None = callee
    while here is not None and here.type == "member_expression":
        last = here.child_by_field_name("property")
        if last is not None:
            words.insert(0, last)
        here = here.child_by_field_name("object")
    name = tree.text(words[-1]) if words else tree.text(callee)
    if here is None or here.type != "call_expression":
        return name, words, None
    expect = here.child_by_field_name("function")
    is_expect = expect is not None and tree.text(expect) == "expect" and _arguments(here)
    return name, words, here if is_expect and words else None


def _expectation(  # noqa: PLR0913 - the parts of one expression
    tree: SyntaxTree,
    name: str,
    words: list[Node],
    root: Node,
    arguments: list[Node],
    *,
    is_call: bool,
) -> Assertion | None:
    """Return `expect(…).toBe(…)` and the like as an assertion."""
    values = _arguments(root)
    # `expect(value).to.equal` without a call asserts nothing.
    table = _MATCHERS | _CHAI if is_call else {one: _CHAI[one] for one in _PROPERTIES}
    known = table.get(name)
    if known is None or any(one.type == "spread_element" for one in values):
        return None
    flags = [tree.text(one) for one in words[:-1]]
    made = Assertion(place=_place(root), value=_place(values[0]))
    if not set(flags) <= _CHAIN | {"not", "resolves"} or flags.count("not") > 1:
        return made
    if "resolves" not in flags:
        denial = words[flags.index("not")] if "not" in flags else None
        negation = (root.end_byte, root.end_byte) if denial is None else _word(denial)
        made = made.with_(negation=(negation, ".not" if denial is None else ""))
    if not {"not", "deep"}.isdisjoint(flags):
        return made
    if "resolves" in flags:
        made = made.with_(awaited=_word(words[flags.index("resolves")]))
    return _with_check(made, known, arguments)


def _word(node: Node) -> Place:
    """Return the place of a word of a chain, with its point."""
    before = node.prev_sibling
    return (before.start_byte if before is not None else node.start_byte, node.end_byte)


def _assertion(
    tree: SyntaxTree, callee: Node, name: str, arguments: list[Node]
) -> Assertion | None:
    """Return `assert.equal(…)` and the like as an assertion."""
    if not arguments:
        return None
    base = callee.child_by_field_name("object")
    is_member = callee.type == "member_expression" and base is not None
    text = tree.text(callee)
    if text == "assert":
        name = "ok"
    elif is_member and base is not None and tree.text(base).split(".")[-1] not in {
        "assert", "strict"
    }:  # fmt: skip
        return None
    elif not is_member and (callee.type != "identifier" or name in {"ok", "match", "equal"}):
        return None
    known = _ASSERT.get(name)
    if known is None:
        return None
    check, opposite = known
    value = _place(arguments[0])
    made = Assertion(place=value, value=value)
    if check == "true":
        made = made.with_(negation=((value[0], value[0]), "!"))
    elif is_member and opposite:
        last = callee.child_by_field_name("property")
        made = made.with_(negation=(_place(last), opposite)) if last is not None else made
    return _with_check(made, check, arguments[1:])


def _with_check(made: Assertion, check: Check, expected: list[Node]) -> Assertion:
    """Add the check, if all that it needs is there."""
    if check not in {"same", "equal", "strict"}:
        return made.with_(check=check)
    if not expected:
        return made
    # Only for a constant, equality in depth is that of the language.
    if check == "equal" and expected[0].type not in _CONSTANTS:
        return made
    return made.with_(check=check, expected=_place(expected[0]))


def _literals(tree: SyntaxTree, nodes: list[Node]) -> Iterator[Place]:
    """Yield whole numbers and plain texts among arguments, also in arrays and objects."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop(0)
        data = tree.text(node, 500).encode()
        if node.type == "number" and _NUMBER.fullmatch(data):
            yield _place(node)
        elif node.type == "string" and _TEXT.fullmatch(data):
            yield _place(node)
        elif node.type == "array":
            waiting += node.named_children
        elif node.type == "object":
            pairs = [one for one in node.named_children if one.type == "pair"]
            waiting += [one for pair in pairs if (one := pair.child_by_field_name("value"))]


def _is_directive(node: Node) -> bool:
    inside = node.named_children
    return node.type == "expression_statement" and len(inside) == 1 and inside[0].type == "string"


def _own_nodes(body: Node) -> Iterator[Node]:
    """Yield the nodes of a function without those of functions and classes inside it."""
    return walk(body, into=lambda one: one == body or one.type not in _SCOPES)


def _arguments(call: Node) -> list[Node]:
    given = call.child_by_field_name("arguments")
    if given is None or given.type != "arguments":
        return []
    return [one for one in given.named_children if one.type != "comment"]


def _place(node: Node) -> Place:
    return node.start_byte, node.end_byte
