"""A tokenizer that never fails.

Invalid characters become `stray` tokens, unterminated strings become `open` tokens.
"""

from __future__ import annotations

import keyword
import re
from typing import List, NamedTuple

NAME, NUMBER, STRING, OPEN, OPERATOR, COMMENT, NEWLINE, STRAY = (
    "name", "number", "string", "open", "operator", "comment", "newline", "stray",
)  # fmt: skip
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")": "(", "]": "[", "}": "{"}
_PREFIX = r"(?:[rR][bBfFtT]|[bBfFtT][rR]|[uU][rR]|[rRbBfFuUtT])?"
_TOKEN = re.compile(
    rf"""
      (?P<space>[ \t\f]+|\\\r?\n)
    | (?P<newline>\r?\n)
    | (?P<comment>\#[^\r\n]*)
    | (?P<string>{_PREFIX}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''
        |(?!\"\"\")\"(?:[^\"\\\r\n]|\\(?:\r\n|.))*\"|(?!''')'(?:[^'\\\r\n]|\\(?:\r\n|.))*'))
    | (?P<open>{_PREFIX}(?:\"\"\".*|'''.*
        |\"(?:[^\r\n\\]|\\(?:\r\n|[^\r]))*|'(?:[^\r\n\\]|\\(?:\r\n|[^\r]))*))
    | (?P<number>0[xX][\da-fA-F_]+[lL]?|0[bBoO][\d_]+[lL]?
        |(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJlL]?)
    | (?P<name>[^\W\d]\w*)
    | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|!=|->|:=|==|<=|>=|<>|\*\*|//|>>|<<
        |[-+*/%@&|^]=|&&|\|\||=>|=<
        |[-+*/%@&|^~<>()\[\]{{}},:.;=!`])
    | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class SourceToken(NamedTuple):
    """A token with its offset and line."""

    kind: str
    text: str
    start: int
    line: int
    """Line of its first character, counted from 0."""

    @property
    def end(self) -> int:
        """Return the offset after its last character."""
        return self.start + len(self.text)

    @property
    def is_keyword(self) -> bool:
        """Return True if the token is a keyword."""
        return self.kind == NAME and keyword.iskeyword(self.text)

    @property
    def ends_operand(self) -> bool:
        """Return True if an operand may end with the token."""
        if self.kind == NAME:
            return not self.is_keyword or self.text in {"None", "True", "False"}
        return self.kind in {NUMBER, STRING} or self.text in CLOSERS or self.text == "..."

    @property
    def starts_operand(self) -> bool:
        """Return True if an operand may begin with the token."""
        if self.kind == NAME:
            return not self.is_keyword or self.text in {
                "None",
                "True",
                "False",
                "not",
                "lambda",
                "await",
            }
        return self.kind in {NUMBER, STRING} or self.text in OPENERS


def tokenize_source(text: str, line: int = 0, at: int = 0) -> List[SourceToken]:
    """Return the tokens of a text, without white space.

    Args:
        text: Source text.
        line: Number of its first line.
        at: Offset of its first character.
    """
    found: List[SourceToken] = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(SourceToken(kind, match.group(), at + match.start(), line))
        line += match.group().count("\n")
    return found


def one_slip(one: str, other: str) -> bool:
    """Return True if the Damerau-Levenshtein distance of two words is 1."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    head = 0
    while head < min(len(one), len(other)) and one[head] == other[head]:
        head += 1
    a, b = one[head:], other[head:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (len(a) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]
