"""The normal form of JavaScript and TypeScript: the tree and its tokens.

Left out are semicolons at the end of statements, commas at the end of lists, the kind of quotes and
parentheses without effect. The tree shows where a statement ends. Where a line end decides that and
the parser does not know it, the line end counts.
"""

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node

from sandbox.languages.javascript import grammar_for
from sandbox.languages.javascript_idle import find_idle
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

_WHOLE = frozenset({"string", "regex", "comment", "html_comment"})
_COMMENTS = frozenset({"comment"})
_TEXT, _TEMPLATE = "text between tags", "text in a template"
_AROUND_TEXT = {
    "jsx_element": frozenset(
        {
            "jsx_closing_element", "jsx_element", "jsx_expression", "jsx_opening_element",
            "jsx_self_closing_element",
        }
    ),
    "template_string": frozenset({"`", "template_substitution"}),
    "template_literal_type": frozenset({"`", "template_type"}),
}  # fmt: skip
"""Nodes with text, and the children that are none."""
_HTML_COMMENTS = ("<!--", "-->")
"""They begin comments in some programs."""
_DECLARATIONS = frozenset({"lexical_declaration", "variable_declaration"})
_SEPARATED = frozenset({"interface_body", "object_type"})
"""Nodes whose members are parted by semicolons, commas or line ends alike."""
_STATEMENTS = _DECLARATIONS | {
    "break_statement", "continue_statement", "debugger_statement", "expression_statement",
    "field_definition", "import_statement", "public_field_definition", "return_statement",
    "throw_statement",
}  # fmt: skip
_CLOSING = frozenset({")", "]", "}", ">"})
_KEYS = frozenset({"pair", "pair_pattern", "property_signature"})
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_DIRECTIVE = re.compile(r"@ts-|\$Flow|\b(?:biome|c8|eslint|istanbul|oxlint|tslint|v8)\b")
_STOPS = frozenset({"break", "continue", "return", "throw", "yield"})
"""Words that a line end parts from what follows."""
_WORDS = frozenset(
    {
        "abstract", "accessor", "as", "asserts", "async", "await", "declare", "get", "global",
        "infer", "interface", "is", "let", "module", "namespace", "of", "override", "private",
        "protected", "public", "readonly", "satisfies", "set", "static", "type", "unique", "using",
    }
)  # fmt: skip
"""Words that are keywords or names, which may depend on the line end behind them."""
_NEVER_NAMES = frozenset({"async", "await", "let", "using"})
_MEMBERS = frozenset(
    {
        "field_definition", "method_definition", "method_signature", "property_signature",
        "public_field_definition",
    }
)  # fmt: skip
_BRACKETED_TYPES = frozenset({"array_type", "lookup_type"})


def read_form(path: str, text: str) -> Form | None:
    """Return the form of a file; None if it has an error."""
    parsed = parse_clean(text, grammar_for(path))
    if parsed is None:
        return None
    walk = Walk(*parsed, is_whole=_is_whole, comments=_COMMENTS, parts=_parts)
    if walk.has_gaps or not _ends_rightly(walk):
        return None
    idle = find_idle(walk, is_typed=not path.endswith((".js", ".jsx", ".mjs", ".cjs")))
    tokens: list[object] = [text.count(mark) for mark in _HTML_COMMENTS]
    comments: list[object] = []
    covered = _covered(walk)
    count = 0
    for one in walk.visits:
        if one.step is Step.LEAF and walk.is_comment(one):
            comments.append((count, *_comment(one, walk), *covered.get(id(one), ())))
        elif one.kind == _TEXT and not _shown(walk.text(one)):
            continue  # line ends between tags
        elif one.step is Step.LEAF:
            count += walk.text(one) not in PUNCTUATION
            if not _is_optional(one, walk, idle):
                tokens.append(_token(one, walk))
        elif one.node is None or one.node.id not in idle:
            tokens.append((one.step, one.kind))
    return tuple(tokens), tuple(comments)


def _ends_rightly(walk: Walk) -> bool:
    """Return True if every statement ends by a semicolon, at a line end or before a brace.

    The parser is not as exact, and it reads comments of HTML, which are none in a module.
    """
    number, count = 0, len(walk.leaves)
    for one in walk.visits:
        if one.kind == "html_comment":
            return False
        if one.step is Step.LEAF:
            number += not walk.is_comment(one)
        elif one.step is Step.CLOSE and one.kind in _STATEMENTS and 0 < number < count:
            last, after = walk.leaves[number - 1], walk.text(walk.leaves[number])
            if walk.text(last) != ";" and after not in {";", "}"} and not walk.breaks_after(last):
                return False
    return True


def _is_whole(node: Node) -> bool:
    return node.type in _WHOLE


def _parts(node: Node) -> list[Part]:
    """Return the children of a node; a text between tags or in a template is one part."""
    kept = _AROUND_TEXT.get(node.type)
    return list(_with_text(node, kept)) if kept else parts_of(node)


def _with_text(node: Node, kept: frozenset[str]) -> Iterator[Part]:
    """Yield the children of these kinds, and all text between them, which the parser may skip."""
    kind = _TEXT if node.type == "jsx_element" else _TEMPLATE
    place = node.start_byte
    for one in node.children:
        if one.type in kept:
            if place < one.start_byte:
                yield kind, place, one.start_byte, None
            yield one.type, one.start_byte, one.end_byte, one
            place = one.end_byte
    if place < node.end_byte:
        yield kind, place, node.end_byte, None


def _token(leaf: Visit, walk: Walk) -> object:
    """Return what counts of a leaf."""
    text = walk.text(leaf)
    if leaf.kind == _TEXT:
        return leaf.kind, _shown(text)
    if leaf.kind == "string":
        return _string(leaf, text)
    if leaf.kind == "number":
        return leaf.kind, text.lower()
    if text in _STOPS and leaf.kind == text:
        # The parser reads the next line as its value if that begins with a bracket.
        after = walk.near_text(leaf, 1)
        return leaf.kind, text, walk.breaks_after(leaf) or after in {"", ";", "}"}
    if text in _WORDS and _may_be_keyword(leaf, text):
        return leaf.kind, text, walk.breaks_after(leaf), walk.near_text(leaf, 1) == ";"
    if _is_line_bound(leaf, text):
        return leaf.kind, text, walk.breaks_before(leaf)
    return leaf.kind, text


def _may_be_keyword(leaf: Visit, text: str) -> bool:
    """Return True for a keyword, and for a name that is one if the line goes on."""
    is_name = leaf.kind == "identifier" and text in _NEVER_NAMES
    return leaf.kind == text or leaf.above in _MEMBERS or is_name


def _is_line_bound(leaf: Visit, text: str) -> bool:
    """Return True for a sign that belongs to what is before it in its line only."""
    if text in {"++", "--"}:
        return leaf.parent is not None and leaf.end == leaf.parent.end
    return (text == "!" and leaf.above != "unary_expression") or (
        text == "[" and leaf.above in _BRACKETED_TYPES
    )


def _shown(text: str) -> str:
    """Return the text between tags as it is shown: without line ends and the blanks around them."""
    if not text.isascii() and any(sign.isspace() and not sign.isascii() for sign in text):
        return text  # tools do not agree on other kinds of white space
    first, *rest = re.split(r"\r\n|\n|\r", text)
    if not rest:
        return text
    *middle, last = rest
    lines = [first.rstrip(" \t"), *(line.strip(" \t") for line in middle), last.lstrip(" \t")]
    return " ".join(line for line in lines if line)


def _string(leaf: Visit, text: str) -> object:
    """Return a string without its quotes, and without the escapes that they need."""
    inner = text[1:-1]
    if leaf.above == "jsx_attribute":
        return "attribute", inner
    value = _ESCAPE.sub(lambda found: found[1] if found[1] in "'\"" else found[0], inner)
    is_key = leaf.above in _KEYS and leaf.parent is not None and leaf.start == leaf.parent.start
    if is_key and _NAME.fullmatch(inner):
        return "property_identifier", inner
    return "string", value


def _is_optional(leaf: Visit, walk: Walk, idle: frozenset[int]) -> bool:
    """Return True for a sign that may be left out."""
    text, parent = walk.text(leaf), leaf.parent
    if text not in PUNCTUATION or parent is None or leaf.kind != text:
        return False
    if parent.node is not None and parent.node.id in idle:
        return True
    if parent.kind in _SEPARATED:
        return walk.near_text(leaf, -1) not in {"{", ";", ","}
    if text == ";":
        is_head = parent.above == "for_statement" and parent.kind in _DECLARATIONS
        return parent.kind not in {"empty_statement", "for_statement"} and not is_head
    if text != ",":
        return False
    # `[a, ,]` has a hole, which the comma before shows.
    return walk.near_text(leaf, 1) in _CLOSING and walk.near_text(leaf, -1) not in {",", "[", "("}


def _comment(visit: Visit, walk: Walk) -> tuple[object, ...]:
    text = walk.text(visit)
    if text.startswith("//"):
        return text.rstrip(), walk.starts_line(visit)
    return (tuple(line.strip() for line in text.split("\n")),)


def _covered(walk: Walk) -> dict[int, tuple[int, int]]:
    """Return how many tokens are in the line of each directive and in the next line with code.

    A directive such as `@ts-ignore` must not come to cover another statement.
    """
    counts = Counter(_line(one) for one in walk.leaves if walk.text(one) not in PUNCTUATION)
    found: dict[int, tuple[int, int]] = {}
    after = 0
    for one in reversed([one for one in walk.visits if one.step is Step.LEAF]):
        if not walk.is_comment(one):
            after = counts[_line(one)]
        elif _DIRECTIVE.search(walk.text(one)):
            found[id(one)] = counts[_line(one)], after
    return found


def _line(leaf: Visit) -> int:
    return leaf.node.start_point.row if leaf.node is not None else -1
