"""A block without a body: insert `pass`, if no cheaper repair works."""

from __future__ import annotations

from typing import Iterator

from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import COMPOUND, SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 3.2
CHANGES = (
    ("def f():\n\n\nx = 1\n", "def f():\n    pass\n\n\nx = 1\n"),
    ("class A:\n    def f(self):\n", "class A:\n    def f(self):\n        pass\n"),
)
UNTOUCHED = ("x = f(a\n", "x = 'abc\n")


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Insert `pass` below a header that no nested line follows."""
    if "indented block" not in view.fault.message and "EOF" not in view.fault.message:
        return
    text = view.text
    for number in range(view.fault.line, max(view.first, view.fault.line - 30) - 1, -1):
        on_line = text.on_line(number)
        if not on_line or view.code[on_line[-1]].text != ":":
            continue
        below = text.after(number)
        if below is not None and len(text.indent(below)) > len(text.indent(number)):
            continue
        if view.code[on_line[0]].text in {*COMPOUND, "async", ")"}:
            end = text.starts[number] + len(text.line(number))
            indent = text.indent(number) + text.unit
            yield Draft(
                COST + 0.05 * (view.fault.line - number),
                (TextEdit(end, end, f"{text.newline}{indent}pass"),),
            )
