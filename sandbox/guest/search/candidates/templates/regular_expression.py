"""A regular expression that matches too much or too little: a quantifier, anchor, class, flag."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Set

from sandbox.guest.search.candidates.patterns import distinct
from sandbox.guest.search.source.render import TextEdit
from sandbox.guest.search.source.scope import CodeScope, ProposedEdits
from sandbox.guest.search.source.texts import StringPart, string_parts

COST = 1.0
CHANGES = (
    ("import re\nX = re.compile(r'\\d+')\n", "import re\nX = re.compile(r'\\d*')\n"),
    ("import re\nX = re.compile(r'a.b')\n", "import re\nX = re.compile(r'a\\.b')\n"),
    ("import re\nX = re.compile(r'[a-z]+')\n", "import re\nX = re.compile(r'[a-z_]+')\n"),
    ("import re\nX = re.compile('[a-z]+', re.M)\n", "import re\nX = re.compile('[a-z]+')\n"),
    ("import re\nX = re.compile(r'ab')\n", "import re\nX = re.compile(r'ab', re.IGNORECASE)\n"),
    ("import re\nX = re.compile(r'^a|b$')\n", "import re\nX = re.compile(r'^(?:a|b)$')\n"),
    (
        "def f(s):\n    return re.sub(r'\\s+$', '', s)\n",
        "def f(s):\n    return re.sub(r'\\s+', '', s)\n",
    ),
    (
        "def f(s):\n    return re.findall('\\\\w+', s)\n",
        "def f(s):\n    return re.findall(r'[\\w-]+', s)\n",
    ),
    ("PART = r'(a|ab)'\n", "PART = r'(ab|a)'\n"),
    ("def f(s):\n    return re.match('a', s)\n", "def f(s):\n    return re.match('a$', s)\n"),
)
UNTOUCHED = ("x = 'a.b'\n", "import os\nx = os.path.join('a.b', 'c')\n")

FUNCTIONS = {
    "compile",
    "match",
    "search",
    "fullmatch",
    "sub",
    "subn",
    "split",
    "findall",
    "finditer",
}
MODULES = {"re", "regex", "_re"}
FLAGS = ("IGNORECASE", "DOTALL", "MULTILINE", "VERBOSE", "ASCII")
MAX_LENGTH = 400
"""Maximum length of a pattern to change, in characters."""


def propose(node: ast.AST, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change one token of a pattern, or one flag."""
    if isinstance(node, ast.Call) and _is_regex_call(node):
        yield from _flags(node, scope)
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (str, bytes))
        and node in scope.source.places
    ):
        start, end = scope.source.span(node)
        literal = scope.source.data[start:end]
        if len(literal) <= MAX_LENGTH * 4 and _is_pattern(node, literal, scope):
            for part in string_parts(literal):
                if len(part.body) <= MAX_LENGTH:
                    yield from _part(start, part, scope)


def _part(start: int, part: StringPart, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    """Change a pattern in place if it is raw or has no backslash; otherwise rewrite it as raw."""
    seen = scope.literals.strings
    if part.is_plain:
        at = start + part.body_start
        raw = "r" in part.prefix.lower()
        for change, _ in distinct(part.body, seen, scope.literals.words):
            before = len(part.body[: change.start].encode("utf-8"))
            old = len(part.body[change.start : change.end].encode("utf-8"))
            edits = [TextEdit(at + before, at + before + old, change.text)]
            if not raw and "\\" in change.text:
                edits.insert(0, TextEdit(start + part.start, start + part.start, "r"))
            if part.quote[0] not in change.text:
                yield ProposedEdits(COST + change.surprise, tuple(edits))
        return
    try:
        value = ast.literal_eval(f"{part.prefix}{part.quote}{part.body}{part.quote}")
    except (ValueError, SyntaxError):
        return
    value = value.decode("latin-1") if isinstance(value, bytes) else value
    if not value.isprintable():
        return
    for change, new in distinct(value, seen, scope.literals.words):
        if part.quote not in new and not new.endswith("\\"):
            text = f"r{part.prefix}{part.quote}{new}{part.quote}"
            yield ProposedEdits(
                COST + change.surprise, (TextEdit(start + part.start, start + part.end, text),)
            )


def _is_pattern(node: ast.Constant, literal: bytes, scope: CodeScope) -> bool:
    prefix = literal[: max(literal.find(b"'"), literal.find(b'"'), 0)][:2].lower()
    parent = _above(node, scope)
    if isinstance(parent, ast.Call) and _is_regex_call(parent):
        return not parent.args or _holds(parent.args[0], node)
    if b"r" in prefix and b'"""' not in literal[:5]:
        return any(
            mark in literal for mark in (b"\\", b"*", b"+", b"?", b"[", b"(", b"|", b"^", b"$")
        )
    bound = _bound_to(node, scope)
    return bool(bound) and bound in _names_compiled(scope)


def _above(node: ast.AST, scope: CodeScope) -> ast.AST:
    """Return the parent of a literal, looking through `+`, `%`, `|`, lists and tuples."""
    parent = scope.parent(node)
    while isinstance(parent, (ast.BinOp, ast.Tuple, ast.List)) and parent in scope.source.places:
        parent = scope.parent(parent)
    return parent


def _holds(tree: ast.AST, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(tree))


def _bound_to(node: ast.AST, scope: CodeScope) -> str:
    parent = _above(node, scope)
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    return ""


def _names_compiled(scope: CodeScope) -> Set[str]:
    """Return the names whose value is passed to `re` in the file."""
    if "names_compiled" not in scope.source.notes:
        names: Set[str] = set()
        for call in scope.source.nodes:
            if isinstance(call, ast.Call) and _is_regex_call(call) and call.args:
                names |= {n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)}
        scope.source.notes["names_compiled"] = names
    found: Set[str] = scope.source.notes["names_compiled"]
    return found


def _is_regex_call(call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in FUNCTIONS:
        return False
    return isinstance(function.value, ast.Name) and function.value.id in MODULES


def _flags(call: ast.Call, scope: CodeScope) -> Iterator[Optional[ProposedEdits]]:
    function = call.func
    if not isinstance(function, ast.Attribute) or not call.args:
        return
    module = scope.text(function.value)
    given = [k.value for k in call.keywords if k.arg == "flags"]
    # Positions of the `flags` parameter in the functions of `re`.
    place = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(function.attr, 2)
    given += call.args[place : place + 1]
    if given:
        yield from _other_flags(given[0], module, scope)
        return
    last: List[ast.AST] = [*call.args, *(k.value for k in call.keywords)]
    at = max(scope.source.span(node)[1] for node in last)
    word = "" if function.attr == "compile" and not call.keywords else "flags="
    for rank, flag in enumerate(FLAGS):
        yield ProposedEdits(
            COST + 0.2 + 0.1 * rank, (TextEdit(at, at, f", {word}{module}.{flag}"),)
        )


def _other_flags(
    flags: ast.expr, module: str, scope: CodeScope
) -> Iterator[Optional[ProposedEdits]]:
    text = scope.text(flags)
    for flag in FLAGS:
        if flag not in text:
            yield scope.replace(COST + 0.3, flags, f"{module}.{flag}")
            yield scope.replace(COST + 0.2, flags, f"{text} | {module}.{flag}")
    if isinstance(flags, ast.BinOp):
        yield scope.replace(COST + 0.2, flags, scope.text(flags.left))
        yield scope.replace(COST + 0.2, flags, scope.text(flags.right))
    call = scope.parent(flags)
    call = scope.parent(call) if isinstance(call, ast.keyword) else call
    if isinstance(call, ast.Call):
        ends = [
            scope.source.span(a)[1]
            for a in call.args
            if scope.source.span(a)[1] < scope.source.span(flags)[0]
        ]
        if ends:
            yield ProposedEdits(COST + 0.3, (TextEdit(max(ends), scope.source.span(flags)[1], ""),))
