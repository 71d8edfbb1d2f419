"""The normal form of Go: its tokens with the semicolons that the language inserts at line ends."""

import re

from tree_sitter import Node

from sandbox.languages.go import grammar_for
from sandbox.languages.leaves import PUNCTUATION, Form, Step, Visit, Walk, parse_clean

_WHOLE = frozenset({"interpreted_string_literal", "raw_string_literal", "rune_literal"})
_NUMBERS = frozenset({"int_literal", "float_literal", "imaginary_literal"})
_KEYWORDS = frozenset(
    {
        "case", "chan", "const", "default", "defer", "else", "for", "func", "go", "goto", "if",
        "import", "interface", "map", "package", "range", "select", "struct", "switch", "type",
        "var",
    }
)  # fmt: skip
"""All but `break`, `continue`, `fallthrough` and `return`, which may end a statement."""
_ENDS = frozenset({"++", "--", ")", "]", "}"})
_DIRECTIVE = re.compile(r"//(?:line |[a-z0-9]+:|export |extern )")
_CLOSING = frozenset({")", "]", "}"})
_STATEMENT_LISTS = frozenset(
    {
        "block", "const_declaration", "expression_switch_statement", "field_declaration_list",
        "import_spec_list", "interface_type", "select_statement", "type_declaration",
        "type_switch_statement", "var_declaration", "var_spec_list",
    }
)  # fmt: skip
"""Nodes that semicolons part. In other brackets, the one of a line end is an error."""


def read_form(path: str, text: str) -> Form | None:
    """Return the form of a file; None if it has an error or code in C."""
    parsed = parse_clean(text, grammar_for(path))
    if parsed is None:
        return None
    walk = Walk(*parsed, is_whole=_is_whole, comments=frozenset({"comment"}))
    if walk.has_gaps:
        return None
    tokens: list[str] = []
    for leaf in walk.leaves:
        token = walk.text(leaf)
        if token in {'"C"', "`C`"}:
            return None  # the comment above it is a program
        # Both may be left out before a bracket.
        is_end = token in _CLOSING and leaf.above in _STATEMENT_LISTS and tokens[-1:] == [";"]
        if is_end or (token in _CLOSING and tokens[-1:] == [","]):
            tokens.pop()
        tokens.append(token.lower() if leaf.kind in _NUMBERS else token)
        # As in the specification, under "Semicolons"; the parser is not as exact.
        ends_line = walk.breaks_after(leaf) or walk.near(leaf, 1) is None
        if ends_line and _ends_statement(leaf, token):
            tokens.append(";")
    return tuple(_sort_imports(tokens, walk)), tuple(_comments(walk))


def _is_whole(node: Node) -> bool:
    return node.type in _WHOLE


def _ends_statement(leaf: Visit, token: str) -> bool:
    if leaf.kind.endswith("_literal") or token in _ENDS:
        return True
    return (token[-1].isalnum() or token[-1] == "_") and token not in _KEYWORDS


def _sort_imports(tokens: list[str], walk: Walk) -> list[str]:
    """Return the tokens with each group of imports in order, as gofmt sorts them.

    A comment among them may belong to one of them: then the order counts.
    """
    is_inside = False
    for one in walk.visits:
        if one.kind == "import_spec_list":
            is_inside = one.step is Step.OPEN
        elif is_inside and walk.is_comment(one):
            return tokens
    result: list[str] = []
    rest = iter(tokens)
    for token in rest:
        result.append(token)
        if result[-2:] == ["import", "("]:
            specs: list[list[str]] = [[]]
            for inner in rest:
                if inner == ")":
                    break
                if inner == ";":
                    specs.append([])
                else:
                    specs[-1].append(inner)
            for spec in sorted(specs):
                result += [*spec, ";"]
            result.append(")")
    return result


def _comments(walk: Walk) -> list[object]:
    """Return each comment with its place.

    Empty lines count between comments: they separate the output of an example, and a constraint
    above the package from its documentation.
    """
    found: list[object] = []
    count, before = 0, None
    for one in (one for one in walk.visits if one.step is Step.LEAF):
        text = walk.text(one)
        if not walk.is_comment(one):
            parted = before is not None and walk.blank_line_between(before.end, one.start)
            found += ["parted"] if parted and not count else []
            count += text not in PUNCTUATION
            before = None
            continue
        lines = tuple(line.rstrip() for line in text.split("\n"))
        is_line = text.startswith("//")
        is_parted = before is not None and walk.blank_line_between(before.end, one.start)
        # Some directives count in the first column only.
        is_first = _DIRECTIVE.match(text) is not None and not walk.column(one)
        found.append((count, lines, is_line and walk.starts_line(one), is_parted, is_first))
        before = one
    return found
