"""Read JavaScript and TypeScript, also with JSX: functions, classes, suites and tests."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Node

from sandbox.languages.outline import TITLES, Definition, DefinitionKind, Import, Outline, Span
from sandbox.languages.syntax_tree import Grammar, SyntaxTree, body_line, lines_of, members, walk

_ABOVE = frozenset({"comment", "decorator"})
_METHODS = frozenset(
    {
        "abstract_method_signature", "function_declaration", "function_signature",
        "generator_function_declaration", "method_definition", "method_signature",
    }
)  # fmt: skip
_FUNCTIONS = _METHODS | {"arrow_function", "function_expression", "generator_function"}
_TYPES = frozenset({"interface_declaration", "type_alias_declaration", "enum_declaration"})
_CLASSES = _TYPES | {
    "abstract_class_declaration", "class", "class_declaration", "internal_module", "module",
}  # fmt: skip
_NAMED = _FUNCTIONS | _CLASSES | {"object"}
_BOUND = frozenset({"field_definition", "public_field_definition", "pair", "assignment_expression"})
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_BLOCKS = frozenset(
    {
        "ERROR", "catch_clause", "else_clause", "finally_clause", "for_in_statement",
        "for_statement", "if_statement", "statement_block", "try_statement", "while_statement",
    }
)  # fmt: skip
"""Statements with definitions and tests; also what cannot be parsed."""
_WRAPPERS = frozenset(
    {
        "ambient_declaration", "as_expression", "await_expression", "expression_statement",
        "non_null_expression", "parenthesized_expression", "satisfies_expression",
    }
)  # fmt: skip
_WORDS = {
    DefinitionKind.SUITE: "describe suite context fdescribe xdescribe",
    DefinitionKind.TEST: "it test specify fit xit xtest",
    DefinitionKind.SETUP: "after afterAll afterEach before beforeAll beforeEach setup teardown",
}
_KINDS = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_TEST_WORDS = frozenset(word for word, kind in _KINDS.items() if kind is not DefinitionKind.SETUP)
_TITLED = frozenset({DefinitionKind.SUITE, DefinitionKind.TEST})
_TEXTS = frozenset({"string", "template_string"})
_ESCAPED = re.compile(r"\\(.)")
_MOCKS = frozenset({"mock", "doMock", "unstable_mockModule", "importActual", "requireActual"})
_LOADS = frozenset({"require", "import"})
_DEEPEST = 24
"""Levels of suites, namespaces, classes and blocks that are read."""
_WRAPPED = 6
_MOST_LOADS = 100
_TITLE = 300
_SIGNATURE = 160


def grammar_for(path: str) -> Grammar:
    """Return the grammar of a file."""
    if path.endswith(".tsx"):
        return tree_sitter_typescript.language_tsx
    if path.endswith((".ts", ".mts", ".cts")):
        return tree_sitter_typescript.language_typescript
    return tree_sitter_javascript.language


def read_outline(tree: SyntaxTree) -> Outline:
    """Return what a file defines and imports."""
    reader = _Reader(tree)
    definitions = tuple(reader.block(tree.root, "", 0))
    return Outline(
        definitions=definitions,
        imports=tuple(reader.imports()),
        constants=(*reader.constants, *_types(definitions)),
    )


def _types(definitions: tuple[Definition, ...]) -> Iterator[tuple[str, Span]]:
    """Yield types, which functions name as they name constants."""
    for one in definitions:
        if one.kind is DefinitionKind.CLASS:
            yield one.name, (one.first, one.last)


@dataclass(frozen=True)
class _Place:
    """A statement, and where it is."""

    node: Node
    first: int
    """Its first line, with comments and decorators."""
    owner: str
    """Start of qualified names in it."""
    depth: int


class _Reader:
    """The definitions of one file."""

    def __init__(self, tree: SyntaxTree) -> None:
        self._tree = tree
        self._names = tree.names
        self._has_tests = not _TEST_WORDS.isdisjoint(tree.names.all)
        self.constants: list[tuple[str, Span]] = []

    def block(self, node: Node, owner: str, depth: int) -> Iterator[Definition]:
        """Yield the definitions directly in a file, namespace, class or suite."""
        if depth > _DEEPEST:
            return
        for child, first in members(node, _ABOVE):
            inner = child
            if child.type == "export_statement":
                inner = _field(child, "declaration", "value") or child
            yield from self._statement(_Place(_unwrap(inner), first, owner, depth))

    def _statement(self, place: _Place) -> Iterator[Definition]:
        node, kind = place.node, place.node.type
        if kind in _VARIABLES:
            for one in node.named_children:
                yield from self._value(replace(place, node=one), _field(one, "value"))
        elif kind in _BOUND:
            yield from self._value(place, _field(node, "value", "right"))
        elif kind == "call_expression":
            yield from self._call(place)
        elif kind in _BLOCKS:
            yield from self.block(node, place.owner, place.depth + 1)
        elif kind in _NAMED:
            yield from self._value(place, node)

    def _value(self, place: _Place, value: Node | None) -> Iterator[Definition]:
        """Yield what a name is bound to: a function, a class, or an object with functions."""
        value = _unwrap(value) if value is not None else place.node
        kind, name = value.type, f"{place.owner}{self._name(place.node)}"
        if kind in _FUNCTIONS or (kind == "call_expression" and _takes_function(value)):
            yield self._definition(place, value, name, DefinitionKind.FUNCTION)
            yield from self._tests(value, place.owner, place.depth)
        elif kind in _CLASSES or (kind == "object" and _holds_function(value)):
            yield self._definition(place, value, name, DefinitionKind.CLASS)
            body = value if kind == "object" else _field(value, "body")
            if body is not None and kind not in _TYPES:
                yield from self.block(body, f"{name}.", place.depth + 1)
        elif place.node.type == "variable_declarator" and (
            not place.depth or place.owner.endswith(TITLES)
        ):
            self._add_constants(place)

    def _add_constants(self, place: _Place) -> None:
        pattern = _field(place.node, "name")
        span = place.first, lines_of(place.node)[1]
        self.constants += [
            (self._tree.text(one, _TITLE), span)
            for one in (walk(pattern) if pattern is not None else ())
            if "identifier" in one.type and not one.child_count
        ]

    def _call(self, place: _Place) -> Iterator[Definition]:
        """Yield a suite or test, or a call that registers a function."""
        given, callee = _field(place.node, "arguments"), _field(place.node, "function")
        inside = given.named_children if given is not None else []
        functions = [one for one in inside if one.type in _FUNCTIONS]
        word = self._callee(place.node)
        kind = _KINDS.get(word, DefinitionKind.FUNCTION)
        if callee is None or place.depth > _DEEPEST:
            return
        if word == "define" or _unwrap(callee).type in _FUNCTIONS:
            # A module in a function, called at once or by its loader.
            for one in (_unwrap(callee), *functions):
                yield from self._inside(one, place.owner, place.depth)
        elif functions or (kind is DefinitionKind.TEST and inside and inside[0].type in _TEXTS):
            yield from self._registered(place, kind, inside, functions)

    def _registered(
        self, place: _Place, kind: DefinitionKind, inside: list[Node], functions: list[Node]
    ) -> Iterator[Definition]:
        """Yield what a call registers, with the tests in it."""
        body = functions[0] if functions else place.node
        title = self._title(inside[0]) if inside[0] != body else ""
        name = f"{place.owner}{title}"
        if kind in {DefinitionKind.FUNCTION, DefinitionKind.SETUP}:
            called = _field(place.node, "function") or place.node
            text = " ".join(self._tree.text(called, _TITLE).split())
            word = self._callee(place.node)
            own = f"{text} {title}".strip() if kind is DefinitionKind.FUNCTION else word
            name = place.owner + own
        yield self._definition(place, body, name, kind)
        if kind is DefinitionKind.SUITE:
            yield from self._inside(body, f"{name}{TITLES}", place.depth)
        elif kind is DefinitionKind.TEST:
            yield from self._tests(body, f"{name}{TITLES}", place.depth)
        elif kind is DefinitionKind.FUNCTION:
            yield from self._tests(body, place.owner, place.depth)

    def _inside(self, function: Node, owner: str, depth: int) -> Iterator[Definition]:
        """Yield the definitions in a function."""
        block = _field(function, "body")
        if function.type in _FUNCTIONS and block is not None:
            yield from self.block(block, owner, depth + 1)

    def _tests(self, node: Node, owner: str, depth: int) -> Iterator[Definition]:
        """Yield only the suites and tests in a function; its other statements are a part of it."""
        block = node if node.type in _BLOCKS else _field(node, "body")
        if block is None or depth > _DEEPEST or not self._has_tests:
            return
        for child, first in members(block, _ABOVE):
            one = _unwrap(child)
            if one.type in _BLOCKS:
                yield from self._tests(one, owner, depth + 1)
            elif one.type != "call_expression":
                continue
            elif _KINDS.get(self._callee(one)) in _TITLED:
                yield from self._call(_Place(one, first, owner, depth + 1))
            else:
                given = _field(one, "arguments")
                for argument in given.named_children if given is not None else ():
                    if argument.type in _FUNCTIONS:
                        yield from self._tests(argument, owner, depth + 1)

    def _callee(self, node: Node) -> str:
        """Return `it` for `it(…)`, `it.only(…)`, `it.each(…)(…)`, and `test` for `t.test(…)`."""
        callee = _field(node, "function")
        for _ in range(_WRAPPED):
            if callee is None or callee.type not in {"call_expression", "member_expression"}:
                break
            own = _field(callee, "property")
            word = self._tree.text(own, _TITLE) if own is not None else ""
            if word in _KINDS:
                return word
            callee = _field(callee, "function", "object")
        return self._tree.text(callee, _TITLE) if callee is not None else ""

    def _title(self, node: Node) -> str:
        text = self._tree.text(node, _TITLE)
        return _ESCAPED.sub(r"\1", text[1:-1]) if node.type in _TEXTS else text

    def _definition(
        self, place: _Place, value: Node, name: str, kind: DefinitionKind
    ) -> Definition:
        """Return a definition.

        Args:
            place: All of it, with its name.
            value: The function or class.
            name: Its qualified name.
            kind: Its kind.
        """
        line, last = lines_of(place.node)
        block, given = _field(value, "body"), _field(value, "parameters", "parameter")
        named = _name_node(place.node)
        if named is not None:
            # Some decorators are inside of the node.
            line = lines_of(named)[0]
        start = named.end_byte if named is not None else value.start_byte
        parts = [one for one in (given, _field(value, "return_type")) if one is not None]
        signature = " ".join("".join(self._tree.text(one, _SIGNATURE) for one in parts).split())
        return Definition(
            name=name,
            kind=kind,
            first=min(place.first, line),
            line=line,
            body=body_line(block, line),
            last=last,
            read_names=partial(self._names.between, start, place.node.end_byte),
            arguments=tuple(self._arguments(given)) if given is not None else (),
            signature=f"{name}{signature}"[:_SIGNATURE],
        )

    def _arguments(self, given: Node) -> Iterator[str]:
        for one in [given] if given.type == "identifier" else given.named_children:
            pattern = _field(one, "pattern", "left") or one
            yield self._tree.text(pattern, _TITLE).removeprefix("...")

    def _name(self, node: Node) -> str:
        """Return the name that a statement gives; `Cart.total` for `Cart.prototype.total = …`."""
        named = _name_node(node)
        text = self._tree.text(named, _TITLE) if named is not None else ""
        if node.type == "assignment_expression":
            text = text.removeprefix("module.exports").removeprefix("exports.").lstrip(".")
            text = text.replace(".prototype.", ".")
        return text.strip("\"'").removeprefix("#") or "default"

    def imports(self) -> Iterator[Import]:
        """Yield the imports of the module, also by `require` and of what it mocks."""
        for node in self._tree.root.named_children[: 10 * _MOST_LOADS]:
            source = _field(node, "source")
            if node.type == "import_statement" and source is None:
                # TypeScript's `import fs = require("fs")`.
                source = next((_field(one, "source") for one in node.named_children[:1]), None)
            loads = [source] if source is not None else list(self._loads(node))
            modules = tuple(self._title(one) for one in loads if one.type == "string")
            if modules:
                yield Import(*lines_of(node), modules)

    def _loads(self, node: Node) -> Iterator[Node]:
        """Yield the modules that a variable or a call of the module loads."""
        if node.type not in _VARIABLES | {"expression_statement"}:
            return
        # Functions, tests and large tables are no imports.
        nodes = walk(node, into=lambda one: one.type not in _FUNCTIONS | {"object", "array"})
        for _, one in zip(range(_MOST_LOADS), nodes, strict=False):
            if one.type != "call_expression":
                continue
            callee, given = _field(one, "function"), _field(one, "arguments")
            word = self._tree.text(callee, _TITLE) if callee is not None else ""
            if given is not None and (word in _LOADS or word.rpartition(".")[2] in _MOCKS):
                yield from given.named_children[:1]


def _field(node: Node, *names: str) -> Node | None:
    """Return the first of some parts that a node has."""
    for name in names:
        found = node.child_by_field_name(name)
        if found is not None:
            return found
    return None


def _name_node(node: Node) -> Node | None:
    return _field(node, "name", "key", "property", "left")


def _unwrap(node: Node) -> Node:
    """Return the statement or expression without what only wraps it."""
    for _ in range(_WRAPPED):
        if node.type not in _WRAPPERS or not node.named_child_count:
            break
        node = node.named_children[0]
    return node


def _holds_function(node: Node) -> bool:
    """Return True if an object has a method, or a function as a value."""
    return any(
        one.type == "method_definition"
        or (
            one.type == "pair"
            and (value := _field(one, "value")) is not None
            and _unwrap(value).type in _FUNCTIONS
        )
        for one in node.named_children
    )


def _takes_function(node: Node) -> bool:
    """Return True if a call gets a function: `memo(() => …)`, `create(wrap(function () {}))`."""
    for _ in range(_WRAPPED):
        given = _field(node, "arguments")
        if given is None:
            return False
        inside = given.named_children
        if any(
            one.type in _FUNCTIONS or (one.type == "object" and _holds_function(one))
            for one in inside
        ):
            return True
        call = next((one for one in inside if one.type == "call_expression"), None)
        if call is None:
            return False
        node = call
    return False
