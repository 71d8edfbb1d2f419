"""Read Go: functions, methods, types and what a package imports."""

from collections.abc import Iterator
from functools import partial

import tree_sitter_go
from tree_sitter import Node

from sandbox.languages.outline import Definition, DefinitionKind, Import, Outline, Span
from sandbox.languages.syntax_tree import Grammar, SyntaxTree, body_line, lines_of, members, walk

_ABOVE = frozenset({"comment"})
_FUNCTIONS = frozenset({"function_declaration", "method_declaration"})
_SPECS = frozenset({"const_spec", "var_spec"})
_TYPES = frozenset({"type_spec", "type_alias"})
_LISTS = frozenset({"var_spec_list", "import_spec_list"})
_SIGNATURE = 160
_RECEIVER = 20


def grammar_for(_: str) -> Grammar:
    """Return the grammar of a file."""
    return tree_sitter_go.language


def read_outline(tree: SyntaxTree) -> Outline:
    """Return what a file defines and imports."""
    definitions, imports = list[Definition](), list[Import]()
    constants = list[tuple[str, Span]]()
    for node, first in members(tree.root, _ABOVE):
        if node.type in _FUNCTIONS:
            definitions.append(_function(tree, node, first))
        elif node.type == "import_declaration":
            imports.append(_import(tree, node))
        elif node.type == "type_declaration":
            found = list(_types(tree, node, first))
            definitions += found
            constants += [(one.name, (one.first, one.last)) for one in found]
        else:
            constants += _constants(tree, node)
    return Outline(tuple(definitions), tuple(imports), tuple(constants))


def _types(tree: SyntaxTree, node: Node, first: int) -> Iterator[Definition]:
    # Of a group of types, each begins at its own line.
    alone = node.named_child_count == 1
    for one in node.named_children:
        named = one.child_by_field_name("name")
        if one.type in _TYPES and named is not None:
            line, last = lines_of(one)
            name = tree.text(named)
            yield Definition(
                name=name,
                kind=DefinitionKind.CLASS,
                first=first if alone else line,
                line=line,
                body=min(line + 1, last),
                last=last,
                read_names=partial(tree.names.between, named.end_byte, one.end_byte),
                signature=name,
            )


def _function(tree: SyntaxTree, node: Node, first: int) -> Definition:
    named, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    given, result = node.child_by_field_name("parameters"), node.child_by_field_name("result")
    own = tree.text(named) if named is not None else ""
    start = named.end_byte if named is not None else node.start_byte
    owner = _receiver(tree, node.child_by_field_name("receiver"))
    name = f"{owner}.{own}" if owner else own
    line, last = lines_of(node)
    said = " ".join(tree.text(one) for one in (given, result) if one is not None)
    return Definition(
        name=name,
        kind=DefinitionKind.FUNCTION,
        first=first,
        line=line,
        body=body_line(body, line),
        last=last,
        read_names=partial(tree.names.between, start, node.end_byte),
        arguments=tuple(
            tree.text(one)
            for parameter in (given.named_children if given is not None else ())
            for one in parameter.children_by_field_name("name")
        ),
        signature=f"{name}{' '.join(said.split())}"[:_SIGNATURE],
    )


def _receiver(tree: SyntaxTree, node: Node | None) -> str:
    """Return the type of a method: `Cart` for `func (c *Cart[T]) …`."""
    nodes = walk(node) if node is not None else ()
    near = (one for _, one in zip(range(_RECEIVER), nodes, strict=False))
    return next((tree.text(one) for one in near if one.type == "type_identifier"), "")


def _import(tree: SyntaxTree, node: Node) -> Import:
    specs = [spec for one in _listed(node) for spec in one.children_by_field_name("path")]
    return Import(*lines_of(node), tuple(tree.text(one).strip('"`') for one in specs))


def _constants(tree: SyntaxTree, node: Node) -> Iterator[tuple[str, Span]]:
    for spec in _listed(node):
        if spec.type in _SPECS:
            # With the whole group: `iota` counts its lines.
            for one in spec.children_by_field_name("name"):
                yield tree.text(one), lines_of(node)


def _listed(node: Node) -> Iterator[Node]:
    """Yield the specifications of a declaration, with or without parentheses."""
    for one in node.named_children:
        if one.type in _LISTS:
            yield from one.named_children
        else:
            yield one
