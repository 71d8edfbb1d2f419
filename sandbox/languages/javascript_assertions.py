"""Read the statements of a JavaScript test that only assert something.

Places are offsets in the text's UTF-8 bytes.
"""

import re
from collections import deque
from collections.abc import Iterator
from typing import Literal

from tree_sitter import Node

from sandbox.languages.syntax_tree import SyntaxTree, walk
from sandbox.types import Frozen

Place = tuple[int, int]
Check = Literal[
    "", "same", "other", "equal", "true", "false", "null", "undefined", "defined", "length",
    "contains", "matches", "calls", "called", "more", "less", "kind", "throws",
]  # fmt: skip
"""The sure claim of an assertion about its value; empty if unknown.

`same` is identity. `equal` is equality, also in depth; libraries have their own for some objects.
"""

DEEPEST = 200
"""Levels of nodes that are read: a node finds its parent from the root on."""
_NUMBER = re.compile(rb"[1-9]\d{0,11}|0")
_TEXT = re.compile(rb"(['\"])[ !#-&(-\[\]-~]{2,400}\1")
_MATCHERS: dict[str, Check] = {
    "toBe": "same", "toEqual": "equal", "toStrictEqual": "equal", "toMatchObject": "equal",
    "toBeTruthy": "true", "toBeFalsy": "false", "toBeNull": "null", "toBeUndefined": "undefined",
    "toBeDefined": "defined", "toContain": "contains", "toMatch": "matches",
    "toHaveLength": "length", "toBeInstanceOf": "kind", "toBeGreaterThan": "more",
    "toBeLessThan": "less", "toThrow": "throws", "toThrowError": "throws",
    "toHaveBeenCalled": "called", "toHaveBeenCalledTimes": "calls", "toContainEqual": "",
    "toHaveProperty": "", "toBeGreaterThanOrEqual": "", "toBeLessThanOrEqual": "",
    "toBeCloseTo": "", "toBeNaN": "", "toHaveBeenCalledWith": "",
    # Ends of a chain of words: `expect(value).to.be.true`.
    "equal": "equal", "equals": "equal", "eq": "equal", "eql": "equal", "true": "true",
    "ok": "true", "false": "false", "null": "null", "undefined": "undefined",
    "lengthOf": "length", "include": "contains", "contain": "contains", "match": "matches",
    "throw": "throws", "instanceOf": "kind", "instanceof": "kind", "above": "more",
    "below": "less",
}  # fmt: skip
_PROPERTIES = ("true", "ok", "false", "null", "undefined")
_CHAIN = frozenset({"to", "be", "been", "have", "deep", "an", "a"})
_ASSERT: dict[str, tuple[Check, str]] = {
    "strictEqual": ("same", "notStrictEqual"), "equal": ("equal", "notEqual"),
    "deepEqual": ("equal", "notDeepEqual"), "ok": ("true", ""),
    "throws": ("throws", "doesNotThrow"),
    "deepStrictEqual": ("equal", "notDeepStrictEqual"), "match": ("matches", "doesNotMatch"),
    "isTrue": ("true", "isFalse"), "isFalse": ("false", "isTrue"), "isNull": ("null", "isNotNull"),
    "isUndefined": ("undefined", "isDefined"), "isDefined": ("defined", "isUndefined"),
}  # fmt: skip
"""Functions of Node's `assert` and of chai's with their opposites."""
_ALONE = frozenset({"true", "false", "null", "undefined", "defined", "called"})
_BESIDE = frozenset({"strictEqual", "deepStrictEqual", "deepEqual", "equal", "throws"})
"""Functions of `assert` that are also imported by their names."""


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
    """A place and the text to write there, so that the assertion fails if it passed."""
    literals: tuple[Place, ...] = ()
    """Numbers and texts among the arguments, which may be written in another form."""
    is_certain: bool = False
    """It runs whenever the test's function runs to its end."""


def read_assertions(tree: SyntaxTree, body: Node, *, certain: bool) -> Iterator[Assertion]:
    """Yield the outermost statements of a function that only assert something."""
    if body.type != "statement_block":
        found = _read_assertion(tree, body, body)
        if found is not None:
            yield found.with_(is_certain=found.awaited is None)
        return
    end = 0
    for node in walk(body, deepest=DEEPEST):
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
    arguments = arguments_of(call) if call is not None else []
    if callee is None or any(one.type == "spread_element" for one in arguments):
        return None
    place = place_of(statement)
    words, root = _chain(tree, callee)
    name = tree.text(words[-1]) if words else tree.text(callee)
    # `expect(value).to.equal` without a call asserts nothing.
    if root is None:
        made = _assertion(tree, callee, name, arguments)
    elif call is not None or name in _PROPERTIES:
        made = _expectation(tree, words, root, arguments)
    else:
        made = None
    if made is None:
        return None
    if made.awaited is not None and not is_awaited:
        made = made.with_(check="", awaited=None, expected=None)
    return made.with_(place=place, literals=tuple(_literals(tree, arguments)))


def _chain(tree: SyntaxTree, callee: Node) -> tuple[list[Node], Node | None]:
    """Return the words of `expect(…).a.b`, and the call of `expect`; None without one."""
    words: list[Node] = []
    here: Node | None = callee
    while here is not None and here.type == "member_expression":
        last = here.child_by_field_name("property")
        if last is not None:
            words.append(last)
        here = here.child_by_field_name("object")
    words.reverse()
    if here is None or here.type != "call_expression":
        return words, None
    expect = here.child_by_field_name("function")
    is_expect = expect is not None and tree.text(expect) == "expect" and arguments_of(here)
    return words, here if is_expect and words else None


def _expectation(
    tree: SyntaxTree, words: list[Node], root: Node, arguments: list[Node]
) -> Assertion | None:
    """Return `expect(…).toBe(…)` and the like as an assertion."""
    name = tree.text(words[-1])
    known = _MATCHERS.get(name)
    values = arguments_of(root)
    if known is None or any(one.type == "spread_element" for one in values):
        return None
    flags = [tree.text(one) for one in words[:-1]]
    made = Assertion(place=place_of(root), value=place_of(values[0]))
    if not set(flags) <= _CHAIN | {"not", "resolves"} or flags.count("not") > 1:
        return made
    if "resolves" not in flags:
        denial = words[flags.index("not")] if "not" in flags else None
        negation = (root.end_byte, root.end_byte) if denial is None else _word(denial)
        made = made.with_(negation=(negation, ".not" if denial is None else ""))
    if "not" in flags:
        known = "other" if name == "toBe" else ""
    if (known == "throws" and "resolves" in flags) or (known == "contains" and "deep" in flags):
        known = ""
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
    elif is_member:
        if base is None or tree.text(base).split(".")[-1] not in {"assert", "strict"}:
            return None
    elif callee.type != "identifier" or name not in _BESIDE:
        return None
    known = _ASSERT.get(name)
    if known is None:
        return None
    check, opposite = known
    value = place_of(arguments[0])
    made = Assertion(place=value, value=value)
    if name == "ok":
        made = made.with_(negation=((value[0], value[0]), "!"))
    elif is_member and opposite:
        last = callee.child_by_field_name("property")
        made = made.with_(negation=(place_of(last), opposite)) if last is not None else made
    return _with_check(made, check, arguments[1:])


def _with_check(made: Assertion, check: Check, expected: list[Node]) -> Assertion:
    """Add the check, if all that it needs is there."""
    if check in _ALONE or (check == "throws" and not expected):
        return made.with_(check=check)
    if not expected or (check == "matches" and expected[0].type not in {"regex", "string"}):
        return made if check != "throws" else made.with_(check=check)
    return made.with_(check=check, expected=place_of(expected[0]))


def _literals(tree: SyntaxTree, nodes: list[Node]) -> Iterator[Place]:
    """Yield whole numbers and plain texts among arguments, also in arrays and objects."""
    waiting = deque(nodes)
    while waiting:
        node = waiting.popleft()
        data = tree.text(node, 500).encode()
        form = {"number": _NUMBER, "string": _TEXT}.get(node.type)
        if form is not None and form.fullmatch(data):
            yield place_of(node)
        elif node.type == "array":
            waiting += node.named_children
        elif node.type == "object":
            pairs = [one for one in node.named_children if one.type == "pair"]
            waiting += [one for pair in pairs if (one := pair.child_by_field_name("value"))]


def arguments_of(call: Node) -> list[Node]:
    """Return the arguments of a call."""
    given = call.child_by_field_name("arguments")
    if given is None or given.type != "arguments":
        return []
    return [one for one in given.named_children if one.type != "comment"]


def place_of(node: Node) -> Place:
    """Return where a node is."""
    return node.start_byte, node.end_byte
