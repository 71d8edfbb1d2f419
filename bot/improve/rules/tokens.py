"""Prefixes and comments that Python 3 ignores."""

import ast
import re
import tokenize
from collections.abc import Iterator

from bot.improve.rules.source import PythonFile, Rule, SpliceEdit

_COOKIE = re.compile(rb"^[ \t]*#.*?coding[:=][ \t]*utf-?8(?!-?\w)[^\n]*\n", re.IGNORECASE)
_PLAIN_F = re.compile(r"^[fF](?=[\"'])")
_OLD_UNICODE = re.compile(r"^[uU](?=[\"'])")


def _prefixes(source: PythonFile, prefix: re.Pattern[str]) -> Iterator[SpliceEdit]:
    for token in source.tokens:
        if token.type != tokenize.STRING:
            continue
        start, end = source.token_span(token)
        is_here = source.content[start:end] == token.string.encode()
        if is_here and prefix.match(token.string) and not set("{}") & set(token.string):
            yield SpliceEdit(start=start, end=start + 1)


def _plain_f_strings(source: PythonFile) -> Iterator[SpliceEdit]:
    # As a statement of its own, it would become a docstring.
    statements = (node.value for node in source.nodes if isinstance(node, ast.Expr))
    spans = [source.span(one) for one in statements if isinstance(one, ast.JoinedStr)]
    for edit in _prefixes(source, _PLAIN_F):
        if not any(start <= edit.start < end for start, end in spans):
            yield edit


def _unicode_prefixes(source: PythonFile) -> Iterator[SpliceEdit]:
    yield from _prefixes(source, _OLD_UNICODE)


def _cookies(source: PythonFile) -> Iterator[SpliceEdit]:
    start = 0
    lines = source.content.splitlines(keepends=True)
    # A third line about a coding would move up and count.
    if b"coding" in b"".join(lines[2:3]):
        return
    for line in lines[:2]:
        if _COOKIE.match(line):
            yield SpliceEdit(start=start, end=start + len(line))
        start += len(line)


RULES = (
    Rule(
        "f-string",
        "remove {things}",
        "redundant f prefix",
        "the string has no placeholder",
        _plain_f_strings,
        plural="redundant f prefixes",
    ),
    Rule(
        "unicode-prefix",
        "remove {things}",
        "redundant u prefix",
        "every string of Python 3 is Unicode",
        _unicode_prefixes,
        plural="redundant u prefixes",
    ),
    Rule(
        "coding-comment",
        "remove {things}",
        "redundant coding comment",
        "Python 3 reads source as UTF-8",
        _cookies,
    ),
)
