"""Prefixes and comments that Python 3 ignores."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from bot.improve.rules.source import PythonFile, Rule, SpliceEdit

_COOKIE = re.compile(rb"^[ \t]*#.*?coding[:=][ \t]*utf-?8(?!-?\w)[^\n]*\n", re.IGNORECASE)
_PLAIN_F = re.compile(r"^[fF](?=[\"'])")
_OLD_UNICODE = re.compile(r"^[uU](?=[\"'])")


def _strings(source: PythonFile) -> Iterator[tokenize.TokenInfo]:
    """Yield the string tokens; none if the file cannot be split."""
    try:
        text = source.content.decode()
        found = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    except (tokenize.TokenError, SyntaxError):
        return
    yield from (token for token in found if token.type == tokenize.STRING)


def _first_byte(token: tokenize.TokenInfo, source: PythonFile) -> int:
    line, column = token.start
    # Tokens count characters, edits count bytes.
    return source.offset(line, len(token.line[:column].encode()))


def _prefixes(source: PythonFile, prefix: re.Pattern[str]) -> Iterator[SpliceEdit]:
    for token in _strings(source):
        start = _first_byte(token, source)
        is_here = (
            source.content[start : start + len(token.string.encode())] == token.string.encode()
        )
        if prefix.match(token.string) and is_here and not set("{}") & set(token.string):
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
        "remove {count} redundant f prefix{s}",
        "the string has no placeholder",
        _plain_f_strings,
    ),
    Rule(
        "unicode-prefix",
        "remove {count} redundant u prefix{s}",
        "every string of Python 3 is Unicode",
        _unicode_prefixes,
    ),
    Rule(
        "coding-comment",
        "remove {count} redundant coding comment{s}",
        "Python 3 reads source as UTF-8",
        _cookies,
    ),
)
