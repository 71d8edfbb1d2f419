"""Characters from copy and paste: curly quotes, odd spaces, prompts, line numbers, diff marks."""

from __future__ import annotations

import keyword
import re
import unicodedata
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.candidates.broken.lexing import OPEN, STRAY, one_slip
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    ("x = \u201cabc\u201d\n", 'x = "abc"\n'),
    ("x = \u2018abc\u2019\n", "x = 'abc'\n"),
    ("x\u00a0= 1\n", "x = 1\n"),
    ("x =\u200b 1\n", "x = 1\n"),
    ("x = a \u2013 b\n", "x = a - b\n"),
    ("x = f\uff08a\uff09\n", "x = f(a)\n"),
    (">>> x = 1\n>>> y = 2\n", "x = 1\ny = 2\n"),
    ("if a:\n+    b = 1\n+    c = 2\n", "if a:\n    b = 1\n    c = 2\n"),
    (" a = 1\n-b = 2\n+b = 3\n", "a = 1\nb = 3\n"),
    ("1 import os\n2 import re\n3 x = 1\n", "import os\nimport re\nx = 1\n"),
    ("```python\nx = 1\n```\n", "x = 1\n"),
    ("x = 1 $\n", "x = 1\n"),
    ("x = 1 + \\ \n    2\n", "x = 1 + \\\n    2\n"),
    ("x = 1\nthis is only a remark\ny = 2\n", "x = 1\n# this is only a remark\ny = 2\n"),
    ("@@ -1,2 +1,2 @@\nx = 1\n", "x = 1\n"),
)
UNTOUCHED = ("x = f(a\n", "if a\n    b = 1\n")
QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
}
SIGNS = {
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    "\u2026": "...", "\u00d7": "*", "\u00f7": "/", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=",
    "\u2192": "->", "\u2190": "=", "\u3002": ".", "\u3001": ",", "\u3010": "[", "\u3011": "]",
}  # fmt: skip
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        r"[ \t]*(?:>>>|\.\.\.)(?: |$)",
        r"[ \t]*In \[\d+\]: |[ \t]*\.\.\.: ",
        r"[ \t]*\d{1,5}[:.|\t)] ?(?:\| ?)?",
        r"[ \t]*\d{1,5} (?=[ \t]*[A-Za-z_@#\"'])",
        r"\+",
        r"[ \t]*> ?",
        r"[ \t]*\| ?",
        r"[ \t]*[$%] ",
    )
)
_DIFF_HEAD = re.compile(
    r"(?:@@ .*@@.*|diff --git .*|index [0-9a-f]+\.\..*|--- \S.*|"
    r"\+\+\+ \S.*|```\w*|~~~\w*|-{3,}|\*{3,})$"
)


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Replace unreadable characters by what they look like, or delete them."""
    yield from _characters(view)
    yield from _prefixes(view)
    yield from _diff(view)
    yield from _lines(view)
    yield from _backslash(view)


def _plain(character: str) -> Optional[str]:
    """Return the ASCII equivalent of a character, or None if there is none."""
    if character in QUOTES:
        return QUOTES[character]
    if character in SIGNS:
        return SIGNS[character]
    category = unicodedata.category(character)
    if category == "Zs":
        return " "
    # Invisible characters: formatting, control, combining marks.
    if category in {"Cf", "Cc", "Mn"} or character == "\ufeff":
        return ""
    folded = unicodedata.normalize("NFKC", character)
    return folded if folded.isascii() and folded != character and len(folded) <= 3 else None


def _characters(view: SyntaxContext) -> Iterator[Draft]:
    text = view.text
    strays = [t for t in text.tokens if t.kind == STRAY]
    if strays:
        yield from _replaced(text.text, [t.start for t in strays], 0.0)
    line = view.fault.line
    opened = [t.line for t in text.tokens if t.kind == OPEN][:1]
    for number in dict.fromkeys([line, *opened]):
        start = text.starts[number]
        odd = [
            start + at
            for at, c in enumerate(text.line(number))
            if not c.isascii() and _plain(c) is not None
        ]
        if odd:
            yield from _replaced(text.text, odd, 0.1)
    for token in strays[:20]:
        end = token.end
        if text.text[token.start - 1 : token.start] == " " and text.text[end : end + 1] in {
            "\n",
            "\r",
            "",
        }:
            yield Draft(
                COST + 0.6 + view.distance(token.line), (TextEdit(token.start - 1, end, ""),)
            )
        yield Draft(COST + 0.6 + view.distance(token.line), (TextEdit(token.start, end, ""),))


def _replaced(text: str, places: List[int], extra: float) -> Iterator[Draft]:
    known = [(at, _plain(text[at])) for at in places]
    edits = tuple(TextEdit(at, at + 1, new) for at, new in known if new is not None)
    if not edits:
        return
    yield Draft(COST + extra, edits)
    for one, other in (("'", '"'), ('"', "'")):
        changed = tuple(edit._replace(text=other) if edit.text == one else edit for edit in edits)
        if changed != edits:
            yield Draft(COST + extra + 0.3, changed)


def _prefixes(view: SyntaxContext) -> Iterator[Draft]:
    """Remove a common prefix from the lines around the error, or from every line."""
    text = view.text
    for rank, pattern in enumerate(_PREFIXES):
        for line in (view.fault.line, view.fault.line - 1):
            if line < 0 or not pattern.match(text.line(line)):
                continue
            first = last = line
            while first > 0 and pattern.match(text.line(first - 1)):
                first -= 1
            while last + 1 < text.count and pattern.match(text.line(last + 1)):
                last += 1
            extra = 0.05 * rank + (0.0 if last > first else 0.4)
            yield Draft(COST + extra, tuple(_cut(view, n, pattern) for n in range(first, last + 1)))
            if last > first:
                yield Draft(COST + extra + 0.6, (_cut(view, line, pattern),))
            everywhere = [n for n in range(text.count) if pattern.match(text.line(n))]
            if len(everywhere) > last - first + 1:
                yield Draft(COST + extra + 0.2, tuple(_cut(view, n, pattern) for n in everywhere))


def _cut(view: SyntaxContext, number: int, pattern: re.Pattern[str]) -> TextEdit:
    match = pattern.match(view.text.line(number))
    start = view.text.starts[number]
    return TextEdit(start, start + (match.end() if match else 0), "")


def _diff(view: SyntaxContext) -> Iterator[Draft]:
    """Apply a diff that was pasted as text: drop removed lines and the marker column."""
    text = view.text
    kinds = [text.line(n)[:1] for n in range(text.count)]
    marked = [n for n, kind in enumerate(kinds) if kind in {"+", "-"}]
    if not marked or not any(abs(n - view.fault.line) <= 2 for n in marked):
        return
    # A final empty line is no line of the diff.
    last_line = text.count - 1 if text.line(text.count - 1) else text.count - 2
    whole = all(kind in {"+", "-", " ", "@", "d", "i", "\\", ""} for kind in kinds)
    edits = []
    for number in range(last_line + 1):
        line, start = text.line(number), text.starts[number]
        end = min(text.starts[number + 1], len(text.text))
        if line[:1] == "-" or (_DIFF_HEAD.match(line) and line[:1] in "@di+"):
            edits.append(TextEdit(start, end, ""))
        elif line[:1] == "+" or (whole and line[:1] == " "):
            edits.append(TextEdit(start, start + 1, ""))
    if edits:
        yield Draft(COST + (0.0 if whole else 0.3), tuple(edits))


def _lines(view: SyntaxContext) -> Iterator[Draft]:
    """Delete rules and code fences, and comment out prose."""
    text = view.text
    heads = [n for n in range(text.count) if _DIFF_HEAD.match(text.line(n))]
    if any(abs(n - view.fault.line) <= 1 for n in heads):
        yield Draft(COST + 0.3, tuple(TextEdit(text.starts[n], _next(view, n), "") for n in heads))
    for number in (view.fault.line, view.fault.line - 1):
        line = text.line(number)
        if number < 0 or not re.match(
            r"[ \t]*[A-Za-z][\w'-]*(?:[ ,]+[A-Za-z][\w'-]*){2,}[ ,.;:!?]*", line
        ):
            continue
        at = text.starts[number] + len(text.indent(number))
        first = line.split()[0]
        # Prose rarely begins with a keyword or contains brackets.
        code = keyword.iskeyword(first) or bool(re.search(r"[=()\[\]]|:$", line.rstrip()))
        code = code or any(one_slip(first, word) for word in keyword.kwlist)
        yield Draft(COST + (3.0 if code else 0.8), (TextEdit(at, at, "# "),))


def _next(view: SyntaxContext, number: int) -> int:
    return min(view.text.starts[number + 1], len(view.text.text))


def _backslash(view: SyntaxContext) -> Iterator[Draft]:
    """Remove white space after a line-continuation backslash."""
    text = view.text
    edits: List[Tuple[int, int]] = []
    for number in range(max(0, view.fault.line - 3), min(text.count, view.fault.line + 2)):
        match = re.search(r"\\([ \t]+)$", text.line(number))
        if match:
            start = text.starts[number]
            edits.append((start + match.start(1), start + match.end(1)))
    if edits:
        yield Draft(COST, tuple(TextEdit(start, end, "") for start, end in edits))
