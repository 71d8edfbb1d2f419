"""Read Rust: functions, methods, types, modules and tests."""

from collections.abc import Iterator
from functools import partial

import tree_sitter_rust
from tree_sitter import Node

from sandbox.languages.outline import Definition, DefinitionKind, Import, Outline, Span
from sandbox.languages.syntax_tree import Grammar, SyntaxTree, body_line, lines_of, members

_ABOVE = frozenset({"line_comment", "block_comment", "attribute_item"})
_FUNCTIONS = frozenset({"function_item", "function_signature_item", "macro_definition"})
_TYPES = frozenset({"struct_item", "enum_item", "union_item", "type_item"})
_CONTAINERS = frozenset({"impl_item", "trait_item", "mod_item"})
_CONSTANTS = frozenset({"const_item", "static_item"})
_DEEPEST = 12
_MOST_USED = 100
_SIGNATURE = 160


def grammar_for(_: str) -> Grammar:
    """Return the grammar of a file."""
    return tree_sitter_rust.language


def read_outline(tree: SyntaxTree) -> Outline:
    """Return what a file defines and imports."""
    reader = _Reader(tree)
    definitions = tuple(reader.block(tree.root, "", 0))
    return Outline(definitions, tuple(reader.imports), tuple(reader.constants))


class _Reader:
    """The definitions of one file."""

    def __init__(self, tree: SyntaxTree) -> None:
        self._tree = tree
        self._names = tree.names
        self.imports: list[Import] = []
        self.constants: list[tuple[str, Span]] = []

    def block(self, node: Node, owner: str, depth: int) -> Iterator[Definition]:
        """Yield the definitions in a file, a module, a trait or an implementation."""
        for child, first in members(node, _ABOVE):
            kind, name = child.type, f"{owner}{self._name(child)}"
            if kind in _FUNCTIONS:
                yield self._definition(child, first, name, DefinitionKind.FUNCTION)
            elif kind in _TYPES:
                yield self._definition(child, first, name, DefinitionKind.CLASS)
                self.constants.append((name, (first, lines_of(child)[1])))
            elif kind in _CONSTANTS and not owner:
                self.constants.append((name, (first, lines_of(child)[1])))
            elif kind == "use_declaration":
                self._add_use(child)
            elif kind in _CONTAINERS:
                body = child.child_by_field_name("body")
                if body is None:
                    self.imports.append(Import(*lines_of(child), (f"mod {name}",)))
                    continue
                yield self._definition(child, first, name, DefinitionKind.CLASS)
                if depth < _DEEPEST:
                    yield from self.block(body, f"{name}.", depth + 1)

    def _name(self, node: Node) -> str:
        """Return the name of an item; of an implementation, the type's, without its parameters."""
        field = "type" if node.type == "impl_item" else "name"
        named = node.child_by_field_name(field)
        if named is None:
            return ""
        own = named.child_by_field_name("type") if named.type == "generic_type" else named
        return self._tree.text(own if own is not None else named)[:_SIGNATURE]

    def _definition(self, node: Node, first: int, name: str, kind: DefinitionKind) -> Definition:
        named = node.child_by_field_name("name")
        start = named.end_byte if named is not None else node.start_byte
        body, given = node.child_by_field_name("body"), node.child_by_field_name("parameters")
        returned = node.child_by_field_name("return_type")
        line, last = lines_of(node)
        parts = [
            self._tree.text(given) if given is not None else "",
            f" -> {self._tree.text(returned)}" if returned is not None else "",
        ]
        return Definition(
            name=name,
            kind=kind,
            first=first,
            line=line,
            body=body_line(body, line),
            last=last,
            read_names=partial(self._names.between, start, node.end_byte),
            arguments=tuple(
                self._tree.text(pattern)
                for one in (given.named_children if given is not None else ())
                if (pattern := one.child_by_field_name("pattern")) is not None
            ),
            signature=f"{name}{' '.join(''.join(parts).split())}"[:_SIGNATURE],
        )

    def _add_use(self, node: Node) -> None:
        """Record the paths of a `use`: `crate::a::b` and `crate::a::c` for `crate::a::{b, c}`."""
        argument = node.child_by_field_name("argument")
        if argument is not None:
            paths = tuple(self._paths(argument))[:_MOST_USED]
            self.imports.append(Import(*lines_of(node), paths))

    def _paths(self, argument: Node) -> Iterator[str]:
        waiting = [(argument, "")]
        for _ in range(_MOST_USED):
            if not waiting:
                return
            node, prefix = waiting.pop()
            path = node.child_by_field_name("path")
            if node.type == "use_list":
                waiting += [(one, prefix) for one in reversed(node.named_children[:_MOST_USED])]
            elif node.type == "scoped_use_list":
                base = f"{prefix}{self._tree.text(path)}::" if path is not None else prefix
                inside = node.child_by_field_name("list")
                waiting += [(inside, base)] if inside is not None else []
            elif node.type == "use_as_clause" and path is not None:
                waiting.append((path, prefix))
            elif node.type == "use_wildcard" and node.named_child_count:
                yield f"{prefix}{self._tree.text(node.named_children[0])}"
            elif node.type == "self":
                yield prefix.removesuffix("::")
            else:
                yield f"{prefix}{self._tree.text(node)}"
