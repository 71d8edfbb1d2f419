"""Lines or blocks with too much or too little indentation, or with tabs and spaces mixed."""

from __future__ import annotations

from typing import Iterator, List, Optional, Set, Tuple

from sandbox.guest.search.candidates.broken.lexing import STRING
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.7
CHANGES = (
    ("def f(a):\nreturn a\n", "def f(a):\n    return a\n"),
    ("x = 1\n  y = 2\n", "x = 1\ny = 2\n"),
    (
        "if a:\n    b = 1\nc = 2\nelse:\n    d = 3\n",
        "if a:\n    b = 1\n    c = 2\nelse:\n    d = 3\n",
    ),
    (
        "def f():\n    a = 1\n      b = 2\n    return a\n",
        "def f():\n    a = 1\n    b = 2\n    return a\n",
    ),
    ("def f():\n    a = 1\n  return a\n", "def f():\n    a = 1\n    return a\n"),
    ("if a:\n    b = 1\n    else:\n    c = 1\n", "if a:\n    b = 1\nelse:\n    c = 1\n"),
    ("if a:\n        b = 1\n\tc = 2\n", "if a:\n        b = 1\n        c = 2\n"),
    ("def f():\na = 1\nreturn a\n", "def f():\n    a = 1\n    return a\n"),
)
UNTOUCHED = ("x = f(a\ny = 2\n",)
_MEETS = ("else", "elif", "except", "finally")
_WORDS = (
    "indent",
    "unindent",
    "TabError",
    "tabs",
    "expected",
    "invalid syntax",
    "outside",
    "'try'",
)
MAX_LINES = 30


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Move lines near the error to the indentation of their neighbours."""
    if not any(word in view.fault.message for word in _WORDS) or "closed" in view.fault.message:
        return
    yield from _tabs(view)
    line = view.fault.line
    if view.text.is_blank(line):
        line = view.text.before(line + 1) or line
    about_depth = "indent" in view.fault.message
    lines = [line]
    for _ in range(5):
        above = view.text.before(lines[-1])
        if above is None or above < view.first:
            break
        lines.append(above)
    for number, at in enumerate(lines):
        extra = 0.12 * number + (0.0 if about_depth or _is_continuation(view, line) else 0.6)
        yield from _one(view, at, extra)
    if about_depth:
        for at in _odd_lines(view, line):
            if at not in lines:
                yield from _one(view, at, 0.15)
    below = view.text.after(line)
    if below is not None and below < view.last:
        yield from _one(view, below, 0.4)


def _odd_lines(view: SyntaxContext, line: int) -> List[int]:
    """Return statements above with irregular indentation, nearest first.

    Irregular means no multiple of the indentation unit, or followed by too deep a line.
    """
    text = view.text
    found = []
    for number in range(line, max(view.first, line - 40) - 1, -1):
        if text.is_blank(number) or text.head(number) != number:
            continue
        width = len(text.indent(number))
        below = text.after(number)
        while below is not None and text.head(below) == number:
            below = text.after(below)
        deeper = len(text.indent(below)) - width if below is not None else 0
        # A line at an unusual depth is a likelier culprit than the line reported.
        if width % len(text.unit) or deeper > len(text.unit):
            found.append(number)
    return found[:4]


def _is_continuation(view: SyntaxContext, line: int) -> bool:
    return view.text.line(line).lstrip().startswith(_MEETS) or "outside" in view.fault.message


def _one(view: SyntaxContext, line: int, extra: float) -> Iterator[Draft]:
    """Yield a line, and growing runs from it, at every indentation used nearby."""
    text = view.text
    now = text.indent(line)
    runs = list(_runs(view, line))
    for rank, depth in enumerate(_depths(view, line)):
        if depth == now:
            continue
        for last, more in runs:
            cost = COST + extra + 0.1 * rank + more
            for alone, edits in enumerate(dict.fromkeys(_shifts(view, line, last, depth))):
                if edits:
                    yield Draft(cost + 0.03 * alone, edits)


def _depths(view: SyntaxContext, line: int) -> List[str]:
    """Return the indentations of nearby lines, nearest first."""
    text = view.text
    found: List[str] = []
    above, below = text.before(line), text.after(line)
    if above is not None:
        opens = text.line(above).split("#")[0].rstrip().endswith(":")
        above = text.head(above)
        deeper = text.indent(above) + text.unit
        found += [deeper] if opens else [text.indent(above), deeper]
        found.append(text.indent(above))
    if below is not None:
        found.append(text.indent(below))
    at, least = above, None
    for _ in range(60):
        if at is None or at < view.first:
            break
        depth = text.indent(at)
        if least is None or len(depth) < least:
            found.append(depth)
            least = len(depth)
        at = text.before(at)
        at = text.head(at) if at is not None else None
    found.append(text.indent(line) + text.unit)
    return list(dict.fromkeys(found))[:7]


def _runs(view: SyntaxContext, line: int) -> Iterator[Tuple[int, float]]:
    """Yield last lines of runs that begin here, with their additional cost.

    The line with its nested lines comes first, then longer runs.
    """
    text = view.text
    width = len(text.indent(line))
    last, at = _with_deeper(view, line, width)
    body = "expected an indented block" in view.fault.message
    goes_on = at is not None and at - last == 1 and len(text.indent(at)) >= width
    yield last, 0.1 if body and goes_on else 0.0
    if last != line:
        yield line, 0.25
    gaps = 0
    for count in range(MAX_LINES):
        if at is None or at >= view.last or len(text.indent(at)) < width:
            return
        if at - last > 1:
            yield last, 0.05 + 0.2 * gaps
            gaps += 1
        last, at = _with_deeper(view, at, width)
        ends = at is None or len(text.indent(at)) < width
        yield last, (0.05 if ends else 0.3 + 0.02 * count) + 0.2 * gaps


def _with_deeper(view: SyntaxContext, line: int, width: int) -> Tuple[int, Optional[int]]:
    """Return the last nested line after a line, and the line that follows it."""
    last, at = line, view.text.after(line)
    while at is not None and at < view.last and len(view.text.indent(at)) > width:
        last, at = at, view.text.after(at)
    return last, at


def _shifts(view: SyntaxContext, first: int, last: int, depth: str) -> List[Tuple[TextEdit, ...]]:
    """Return the edits that move a run, with and without the lines inside its strings.

    The likelier variant is first: one statement leaves its strings alone, several move with them.
    """
    inside = {
        n
        for t in view.code
        for n in range(t.line + 1, t.line + t.text.count("\n") + 1)
        if t.kind == STRING
    }
    several = any(
        view.text.head(n) == n and not view.text.is_blank(n) for n in range(first + 1, last + 1)
    )
    both = [_shift(view, (first, last), depth, inside), _shift(view, (first, last), depth, set())]
    return both[::-1] if several else both


def _shift(
    view: SyntaxContext, span: Tuple[int, int], depth: str, inside: Set[int]
) -> Tuple[TextEdit, ...]:
    """Return edits that move lines so that the first gets a given indentation.

    Returns no edits if a line cannot move that far.
    """
    text = view.text
    first, last = span
    old = text.indent(first)
    edits = []
    for number in range(first, last + 1):
        if not text.line(number).strip() or number in inside:
            continue
        indent = text.indent(number)
        if not indent.startswith(old):
            if number == first or not text.is_blank(number):
                return ()
            continue
        start = text.starts[number]
        edits.append(TextEdit(start, start + len(old), depth))
    return tuple(edits)


def _tabs(view: SyntaxContext) -> Iterator[Draft]:
    """Convert a mixture of tabs and spaces to one of them."""
    text = view.text
    tabbed = [n for n in range(view.first, min(view.last, text.count)) if "\t" in text.indent(n)]
    if not tabbed:
        return
    # Tabs count as 8 columns for Python 2, and often as the block's width for editors.
    for rank, width in enumerate((len(text.unit) if "\t" not in text.unit else 8, 8, 4)):
        edits = []
        for number in tabbed:
            old = text.indent(number)
            edits.append(
                TextEdit(text.starts[number], text.starts[number] + len(old), old.expandtabs(width))
            )
        yield Draft(COST + 0.1 * rank, tuple(edits))
    if "\t" in text.unit:
        edits = []
        for number in range(view.first, min(view.last, text.count)):
            old = text.indent(number)
            if " " in old:
                new = old.replace("        ", "\t").replace("    ", "\t").replace(" ", "")
                edits.append(TextEdit(text.starts[number], text.starts[number] + len(old), new))
        if edits:
            yield Draft(COST + 0.05, tuple(edits))
