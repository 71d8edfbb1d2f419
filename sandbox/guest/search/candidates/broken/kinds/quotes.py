"""A missing, superfluous or wrong quote; a string that ends too early; triple quotes."""

from __future__ import annotations

import re
from typing import Iterator, List

from sandbox.guest.search.candidates.broken.lexing import OPEN, STRING, SourceToken
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.7
CHANGES = (
    ("x = 'abc\n", "x = 'abc'\n"),
    ("x = f('abc)\n", "x = f('abc')\n"),
    ('x = ["a, "b"]\n', 'x = ["a", "b"]\n'),
    ("x = abc'\n", "x = 'abc'\n"),
    ("x = 'don't'\n", "x = 'don\\'t'\n"),
    ("x = 'don't'\n", 'x = "don\'t"\n'),
    ("x = 'abc\"\n", "x = 'abc'\n"),
    ('def f():\n    """Say.\n    return 1\n', 'def f():\n    """Say."""\n    return 1\n'),
    ('def f():\n    ""Say."""\n    return 1\n', 'def f():\n    """Say."""\n    return 1\n'),
    ("x = 'a''\n", "x = 'a'\n"),
)
UNTOUCHED = ("if a\n    b = 1\n",)
_LOOKS_LIKE_CODE = re.compile(
    r"[ \t]*(?:def |class |return\b|import |from \S+ import|if .*:$|for .*:$|self\.|@|raise |"
    r"\w+ = |\w[\w.]*\()"
)
_PLACES = re.compile(r"(?<=\w)(?=\W)|(?<=\W)(?=\w)|(?<=\W)(?=\W)|^|$")
MAX_PLACES = 90
"""Maximum positions on a line to try."""
MAX_LINE_LENGTH = 600
"""Maximum length of a line to repair, in characters."""


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Insert, delete, exchange or escape quotes near the error, and end triple-quoted strings."""
    about = any(
        word in view.fault.message for word in ("string", "quot", "EOL", "EOF", "character")
    )
    for rank, line in enumerate(_lines(view)):
        has_open = any(view.code[p].kind == OPEN for p in view.text.on_line(line))
        yield from _on_line(view, line, 0.25 * rank + (0.0 if about or has_open else 0.6))
    yield from _triple(view)


def _lines(view: SyntaxContext) -> List[int]:
    """Return the line of the error and lines with unterminated strings near it."""
    found = [view.fault.line]
    near = view.code[max(view.first_token, view.here - 30) : min(view.last_token, view.here + 10)]
    found += [token.line for token in near if token.kind == OPEN]
    return [n for n in dict.fromkeys(found) if _has_quotes(view.text.line(n))][:3]


def _has_quotes(line: str) -> bool:
    return len(line) <= MAX_LINE_LENGTH and ("'" in line or '"' in line)


def _on_line(view: SyntaxContext, line: int, extra: float) -> Iterator[Draft]:
    text = view.text
    start, content = text.starts[line], text.line(line)
    tokens = [view.code[position] for position in text.on_line(line)]
    opens = [t for t in tokens if t.kind == OPEN and not _is_triple(t)]
    marks = [mark for mark in ("'", '"') if any(mark in _quote(t) for t in opens)] or [
        mark for mark in ("'", '"') if mark in content
    ]
    for mark in marks:
        for draft in _insertions(content, start, mark, opens):
            yield draft._replace(cost=draft.cost + extra)
    for at, character in enumerate(content):
        if character in "'\"":
            yield Draft(COST + 0.6 + extra, (TextEdit(start + at, start + at + 1, ""),))
            other = '"' if character == "'" else "'"
            # A line with one kind of quotes probably uses it consistently.
            usual = 0.3 if content.count(character) > 2 > content.count(other) else 0.0
            yield Draft(COST + 0.5 + usual + extra, (TextEdit(start + at, start + at + 1, other),))
            if at and content[at - 1] != "\\":
                yield Draft(COST + 0.3 + extra, (TextEdit(start + at, start + at, "\\"),))
    yield from _outer(content, start, extra)
    for match in re.finditer(r"(?<!['\"])(''|\"\")(?!['\"])", content):
        yield Draft(
            COST + 0.2 + extra,
            (TextEdit(start + match.end(), start + match.end(), match.group()[0]),),
        )


def _insertions(content: str, start: int, mark: str, opens: List[SourceToken]) -> Iterator[Draft]:
    """Insert a quote at every plausible place."""
    first = min((t.start - start for t in opens), default=0)
    # Quotes begin and end at borders of words, so other places are skipped.
    for match in list(_PLACES.finditer(content))[:MAX_PLACES]:
        at = match.start()
        before, behind = content[:at], content[at:]
        inside = bool(opens) and at > first
        cost = COST + (0.5 if inside else 0.6)
        if inside and re.fullmatch(r"[)\]},:;]*\s*(?:#.*|\\)?", behind):
            cost = COST + (0.1 if behind.strip() else 0.05)
        elif (re.match(r"[,)\]}:]", behind) and before[-1:].strip()) or (
            re.search(r"(?:[(\[{,=:+%]|return|in|\bprint|==)\s*[rbfuRBFU]?$", before)
            and behind[:1].strip()
        ):
            cost = COST + 0.3
        yield Draft(cost, (TextEdit(start + at, start + at, mark),))


def _outer(content: str, start: int, extra: float) -> Iterator[Draft]:
    """Exchange the outer quotes, or escape the inner ones, where both are equal."""
    for mark, other in (("'", '"'), ('"', "'")):
        places = [
            i for i, c in enumerate(content) if c == mark and (i == 0 or content[i - 1] != "\\")
        ]
        for left in range(len(places)):
            for right in range(left + 2, min(len(places), left + 6)):
                first, last = places[left], places[right]
                inner = content[first + 1 : last]
                if other not in inner:
                    edits = tuple(
                        TextEdit(start + at, start + at + 1, other) for at in (first, last)
                    )
                    yield Draft(COST + 0.35 + extra, edits)
                middle = tuple(
                    TextEdit(start + at, start + at, "\\") for at in places[left + 1 : right]
                )
                yield Draft(COST + 0.35 + extra, middle)


def _quote(token: SourceToken) -> str:
    return token.text.lstrip("rRbBfFuUtT")[:3]


def _is_triple(token: SourceToken) -> bool:
    return _quote(token) in {'"""', "'''"}


def _triple(view: SyntaxContext) -> Iterator[Draft]:
    """End a triple-quoted string that contains code at one of its lines, or delete its quotes."""
    offset = view.offset
    triples = [
        t for t in view.code if _is_triple(t) and t.kind in {OPEN, STRING} and "\n" in t.text
    ]
    candidates = [t for t in triples if view.text.starts[view.first] <= t.start <= offset + 200]
    opened = [t for t in candidates if t.kind == OPEN]
    # A lost quote turns all later strings inside out, so the first string with code is suspect.
    inside_out = (
        [t for t in triples if t.start <= offset and _holds_code(t.text)][:2] if triples else []
    )
    near = sorted((t for t in candidates if t.kind == STRING), key=lambda t: abs(t.end - offset))[
        :3
    ]
    for rank, token in enumerate(dict.fromkeys([*inside_out, *opened, *near])):
        yield from _end_within(view, token, 0.2 * rank)
        begin = token.end - len(token.text.lstrip("rRbBfFuUtT"))
        yield Draft(COST + 0.9, (TextEdit(token.start, begin + 3, ""),))
        if token.kind == STRING:
            yield Draft(COST + 0.9, (TextEdit(token.end - 3, token.end, ""),))
    for match in re.finditer(
        r"(?<!['\"])(\"\"|'')(?!['\"])", view.text.text[view.text.starts[view.first] : offset + 300]
    ):
        at = view.text.starts[view.first] + match.end()
        yield Draft(COST + 0.2, (TextEdit(at, at, match.group()[0]),))


def _holds_code(text: str) -> bool:
    """Return True if several lines of a string look like code.

    Prompts of examples in documentation do not match.
    """
    pattern = r"^[ \t]*(?:def \w+\(|class \w+[:(]|return\b|import \w|from \S+ import|self\.\w|@\w)"
    return len(re.findall(pattern, text, re.MULTILINE)) > 1


def _end_within(view: SyntaxContext, token: SourceToken, extra: float) -> Iterator[Draft]:
    """Insert closing quotes at the end of each line of a string, likely places first."""
    text = view.text
    quote, width = _quote(token), len(text.indent(token.line))
    last = token.line + token.text.count("\n")
    passed = 0.0
    for shown, number in enumerate(range(token.line, min(last + 1, token.line + 120))):
        content = text.line(number).rstrip()
        end = text.starts[number] + len(content)
        if end <= token.start + 2 or (end > token.end and token.kind == STRING):
            continue
        following = text.after(number)
        looks = bool(_LOOKS_LIKE_CODE.match(content)) and number != token.line
        cost = COST + extra + 0.02 * shown + passed + (0.5 if looks else 0.0)
        cost += 0.0 if _code_follows(view, number) else 0.5
        partial = re.search(r"(?<!['\"])(\"\"|'')$", content)
        if partial and partial.group()[0] == quote[0]:
            yield Draft(COST + extra, (TextEdit(end, end, quote[0]),))
        elif content:
            cost += 0.6 if content.lstrip().startswith("#") else 0.0
            yield Draft(
                cost + (0.0 if len(text.indent(number)) >= width else 0.5),
                (TextEdit(end, end, quote),),
            )
        else:
            yield Draft(
                cost + _left_over(view, token, number),
                (TextEdit(text.starts[number], end, _own(view, token)),),
            )
        passed += 0.5 if looks and len(text.indent(number)) <= width else 0.0
        if following is not None and content and len(text.indent(following)) < width:
            yield Draft(
                COST + extra + 0.3 + passed, (TextEdit(end, end, text.newline + _own(view, token)),)
            )


def _own(view: SyntaxContext, token: SourceToken) -> str:
    """Return the closing quotes for a line of their own."""
    return view.text.indent(token.line) + _quote(token)


def _code_follows(view: SyntaxContext, number: int) -> bool:
    below = number + 1
    while below < view.text.count and not view.text.line(below).strip():
        below += 1
    line = view.text.line(below)
    return (
        below >= view.text.count
        or bool(_LOOKS_LIKE_CODE.match(line))
        or line.lstrip().startswith("#")
    )


def _left_over(view: SyntaxContext, token: SourceToken, number: int) -> float:
    """Return a cost that is lower for lines which lost quotes would leave behind.

    These are lines with white space only, and surplus empty lines.
    """
    text = view.text
    line, indent = text.line(number), text.indent(token.line)
    if line == indent and indent:
        return -0.3
    text_above = number > 0 and bool(text.line(number - 1).strip())
    return 0.1 if not indent and text_above and not text.line(number + 1).strip() else 0.4
