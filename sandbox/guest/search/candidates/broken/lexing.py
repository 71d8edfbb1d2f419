"""A tokeniser that never fails: what is no token becomes a `stray`, a string without an end an `open`."""

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
    | (?P<open>{_PREFIX}(?:\"\"\".*|'''.*|\"(?:[^\r\n\\]|\\(?:\r\n|[^\r]))*|'(?:[^\r\n\\]|\\(?:\r\n|[^\r]))*))
    | (?P<number>0[xX][\da-fA-F_]+[lL]?|0[bBoO][\d_]+[lL]?|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJlL]?)
    | (?P<name>[^\W\d]\w*)
    | (?P<operator>\*\*=|//=|>>=|<<=|\.\.\.|!=|->|:=|==|<=|>=|<>|\*\*|//|>>|<<|[-+*/%@&|^]=|&&|\|\||=>|=<
        |[-+*/%@&|^~<>()\[\]{{}},:.;=!`])
    | (?P<stray>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A piece of the text."""

    kind: str
    text: str
    start: int
    line: int
    """From 0, where it begins."""

    @property
    def end(self) -> int:
        """Behind its last character."""
        return self.start + len(self.text)

    @property
    def is_keyword(self) -> bool:
        """Whether Python keeps the word for itself."""
        return self.kind == NAME and keyword.iskeyword(self.text)

    @property
    def ends_operand(self) -> bool:
        """Whether an operand may end with it."""
        if self.kind == NAME:
            return not self.is_keyword or self.text in {"None", "True", "False"}
        return self.kind in {NUMBER, STRING} or self.text in CLOSERS or self.text == "..."

    @property
    def starts_operand(self) -> bool:
        """Whether an operand may begin with it."""
        if self.kind == NAME:
            return not self.is_keyword or self.text in {"None", "True", "False", "not", "lambda", "await"}
        return self.kind in {NUMBER, STRING} or self.text in OPENERS


def tokens_of(text: str, line: int = 0, at: int = 0) -> List[Token]:
    """Every token of a text but white space.

    Args:
        text: What to read.
        line: The number of its first line.
        at: The offset of its first character.
    """
    found: List[Token] = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, match.group(), at + match.start(), line))
        line += match.group().count("\n")
    return found


def one_slip(one: str, other: str) -> bool:
    """Whether one letter missing, more, other, or two exchanged make one word the other."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    head = 0
    while head < min(len(one), len(other)) and one[head] == other[head]:
        head += 1
    a, b = one[head:], other[head:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (len(a) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:])
    return a[1:] == b if len(a) > len(b) else a == b[1:]
