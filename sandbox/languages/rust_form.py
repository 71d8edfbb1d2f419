"""The normal form of Rust: its tree and its tokens, without commas at the end of a list."""

from collections.abc import Iterator
from functools import partial

from tree_sitter import Node

from sandbox.languages.leaves import (
    PUNCTUATION,
    Form,
    Part,
    Step,
    Visit,
    Walk,
    parse_clean,
    parts_of,
)
from sandbox.languages.rust import grammar_for
from sandbox.languages.syntax_tree import SyntaxTree

_WHOLE = frozenset({"string_literal", "raw_string_literal", "char_literal", "macro_definition"})
_COMMENTS = frozenset({"line_comment", "block_comment"})
_LISTS = frozenset(
    {
        "arguments", "array_expression", "enum_variant_list", "field_declaration_list",
        "field_initializer_list", "ordered_field_declaration_list", "parameters", "slice_pattern",
        "struct_pattern", "tuple_struct_pattern", "type_arguments", "type_parameters", "use_list",
    }
)  # fmt: skip
"""Nodes in which a comma after the last member means nothing."""
_TUPLES = frozenset({"tuple_expression", "tuple_pattern", "tuple_type"})
_CLOSING = frozenset({")", "]", "}", ">"})
_MACROS = frozenset(
    {
        "assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "debug_assert_ne",
        "eprint", "eprintln", "format", "matches", "panic", "print", "println", "todo",
        "unimplemented", "unreachable", "vec", "write", "writeln",
    }
)  # fmt: skip
"""Macros of the standard library that do not see the white space between their tokens."""
_LONGEST_NAME = 40
_SPACED = frozenset({"(", ")", "[", "]", "{", "}", ",", ";"})


def read_form(path: str, text: str) -> Form | None:
    """Return the form of a file; None if it has an error."""
    parsed = parse_clean(text, grammar_for(path))
    if parsed is None:
        return None
    tree, _ = parsed
    walk = Walk(*parsed, is_whole=_is_whole, comments=_COMMENTS, parts=partial(_parts, tree))
    if walk.has_gaps:
        return None
    tokens: list[object] = []
    comments: list[object] = []
    count = 0
    for one in walk.visits:
        if one.step is not Step.LEAF:
            tokens.append((one.step, one.kind))
            continue
        text = walk.text(one)
        if walk.is_comment(one):
            # Documentation may be tested, so that its text counts exactly.
            lines = tuple(line.rstrip() for line in text.rstrip().split("\n"))
            comments.append((count, lines, text.startswith("//") and walk.starts_line(one)))
            continue
        count += text not in PUNCTUATION
        if not _is_optional(one, text, walk):
            tokens.append((one.kind, text, _is_glued(one, text, walk)))
    return tuple(tokens), tuple(comments)


def _is_whole(node: Node) -> bool:
    return node.type in _WHOLE or node.type in _COMMENTS


def _parts(tree: SyntaxTree, node: Node) -> Iterator[Part]:
    """Yield the children of a node; the arguments of a macro that may see white space as a text."""
    signs, name = "", ""
    for kind, start, end, child in parts_of(node):
        text = tree.text(child, _LONGEST_NAME) if child is not None else ""
        is_call = signs == "!" and (name or node.type == "macro_invocation")
        if kind == "token_tree" and is_call and name not in _MACROS:
            yield kind, start, end, None
        else:
            yield kind, start, end, child
        name = text if kind == "identifier" else name if text == "!" else ""
        signs = text


def _is_optional(leaf: Visit, text: str, walk: Walk) -> bool:
    """Return True for a comma that may be left out."""
    if text != "," or leaf.parent is None or leaf.parent.node is None:
        return False
    node = leaf.parent.node
    if node.type == "match_arm":
        # Every arm but the last one needs it, unless a block ends the arm.
        return walk.near_text(leaf, -1) == "}" or walk.near_text(leaf, 1) == "}"
    if walk.near_text(leaf, 1) not in _CLOSING or leaf.end == node.end_byte:
        return False
    members = sum(one.type not in _COMMENTS for one in node.named_children)
    return (node.type in _LISTS and members > 0) or (node.type in _TUPLES and members > 1)


def _is_glued(leaf: Visit, text: str, walk: Walk) -> bool:
    """Return True for a sign in a macro that stands directly before another sign.

    A macro could see it.
    """
    if leaf.above != "token_tree":
        return False
    after = walk.near(leaf, 1)
    return (
        after is not None
        and after.start == leaf.end
        and not any(_is_word(sign) for sign in (text, walk.text(after)))
    )


def _is_word(text: str) -> bool:
    return text in _SPACED or text[0].isalnum() or text[0] in "_\"'"
