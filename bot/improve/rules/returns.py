"""Types of returned values that can be proved."""

import ast
from collections.abc import Iterator

from bot.improve.rules.expressions import is_boolean
from bot.improve.rules.source import Function, PythonFile, Rule, SpliceEdit, own_nodes

_GENERATES = ast.Yield | ast.YieldFrom
_TYPES = ("bool", "str", "int")
_KNOWN_DECORATORS = frozenset({"staticmethod", "classmethod"})


def _missing_none(source: PythonFile) -> Iterator[SpliceEdit]:
    # A file without annotations may avoid them on purpose, or check types in another way.
    if not any(isinstance(node, ast.arg) and node.annotation for node in source.nodes):
        return
    for function in source.functions:
        if function.returns is None and _returns_nothing(function) and _is_annotated(function):
            yield from _annotated(function, source, "None")


def _missing_types(source: PythonFile) -> Iterator[SpliceEdit]:
    for function in source.functions:
        if function.returns is None and _is_annotated(function) and _is_known(function):
            name = _returned_type(function, source)
            if name is not None and name not in source.bound:
                yield from _annotated(function, source, name)


def _returned_type(function: Function, source: PythonFile) -> str | None:
    """Return the builtin type of every returned value; None if it is not proved."""
    nodes = list(own_nodes(function))
    values = [node.value for node in nodes if isinstance(node, ast.Return)]
    # A single constant is often a default that a subclass overrides.
    is_default = len(values) == 1 and isinstance(values[0], ast.Constant)
    is_generator = any(isinstance(node, _GENERATES) for node in nodes)
    if is_default or is_generator or not _always_returns(function.body):
        return None
    types = {None if value is None else _type_of(value, source) for value in values}
    return next(iter(types)) if len(types) == 1 else None


def _always_returns(block: list[ast.stmt]) -> bool:
    """Return True if a block never ends without a return or an exception."""
    last = block[-1]
    if isinstance(last, ast.If):
        return bool(last.orelse) and _always_returns(last.body) and _always_returns(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)


def _type_of(value: ast.expr, source: PythonFile) -> str | None:
    """Return the name of an expression's type if it is a boolean, text or whole number."""
    if isinstance(value, ast.Constant):
        name = type(value.value).__name__
        return name if name in _TYPES else None
    if isinstance(value, ast.JoinedStr):
        return "str"
    if is_boolean(value, source):
        return "bool"
    if isinstance(value, ast.Call) and source.is_builtin(value.func, "len"):
        return "int"
    return None


def _is_known(function: Function) -> bool:
    """Return True if no decorator changes what a call of the function returns."""
    names = [one.id for one in function.decorator_list if isinstance(one, ast.Name)]
    return len(names) == len(function.decorator_list) and set(names) <= _KNOWN_DECORATORS


def _returns_nothing(function: Function) -> bool:
    """Return True if the function always returns None, and is no placeholder to be overridden."""
    nodes = list(own_nodes(function))
    if any(isinstance(node, _GENERATES) for node in nodes):
        return False
    returned = [node.value for node in nodes if isinstance(node, ast.Return) and node.value]
    if not all(isinstance(value, ast.Constant) and value.value is None for value in returned):
        return False
    body = [one for one in function.body if not _is_text(one)]
    # An empty body, or one that raises, is often overridden by a method that returns a value.
    real = [one for one in body if not isinstance(one, ast.Pass | ast.Raise)]
    return bool(real) and _is_known(function) and not isinstance(body[-1], ast.Raise)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_annotated(function: Function) -> bool:
    """Return True if type checkers examine the function already: a parameter is annotated."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return any(argument.annotation for argument in every)


def _annotated(function: Function, source: PythonFile, name: str) -> Iterator[SpliceEdit]:
    start, end = source.span(function)[0], source.span(function.body[0])[0]
    head = source.content[start:end]
    # A comment or a string in the head could hold a bracket.
    if set(b"#\"'") & set(head):
        return
    close = head.rfind(b")")
    colon = head.find(b":", close)
    if close > 0 and colon > 0 and not head[close + 1 : colon].strip():
        yield SpliceEdit(
            start=start + close + 1, end=start + close + 1, text=f" -> {name}".encode()
        )


RULES = (
    Rule(
        "none-annotation",
        "annotate {things} with -> None",
        "function",
        "every path of the function returns None",
        _missing_none,
    ),
    Rule(
        "return-annotation",
        "annotate {things} with the type of the result",
        "function",
        "every path of the function raises or returns a value of this builtin type",
        _missing_types,
    ),
)
