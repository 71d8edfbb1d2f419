"""Errors found after parsing: misplaced `await` and `__future__`, argument order, duplicates."""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from sandbox.guest.search.candidates.broken.lexing import CLOSERS, OPENERS
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.5
CHANGES = (
    ("def f(a):\n    await a\n", "async def f(a):\n    await a\n"),
    (
        "def f(a):\n    async with a:\n        pass\n",
        "async def f(a):\n    async with a:\n        pass\n",
    ),
    ("x = f(a=1, b)\n", "x = f(b, a=1)\n"),
    ("def f(a=1, b):\n    return a\n", "def f(b, a=1):\n    return a\n"),
    ("def f(a=1, b):\n    return a\n", "def f(a=1, b=None):\n    return a\n"),
    (
        "import os\nfrom __future__ import annotations\n",
        "from __future__ import annotations\nimport os\n",
    ),
    ("if a = 1:\n    b = 2\n", "if a == 1:\n    b = 2\n"),
    ("x = f(a=1, b==2, c=3)\n", "x = f(a=1, b=2, c=3)\n"),
    ("x = f(a, a=1, a=2)\n", "x = f(a, a=1)\n"),
    (
        "def f():\n    global x\n    return x\nf() = 1\n",
        "def f():\n    global x\n    return x\nf() == 1\n",
    ),
)
UNTOUCHED = ("x = f(a\n", "if a\n    b = 1\n")
_ARGUMENT_WORDS = ("argument", "parameter", "keyword")


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Repair the construct that the message names."""
    message = view.fault.message
    if "async" in message or "await" in message:
        yield from _async(view)
    if any(word in message for word in _ARGUMENT_WORDS):
        yield from _arguments(view)
    if "__future__" in message:
        yield from _future(view)
    yield from _equal_signs(view)


def _async(view: SyntaxContext) -> Iterator[Draft]:
    """Make the enclosing function `async`, or remove the `await`."""
    text = view.text
    width = len(text.indent(view.fault.line))
    for number in range(view.fault.line, -1, -1):
        if re.match(r"[ \t]*def\b", text.line(number)) and len(text.indent(number)) < max(width, 1):
            at = text.starts[number] + len(text.indent(number))
            yield Draft(COST, (TextEdit(at, at, "async "),))
            break
    for position in view.window(4, 4):
        token = view.code[position]
        if token.text in {"await", "async"} and position + 1 < len(view.code):
            yield Draft(COST + 0.8, (TextEdit(token.start, view.code[position + 1].start, ""),))


def _groups(view: SyntaxContext) -> Iterator[List[Tuple[int, int]]]:
    """Yield argument spans of each pair of parentheses on or just above the line of the error."""
    code = view.code
    for opener in range(max(view.first_token, view.here - 60), min(view.last_token, view.here + 6)):
        if code[opener].text != "(":
            continue
        depth, start, found = 0, opener + 1, []
        for at in range(opener, min(view.last_token, opener + 300)):
            text = code[at].text
            depth += (text in OPENERS) - (text in CLOSERS)
            if depth == 0 or (depth == 1 and text == ","):
                if at > start:
                    found.append((code[start].start, code[at - 1].end))
                start = at + 1
            if depth == 0:
                yield found
                break


def _arguments(view: SyntaxContext) -> Iterator[Draft]:
    for spans in _groups(view):
        words = [view.text.text[start:end] for start, end in spans]
        named = [bool(re.match(r"\w+\s*(?::[^=]*)?=(?!=)|\*\*", word)) for word in words]
        late = [
            i
            for i, is_named in enumerate(named)
            if not is_named and any(named[:i]) and words[i][:1] not in "*/"
        ]
        if late:
            # A positional argument follows a keyword argument: reorder, or give it a default.
            order = [w for w, n in zip(words, named) if not n] + [
                w for w, n in zip(words, named) if n
            ]
            # With markers or stars, the order of arguments has a meaning of its own.
            if not any(w.strip() in {"*", "/"} or w.startswith("*") for w in words):
                yield Draft(COST + 0.1, _replace_arguments(spans, words, order))
            given = [
                f"{w}=None" if i in late and re.fullmatch(r"\w+", w) else w
                for i, w in enumerate(words)
            ]
            yield Draft(COST + 0.3, _replace_arguments(spans, words, given))
        for (start, _), word in zip(spans, words):
            double = re.match(r"\w+\s*(==)", word)
            if double and any(named):
                yield Draft(
                    COST - 0.1, (TextEdit(start + double.start(1), start + double.end(1), "="),)
                )
        heads = [re.split(r"\s*[:=]", word)[0] for word in words]
        for at, head in enumerate(heads):
            if head in heads[:at] and at and (named[at] or re.fullmatch(r"\w+", words[at])):
                yield Draft(COST + 0.6, (TextEdit(spans[at - 1][1], spans[at][1], ""),))


def _replace_arguments(
    spans: List[Tuple[int, int]], old: List[str], new: List[str]
) -> Tuple[TextEdit, ...]:
    return tuple(TextEdit(s, e, b) for (s, e), a, b in zip(spans, old, new) if a != b)


def _future(view: SyntaxContext) -> Iterator[Draft]:
    """Move a `from __future__` import before the first other statement."""
    text = view.text
    line = text.line(view.fault.line)
    if not line.startswith("from __future__"):
        return
    first = next((t for t in view.code if t.line > -1 and not t.text.startswith(('"', "'"))), None)
    if first is None or first.line >= view.fault.line:
        return
    start, end = text.starts[view.fault.line], min(text.starts[view.fault.line + 1], len(text.text))
    moved = text.text[start:end]
    at = text.starts[first.line]
    yield Draft(
        COST,
        (
            TextEdit(at, at, moved if moved.endswith("\n") else moved + text.newline),
            TextEdit(start, end, ""),
        ),
    )


def _equal_signs(view: SyntaxContext) -> Iterator[Draft]:
    """Replace `=` by `==` or `:=`."""
    for position in view.window(6, 4):
        token = view.code[position]
        if token.text == "=":
            yield Draft(COST + view.distance(token.line), (TextEdit(token.start, token.end, "=="),))
            yield Draft(
                COST + 0.9 + view.distance(token.line), (TextEdit(token.start, token.end, ":="),)
            )
