"""Keywords that are misspelt, miscased, joined to the next word, or used as a name."""

from __future__ import annotations

import keyword
import re
from typing import Iterator, List

from sandbox.guest.search.candidates.broken.lexing import NAME, one_slip
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.6
CHANGES = (
    ("edf f(a):\n    return a\n", "def f(a):\n    return a\n"),
    ("def f(a):\n    retrun a\n", "def f(a):\n    return a\n"),
    ("form os import path\n", "from os import path\n"),
    ("from os improt path\n", "from os import path\n"),
    ("If a:\n    b = 1\n", "if a:\n    b = 1\n"),
    ("deff(a):\n    return a\n", "def f(a):\n    return a\n"),
    ("if a:\n    b = 1\nesle:\n    b = 2\n", "if a:\n    b = 1\nelse:\n    b = 2\n"),
    ("class = 1\nprint(class)\n", "class_ = 1\nprint(class_)\n"),
    ("f(a):\n    return a\n", "def f(a):\n    return a\n"),
    ("x in y:\n    f(x)\n", "for x in y:\n    f(x)\n"),
)
UNTOUCHED = ("x = 'abc\n",)
_WORDS = tuple(sorted(word for word in keyword.kwlist if len(word) > 1 and word[0].islower()))


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Correct keywords near the error, and append an underscore to names that are keywords."""
    for position in _near(view):
        token = view.code[position]
        far = 0.5 * view.distance(token.line) + (
            0.0 if position in {view.here, view.here - 1} else 0.1
        )
        if token.kind == NAME and not keyword.iskeyword(token.text):
            begins = view.text.begins_line(position)
            for word in _meant(token.text):
                yield Draft(
                    COST + far + (0.0 if begins else 0.1), (TextEdit(token.start, token.end, word),)
                )
            for word in _WORDS:
                rest = token.text[len(word) :]
                if token.text.startswith(word) and rest.isidentifier() and len(rest) > 0:
                    at = token.start + len(word)
                    yield Draft(COST + far + (0.2 if begins else 0.5), (TextEdit(at, at, " "),))
    yield from _missing_head(view)
    yield from _used_as_name(view)


def _near(view: SyntaxContext) -> List[int]:
    """Return positions around the error, and the first words of the lines around it."""
    found = list(view.window(6, 3))
    for number in range(view.fault.line - 3, view.fault.line + 2):
        if 0 <= number < view.text.count:
            found += view.text.on_line(number)[:2]
    return [p for p in dict.fromkeys(found) if view.first_token <= p < view.last_token]


def _meant(word: str) -> List[str]:
    """Return the keywords at edit distance 1 from a word."""
    if word.lower() in _WORDS:
        return [word.lower()]
    return [
        known
        for known in _WORDS
        if len(known) > 1 and one_slip(word, known) and min(len(word), len(known)) > 1
    ]


def _missing_head(view: SyntaxContext) -> Iterator[Draft]:
    """Insert a keyword before a line that ends like a block header but does not begin like one."""
    for number in range(view.fault.line - 2, view.fault.line + 1):
        on_line = view.text.on_line(number) if 0 <= number < view.text.count else []
        if not on_line or view.code[on_line[-1]].text != ":":
            continue
        first = view.code[on_line[0]]
        if first.kind != NAME or keyword.iskeyword(first.text):
            continue
        line = view.text.line(number)
        for word, pattern, extra in (
            ("for ", r"\s*[\w, ()]+\bin\b", 0.1),
            ("if ", r".*(?:==|!=|<|>|\bin\b|\bnot\b|\bis\b|\band\b)", 0.3),
            ("def ", r"\s*\w+\(.*\)\s*(?:->.*)?:", 0.1),
            ("class ", r"\s*[A-Z]\w*(?:\(.*\))?:", 0.0),
            ("with ", r".*\bas\s+\w+:", 0.1),
            ("except ", r"\s*[A-Z]\w*(?:Error|Exception)?(?:\s+as\s+\w+)?:", 0.2),
            # Any line may belong to these; they cost more.
            ("while ", r"", 0.6),
            ("if ", r"", 0.5),
            ("elif ", r"", 0.7),
        ):
            if re.match(pattern, line):
                yield Draft(COST + extra, (TextEdit(first.start, first.start, word),))


def _used_as_name(view: SyntaxContext) -> Iterator[Draft]:
    """Append an underscore to a keyword used as a name, in the whole file or on the line."""
    code = view.code
    for position in view.window(3, 3):
        token = code[position]
        if not keyword.iskeyword(token.text):
            continue
        before = code[position - 1].text if position else ""
        after = code[position + 1].text if position + 1 < len(code) else ""
        if not _stands_as_name(before, after):
            continue
        places = [
            t
            for p, t in enumerate(code)
            if t.text == token.text
            and _stands_as_name(
                code[p - 1].text if p else "", code[p + 1].text if p + 1 < len(code) else ""
            )
        ]
        yield Draft(COST + 0.4, tuple(TextEdit(t.end, t.end, "_") for t in places[:60]))
        same = [t for t in places if t.line == token.line]
        yield Draft(COST + 0.6, tuple(TextEdit(t.end, t.end, "_") for t in same))


def _stands_as_name(before: str, after: str) -> bool:
    if before in {".", "def", "class", "import", "as", "global"}:
        return True
    if before in {"(", ",", "", "for"} or before.isidentifier() is False:
        return after in {"=", ",", ")", ".", "]", "+=", "==", ":"} and before != "lambda"
    return False
