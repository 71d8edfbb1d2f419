"""A quote that is missing, too many or of the wrong kind; a string that ends too early; triple quotes."""

from __future__ import annotations

import re
from typing import Iterator, List

from sandbox.guest.search.candidates.broken.lexing import OPEN, STRING, Token
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import View
from sandbox.guest.search.source.render import Edit

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
    r"[ \t]*(?:def |class |return\b|import |from \S+ import|if .*:$|for .*:$|self\.|@|raise |\w+ = |\w[\w.]*\()"
)
_PLACES = re.compile(r"(?<=\w)(?=\W)|(?<=\W)(?=\w)|(?<=\W)(?=\W)|^|$")
MOST_PLACES = 90
MOST_LINE = 600
"""A line of more characters is left alone."""


def propose(view: View) -> Iterator[Draft]:
    """Add, drop, exchange or escape quotes on the fault's line, and end triple-quoted strings."""
    about = any(word in view.fault.message for word in ("string", "quot", "EOL", "EOF", "character"))
    for rank, line in enumerate(_lines(view)):
        has_open = any(view.code[p].kind == OPEN for p in view.text.on_line(line))
        yield from _on_line(view, line, 0.25 * rank + (0.0 if about or has_open else 0.6))
    yield from _triple(view)


def _lines(view: View) -> List[int]:
    """The lines of the fault, of strings without an end, and of odd quotes near it."""
    found = [view.fault.line]
    near = view.code[max(view.first_token, view.here - 30) : min(view.last_token, view.here + 10)]
    found += [token.line for token in near if token.kind == OPEN]
    return [n for n in dict.fromkeys(found) if _has_quotes(view.text.line(n))][:3]


def _has_quotes(line: str) -> bool:
    return len(line) <= MOST_LINE and ("'" in line or '"' in line)


def _on_line(view: View, line: int, extra: float) -> Iterator[Draft]:
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
            yield Draft(COST + 0.6 + extra, (Edit(start + at, start + at + 1, ""),))
            other = '"' if character == "'" else "'"
            usual = 0.3 if content.count(character) > 2 > content.count(other) else 0.0
            yield Draft(COST + 0.5 + usual + extra, (Edit(start + at, start + at + 1, other),))
            if at and content[at - 1] != "\\":
                yield Draft(COST + 0.3 + extra, (Edit(start + at, start + at, "\\"),))
    yield from _outer(content, start, extra)
    for match in re.finditer(r"(?<!['\"])(''|\"\")(?!['\"])", content):
        yield Draft(COST + 0.2 + extra, (Edit(start + match.end(), start + match.end(), match.group()[0]),))


def _insertions(content: str, start: int, mark: str, opens: List[Token]) -> Iterator[Draft]:
    """One more quote at every place where it could stand."""
    first = min((t.start - start for t in opens), default=0)
    for match in list(_PLACES.finditer(content))[:MOST_PLACES]:
        at = match.start()
        before, behind = content[:at], content[at:]
        inside = bool(opens) and at > first
        cost = COST + (0.5 if inside else 0.6)
        if inside and re.fullmatch(r"[)\]},:;]*\s*(?:#.*|\\)?", behind):
            cost = COST + (0.1 if behind.strip() else 0.05)
        elif (re.match(r"[,)\]}:]", behind) and before[-1:].strip()) or (
            re.search(r"(?:[(\[{,=:+%]|return|in|\bprint|==)\s*[rbfuRBFU]?$", before) and behind[:1].strip()
        ):
            cost = COST + 0.3
        yield Draft(cost, (Edit(start + at, start + at, mark),))


def _outer(content: str, start: int, extra: float) -> Iterator[Draft]:
    """The same quote inside: change the pair around it, or escape what is inside."""
    for mark, other in (("'", '"'), ('"', "'")):
        places = [i for i, c in enumerate(content) if c == mark and (i == 0 or content[i - 1] != "\\")]
        for left in range(len(places)):
            for right in range(left + 2, min(len(places), left + 6)):
                first, last = places[left], places[right]
                inner = content[first + 1 : last]
                if other not in inner:
                    edits = tuple(Edit(start + at, start + at + 1, other) for at in (first, last))
                    yield Draft(COST + 0.35 + extra, edits)
                middle = tuple(Edit(start + at, start + at, "\\") for at in places[left + 1 : right])
                yield Draft(COST + 0.35 + extra, middle)


def _quote(token: Token) -> str:
    return token.text.lstrip("rRbBfFuUtT")[:3]


def _is_triple(token: Token) -> bool:
    return _quote(token) in {'"""', "'''"}


def _triple(view: View) -> Iterator[Draft]:
    """A triple-quoted string that swallows code: end it at the end of one of its lines, or drop its quotes."""
    offset = view.offset
    triples = [t for t in view.code if _is_triple(t) and t.kind in {OPEN, STRING} and "\n" in t.text]
    candidates = [t for t in triples if view.text.starts[view.first] <= t.start <= offset + 200]
    opened = [t for t in candidates if t.kind == OPEN]
    # One quote lost turns all strings behind it inside out: the first that holds code is where to look.
    inside_out = [t for t in triples if t.start <= offset and _holds_code(t.text)][:2] if triples else []
    near = sorted((t for t in candidates if t.kind == STRING), key=lambda t: abs(t.end - offset))[:3]
    for rank, token in enumerate(dict.fromkeys([*inside_out, *opened, *near])):
        yield from _end_within(view, token, 0.2 * rank)
        begin = token.end - len(token.text.lstrip("rRbBfFuUtT"))
        yield Draft(COST + 0.9, (Edit(token.start, begin + 3, ""),))
        if token.kind == STRING:
            yield Draft(COST + 0.9, (Edit(token.end - 3, token.end, ""),))
    for match in re.finditer(
        r"(?<!['\"])(\"\"|'')(?!['\"])", view.text.text[view.text.starts[view.first] : offset + 300]
    ):
        at = view.text.starts[view.first] + match.end()
        yield Draft(COST + 0.2, (Edit(at, at, match.group()[0]),))


def _holds_code(text: str) -> bool:
    """Whether some lines of a string look like code; examples of a documentation do not begin a function."""
    return (
        len(
            re.findall(
                r"^[ \t]*(?:def \w+\(|class \w+[:(]|return\b|import \w|from \S+ import|self\.\w|@\w)",
                text,
                re.MULTILINE,
            )
        )
        > 1
    )


def _end_within(view: View, token: Token, extra: float) -> Iterator[Draft]:
    """Closing quotes at the end of each line of a string, the likely ones cheapest."""
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
        half = re.search(r"(?<!['\"])(\"\"|'')$", content)
        if half and half.group()[0] == quote[0]:
            yield Draft(COST + extra, (Edit(end, end, quote[0]),))
        elif content:
            cost += 0.6 if content.lstrip().startswith("#") else 0.0
            yield Draft(cost + (0.0 if len(text.indent(number)) >= width else 0.5), (Edit(end, end, quote),))
        else:
            yield Draft(cost + _left_over(view, token, number), (Edit(text.starts[number], end, _own(view, token)),))
        passed += 0.5 if looks and len(text.indent(number)) <= width else 0.0
        if following is not None and content and len(text.indent(following)) < width:
            yield Draft(COST + extra + 0.3 + passed, (Edit(end, end, text.newline + _own(view, token)),))


def _own(view: View, token: Token) -> str:
    """The closing quotes on a line of their own."""
    return view.text.indent(token.line) + _quote(token)


def _code_follows(view: View, number: int) -> bool:
    below = number + 1
    while below < view.text.count and not view.text.line(below).strip():
        below += 1
    line = view.text.line(below)
    return below >= view.text.count or bool(_LOOKS_LIKE_CODE.match(line)) or line.lstrip().startswith("#")


def _left_over(view: View, token: Token, number: int) -> float:
    """White space alone on a line, or one empty line more than text has, is what lost quotes leave."""
    text = view.text
    line, indent = text.line(number), text.indent(token.line)
    if line == indent and indent:
        return -0.3
    text_above = number > 0 and bool(text.line(number - 1).strip())
    return 0.1 if not indent and text_above and not text.line(number + 1).strip() else 0.4
