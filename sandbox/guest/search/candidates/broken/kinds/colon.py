"""A missing colon: behind the head of a block, in a dictionary, a lambda, a slice or an annotation."""

from __future__ import annotations

from typing import Iterator, Tuple

from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import COMPOUND, SOFT_COMPOUND, View
from sandbox.guest.search.source.render import Edit

COST = 0.5
CHANGES = (
    ("if a\n    b = 1\n", "if a:\n    b = 1\n"),
    ("def f(a) -> int  # why\n    return a\n", "def f(a) -> int:  # why\n    return a\n"),
    ("if a;\n    b = 1\n", "if a:\n    b = 1\n"),
    ("if a return\n".replace("return", "f()"), "if a: f()\n"),
    ("x = lambda a a + 1\n", "x = lambda a: a + 1\n"),
    ("while a {\n    f()\n}\n", "while a:\n    f()\n"),
)
UNTOUCHED = ("x = f(a\n", "x = 'abc\n")
_WRONG = {";", ",", ".", "=", "{", "then", "do", "->", "=>"}


def propose(view: View) -> Iterator[Draft]:
    """End the heads of blocks near the fault with a colon."""
    code = view.code
    for position in range(max(view.first_token, view.here - 60), min(view.last_token, view.here + 2)):
        token = code[position]
        heads = token.text in COMPOUND or (token.text in SOFT_COMPOUND and view.text.begins_line(position))
        if heads and (view.text.begins_line(position) or token.text in {"else", "if"}):
            yield from _head(view, position)
        elif token.text == "lambda":
            yield from _within(view, position, 0.3)


def _head(view: View, position: int) -> Iterator[Draft]:
    """A colon at the end of the head, or somewhere in it when its block stands on the same line."""
    code = view.code
    depth = 0
    line = code[position].line
    for at in range(position, min(view.last_token, position + 80)):
        token = code[at]
        depth += (token.text in "([{") - (token.text in ")]}") if len(token.text) == 1 else 0
        following = code[at + 1] if at + 1 < len(code) else None
        ends = following is None or following.line > token.line
        if ends and token.text == ":":
            return
        if ends and (depth <= 0 or token.text == "{"):
            cost = COST + view.distance(line)
            if token.text in _WRONG and at > position:
                yield Draft(cost + 0.1, _braces(view, at) or (Edit(code[at - 1].end, token.end, ":"),))
            yield Draft(cost, (Edit(token.end, token.end, ":"),))
            break
    yield from _within(view, position, 0.7)


def _within(view: View, position: int, extra: float) -> Iterator[Draft]:
    line = view.code[position].line
    for at in range(position, min(view.last_token - 1, position + 25)):
        token, following = view.code[at], view.code[at + 1]
        if following.line != line:
            return
        if token.ends_operand and (following.starts_operand or following.is_keyword):
            yield Draft(COST + extra + view.distance(line), (Edit(token.end, token.end, ":"),))
        elif following.text in {";", "=", "=>"}:
            yield Draft(COST + extra + 0.2, (Edit(token.end, following.end, ":"),))


def _braces(view: View, at: int) -> Tuple[Edit, ...]:
    """A block in braces: the opening one becomes a colon, the line of the closing one goes."""
    code, text = view.code, view.text
    if code[at].text != "{":
        return ()
    for position in range(at + 1, min(view.last_token, at + 400)):
        token = code[position]
        if token.text == "}" and text.line(token.line).strip() == "}":
            line = token.line
            return (
                Edit(code[at - 1].end, code[at].end, ":"),
                Edit(text.starts[line], min(text.starts[line + 1], len(text.text)), ""),
            )
    return ()
