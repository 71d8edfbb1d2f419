"""Small findings with one obvious edit: escapes, f-strings, lambdas, encodings, `zip`, layout."""

from __future__ import annotations

import ast
import re
from typing import Iterator, Tuple

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FUNCTIONS, FindingPlace
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({
    "W605", "W1401", "F541", "W1309", "E731", "C3001", "E741", "W291", "W293", "C0303", "W292",
    "C0304", "W391", "C0305", "E301", "E302", "E303", "E305", "E306", "E225", "E231", "E261",
    "E262", "E265", "E701", "C0321", "E703", "W0301", "B905", "W1514", "PLW1514", "W1510",
    "PLW1510", "R1705", "RET505", "C0325", "E203", "E201", "E202", "E251", "B009", "B010", "D200",
    "E401", "C0410", "R1711", "PLR1711", "RET501", "R0205", "UP004",
})  # fmt: skip
CHANGES = (
    ("x = '\\d'\n", (1, 5, "W605", "invalid escape sequence '\\d'"), "x = r'\\d'\n"),
    ("x = '\\d\\n'\n", (1, 5, "W605", "invalid escape sequence '\\d'"), "x = '\\\\d\\n'\n"),
    ("x = f'a'\n", (1, 5, "F541", "f-string without any placeholders"), "x = 'a'\n"),
    ("f = lambda a: a + 1\n", (1, 1, "E731", "a `lambda`"), "def f(a):\n    return a + 1\n"),
    ("for l in a:\n    f(l)\n", (1, 5, "E741", "Ambiguous: `l`"), "for l_ in a:\n    f(l_)\n"),
    ("x = 1  \n", (1, 6, "W291", "Trailing whitespace"), "x = 1\n"),
    ("x = 1", (1, 6, "W292", "No newline at end of file"), "x = 1\n"),
    ("x = 1\n\n\n", (2, 1, "W391", "Too many newlines at end of file"), "x = 1\n"),
    ("import a\ndef f():\n    pass\n", (2, 1, "E302", ""), "import a\n\n\ndef f():\n    pass\n"),
    ("def f():\n    pass\nx = 1\n", (3, 1, "E305", ""), "def f():\n    pass\n\n\nx = 1\n"),
    ("x = 1\n\n\n\n\ny = 2\n", (6, 1, "E303", "too many blank lines (4)"), "x = 1\n\n\ny = 2\n"),
    ("x = zip(a, b)\n", (1, 5, "B905", "no `strict=`"), "x = zip(a, b, strict=False)\n"),
    ("x = open(a)\n", (1, 5, "W1514", ""), 'x = open(a, encoding="utf-8")\n'),
    ("x = 1 #why\n", (1, 7, "E261", "at least two spaces before inline comment"), "x = 1  # why\n"),
    ("import os, re\n", (1, 1, "E401", "Multiple imports on one line"), "import os\nimport re\n"),
    ("x = getattr(a, 'b')\n", (1, 5, "B009", ""), "x = a.b\n"),
    ("if a: b()\n", (1, 5, "E701", "Multiple statements on one line (colon)"), "if a:\n    b()\n"),
    ("x = 1;\n", (1, 6, "E703", "Statement ends with an unnecessary semicolon"), "x = 1\n"),
)  # fmt: skip
UNTOUCHED = (
    ("x = 'a'\n", (1, 5, "F541", "")),
    ("x = 1\n", (1, 1, "E302", "")),
    ("f(1)\n", (1, 1, "B905", "")),
)


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Yield the edit that the rule demands."""
    code = place.finding.code
    if code in {"W605", "W1401"}:
        yield from _escapes(place)
    elif code in {"F541", "W1309"}:
        yield from _plain_strings(place)
    elif code in {"E731", "C3001"}:
        yield from _lambda(place)
    elif code == "E741":
        yield from _rename(place)
    elif code in {"B905", "W1514", "PLW1514", "W1510", "PLW1510", "B009"}:
        yield from _calls(place)
    else:
        yield from _layout(place)


def _escapes(place: FindingPlace) -> Iterator[FixDraft]:
    line = place.finding.line
    for node in place.nodes:
        if not isinstance(node, (ast.Constant, ast.JoinedStr)) or not node.lineno <= line <= (
            node.end_lineno or line
        ):
            continue
        start, end = place.source.span(node)
        text = place.source.data[start:end].decode("utf-8")
        if "\\" not in text or not re.match(r"[bBuUfF]{0,2}['\"]", text):
            continue
        if not re.search(r"\\[\\'\"abfnrtvxuUN0-7\n]", text):
            yield FixDraft(0.2, (TextEdit(start, start, "r"),))
        doubled = re.sub(r"\\([^\\'\"abfnrtvxuUN0-7\n\r])", r"\\\\\1", text)
        yield FixDraft(0.3, (TextEdit(start, end, doubled),))


def _plain_strings(place: FindingPlace) -> Iterator[FixDraft]:
    for node in place.here(ast.JoinedStr):
        if isinstance(node, ast.JoinedStr) and not any(
            isinstance(v, ast.FormattedValue) for v in node.values
        ):
            start, end = place.source.span(node)
            text = place.source.data[start:end].decode("utf-8")
            head = re.match(r"[rRfF]{1,2}(?=['\"])", text)
            if head and "{{" not in text and "}}" not in text:
                yield FixDraft(
                    0.2, (TextEdit(start, start + head.end(), re.sub("[fF]", "", head.group())),)
                )


def _lambda(place: FindingPlace) -> Iterator[FixDraft]:
    for node in place.here(ast.Assign):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Lambda)
            and isinstance(node.targets[0], ast.Name)
        ):
            body = place.source.text(node.value.body)
            head = (
                place.source.text(node.value)[len("lambda") :].split(":")[0]
                if node.value.args.args
                else ""
            )
            start = place.source.span(node.value)[0]
            until = place.source.span(node.value.body)[0]
            head = (
                place.source.data[start + len("lambda") : until]
                .decode("utf-8")
                .rstrip()
                .rstrip("(")
                .rstrip()
            )
            indent = place.source.indent(node) or ""
            arguments = head[:-1].strip() if head.endswith(":") else head.strip()
            header = f"def {node.targets[0].id}({arguments}):"
            text = f"{header}{place.source.newline}{indent}    return {body}"
            yield place.rewrite(0.3, node, text)


def _rename(place: FindingPlace) -> Iterator[FixDraft]:
    match = re.search(r"[`'\"](l|O|I)[`'\"]", place.message)
    if match is None:
        return
    name = match.group(1)
    statement = place.statement()
    within: ast.AST = place.function(statement) or place.source.tree
    names = [n for n in ast.walk(within) if isinstance(n, ast.Name) and n.id == name]
    if any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(within)):
        return
    taken = set(place.names())
    for rank, new in enumerate(
        word for word in (f"{name}_", "item", "value", "line") if word not in taken
    ):
        yield FixDraft(0.3 + 0.2 * rank, tuple(TextEdit(*place.source.span(n), new) for n in names))


def _calls(place: FindingPlace) -> Iterator[FixDraft]:
    code = place.finding.code
    wanted = {
        "B905": (("zip",), "strict=False", "strict=True"),
        "W1514": (("open", "read_text", "write_text"), 'encoding="utf-8"', 'encoding="locale"'),
        "PLW1514": (("open", "read_text", "write_text"), 'encoding="utf-8"', 'encoding="locale"'),
        "W1510": (("run",), "check=False", "check=True"),
        "PLW1510": (("run",), "check=False", "check=True"),
    }.get(code)
    for node in place.here(ast.Call):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        if wanted is not None and name in wanted[0]:
            end = place.source.span(node)[1] - 1
            inside = place.source.data[:end].rstrip()
            comma = "" if inside.endswith((b"(", b",")) else ", "
            for rank, text in enumerate(wanted[1:]):
                yield FixDraft(0.2 + 0.2 * rank, (TextEdit(end, end, f"{comma}{text}"),))
        elif code == "B009" and name == "getattr" and len(node.args) == 2:
            attribute = node.args[1]
            if isinstance(attribute, ast.Constant) and str(attribute.value).isidentifier():
                yield place.replace(
                    0.2, node, place.source.part(node.args[0], 16) + "." + str(attribute.value)
                )


def _layout(place: FindingPlace) -> Iterator[FixDraft]:
    """Correct blank lines, spaces and line ends."""
    code, number = place.finding.code, place.finding.line
    line = place.line_text
    start = (
        place.source.line_span(number, number)[0]
        if number < place.count + 1
        else len(place.source.data)
    )
    newline = place.source.newline
    if code in {"W291", "W293", "C0303"}:
        kept = line.rstrip()
        yield FixDraft(0.1, (TextEdit(start + len(kept.encode()), start + len(line.encode()), ""),))
    elif code in {"W292", "C0304"} and not place.source.data.endswith(b"\n"):
        yield FixDraft(0.1, (TextEdit(len(place.source.data), len(place.source.data), newline),))
    elif code in {"W391", "C0305"}:
        end = len(place.source.data.rstrip())
        yield FixDraft(0.1, (TextEdit(end, len(place.source.data), newline),))
    elif code in {"E301", "E302", "E303", "E305", "E306"}:
        yield from _blank_lines(place, start)
    elif code in {"E261", "E262", "E265"}:
        match = re.search(r"[ \t]*#+:?(?!!)[ \t]*", line)
        if match:
            inline = bool(line[: match.start()].strip())
            mark = match.group().strip()
            span = _bytes(line, match.start(), match.end(), start)
            indent = line[: len(line) - len(line.lstrip())]
            yield FixDraft(0.1, (TextEdit(*span, f"  {mark} " if inline else f"{indent}{mark} "),))
    else:
        yield from _join(place, start)


def _join(place: FindingPlace, start: int) -> Iterator[FixDraft]:
    """Move statements to lines of their own."""
    code, line = place.finding.code, place.line_text
    if code in {"E703", "W0301"} and line.rstrip().endswith(";"):
        at = start + len(line.rstrip()[:-1].rstrip().encode())
        yield FixDraft(0.1, (TextEdit(at, start + len(line.encode()), ""),))
    elif code in {"E701", "C0321"}:
        yield from _own_lines(place)
    elif code in {"E401", "C0410"}:
        node = next(iter(place.here(ast.Import)), None)
        if isinstance(node, ast.Import):
            indent = place.source.indent(node) or ""
            names = [
                f"import {a.name}" + (f" as {a.asname}" if a.asname else "") for a in node.names
            ]
            yield place.rewrite(0.1, node, (place.source.newline + indent).join(names))


def _bytes(line: str, first: int, last: int, start: int) -> Tuple[int, int]:
    return start + len(line[:first].encode()), start + len(line[:last].encode())


def _blank_lines(place: FindingPlace, start: int) -> Iterator[FixDraft]:
    """Insert as many blank lines before a line as the rule demands."""
    number = place.finding.line
    top = not place.line_text.startswith((" ", "\t"))
    wanted = 2 if top else 1
    blank = 0
    while number - 1 - blank >= 1 and not place.line(number - 1 - blank).strip():
        blank += 1
    if blank == wanted or number == 1:
        return
    first = place.source.line_span(number - blank, number - blank)[0] if blank else start
    yield FixDraft(0.1, (TextEdit(first, start, place.source.newline * wanted),))


def _own_lines(place: FindingPlace) -> Iterator[FixDraft]:
    for node in place.here(ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ClassDef, *FUNCTIONS):
        body = getattr(node, "body", [])
        if isinstance(node, ast.stmt) and body and body[0].lineno == node.lineno:
            indent = place.source.indent(node)
            at = place.source.span(body[0])[0]
            before = len(place.source.data[:at].rstrip(b" \t"))
            if indent is not None:
                yield FixDraft(0.1, (TextEdit(before, at, f"{place.source.newline}{indent}    "),))
