"""Syntax of other languages: `else if`, `&&`, `!x`, `++`, `? :`, `catch`, `function`, `//`."""

from __future__ import annotations

import re
from typing import Iterator, List, Tuple

from sandbox.guest.search.candidates.broken.lexing import NAME
from sandbox.guest.search.candidates.broken.model import Draft
from sandbox.guest.search.candidates.broken.text import SyntaxContext
from sandbox.guest.search.source.render import TextEdit

COST = 0.4
CHANGES = (
    ("if a:\n    b = 1\nelse if c:\n    b = 2\n", "if a:\n    b = 1\nelif c:\n    b = 2\n"),
    ("if a:\n    b = 1\nelseif c:\n    b = 2\n", "if a:\n    b = 1\nelif c:\n    b = 2\n"),
    ("if a && b || !c:\n    d = 1\n", "if a and b or not c:\n    d = 1\n"),
    ("a++\n", "a += 1\n"),
    ("a--;\n", "a -= 1;\n"),
    ("x = a ? b : c\n", "x = b if a else c\n"),
    ("function f(a):\n    return a\n", "def f(a):\n    return a\n"),
    ("try:\n    f()\ncatch ValueError:\n    g()\n", "try:\n    f()\nexcept ValueError:\n    g()\n"),
    ("x = 1 // why not\n".replace("// why", "// why"), "x = 1 # why not\n"),
    ("var x = 1\n", "x = 1\n"),
    ("x = new Thing()\n", "x = Thing()\n"),
    ("throw ValueError()\n", "raise ValueError()\n"),
    ("if a =< b:\n    c = 1\n", "if a <= b:\n    c = 1\n"),
    ("f = (a) => a + 1\n", "f = lambda a: a + 1\n"),
    ("/* said\n   so */\nx = 1\n", "# said\n#   so\nx = 1\n"),
)
UNTOUCHED = ("x = f(a\n", "x = 'abc\n")
_SIGNS = {"&&": "and", "||": "or", "=<": "<=", "=>": ">="}
_WORDS = {
    "elseif": "elif", "elsif": "elif", "elseIf": "elif", "function": "def", "func": "def",
    "fn": "def", "fun": "def", "sub": "def", "catch": "except", "throw": "raise", "foreach": "for",
    "until": "while not", "unless": "if not", "using": "import", "include": "import",
    "require": "import", "switch": "match", "ensure": "finally", "rescue": "except",
}  # fmt: skip
_DROPPED = frozenset(
    {
        "var",
        "let",
        "const",
        "new",
        "public",
        "private",
        "static",
        "final",
        "then",
        "do",
        "my",
        "void",
    }
)


def propose(view: SyntaxContext) -> Iterator[Draft]:
    """Translate every occurrence of one construct, or of all constructs together."""
    found: List[Tuple[float, Tuple[TextEdit, ...]]] = [
        (cost, edits)
        for cost, edits in (
            (0.0, _else_if(view)), (0.0, _signs(view)), (0.1, _counting(view)), (0.1, _words(view)),
            (0.2, _dropped(view)), (0.2, _ternary(view)), (0.3, _comments(view)),
            (0.2, _arrow(view)),
        )
        if edits
    ]  # fmt: skip
    for cost, edits in found:
        yield Draft(COST + cost, edits)
        here = tuple(e for e in edits if abs(view.text.line_at(e.start) - view.fault.line) <= 1)
        if here and here != edits:
            yield Draft(COST + cost + 0.2, here)
    together = sorted({edit for _, edits in found for edit in edits})
    # Code of another language seldom contains only one of its constructs.
    if len(found) > 1 and all(one.end <= other.start for one, other in zip(together, together[1:])):
        yield Draft(COST + 0.2, tuple(together))


def _else_if(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    code = view.code
    return tuple(
        TextEdit(code[p].start, code[p + 1].end, "elif")
        for p in range(len(code) - 1)
        if code[p].text == "else"
        and code[p + 1].text == "if"
        and view.text.begins_line(p)
        and _one_line(view, p)
    )


def _one_line(view: SyntaxContext, position: int) -> bool:
    return view.code[position].line == view.code[position + 1].line


def _signs(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    edits = []
    for position, token in enumerate(view.code):
        if token.text in {"&&", "||", "=<"} or (
            token.text == "=>" and not _after_parenthesis(view, position)
        ):
            word = _SIGNS[token.text]
            left = view.text.text[token.start - 1 : token.start].strip() and word.isalpha()
            right = view.text.text[token.end : token.end + 1].strip() and word.isalpha()
            edits.append(
                TextEdit(
                    token.start, token.end, (" " if left else "") + word + (" " if right else "")
                )
            )
        elif (
            token.text == "!"
            and position + 1 < len(view.code)
            and view.code[position + 1].starts_operand
        ):
            before = view.code[position - 1].text if position else ""
            if before not in {"}", "{"}:
                edits.append(TextEdit(token.start, token.end, "not "))
    return tuple(edits)


def _after_parenthesis(view: SyntaxContext, position: int) -> bool:
    return position > 0 and view.code[position - 1].text == ")"


def _counting(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    """Replace the statement `a++` by `a += 1`."""
    edits = []
    for number in range(view.text.count):
        match = re.match(
            r"[ \t]*([\w.\[\]]+)[ \t]*(\+\+|--)(?=[ \t]*(?:;|#|$))", view.text.line(number)
        )
        if match:
            start = view.text.starts[number]
            edits.append(
                TextEdit(start + match.end(1), start + match.end(2), f" {match.group(2)[0]}= 1")
            )
    return tuple(edits)


def _words(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    edits = []
    for position, token in enumerate(view.code):
        following = view.code[position + 1] if position + 1 < len(view.code) else None
        if following is None or token.text not in _WORDS or not view.text.begins_line(position):
            continue
        if following.text not in {"=", "."} and (following.text != "(" or token.text != "fun"):
            edits.append(TextEdit(token.start, token.end, _WORDS[token.text]))
    return tuple(edits)


def _dropped(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    edits = []
    for position in range(len(view.code) - 1):
        token, following = view.code[position], view.code[position + 1]
        if (
            token.kind == NAME
            and token.text in _DROPPED
            and following.kind == NAME
            and token.line == following.line
        ):
            edits.append(TextEdit(token.start, following.start, ""))
    return tuple(edits)


def _ternary(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    edits = []
    for number in range(max(0, view.fault.line - 1), min(view.text.count, view.fault.line + 2)):
        line = view.text.line(number)
        match = re.match(
            r"(.*?(?:=|return|\(|,)\s*)([^?=]+?)\s*\?\s*([^:?]+?)\s*:\s*([^:?]+?)(\)*[,;]?\s*)$",
            line,
        )
        if match:
            start = view.text.starts[number]
            test, one, other = match.group(2, 3, 4)
            edits.append(
                TextEdit(
                    start + match.start(2), start + match.end(4), f"{one} if {test} else {other}"
                )
            )
    return tuple(edits)


def _comments(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    """Convert `// comment` near the error, and `/* ... */` anywhere."""
    text = view.text
    edits = []
    for match in re.finditer(r"/\*(.*?)\*/[ \t]*", text.text, re.DOTALL):
        lines = match.group(1).rstrip().split("\n")
        new = "\n".join(
            "#" + line.rstrip("\r") if line.startswith(" ") or not line else "# " + line
            for line in lines
        )
        edits.append(TextEdit(match.start(), match.end(), new))
    if edits:
        return tuple(edits)
    for number in range(max(0, view.fault.line - 1), min(text.count, view.fault.line + 2)):
        match_line = re.search(r"//(?=\s*\w+\s+\w+|\s*$)|(?<=^)\s*//", text.line(number))
        if match_line:
            start = text.starts[number]
            lead = len(match_line.group()) - 2 if match_line.group().strip() == "//" else 0
            edits.append(TextEdit(start + match_line.start() + lead, start + match_line.end(), "#"))
    return tuple(edits)


def _arrow(view: SyntaxContext) -> Tuple[TextEdit, ...]:
    """Convert `(a, b) => a` to a lambda."""
    edits = []
    for match in re.finditer(r"\(([\w, ]*)\)[ \t]*=>[ \t]*(?!\{)", view.text.text):
        names = match.group(1).strip()
        edits.append(
            TextEdit(match.start(), match.end(), f"lambda {names}: " if names else "lambda: ")
        )
    return tuple(edits)
