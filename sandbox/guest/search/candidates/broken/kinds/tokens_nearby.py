"""One missing, surplus or wrong token near the error: a comma, an operator, a dot, a keyword."""

from __future__ import annotations

from typing import Iterator

from sandbox.guest.search.candidates.broken.lexing import NAME, OPERATOR, STRING
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 1.0
CHANGES = (
    ("x = f(a b)\n", "x = f(a, b)\n"),
    ("x = [1, 2 3]\n", "x = [1, 2, 3]\n"),
    ("x = {'a' 1}\n", "x = {'a': 1}\n"),
    ("for a b:\n    f()\n", "for a in b:\n    f()\n"),
    ("x = a + * b\n", "x = a * b\n"),
    ("x 1\n", "x = 1\n"),
    ("f(a,, b)\n", "f(a, b)\n"),
    ("if a and and b:\n    f()\n", "if a and b:\n    f()\n"),
    ("x = [\n    1,\n    2\n    3,\n]\n", "x = [\n    1,\n    2,\n    3,\n]\n"),
    ("x = a if b c\n", "x = a if b else c\n"),
    ("x = 1\n Thing(x):\n    y = 2\n", "x = 1\nclass Thing(x):\n    y = 2\n"),
    ("import a b\n", "import a as b\n"),
)
UNTOUCHED = ("x = 'abc\n",)
_BETWEEN = (
    (",", 0.0), (".", 0.45), (" =", 0.4), (":", 0.5), (" in", 0.5), (" +", 0.6), (" ==", 0.6),
    (" %", 0.6), (" and", 0.6), (" or", 0.65), ("(", 0.7), (" if", 0.7), (" else", 0.6),
    (" for", 0.7), (" as", 0.6), (" is", 0.7), (" not", 0.7), (" -", 0.7), (" *", 0.7), (" <", 0.8),
    (" >", 0.8), (" not in", 0.8), (" import", 0.6), ("[", 0.9), (" /", 0.9), (" !=", 0.9),
    (" !r", 1.2), ("->", 1.0), (" from", 0.9), (" |", 1.0), (" **", 1.1), (" @", 1.4), (" &", 1.2),
)  # fmt: skip
_BEFORE_LINE = (
    "def ", "class ", "for ", "if ", "while ", "elif ", "import ", "from ", "return ", "with ", "@",
    "assert ", "else", "try", "except ", "async ", "raise ", "del ", "not ", "in ", "lambda ",
)  # fmt: skip


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Insert, delete or exchange one token in the window around the error."""
    code = view.code
    for position in view.window(5, 4):
        token = code[position]
        before = code[position - 1] if position > view.first_token else None
        far = view.distance(token.line) + (0.0 if abs(position - view.here) <= 2 else 0.15)
        if before is not None:
            yield from _insert(view, position, far)
        if view.text.begins_line(position):
            gap = _gap(view, token.line)
            for word in _BEFORE_LINE:
                yield Draft(
                    COST + 0.7 - 0.6 * gap + far, (TextEdit(token.start - gap, token.start, word),)
                )
        yield from _drop(view, position, far)
        yield from _swap(view, position, far)
        yield from _exchange(view, position, far)


def _gap(view: SyntaxContext, line: int) -> int:
    """Return 1 if a deleted word left its space after the indentation, else 0."""
    width = len(view.text.indent(line))
    around = [n for n in (view.text.before(line), view.text.after(line)) if n is not None]
    depths = {len(view.text.indent(n)) for n in around}
    return int(width % len(view.text.unit) == 1 and width not in depths)


def _insert(view: SyntaxContext, position: int, far: float) -> Iterator[Draft]:
    token, before = view.code[position], view.code[position - 1]
    adjacent = before.ends_operand and token.starts_operand
    same_line = before.line + before.text.count("\n") == token.line
    if not same_line:
        # Inside brackets, a lost comma is usually the last character of its line.
        yield Draft(
            COST - (0.4 if adjacent else 0.0) + far, (TextEdit(before.end, before.end, ","),)
        )
        if before.text in {"=", "(", "return", ","} or not before.ends_operand:
            yield Draft(COST + 1.0 + far, (TextEdit(before.end, before.end, " None"),))
        return
    gap = view.text.text[before.end : token.start]
    for word, extra in _BETWEEN:
        cost = COST + extra - (0.4 if adjacent else 0.0) + far + _fit(word, gap)
        text = word if gap or token.kind == OPERATOR or not word[-1].isalnum() else word + " "
        end = token.start if word in {".", "(", "["} else before.end
        yield Draft(
            cost,
            (TextEdit(before.end, end, text if gap or word in {".", "(", "["} else text.lstrip()),),
        )


def _fit(word: str, gap: str) -> float:
    """Return a cost that is lower for words whose loss explains the gap.

    A lost word leaves two spaces, a lost dot leaves none.
    """
    if len(gap) >= 2:
        return -0.3 if word.startswith(" ") else 0.4
    if not gap:
        return -0.5 if word in {".", "(", "["} else 0.3
    return 0.0


def _drop(view: SyntaxContext, position: int, far: float) -> Iterator[Draft]:
    code, text = view.code, view.text
    token = code[position]
    before = code[position - 1] if position > view.first_token else None
    following = code[position + 1] if position + 1 < len(code) else None
    # A repeated token or operator is the likeliest one to be superfluous.
    doubled = (before is not None and before.text == token.text) or (
        before is not None and before.kind == token.kind == OPERATOR and token.text not in "([{)]}"
    )
    weight = 0.7 if token.kind == OPERATOR or token.is_keyword else 1.6
    if token.kind == STRING:
        weight = 2.2
    end = token.end
    if (
        following is not None
        and following.line == token.line
        and text.text[end : following.start].isspace()
    ):
        end = following.start  # a word is deleted together with the space after it
    yield Draft(COST + (0.1 if doubled else weight) + far, (TextEdit(token.start, end, ""),))
    if end != token.end:
        yield Draft(
            COST + (0.15 if doubled else weight + 0.05) + far,
            (TextEdit(token.start, token.end, ""),),
        )


def _swap(view: SyntaxContext, position: int, far: float) -> Iterator[Draft]:
    if position <= view.first_token:
        return
    one, other = view.code[position - 1], view.code[position]
    if one.line == other.line and one.text != other.text:
        gap = view.text.text[one.end : other.start]
        yield Draft(
            COST + 0.9 + far, (TextEdit(one.start, other.end, other.text + gap + one.text),)
        )


_EXCHANGES = {
    "=": ("==", ":", "+=", ",", "in"), "==": ("=",), ";": (",", ":"), ":": (",", "=", "."),
    ",": (".", ":", "="), ".": (",", ":", "="), "<>": ("!=",), "=>": (">=", ":", "->"),
    "=<": ("<=",), "&&": ("and",), "||": ("or",), "!": ("not ",), "->": (".", ":"), ":=": ("=",),
    "!=": ("= not ",), "in": ("=",), "/": ("//",),
}  # fmt: skip


def _exchange(view: SyntaxContext, position: int, far: float) -> Iterator[Draft]:
    token = view.code[position]
    for word in _EXCHANGES.get(token.text, ()):
        spaced = word
        if word.isalpha() and token.kind != NAME:
            left = view.text.text[token.start - 1 : token.start]
            right = view.text.text[token.end : token.end + 1]
            spaced = (" " if left.strip() else "") + word + (" " if right.strip() else "")
        yield Draft(COST + 0.1 + far, (TextEdit(token.start, token.end, spaced),))
