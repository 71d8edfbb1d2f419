"""Python 2 syntax: print and exec statements, `except X, e`, `raise X, "m"`, `<>`, 0777, 10L."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.broken.lexing import (
    CLOSERS,
    NAME,
    NUMBER,
    OPEN,
    OPENERS,
    STRING,
)
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.3
CHANGES = (
    ("print 'a', b\n", "print('a', b)\n"), ("print\nprint 1\n", "print()\nprint(1)\n"),
    ("print >>f, 'a'\nprint 1\n", "print('a', file=f)\nprint(1)\n"),
    ("print 'a',\n", "print('a', end=' ')\n"),
    ("print 'a' % (\n    b)  # why\n", "print('a' % (\n    b))  # why\n"),
    ("try:\n    f()\nexcept ValueError, e:\n    g()\n",
     "try:\n    f()\nexcept ValueError as e:\n    g()\n"),
    ("raise ValueError, 'a'\n", "raise ValueError('a')\n"),
    ("if a <> b:\n    c = `d`\n", "if a != b:\n    c = repr(d)\n"),
    ("exec 'a = 1'\n", "exec('a = 1')\n"), ("exec a in b\n", "exec(a, b)\n"),
    ("x = 0777\n", "x = 0o777\n"), ("x = 10L\n", "x = 10\n"), ("x = ur'a'\n", "x = r'a'\n"),
    ("def f((a, b), c):\n    return a\n", "def f(a_b, c):\n    a, b = a_b\n    return a\n"),
    ("print 'a'\ntry:\n    f()\nexcept ValueError, e:\n    print e\n",
     "print('a')\ntry:\n    f()\nexcept ValueError as e:\n    print(e)\n"),
)  # fmt: skip
UNTOUCHED = ("x = f(a\n", "if a\n    b = 1\n")


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Convert all Python 2 constructs at once, then each kind, then those near the error."""
    sorts = [
        edits
        for edits in (
            _statements(view, "print"), _statements(view, "exec"), _excepts(view), _raises(view),
            _small(view), _backticks(view), _parameters(view),
        )
        if edits
    ]  # fmt: skip
    everything = sorted({edit for edits in sorts for edit in edits})
    # Overlapping edits of nested constructs cannot be combined.
    apart = all(one.end <= other.start for one, other in zip(everything, everything[1:]))
    if everything and apart:
        yield Draft(COST, tuple(everything))
    for edits in sorts:
        yield Draft(COST + 0.2, tuple(sorted(edits)))
        here = [e for e in edits if abs(view.text.line_at(e.start) - view.fault.line) <= 1]
        if here and len(here) < len(edits):
            yield Draft(COST + 0.4, tuple(sorted(here)))


def _statement_end(view: SyntaxContext, position: int) -> int:
    """Return the position after the last token of the simple statement that begins here."""
    depth, line = 0, view.code[position].line
    for at in range(position, len(view.code)):
        token = view.code[at]
        if depth <= 0 and at > position and (token.line > line or token.text == ";"):
            return at
        if token.text in OPENERS:
            depth += 1
        elif token.text in CLOSERS:
            depth -= 1
        line = token.line + token.text.count("\n") if depth <= 0 else token.line
        joined = view.text.text[token.end :].startswith((" \\\n", "\\\n"))
        line += joined
    return len(view.code)


def _begins_statement(view: SyntaxContext, position: int) -> bool:
    return view.text.begins_line(position) or view.code[position - 1].text in {";", ":", "else"}


def _statements(view: SyntaxContext, word: str) -> List[TextEdit]:
    edits: List[TextEdit] = []
    for position, token in enumerate(view.code):
        if token.text != word or token.kind != NAME or not _begins_statement(view, position):
            continue
        end = _statement_end(view, position)
        body = view.code[position + 1 : end]
        if not body:
            edits.append(TextEdit(token.end, token.end, "()"))
        elif body[0].text in {"=", ".", ",", ")", ":", "("} and not _continues(
            view, position + 1, end
        ):
            continue
        elif body[-1].kind != OPEN:
            edits += _called(view, position, end, word)
    return edits


def _continues(view: SyntaxContext, position: int, end: int) -> bool:
    """Return True if `print (a), b` or `print (a) % b` continues after the parenthesis."""
    depth = 0
    for at in range(position, end):
        depth += (view.code[at].text in OPENERS) - (view.code[at].text in CLOSERS)
        if depth == 0:
            return (
                view.code[position].text == "("
                and at + 1 < end
                and view.code[at + 1].text in {",", "%", "+"}
            )
    return False


def _called(view: SyntaxContext, position: int, end: int, word: str) -> List[TextEdit]:
    """Enclose the operands of a statement in parentheses."""
    body = view.code[position + 1 : end]
    start, last, tail = body[0].start, body[-1], ")"
    if word == "print":
        if body[0].text == ">>":
            comma = next((i for i, t in enumerate(body) if t.text == ","), None)
            file = view.text.text[body[1].start : (body[comma - 1] if comma else last).end]
            tail = f", file={file})" if comma else f"file={file})"
            start = (
                body[comma + 1].start if comma is not None and comma + 1 < len(body) else last.end
            )
        elif last.text == ",":
            tail = ", end=' ')"
        behind = last.start if last.text == "," else last.end
        return [TextEdit(view.code[position].end, start, "("), TextEdit(behind, last.end, tail)]
    edits = [TextEdit(view.code[position].end, start, "(")]
    depth = 0
    for before, token, following in zip(body, body[1:], body[2:]):
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        if depth <= 0 and token.text == "in":
            edits.append(TextEdit(before.end, following.start, ", "))
    return [*edits, TextEdit(last.end, last.end, ")")]


def _excepts(view: SyntaxContext) -> List[TextEdit]:
    edits = []
    for number in range(view.text.count):
        line = view.text.line(number)
        match = re.match(
            r"[ \t]*except[ \t]+(?:\([^()]*\)|[\w.]+)([ \t]*,[ \t]*)(\w+)[ \t]*:", line
        )
        if match:
            start = view.text.starts[number]
            edits.append(TextEdit(start + match.start(1), start + match.end(1), " as "))
    return edits


def _raises(view: SyntaxContext) -> List[TextEdit]:
    edits: List[TextEdit] = []
    for position, token in enumerate(view.code):
        if token.text != "raise" or not _begins_statement(view, position):
            continue
        end = _statement_end(view, position)
        commas = _commas(view, position, end)
        if not commas or end - 1 <= commas[0]:
            continue
        stop = commas[1] if len(commas) > 1 else end
        comma, first, last = view.code[commas[0]], view.code[commas[0] + 1], view.code[stop - 1]
        edits += [TextEdit(comma.start, first.start, "("), TextEdit(last.end, last.end, ")")]
        # The third operand of `raise` is a traceback.
        if len(commas) > 1 and stop + 1 < end:
            edits.append(
                TextEdit(view.code[stop].start, view.code[stop + 1].start, ".with_traceback(")
            )
            edits.append(TextEdit(view.code[end - 1].end, view.code[end - 1].end, ")"))
    return edits


def _commas(view: SyntaxContext, position: int, end: int) -> List[int]:
    depth, found = 0, []
    for at in range(position, end):
        text = view.code[at].text
        depth += (text in OPENERS) - (text in CLOSERS)
        if text == "," and depth == 0:
            found.append(at)
    return found


def _small(view: SyntaxContext) -> List[TextEdit]:
    """Convert octal and long literals, `ur` prefixes and `<>`."""
    edits = []
    for token in view.code:
        if token.text == "<>":
            edits.append(TextEdit(token.start, token.end, "!="))
        elif (
            token.kind == NUMBER
            and re.fullmatch(r"0[0-7]+[lL]?", token.text)
            and token.text.strip("0lL")
        ):
            edits.append(TextEdit(token.start, token.end, "0o" + token.text.rstrip("lL")[1:]))
        elif token.kind == NUMBER and token.text[-1] in "lL":
            edits.append(TextEdit(token.end - 1, token.end, ""))
        elif token.kind in {STRING, OPEN} and token.text[:2].lower() == "ur":
            edits.append(TextEdit(token.start, token.start + 1, ""))
    return edits


def _backticks(view: SyntaxContext) -> List[TextEdit]:
    marks = [t for t in view.code if t.text == "`"]
    edits = []
    for left, right in zip(marks[::2], marks[1::2]):
        if left.line == right.line:
            edits += [
                TextEdit(left.start, left.end, "repr("),
                TextEdit(right.start, right.end, ")"),
            ]
    return edits


def _parameters(view: SyntaxContext) -> List[TextEdit]:
    """Unpack the tuple parameter of `def f((a, b)):` in the first line of the body."""
    edits: List[TextEdit] = []
    for number in range(view.text.count):
        line = view.text.line(number)
        match = re.match(
            r"([ \t]*)def \w+\([^()]*(\((\w+(?:, ?\w+)+)\))[^()]*\)[ \t]*:[ \t]*$", line
        )
        if match:
            name = "_".join(part.strip() for part in match.group(3).split(","))
            start = view.text.starts[number]
            inner: Optional[int] = view.text.after(number)
            indent = (
                view.text.indent(inner) if inner is not None else match.group(1) + view.text.unit
            )
            end: Tuple[int, str] = (
                start + len(line),
                f"{view.text.newline}{indent}{match.group(3)} = {name}",
            )
            edits += [
                TextEdit(start + match.start(2), start + match.end(2), name),
                TextEdit(end[0], end[0], end[1]),
            ]
    return edits
