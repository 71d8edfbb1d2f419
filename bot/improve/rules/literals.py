"""Calls and choices with a literal, a default value or another expression in their place."""

import ast
import builtins
from collections.abc import Iterator

from bot.improve.rules.expressions import replaced
from bot.improve.rules.source import PythonFile, Rule, SpliceEdit, is_plain

_COLLECTIONS = {"set": (b"{", b"}"), "list": (b"[", b"]"), "tuple": (b"(", b")")}
_READ = frozenset({"r", "rt", "tr"})
_UTF8 = frozenset({"utf-8", "utf8"})
_ATOMS = (
    ast.Attribute | ast.Call | ast.Constant | ast.Dict | ast.List | ast.Name | ast.Set
    | ast.Subscript
)  # fmt: skip
"""Expressions that bind at least as tightly as an operand of `or`."""
_TYPES = tuple(name for name, value in vars(builtins).items() if isinstance(value, type))


def _collections(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
            continue
        if source.is_builtin(node.func, *_COLLECTIONS) and is_plain(source.text(node)):
            name = source.text(node.func).decode()
            new = _literal(name, node.args[0], source)
            if new is not None:
                yield replaced(node, new, source)


def _literal(name: str, inner: ast.expr, source: PythonFile) -> bytes | None:
    """Return the collection that a call makes of a literal; None if there is no shorter form."""
    text = source.text(inner)
    if isinstance(inner, ast.ListComp):
        items = text[1:-1]
        # A tuple has no such form.
        if name == "tuple":
            return None
    elif isinstance(inner, ast.List | ast.Tuple) and inner.elts:
        # The brackets of a tuple are not always its own.
        if text[:1] not in {b"[", b"("} or any(isinstance(n, ast.Starred) for n in inner.elts):
            return None
        items = text[1:-1].strip().removesuffix(b",").rstrip()
        if name == "tuple" and len(inner.elts) == 1:
            items += b","
    else:
        return None
    opening, closing = _COLLECTIONS[name]
    return opening + items + closing


def _read_modes(source: PythonFile) -> Iterator[SpliceEdit]:
    two = 2
    for node in source.outside_strings:
        if not isinstance(node, ast.Call) or not source.is_builtin(node.func, "open"):
            continue
        if len(node.args) != two or not is_plain(source.text(node)):
            continue
        mode = node.args[1]
        if isinstance(mode, ast.Constant) and isinstance(mode.value, str) and mode.value in _READ:
            start, end = source.span(node.args[0])[1], source.span(mode)[1]
            # A bracket would be the one of the first argument.
            if source.content[start : source.span(mode)[0]].strip() == b",":
                yield SpliceEdit(start=start, end=end)


def _encodings(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.Call) or node.keywords or len(node.args) != 1:
            continue
        method, name = node.func, node.args[0]
        if not isinstance(method, ast.Attribute) or method.attr != "encode":
            continue
        is_text = isinstance(method.value, ast.Constant) and isinstance(method.value.value, str)
        is_utf8 = isinstance(name, ast.Constant) and str(name.value).lower() in _UTF8
        if is_text and is_utf8 and is_plain(source.text(node)):
            yield SpliceEdit(start=source.span(name)[0], end=source.span(name)[1])


def _or_choices(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.IfExp) or not isinstance(node.test, ast.Name):
            continue
        is_same = isinstance(node.body, ast.Name) and node.body.id == node.test.id
        if is_same and isinstance(node.orelse, _ATOMS) and is_plain(source.text(node)):
            new = source.text(node.test) + b" or " + source.text(node.orelse)
            yield replaced(node, new, source)


def _type_checks(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.outside_strings:
        if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.Or):
            continue
        checks = [_type_check(value, source) for value in node.values]
        known = [check for check in checks if check is not None]
        same_name = len({name for name, _ in known}) == 1
        if len(known) == len(checks) and same_name and is_plain(source.text(node)):
            types = ", ".join(dict.fromkeys(one for _, types in known for one in types))
            yield replaced(node, f"isinstance({known[0][0]}, ({types}))".encode(), source)


def _type_check(node: ast.expr, source: PythonFile) -> tuple[str, list[str]] | None:
    """Return the name and the builtin types of a call of isinstance; None for other code."""
    two = 2
    if not isinstance(node, ast.Call) or not source.is_builtin(node.func, "isinstance"):
        return None
    if len(node.args) != two or node.keywords or not isinstance(node.args[0], ast.Name):
        return None
    types = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    names = [one.id for one in types if isinstance(one, ast.Name)]
    is_known = names and all(source.is_builtin(one, *_TYPES) for one in types)
    return (node.args[0].id, names) if is_known else None


RULES = (
    Rule(
        "collection",
        "write {things} as a literal",
        "collection",
        "the file never rebinds the builtin, and the literal has the same items",
        _collections,
    ),
    Rule(
        "read-mode",
        "remove {things}",
        "redundant mode of open",
        "the file never rebinds open, which reads text by default",
        _read_modes,
        plural="redundant modes of open",
    ),
    Rule(
        "encoding",
        "remove {things}",
        "redundant encoding",
        "str.encode uses UTF-8 by default",
        _encodings,
    ),
    Rule(
        "or-choice",
        "shorten {things}",
        "choice",
        "`a if a else b` and `a or b` test the same name once and give the same value",
        _or_choices,
    ),
    Rule(
        "type-check",
        "join {things}",
        "type check",
        "isinstance with several builtin types is true if one of them fits",
        _type_checks,
    ),
)
