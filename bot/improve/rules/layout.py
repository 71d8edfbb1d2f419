"""Redundant brackets, semicolons and backslashes: the file parses to the same tree without them."""

import ast
import re
import tokenize
from collections.abc import Iterator, Sequence

from bot.improve.rules.source import PythonFile, Rule, SpliceEdit

_EMPTY_BASES = rb"class[ \t]+%s([ \t]*\([ \t]*\))[ \t]*:"
_BACKSLASH = re.compile(rb"[ \t]*\\(?=\r?\n)")
_UNTIL_COLON = frozenset({"if", "elif", "while"})
_UNTIL_LINE_END = frozenset({"return", "assert"})
_LAYOUT = frozenset({tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT})
_LINE_END = frozenset({tokenize.NEWLINE, tokenize.COMMENT, tokenize.ENDMARKER})
_NEEDS_BRACKETS = frozenset({",", "for", ":=", "yield"})


def _class_brackets(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.nodes:
        if isinstance(node, ast.ClassDef) and not node.bases and not node.keywords:
            start, end = source.span(node)
            pattern = _EMPTY_BASES % re.escape(node.name.encode())
            found = re.match(pattern, source.content[start:end])
            if found is not None:
                yield SpliceEdit(start=start + found.start(1), end=start + found.end(1))


def _outer_brackets(source: PythonFile) -> Iterator[SpliceEdit]:
    tokens = source.tokens
    for index in range(len(tokens) - 2):
        word, opening = tokens[index], tokens[index + 1]
        is_first = index == 0 or tokens[index - 1].type in _LAYOUT
        is_known = word.string in _UNTIL_COLON | _UNTIL_LINE_END
        if not (is_first and is_known and opening.string == "("):
            continue
        close = _find_close(tokens, index + 1)
        if close is None or not _ends_there(word, tokens[close + 1]):
            continue
        inner = source.token_span(tokens[index + 2])[0], source.token_span(tokens[close - 1])[1]
        start, end = source.token_span(word)[1], source.token_span(tokens[close])[1]
        yield SpliceEdit(start=start, end=inner[0], text=b" ")
        yield SpliceEdit(start=inner[1], end=end)


def _find_close(tokens: Sequence[tokenize.TokenInfo], opening: int) -> int | None:
    """Return the index of the closing bracket on the same line; None if the brackets are needed."""
    depth = 0
    for index in range(opening, len(tokens) - 1):
        text = tokens[index].string
        depth += (text in {"(", "[", "{"}) - (text in {")", "]", "}"})
        if tokens[index].end[0] != tokens[opening].start[0]:
            return None
        if depth == 1 and text in _NEEDS_BRACKETS:
            return None
        if depth == 0:
            return index if index > opening + 1 else None
    return None


def _ends_there(word: tokenize.TokenInfo, following: tokenize.TokenInfo) -> bool:
    """Return True if the brackets surround all of the expression."""
    if word.string in _UNTIL_COLON:
        return following.string == ":"
    return following.type in _LINE_END


def _semicolons(source: PythonFile) -> Iterator[SpliceEdit]:
    tokens = source.tokens
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token.type == tokenize.OP and token.string == ";" and after.type in _LINE_END:
            yield SpliceEdit(start=source.token_span(before)[1], end=source.token_span(token)[1])


def _backslashes(source: PythonFile) -> Iterator[SpliceEdit]:
    depth = 0
    for before, after in zip(source.tokens, source.tokens[1:], strict=False):
        if before.type == tokenize.OP:
            depth += (before.string in {"(", "[", "{"}) - (before.string in {")", "]", "}"})
        if depth > 0 and before.end[0] < after.start[0]:
            start, end = source.token_span(before)[1], source.token_span(after)[0]
            for found in _BACKSLASH.finditer(source.content, start, end):
                yield SpliceEdit(start=found.start(), end=found.end())


_SAME = "the file parses to the same syntax tree"
RULES = (
    Rule(
        "class-brackets",
        "remove {things}",
        "empty list of base classes",
        _SAME,
        _class_brackets,
        plural="empty lists of base classes",
        same_tree=True,
    ),
    Rule(
        "outer-brackets",
        "remove {things}",
        "redundant bracket",
        _SAME,
        _outer_brackets,
        same_tree=True,
    ),
    Rule(
        "semicolon",
        "remove {things}",
        "redundant semicolon",
        _SAME,
        _semicolons,
        same_tree=True,
    ),
    Rule(
        "backslash",
        "remove {things}",
        "redundant backslash",
        _SAME,
        _backslashes,
        plural="redundant backslashes",
        same_tree=True,
    ),
)
