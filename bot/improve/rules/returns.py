"""`-> None` for functions that can be proved to return nothing else."""

import ast
from collections.abc import Iterator

from bot.improve.rules.source import Function, PythonFile, Rule, SpliceEdit, own_nodes

_GENERATES = ast.Yield | ast.YieldFrom
_KNOWN_DECORATORS = frozenset({"staticmethod", "classmethod"})


def _missing_none(source: PythonFile) -> Iterator[SpliceEdit]:
    # A file without annotations may avoid them on purpose, or check types in another way.
    if not any(isinstance(node, ast.arg) and node.annotation for node in source.nodes):
        return
    for function in source.functions:
        if function.returns is None and _returns_nothing(function) and _is_annotated(function):
            yield from _annotated(function, source)


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
    names = [one.id for one in function.decorator_list if isinstance(one, ast.Name)]
    known = len(names) == len(function.decorator_list) and set(names) <= _KNOWN_DECORATORS
    return bool(real) and known and not isinstance(body[-1], ast.Raise)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_annotated(function: Function) -> bool:
    """Return True if type checkers examine the function already: a parameter is annotated."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return any(argument.annotation for argument in every)


def _annotated(function: Function, source: PythonFile) -> Iterator[SpliceEdit]:
    start, end = source.span(function)[0], source.span(function.body[0])[0]
    head = source.content[start:end]
    # A comment or a string in the head could hold a bracket.
    if set(b"#\"'") & set(head):
        return
    close = head.rfind(b")")
    colon = head.find(b":", close)
    if close > 0 and colon > 0 and not head[close + 1 : colon].strip():
        yield SpliceEdit(start=start + close + 1, end=start + close + 1, text=b" -> None")


RULES = (
    Rule(
        "none-annotation",
        "annotate {count} function{s} with -> None",
        "every path of the function returns None",
        _missing_none,
    ),
)
