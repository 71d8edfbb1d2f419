"""A missing colon after a block header, in a dictionary, lambda, slice or annotation."""

from __future__ import annotations

from typing import Iterator, Tuple

from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import COMPOUND, SOFT_COMPOUND, SyntaxContext
from sandbox.guest.search.source.render import TextEdit

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


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Insert colons after the block headers near the error."""
    code = view.code
    for position in range(
        max(view.first_token, view.here - 60), min(view.last_token, view.here + 2)
    ):
        token = code[position]
        heads = token.text in COMPOUND or (
            token.text in SOFT_COMPOUND and view.text.begins_line(position)
        )
        if heads and (view.text.begins_line(position) or token.text in {"else", "if"}):
            yield from _head(view, position)
        elif token.text == "lambda":
            yield from _within(view, position, 0.3)


def _head(view: SyntaxContext, position: int) -> Iterator[Draft]:
    """Insert a colon at the end of a header, or inside it if the block follows on the same line."""
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
            # The header ends with a character of another language or a typing slip.
            if token.text in _WRONG and at > position:
                yield Draft(
                    cost + 0.1, _braces(view, at) or (TextEdit(code[at - 1].end, token.end, ":"),)
                )
            yield Draft(cost, (TextEdit(token.end, token.end, ":"),))
            break
    yield from _within(view, position, 0.7)


def _within(view: SyntaxContext, position: int, extra: float) -> Iterator[Draft]:
    line = view.code[position].line
    for at in range(position, min(view.last_token - 1, position + 25)):
        token, following = view.code[at], view.code[at + 1]
        if following.line != line:
            return
        if token.ends_operand and (following.starts_operand or following.is_keyword):
            yield Draft(COST + extra + view.distance(line), (TextEdit(token.end, token.end, ":"),))
        elif following.text in {";", "=", "=>"}:
            yield Draft(COST + extra + 0.2, (TextEdit(token.end, following.end, ":"),))


def _braces(view: SyntaxContext, at: int) -> Tuple[TextEdit, ...]:
    """Replace braces around a block by a colon and delete the line of the closing brace."""
    code, text = view.code, view.text
    if code[at].text != "{":
        return ()
    for position in range(at + 1, min(view.last_token, at + 400)):
        token = code[position]
        if token.text == "}" and text.line(token.line).strip() == "}":
            line = token.line
            return (
                TextEdit(code[at - 1].end, code[at].end, ":"),
                TextEdit(text.starts[line], min(text.starts[line + 1], len(text.text)), ""),
            )
    return ()
