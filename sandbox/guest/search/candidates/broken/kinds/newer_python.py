"""Syntax newer than this interpreter: equal quotes in f-strings, parenthesised `with`, `match`."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.broken.lexing import CLOSERS, OPENERS
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    ("x = f'{a['b']}'\n", "x = f'{a[\"b\"]}'\n"),
    ('x = f"{", ".join(a)}: {b["c"]}"\n', "x = f\"{', '.join(a)}: {b['c']}\"\n"),
    (
        "with (open(a) as b, open(c) as d):\n    f(b)\n+\n",
        "with (open(a) as b, open(c) as d):\n    f(b)\n",
    ),
)
"""Not applied on an interpreter that knows the syntax."""
OLD_ONLY = (
    ((3, 9), "with (\n    f(a) as b,\n    f(c) as d,\n):\n    g()\n",
     "with f(a) as b, \\\n    f(c) as d:\n    g()\n"),
    ((3, 10), ("match a:\n    case 1:\n        b = 1\n"
      "    case 2 | 3:\n        b = 2\n    case _:\n        b = 3\n"),
     "if a == 1:\n    b = 1\nelif a in (2, 3):\n    b = 2\nelse:\n    b = 3\n"),
    ((3, 12), "def f[T](a: T) -> T:\n    return a\n", None),
)  # fmt: skip
"""First version that knows the syntax, the text, and its replacement for older versions."""
UNTOUCHED = ("x = f(a\n", "if a\n    b = 1\n")


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Rewrite the construct in older syntax."""
    edits = [edit for number in range(view.text.count) for edit in _quotes(view, number)]
    if edits:
        yield Draft(COST, tuple(edits))
        here = tuple(e for e in edits if abs(view.text.line_at(e.start) - view.fault.line) <= 1)
        if here and len(here) < len(edits):
            yield Draft(COST + 0.2, here)
    together = [edits for position in range(len(view.code)) if (edits := _with(view, position))]
    if together:
        yield Draft(COST + 0.1, tuple(e for edits in together for e in edits))
    for number in range(max(0, view.fault.line - 12), min(view.text.count, view.fault.line + 2)):
        found = _match(view, number)
        if found:
            yield Draft(COST + 0.3, found)


def _quotes(view: SyntaxContext, number: int) -> List[TextEdit]:
    """Exchange quotes inside the braces of an f-string if they equal the outer quote."""
    line, start = view.text.line(number), view.text.starts[number]
    edits: List[TextEdit] = []
    at = 0
    while True:
        match = re.compile(r"\b[rR]?[fF][rR]?(['\"])(?!\1\1)").search(line, at)
        if match is None:
            return edits
        quote = match.group(1)
        inner, end = _braces(line, match.end(), quote)
        other = '"' if quote == "'" else "'"
        # The other quote must not occur inside the braces already.
        if inner and other not in "".join(line[a + 1 : b] for a, b in zip(inner[::2], inner[1::2])):
            edits += [TextEdit(start + place, start + place + 1, other) for place in inner]
        at = max(end, match.end())


def _braces(line: str, at: int, quote: str) -> Tuple[List[int], int]:
    """Return offsets of the string's own quote inside its braces, and the end of the string."""
    depth = 0
    inner: List[int] = []
    while at < len(line):
        character = line[at]
        if line[at : at + 2] in {"{{", "}}"} and depth == 0:
            at += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth = max(0, depth - 1)
        elif character == quote:
            if depth == 0:
                return inner, at + 1
            inner.append(at)
        at += 1
    return [], at


def _with(view: SyntaxContext, position: int) -> List[TextEdit]:
    """Remove the parentheses of `with (a as b, c as d):`."""
    code = view.code
    if code[position].text != "with" or position + 1 >= len(code) or code[position + 1].text != "(":
        return []
    depth, last, names = 0, None, False
    for at in range(position + 1, min(len(code), position + 200)):
        depth += (code[at].text in OPENERS) - (code[at].text in CLOSERS)
        names = names or (depth == 1 and code[at].text == "as")
        if depth == 0:
            last = at
            break
    if last is None or not names or (code[last + 1 : last + 2] and code[last + 1].text != ":"):
        return []
    before = code[last - 1]
    edits = [TextEdit(code[position + 1].start, code[position + 2].start, "")]
    start = before.start if before.text == "," else before.end
    edits.append(TextEdit(start, code[last].end, ""))
    stop = last - 1 if before.text == "," else last
    ends = [
        code[at].end for at in range(position + 2, stop - 1) if code[at + 1].line > code[at].line
    ]
    return [*edits, *(TextEdit(end, end, " \\") for end in ends)]


def _match(view: SyntaxContext, number: int) -> Optional[Tuple[TextEdit, ...]]:
    """Rewrite a `match` over plain values as an `if` chain."""
    text = view.text
    head = re.match(r"([ \t]*)match ([\w.]+):[ \t]*$", text.line(number))
    if head is None:
        return None
    subject, outer = head.group(2), head.group(1)
    edits = [TextEdit(text.starts[number], min(text.starts[number + 1], len(text.text)), "")]
    at, inner, first = text.after(number), "", True
    while at is not None and len(text.indent(at)) > len(outer):
        line, start = text.line(at), text.starts[at]
        inner = inner or text.indent(at)
        case = re.match(r"[ \t]*case (.+?):", line) if text.indent(at) == inner else None
        if case is not None:
            test = _test(subject, case.group(1))
            if test is None:
                return None
            word = "else" if not test else f"if {test}" if first else f"elif {test}"
            edits.append(TextEdit(start, start + case.end(), f"{outer}{word}:"))
            first = False
        elif text.indent(at) == inner:
            return None
        else:
            drop = len(inner) - len(outer)
            edits.append(TextEdit(start, start + drop, ""))
        at = text.after(at)
    return tuple(edits) if not first else None


def _test(subject: str, pattern: str) -> Optional[str]:
    """Convert a pattern of plain values to a condition.

    Returns an empty string for `_`, and None for any other pattern.
    """
    if pattern == "_":
        return ""
    parts = [part.strip() for part in pattern.split("|")]
    if not all(
        re.fullmatch(r"-?\d[\w.]*|'[^'\\]*'|\"[^\"\\]*\"|None|True|False|\w+\.[\w.]+", part)
        for part in parts
    ):
        return None
    if len(parts) == 1:
        return (
            f"{subject} is {parts[0]}"
            if parts[0] in {"None", "True", "False"}
            else f"{subject} == {parts[0]}"
        )
    return f"{subject} in ({', '.join(parts)})"
