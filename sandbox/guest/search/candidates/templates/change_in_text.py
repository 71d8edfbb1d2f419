"""One wrong character of a short string: `"<Q"` for `">Q"`, `"%m"` for `"%M"`, `"-"` for `"_"`."""

from __future__ import annotations

import ast
import re
from typing import Iterator, Optional, Tuple

from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits
from sandbox.guest.search.source.texts import string_parts

COST = 1.5
CHANGES = (
    ("def f(a):\n    return unpack('<Q', a)\n", "def f(a):\n    return unpack('>Q', a)\n"),
    ("def f(a):\n    return a.strftime('%H:%m')\n", "def f(a):\n    return a.strftime('%H:%M')\n"),
    ("def f(a):\n    return a.replace('-', '')\n", "def f(a):\n    return a.replace('_', '')\n"),
    ("def f(a):\n    return format(a, '.2f')\n", "def f(a):\n    return format(a, '.3f')\n"),
    ('def f(a):\n    return "%s is" % a\n', 'def f(a):\n    return "%r is" % a\n'),
    ("def f(a):\n    return f'{a:>8}-'\n", "def f(a):\n    return f'{a:<8}-'\n"),
    ("def f(a, b):\n    return f'{a - b}-'\n", "def f(a, b):\n    return f'{a - b}_'\n"),
    ("SEPARATOR = ', '\n", "SEPARATOR = '; '\n"),
    ("def f(a):\n    return a + b'\\r\\n'\n", "def f(a):\n    return a + b'\\n'\n"),
)

UNTOUCHED = (
    'def f(a):\n    """Says - and _."""\n    return a\n',
    "x = 'plainword'\n",
    "def f(a, b):\n    return f'{a - b}'\n",
)

MAX_LENGTH = 24
NEIGHBOURS = {
    "<": ">", ">": "<", "-": "_+ ", "_": "- ", "+": "-", ",": ";.", ";": ",:", ".": ",_", ":": ";=",
    "=": ":", "/": "\\", "|": ",&", "&": "|", "(": "[{", ")": "]}", "[": "({", "]": ")}", "{": "[(",
    "}": "])", "'": '"', '"': "'", "^": "<>", "@": "#", "#": "@", "*": "?", "?": "*", "!": "?",
    "~": "-",
}  # fmt: skip
DIRECTIVES = {
    "%m": ("%M", "%b"), "%M": ("%m",), "%y": ("%Y",), "%Y": ("%y",), "%H": ("%I",), "%I": ("%H",),
    "%d": ("%s", "%j"), "%s": ("%r", "%d"), "%r": ("%s",), "%b": ("%B", "%m"), "%B": ("%b",),
    "%a": ("%A",), "%A": ("%a",), "%i": ("%d",), "%f": ("%s", "%g"), "%x": ("%X",), "%X": ("%x",),
    "%S": ("%s",), "%%": ("%",), "%p": ("%P",), "%j": ("%d",),
}  # fmt: skip
ESCAPES = {"\\r\\n": "\\n", "\\n": "\\r\\n", "\\t": " "}


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Exchange characters with those they are confused with; change numbers by one."""
    if isinstance(node, ast.JoinedStr) and node in scope.source.places:
        yield from _join(node, scope)
    if (
        not isinstance(node, ast.Constant)
        or not isinstance(node.value, (str, bytes))
        or not scope.is_value(node)
    ):
        return
    if not 0 < len(node.value) <= MAX_LENGTH:
        return
    start, end = scope.source.span(node)
    for part in string_parts(scope.source.data[start:end]):
        base = start + part.body_start
        for at, old, new in _changes(part.body):
            # The new text would end the string.
            if part.quote[0] in new:
                continue
            first = base + len(part.body[:at].encode("utf-8"))
            text = (
                new.replace("\\", "\\\\") if new == "\\" and "r" not in part.prefix.lower() else new
            )
            yield ProposedEdits(COST, (TextEdit(first, first + len(old.encode("utf-8")), text),))


def _join(node: ast.JoinedStr, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change the literal text and the format specifications of an f-string."""
    start, end = scope.source.span(node)
    for part in string_parts(scope.source.data[start:end]):
        plain = re.sub(r"\{\{|\}\}|(\{[^{}:]*)(:[^{}]*)?(?=\})", _hidden, part.body)
        if (
            "f" not in part.prefix.lower()
            or len(part.body) > 3 * MAX_LENGTH
            or len(plain) != len(part.body)
        ):
            continue
        for at, old, new in _changes(plain):
            if part.quote[0] not in new and "\\" not in new and not set(old + new) & set("{}"):
                first = start + part.body_start + len(part.body[:at].encode("utf-8"))
                yield ProposedEdits(
                    COST + 0.2, (TextEdit(first, first + len(old.encode("utf-8")), new),)
                )


def _hidden(match: re.Match[str]) -> str:
    """Mask the expressions in the braces of an f-string, keeping the offsets."""
    return "x" * len(match.group(1) or match.group()) + (match.group(2) or "")


def _changes(body: str) -> Iterator[Tuple[int, str, str]]:
    """Yield changes of a string as offset, old text and new text."""
    for old, new in ESCAPES.items():
        yield from ((match.start(), old, new) for match in re.finditer(re.escape(old), body))
    for match in re.finditer(r"%[a-zA-Z%]", body):
        yield from (
            (match.start(), match.group(), new) for new in DIRECTIVES.get(match.group(), ())
        )
    for match in re.finditer(r"(?<!\\)(?<![\dxu])\d{1,4}", body):
        others = (int(match.group()) + 1, int(match.group()) - 1)
        yield from (
            (match.start(), match.group(), str(n).zfill(len(match.group())))
            for n in others
            if n >= 0
        )
    for at, letter in enumerate(body):
        if not body[:at].endswith("\\"):
            yield from ((at, letter, new) for new in NEIGHBOURS.get(letter, ""))
