"""Wrong or missing annotations of return values, variables and arguments."""

from __future__ import annotations

import ast
import re
from typing import Iterator, List, Optional

from sandbox.guest.search.findings.checker_types import CONVERTS, GOT, WANTED, find_type, spell_type
from sandbox.guest.search.findings.model import FixDraft
from sandbox.guest.search.findings.place import FUNCTIONS, FindingPlace, Function
from sandbox.guest.search.source.render import TextEdit

CODES = frozenset({
    "return-value", "return", "assignment", "var-annotated", "no-untyped-def", "valid-type",
    "type-arg", "reportReturnType", "reportAssignmentType", "reportAttributeAccessIssue", "ANN201",
    "ANN202", "ANN204", "ANN001", "reportGeneralTypeIssues", "func-returns-value",
    "reportMissingTypeArgument", "reportInvalidTypeForm", "invalid-return-type",
    "invalid-assignment", "empty-body", "dict-item", "list-item", "reportUnknownParameterType",
    "reportMissingParameterType", "R1710", "RET503", "invalid-type-form",
})  # fmt: skip
CHANGES = (
    (
        "def f(a) -> int:\n    return str(a)\n",
        (2, 12, "return-value", 'Incompatible return value type (got "str", expected "int")'),
        "def f(a) -> str:\n    return str(a)\n",
    ),
    (
        "def f(a) -> int:\n    return str(a)\n",
        (2, 12, "reportReturnType", 'Type "str" is not assignable to return type "int"'),
        "def f(a) -> int:\n    return int(str(a))\n",
    ),
    (
        "def f(a) -> int:\n    if a:\n        return None\n    return 1\n",
        (3, 16, "return-value", 'Incompatible return value type (got "None", expected "int")'),
        "def f(a) -> int | None:\n    if a:\n        return None\n    return 1\n",
    ),
    (
        "def f(a) -> int:\n    if a:\n        return 1\n",
        (1, 1, "return", "Missing return statement"),
        "def f(a) -> int | None:\n    if a:\n        return 1\n    return None\n",
    ),
    (
        "x: int = 'a'\n",
        (
            1,
            10,
            "assignment",
            'Incompatible types in assignment (expression has type "str", variable has type "int")',
        ),
        "x: str = 'a'\n",
    ),
    (
        "x = []\n",
        (1, 1, "var-annotated", 'Need type annotation for "x" (hint: "x: list[<type>] = ...")'),
        "x: list[str] = []\n",
    ),
    (
        "def f():\n    g()\n",
        (1, 1, "no-untyped-def", "Function is missing a return type annotation"),
        "def f() -> None:\n    g()\n",
    ),
    (
        "def f(a) -> None:\n    return 1\n",
        (2, 5, "return-value", "No return value expected"),
        "def f(a) -> int:\n    return 1\n",
    ),
    (
        "def f(a: callable) -> None:\n    a()\n",
        (1, 10, "valid-type", 'Function "builtins.callable" is not valid as a type'),
        "from typing import Callable\ndef f(a: Callable[..., object]) -> None:\n    a()\n",
    ),
)
UNTOUCHED = (
    ("x = 1\n", (1, 1, "return-value", "")),
    ("def f(a):\n    return a\n", (1, 1, "assignment", "")),
)


def propose(place: FindingPlace) -> Iterator[FixDraft]:
    """Change the annotation to the reported type, or convert the value."""
    got, wanted = find_type(GOT, place.message), find_type(WANTED, place.message)
    code = place.finding.code
    returns = [n for n in place.here(ast.Return) if isinstance(n, ast.Return)]
    if returns:
        yield from _returned(place, returns[0], got, wanted)
    if "issing return" in place.message or code in {"return", "R1710", "RET503", "empty-body"}:
        yield from _falls_off(place)
    if code in {"no-untyped-def", "ANN201", "ANN202", "ANN204"}:
        yield from _untyped(place)
    yield from _variable(place, got, wanted)
    if code == "var-annotated":
        yield from _needed(place)
    yield from _names(place)


def _returned(
    place: FindingPlace, statement: ast.Return, got: str, wanted: str
) -> Iterator[FixDraft]:
    function = place.function(statement)
    if function is None:
        return
    annotation = function.returns
    if annotation is not None:
        old = place.source.text(annotation)
        start, end = place.source.span(annotation)
        if got == "None" or statement.value is None:
            for text, more, extra in place.optional(old):
                yield FixDraft(0.3 + extra, (TextEdit(start, end, text), *more))
        for text, more in spell_type(place, got):
            yield FixDraft(0.4, (TextEdit(start, end, text), *more))
        if "No return value" in place.message or old == "None":
            guess = _shown_type(statement.value)
            if guess:
                yield FixDraft(0.4, (TextEdit(start, end, guess),))
            if statement.value is not None:
                yield place.rewrite(0.9, statement, place.source.text(statement.value))
    if wanted in CONVERTS and statement.value is not None and got != "None":
        yield place.replace(0.6, statement.value, f"{wanted}({place.source.text(statement.value)})")


def _shown_type(node: Optional[ast.expr]) -> str:
    """Return the plain type of an expression, if its syntax shows it."""
    if isinstance(node, ast.Constant):
        return "" if node.value is None else type(node.value).__name__
    shown = (
        (ast.JoinedStr, "str"),
        (ast.Compare, "bool"),
        (ast.List, "list"),
        (ast.Dict, "dict"),
        (ast.Tuple, "tuple"),
    )
    found = next((name for kind, name in shown if isinstance(node, kind)), "")
    if not found and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "bool"
    if (
        not found
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in CONVERTS
    ):
        return node.func.id
    return found


def _function_here(place: FindingPlace) -> Optional[Function]:
    found = [n for n in place.here(*FUNCTIONS) if isinstance(n, FUNCTIONS)]
    return found[0] if found else place.function()


def _falls_off(place: FindingPlace) -> Iterator[FixDraft]:
    """Add a return statement to a function that may end without one, or change its annotation."""
    function = _function_here(place)
    if function is None:
        return
    last = function.body[-1]
    indent = place.source.indent(last)
    end = place.source.line_span(last.lineno, last.end_lineno or last.lineno)[1]
    if indent is None:
        return
    newline = place.source.newline
    closing = TextEdit(end, end, f"{indent}return None{newline}")
    annotation = function.returns
    if annotation is None:
        yield FixDraft(0.3, (closing,))
        return
    start, stop = place.source.span(annotation)
    for text, more, extra in place.optional(place.source.text(annotation)):
        yield FixDraft(0.4 + extra, (TextEdit(start, stop, text), closing, *more))
    if not any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function)):
        yield FixDraft(0.3, (TextEdit(start, stop, "None"),))
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        yield place.rewrite(0.5, last, f"return {place.source.text(last)}")
    if (
        isinstance(last, ast.Assign)
        and len(last.targets) == 1
        and isinstance(last.targets[0], ast.Name)
    ):
        yield FixDraft(0.5, (TextEdit(end, end, f"{indent}return {last.targets[0].id}{newline}"),))
    yield FixDraft(
        1.2, (TextEdit(end, end, f"{indent}raise ValueError('no value to return'){newline}"),)
    )


def _untyped(place: FindingPlace) -> Iterator[FixDraft]:
    """Annotate a function with `-> None`, or with the common type of its results."""
    function = _function_here(place)
    if function is None or function.returns is not None:
        return
    head = place.source.data[
        place.source.span(function)[0] : place.source.span(function.body[0])[0]
    ].decode("utf-8")
    match = re.search(r"\)\s*:", head)
    if match is None:
        return
    at = place.source.span(function)[0] + len(head[: match.start() + 1].encode("utf-8"))
    results = [n for n in _own(function) if isinstance(n, ast.Return) and n.value is not None]
    yields = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in _own(function))
    kinds = {_shown_type(n.value) for n in results}
    if not results and not yields:
        yield FixDraft(0.2, (TextEdit(at, at, " -> None"),))
    elif len(kinds) == 1 and kinds != {""} and not yields:
        yield FixDraft(0.3, (TextEdit(at, at, f" -> {kinds.pop()}"),))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield from _own(child)


def _variable(place: FindingPlace, got: str, wanted: str) -> Iterator[FixDraft]:
    for node in place.here(ast.AnnAssign):
        if isinstance(node, ast.AnnAssign) and got:
            start, end = place.source.span(node.annotation)
            for text, more in spell_type(place, got):
                yield FixDraft(0.5, (TextEdit(start, end, text), *more))
            for text, more in spell_type(place, got):
                old = place.source.text(node.annotation)
                yield FixDraft(0.8, (TextEdit(start, end, f"{old} | {text}"), *more))
            if wanted in CONVERTS and node.value is not None:
                yield place.replace(0.6, node.value, f"{wanted}({place.source.text(node.value)})")
    for node in place.here(ast.Assign):
        if isinstance(node, ast.Assign) and wanted in CONVERTS and got != "None":
            yield place.replace(0.7, node.value, f"{wanted}({place.source.text(node.value)})")


def _needed(place: FindingPlace) -> Iterator[FixDraft]:
    """Annotate `x = []` with common element types."""
    for node in place.here(ast.Assign):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        hint = re.search(r"hint: \"[\w.]+: (\w+)\[", place.message)
        outer = hint.group(1) if hint else _shown_type(node.value) or "list"
        inside: List[str] = ["str, int", "str, str", "str, list[str]", "int, int", "str, object"]
        if outer.lower() not in {"dict", "defaultdict"}:
            inside = ["str", "int", "float", "bytes", "dict[str, str]", "tuple[str, str]", "object"]
        end = place.source.span(node.targets[0])[1]
        for rank, words in enumerate(inside):
            yield FixDraft(0.5 + 0.1 * rank, (TextEdit(end, end, f": {outer}[{words}]"),))


def _names(place: FindingPlace) -> Iterator[FixDraft]:
    """Replace `any` and `callable` by types, and add arguments to generic types."""
    for node in place.here(ast.Name):
        if not isinstance(node, ast.Name):
            continue
        if node.id == "callable" and "alid" in place.message + place.finding.code:
            for cost, name in ((0.3, "Callable"),):
                text = "Callable[..., object]"
                yield FixDraft(cost, (*place.typing(name), *place.rewrite(cost, node, text).edits))
        wants = place.finding.code in {"type-arg", "reportMissingTypeArgument"}
        if wants and node.id.lower() in {"list", "dict", "set", "tuple"}:
            words = (
                ["str, str", "str, int", "str, object"]
                if node.id.lower() == "dict"
                else ["str", "int", "object"]
            )
            for rank, word in enumerate(words):
                word = f"{word}, ..." if node.id == "tuple" else word
                yield place.rewrite(0.4 + 0.1 * rank, node, f"{node.id}[{word}]")
