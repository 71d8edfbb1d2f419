"""Values that may be None: add a guard, another expression, or an honest annotation."""

from __future__ import annotations

import ast
from typing import Iterator, List, Optional, Tuple

from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FUNCTIONS, FindingPlace, last_line
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({
    "union-attr", "index", "operator", "arg-type", "attr-defined", "misc",
    "reportOptionalMemberAccess", "return-value", "reportOptionalSubscript",
    "reportOptionalIterable", "reportOptionalCall", "reportOptionalOperand", "call-overload",
    "reportOptionalContextManager", "possibly-missing-attribute", "possibly-unbound-attribute",
    "assignment", "reportArgumentType", "E1136", "non-subscriptable", "reportReturnType",
    "invalid-argument-type", "not-iterable",
})  # fmt: skip
CHANGES = (
    (
        "def f(a: T | None) -> T:\n    return a.up()\n",
        (2, 12, "union-attr", 'Item "None" of "Optional[str]" has no attribute "up"'),
        (
            "def f(a: T | None) -> T:\n"
            "    if a is None:\n        raise ValueError('a is None')\n    return a.up()\n"
        ),
    ),
    (
        "def f(a):\n    x = g(a)\n    x.run()\n",
        (3, 5, "reportOptionalMemberAccess", '"run" is not a known attribute of "None"'),
        "def f(a):\n    x = g(a)\n    if x is not None:\n        x.run()\n",
    ),
    (
        "def f(a):\n    x = g(a)\n    x.run()\n",
        (3, 5, "union-attr", 'Item "None" of "X | None" has no attribute "run"'),
        "def f(a):\n    x = g(a)\n    if x is None:\n        return\n    x.run()\n",
    ),
    (
        "def f(a):\n    for b in a:\n        b.run()\n",
        (3, 9, "union-attr", 'Item "None" of "Optional[B]" has no attribute "run"'),
        (
            "def f(a):\n    for b in a:\n"
            "        if b is None:\n            continue\n        b.run()\n"
        ),
    ),
    (
        "def f(a: int = None):\n    return a\n",
        (
            1,
            16,
            "assignment",
            (
                'Incompatible default for argument "a" '
                '(default has type "None", argument has type "int")'
            ),
        ),
        "def f(a: int | None = None):\n    return a\n",
    ),
    (
        "x = m.group(1)\n",
        (1, 5, "union-attr", 'Item "None" of "Optional[Match[str]]" has no attribute "group"'),
        "x = m.group(1) if m is not None else None\n",
    ),
)
UNTOUCHED = (
    ("x = a.b\n", (1, 5, "union-attr", 'Item "int" of "Union[int, str]" has no attribute "b"')),
    (
        "import math\ndef f():\n    return math.pi\n",
        (3, 0, "union-attr", 'Item "None" of "Optional[X]" has no attribute "b"'),
    ),
    (
        "x = f(1)\n",
        (1, 7, "arg-type", 'Argument 1 to "f" has incompatible type "int"; expected "str"'),
    ),
)

_EMPTY = (
    ("bool", "False"),
    ("str", "''"),
    ("int", "0"),
    ("list", "[]"),
    ("dict", "{}"),
    ("List", "[]"),
)


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Leave early, skip an iteration, choose another value, or correct the annotation."""
    message = place.message
    if (
        "None" not in message
        and "Optional" not in message
        and not place.finding.code.startswith("reportOptional")
    ):
        return
    yield from _default(place)
    for subject in _subjects(place)[:3]:
        text = place.source.text(subject)
        statement = place.enclosing_statement(subject)
        if statement is None or "\n" in text:
            continue
        yield from _guards(place, statement, subject, text)
        yield from _choose(place, subject, text)


def _default(place: FindingPlace) -> Iterator[FixDraft]:
    """Make the annotations of `a: int = None` and `x: int = None` optional."""
    for node in place.nodes:
        pairs = []
        if isinstance(node, FUNCTIONS):
            plain = [*getattr(node.args, "posonlyargs", []), *node.args.args]
            pairs = list(zip(plain[len(plain) - len(node.args.defaults) :], node.args.defaults))
            pairs += [
                (a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None
            ]
            found = [(a.annotation, d) for a, d in pairs if a.annotation is not None]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            found = [(node.annotation, node.value)]
        else:
            continue
        for annotation, value in found:
            none = isinstance(value, ast.Constant) and value.value is None
            if annotation is None or place.finding.line not in {annotation.lineno, value.lineno}:
                continue
            if none or isinstance(node, ast.AnnAssign):
                for text, more, extra in place.optional(place.source.text(annotation)):
                    start, end = place.source.span(annotation)
                    yield FixDraft(0.3 + extra, (TextEdit(start, end, text), *more))


def _subjects(place: FindingPlace) -> List[ast.expr]:
    """Return expressions on the line whose value is used, nearest to the column first."""
    found: List[ast.expr] = []
    for node in place.here(
        ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.Compare, ast.For, ast.Starred
    ):
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            found.append(node.value)
        elif isinstance(node, ast.Call):
            found += [node.func, *node.args, *(k.value for k in node.keywords)]
        elif isinstance(node, ast.BinOp):
            found += [node.left, node.right]
        elif isinstance(node, ast.Compare):
            found += [node.left, *node.comparators]
        elif isinstance(node, ast.For):
            found.append(node.iter)
    found += [
        n.value for n in place.here(ast.Return) if isinstance(n, ast.Return) and n.value is not None
    ]
    plain = [n for n in found if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    calls = [n for n in found if isinstance(n, ast.Call)]
    chosen: List[ast.expr] = []
    seen = set()
    for node in [*plain, *calls]:
        text = place.source.text(node)
        called = (
            isinstance(place.source.places[node].parent, ast.Call)
            and place.source.places[node].field == "func"
        )
        is_guardable = not called or place.finding.code.startswith("reportOptionalCall")
        # Without a column every name of the line is a subject. What the file imports or defines
        # is never None.
        if text not in seen and is_guardable and not _is_defined(place, node):
            seen.add(text)
            chosen.append(node)
    return chosen


def _is_defined(place: FindingPlace, node: ast.expr) -> bool:
    """Return True for a name that the file imports or defines, and for a part of a module."""
    if isinstance(node, ast.Name):
        return place.binds(node.id)
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and any(
        isinstance(statement, ast.Import)
        and root.id in [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
        for statement in place.source.tree.body
    )


def _guards(
    place: FindingPlace, statement: ast.stmt, subject: ast.expr, text: str
) -> Iterator[FixDraft]:
    """Add a guard before the statement or around it."""
    if isinstance(subject, ast.Call):
        yield from _named(place, statement, subject, text)
        return
    indent = place.source.indent(statement)
    span = place.source.whole_lines(statement)
    if indent is None:
        return
    step = _step(place)
    function = place.function(statement)
    condition = f"if {text} is None:"
    for cost, leave in _ways_out(place, statement, function, text):
        yield FixDraft(cost, place.before(statement, condition, f"{step}{leave}"))
    if span is not None and not isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Return)):
        lines = place.source.data[span[0] : span[1]].decode("utf-8").splitlines(keepends=True)
        binds = isinstance(
            statement, (ast.Assign, ast.AnnAssign, ast.With, ast.Import, ast.ImportFrom)
        )
        inner = "".join(step + line if line.strip() else line for line in lines)
        if "'''" not in inner and '"""' not in inner:
            new = f"{indent}if {text} is not None:{place.source.newline}{inner}"
            yield FixDraft(1.2 if binds else 0.5, (TextEdit(span[0], span[1], new),))
    if isinstance(statement, (ast.If, ast.While)) and statement.test is not None:
        test = place.source.part(statement.test, 5)
        if any(n is subject for n in ast.walk(statement.test)):
            yield place.replace(0.5, statement.test, f"{text} is not None and {test}")


def _ways_out(
    place: FindingPlace, statement: ast.stmt, function: Optional[ast.AST], text: str
) -> Iterator[Tuple[float, str]]:
    quote = "'" if "'" not in text else '"'
    if place.in_loop(statement):
        yield 0.5, "continue"
    if function is not None:
        returns = [
            n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None
        ]
        annotation = getattr(function, "returns", None)
        gives = place.source.text(annotation) if annotation is not None else ""
        if not returns:
            yield 0.55, "return"
        elif not gives or "None" in gives or "Optional" in gives:
            yield 0.6, "return None"
        for word, value in (
            ("bool", "False"),
            ("str", "''"),
            ("int", "0"),
            ("list", "[]"),
            ("dict", "{}"),
            ("List", "[]"),
        ):
            if gives.startswith(word):
                yield 0.9, f"return {value}"
        yield 0.7, f"raise ValueError({quote}{text} is None{quote})"
    else:
        yield 0.9, f"raise ValueError({quote}{text} is None{quote})"
    yield 1.6, f"raise RuntimeError({quote}{text} is None{quote})"


def _named(
    place: FindingPlace, statement: ast.stmt, call: ast.Call, text: str
) -> Iterator[FixDraft]:
    """Assign the result of a call that may be None to a name, then guard it."""
    function = place.function(statement)
    names = set(place.names())
    name = next(
        (word for word in ("found", "result", "value", "given", "outcome") if word not in names), ""
    )
    edits = place.before(statement, f"{name} = {text}", f"if {name} is None:")
    if not name or not edits:
        return
    step = _step(place)
    indent = place.source.indent(statement) or ""
    start, end = place.source.span(call)
    for cost, leave in _ways_out(place, statement, function, name):
        lines = f"{edits[0].text}{indent}{step}{leave}{place.source.newline}"
        yield FixDraft(
            cost + 0.4, (TextEdit(edits[0].start, edits[0].end, lines), TextEdit(start, end, name))
        )


def _choose(place: FindingPlace, subject: ast.expr, text: str) -> Iterator[FixDraft]:
    """Replace an expression that uses None by another value."""
    if isinstance(subject, ast.Call):
        return
    outer: ast.AST = subject
    while outer in place.source.places:
        where = place.source.places[outer]
        if isinstance(where.parent, (ast.Attribute, ast.Subscript)) or (
            isinstance(where.parent, ast.Call) and where.field == "func"
        ):
            outer = where.parent
        else:
            break
    if outer is not subject and last_line(outer) == getattr(outer, "lineno", 0):
        whole = place.source.text(outer)
        for cost, other in ((0.8, "None"), (1.3, "''"), (1.4, "0"), (1.5, "False"), (1.5, "[]")):
            yield place.replace(cost, outer, f"{whole} if {text} is not None else {other}")
    else:
        for cost, other in ((1.0, "''"), (1.1, "0"), (1.2, "[]"), (1.2, "{}"), (1.5, "()")):
            yield place.replace(cost, subject, f"{text} or {other}")


def _step(place: FindingPlace) -> str:
    for node in place.nodes:
        body = getattr(node, "body", None)
        if (
            isinstance(node, ast.stmt)
            and isinstance(body, list)
            and body
            and isinstance(body[0], ast.stmt)
        ):
            outer, inner = place.source.indent(node), place.source.indent(body[0])
            if (
                outer is not None
                and inner is not None
                and inner.startswith(outer)
                and inner != outer
            ):
                return inner[len(outer) :]
    return "    "
