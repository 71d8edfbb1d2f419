"""A missing, mismatched or superfluous bracket, located by nesting and indentation."""

from __future__ import annotations

from typing import Iterator

from sandbox.guest.search.candidates.broken.lexing import CLOSERS, NAME, OPENERS
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import COMPOUND, SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.7
CHANGES = (
    ("x = f(a, g(b)\ny = 1\n", "x = f(a, g(b))\ny = 1\n"),
    ("def f(a, b:\n    return a\n", "def f(a, b):\n    return a\n"),
    ("def f(a, b\n    return a\n", "def f(a, b):\n    return a\n"),
    ("x = f(a))\n", "x = f(a)\n"),
    ("x = [1, 2)\n", "x = [1, 2]\n"),
    ('print"a")\n', 'print("a")\n'),
    ("x = {1: 2,\n     3: 4\ny = 1\n", "x = {1: 2,\n     3: 4}\ny = 1\n"),
    ("x = (1 + 2\n", "x = 1 + 2\n"),
    ("x = 1, 2]\n", "x = [1, 2]\n"),
    (
        "def f(self, a):\n    return gself, a)\n\ndef g():\n    pass\n",
        "def f(self, a):\n    return g(self, a)\n\ndef g():\n    pass\n",
    ),
)
UNTOUCHED = ("if a\n    b = 1\n", "x = 'abc\n")
MAX_PLACES = 60
"""Maximum tokens after an opening bracket to try."""


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Close, open, exchange or delete a bracket."""
    nesting = view.text.nesting(view.first_token, view.last_token)
    for opener, end in nesting.unclosed[:6]:
        yield from _close(view, opener, end)
        yield from _far_ends(view, opener, end)
        yield from _doubled(view, opener, end)
        yield _drop(view, opener, 1.3)
    for closer in nesting.superfluous[:4]:
        yield from _open(view, closer)
        yield from _open_above(view, closer)
        yield _drop(view, closer, 0.3)
    for opener, closer in nesting.mismatched[:4]:
        yield from _exchange(view, opener, closer)


def _close(view: SyntaxContext, opener: int, end: int) -> Iterator[Draft]:
    """Insert the closing bracket after each token up to the end of the statement."""
    text, code = view.text, view.code
    closer = OPENERS[code[opener].text]
    inner = 0
    for position in range(opener, min(end, opener + MAX_PLACES)):
        token = code[position]
        inner += (token.text in OPENERS) - (token.text in CLOSERS)
        following = code[position + 1] if position + 1 < len(code) else None
        last_on_line = following is None or following.line > token.line + token.text.count("\n")
        cost = COST + 0.9
        if last_on_line:
            # A closing bracket ends the line where the indentation returns to that of the opening
            # one.
            below = text.after(token.line)
            deep = len(text.indent(code[opener].line))
            back = below is None or len(text.indent(below)) <= deep
            cost = COST + (0.0 if back and token.text not in {":", ",", "="} else 0.7)
        elif following is not None and following.text == ":" and _ends_header(view, position + 1):
            cost = COST
        elif following is not None and following.text in {",", ")", "]", "}", ":", "."}:
            cost = COST + 0.5
        elif following is not None and (following.is_keyword or not following.starts_operand):
            cost = COST + 0.6
        if (
            last_on_line
            and closer == ")"
            and token.text != ":"
            and _begins_header(view, token.line)
        ):
            yield Draft(cost + 0.5, (TextEdit(token.end, token.end, "):"),))
        yield Draft(cost + (0.3 if inner > 1 else 0.0), (TextEdit(token.end, token.end, closer),))


def _ends_header(view: SyntaxContext, position: int) -> bool:
    line = view.code[position].line
    on_line = view.text.on_line(line)
    return (
        bool(on_line)
        and on_line[-1] == position
        and view.code[on_line[0]].text in {*COMPOUND, ")", "async"}
    )


def _far_ends(view: SyntaxContext, opener: int, end: int) -> Iterator[Draft]:
    """Close a long literal where the indentation returns to that of the opening bracket."""
    code, text = view.code, view.text
    closer, depth, found = OPENERS[code[opener].text], 0, 0
    deep = len(text.indent(code[opener].line))
    # Data files contain literals of thousands of tokens.
    for position in range(opener, min(end, opener + 6000)):
        token = code[position]
        depth += (token.text in OPENERS) - (token.text in CLOSERS)
        following = code[position + 1] if position + 1 < len(code) else None
        ends = following is None or following.line > token.line + token.text.count("\n")
        if position <= opener + MAX_PLACES or not ends or depth != 1:
            continue
        if following is None or position + 1 >= end or len(text.indent(following.line)) <= deep:
            yield Draft(COST + 0.1 * found, (TextEdit(token.end, token.end, closer),))
            found += 1
            if found == 4:
                return


def _doubled(view: SyntaxContext, opener: int, end: int) -> Iterator[Draft]:
    """Delete one of two adjacent opening brackets."""
    for position in range(opener, min(end, opener + MAX_PLACES) - 1):
        one, other = view.code[position], view.code[position + 1]
        if one.text == other.text == view.code[opener].text and one.end == other.start:
            yield _drop(view, position, 0.4)


def _begins_header(view: SyntaxContext, line: int) -> bool:
    on_line = view.text.on_line(line)
    return bool(on_line) and view.code[on_line[0]].text in COMPOUND


def _open(view: SyntaxContext, closer: int) -> Iterator[Draft]:
    """Insert the opening bracket before each token of the statement."""
    code = view.code
    text = CLOSERS[code[closer].text]
    depth = 0
    for position in range(closer, max(view.first_token, closer - MAX_PLACES) - 1, -1):
        token = code[position]
        if position != closer:
            depth += (token.text in CLOSERS) - (token.text in OPENERS)
            if depth < 0:
                return
        before = code[position - 1] if position > view.first_token else None
        cost = COST + 0.9
        if before is not None and before.line == token.line:
            touching = before.end == token.start
            if before.kind == NAME and not before.is_keyword and text in "([":
                # A name followed by an operand is most likely a call or subscript.
                called = token.starts_operand or touching or position == closer
                cost = COST + (0.0 if called and token.starts_operand else 0.2 if called else 0.8)
            elif before.text in {
                "=",
                "(",
                "[",
                "{",
                ",",
                "return",
                "in",
                ":",
                "and",
                "or",
                "not",
                "if",
                "+",
                "%",
            }:
                cost = COST + 0.4
        yield Draft(cost + 0.02 * (closer - position), (TextEdit(token.start, token.start, text),))
        if (
            before is not None
            and before.end < token.start
            and before.line == token.line
            and before.kind == NAME
        ):
            yield Draft(
                cost + 0.02 * (closer - position), (TextEdit(before.end, token.start, text),)
            )
        if token.kind == NAME:
            yield from _split(view, position, text)
        # The opening bracket is not looked for in statements far above.
        if view.text.begins_line(position) and depth == 0 and token.line < code[closer].line - 12:
            return


def _open_above(view: SyntaxContext, closer: int) -> Iterator[Draft]:
    """Insert the opening bracket at the end of a line, for a closing bracket alone on its line.

    That line has the indentation of the closing bracket.
    """
    text, token = view.text, view.code[closer]
    if not text.begins_line(closer):
        return
    for number in range(token.line - 1, max(-1, token.line - 600), -1):
        on_line = text.on_line(number)
        if not on_line or len(text.indent(number)) > len(text.indent(token.line)):
            continue
        last = view.code[on_line[-1]]
        space = text.text[last.end : text.starts[number] + len(text.line(number))]
        edit = TextEdit(last.end, last.end + len(space), (space or "") + CLOSERS[token.text])
        yield Draft(
            COST + (0.1 if last.text in {"=", "return", "in", "("} or space else 0.6), (edit,)
        )
        return


def _split(view: SyntaxContext, position: int, opening: str) -> Iterator[Draft]:
    """Insert the bracket inside a word that consists of two names."""
    token = view.code[position]
    defined = bool(position) and view.code[position - 1].text == "def"
    for cut in range(1, len(token.text)):
        head, rest = token.text[:cut], token.text[cut:]
        if rest == "self" and defined:
            yield Draft(COST - 0.2, (TextEdit(token.start + cut, token.start + cut, opening),))
        elif rest in view.names and head in view.names:
            yield Draft(COST, (TextEdit(token.start + cut, token.start + cut, opening),))
        elif (
            head.isidentifier() and (defined or (rest in view.names and len(rest) > 2)) and cut > 2
        ):
            extra = 0.1 if rest in view.names else 0.8
            yield Draft(COST + extra, (TextEdit(token.start + cut, token.start + cut, opening),))


def _drop(view: SyntaxContext, position: int, extra: float) -> Draft:
    token = view.code[position]
    return Draft(COST + extra, (TextEdit(token.start, token.end, ""),))


def _exchange(view: SyntaxContext, opener: int, closer: int) -> Iterator[Draft]:
    """Repair mismatched brackets: change one, delete one, or insert a missing one between them."""
    first, last = view.code[opener], view.code[closer]
    yield Draft(COST, (TextEdit(last.start, last.end, OPENERS[first.text]),))
    yield Draft(COST + 0.2, (TextEdit(first.start, first.end, CLOSERS[last.text]),))
    yield _drop(view, closer, 0.6)
    yield _drop(view, opener, 0.9)
    yield from _close(view, opener, closer)
    for draft in _open(view, closer):
        if draft.edits[0].start > first.end:
            yield draft._replace(cost=draft.cost + 0.2)
