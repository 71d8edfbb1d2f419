"""Statements that can never run, or do nothing."""

import ast
import re
from collections.abc import Iterator

from bot.improve.rules.source import (
    Block,
    Function,
    PythonFile,
    Rule,
    SpliceEdit,
    bound_by,
    own_nodes,
)

_ENDS = ast.Return | ast.Raise | ast.Continue | ast.Break
_LOOP = ast.For | ast.AsyncFor | ast.While
_ELSE_PASS = re.compile(rb"[ \t]*\r?\n[ \t]*else[ \t]*:\s*pass")
_SHAPES_FUNCTION = ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal


def _unreachable(source: PythonFile) -> Iterator[SpliceEdit]:
    for function in source.functions:
        own = set(map(id, own_nodes(function)))
        for block in source.blocks(function):
            ends = (index for index, one in enumerate(block) if isinstance(one, _ENDS))
            end = next(ends, len(block))
            dead = block[end + 1 :]
            if dead and id(dead[0]) in own and _can_go(dead, function, source):
                lines = source.whole_lines(dead[0], dead[-1])
                if lines is not None:
                    yield SpliceEdit(start=lines[0], end=lines[1])


def _can_go(dead: Block, function: Function, source: PythonFile) -> bool:
    """Return True if the function is the same one without these statements.

    A `yield` makes it a generator even if it never runs, and an assignment makes a name local.
    """
    nodes = [node for statement in dead for node in ast.walk(statement)]
    if any(isinstance(node, _SHAPES_FUNCTION) for node in nodes):
        return False
    start, end = source.span(dead[0])[0], source.span(dead[-1])[1]
    first, last = source.span(function)
    return not any(
        source.count_word(name, first, start) or source.count_word(name, end, last)
        for node in nodes
        for name in bound_by(node)
        if name
    )


def _redundant_pass(source: PythonFile) -> Iterator[SpliceEdit]:
    for block in source.blocks():
        # Of several `pass`, one may have to stay.
        others = [one for one in block if not _does_nothing(one)]
        for statement in block if others else ():
            if _does_nothing(statement):
                yield from _without(statement, source)


def _does_nothing(statement: ast.stmt) -> bool:
    """Return True for `pass` and `...`."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    is_ellipsis = isinstance(value, ast.Constant) and value.value is Ellipsis
    return isinstance(statement, ast.Pass) or is_ellipsis


def _without(statement: ast.stmt, source: PythonFile) -> Iterator[SpliceEdit]:
    """Yield the edit that removes a statement, unless a comment stands beside it."""
    lines = source.whole_lines(statement, statement)
    if lines is not None and b"#" not in source.content[slice(*lines)]:
        yield SpliceEdit(start=lines[0], end=lines[1])


def _last_return(source: PythonFile) -> Iterator[SpliceEdit]:
    for function in source.functions:
        for last in _last_statements(function.body):
            if isinstance(last, ast.Return) and last.value is None:
                yield from _without(last, source)


def _last_continue(source: PythonFile) -> Iterator[SpliceEdit]:
    for loop in source.nodes:
        for last in _last_statements(loop.body) if isinstance(loop, _LOOP) else ():
            if isinstance(last, ast.Continue):
                yield from _without(last, source)


def _last_statements(block: Block) -> Iterator[ast.stmt]:
    """Yield the statements after which a block ends, except those that are alone in theirs."""
    last = block[-1]
    if isinstance(last, ast.If):
        yield from _last_statements(last.body)
        yield from _last_statements(last.orelse) if last.orelse else ()
    elif len(block) > 1:
        yield last


def _else_pass(source: PythonFile) -> Iterator[SpliceEdit]:
    for node in source.nodes:
        if not isinstance(node, ast.If | ast.Try | _LOOP) or len(node.orelse) != 1:
            continue
        handlers = node.handlers if isinstance(node, ast.Try) else []
        before = handlers[-1].body[-1] if handlers else node.body[-1]
        start, end = source.span(before)[1], source.span(node.orelse[0])[1]
        is_pass = isinstance(node.orelse[0], ast.Pass)
        rest = source.content[end:].split(b"\n", 1)[0]
        if is_pass and not rest.strip() and _ELSE_PASS.fullmatch(source.content, start, end):
            yield SpliceEdit(start=start, end=end)


def _unused_globals(source: PythonFile) -> Iterator[SpliceEdit]:
    # In a nested function, the name could be one of the function around it.
    nested = {
        id(node)
        for function in source.functions
        for node in ast.walk(function)
        if node is not function
    }
    for function in source.functions:
        if id(function) in nested or source.is_reflective:
            continue
        nodes = [one for one in own_nodes(function) if not isinstance(one, ast.Nonlocal)]
        bound = {
            name for node in nodes if not isinstance(node, ast.Global) for name in bound_by(node)
        }
        own = set(map(id, nodes))
        for block in source.blocks(function):
            for one in block if len(block) > 1 else ():
                if isinstance(one, ast.Global) and id(one) in own and not bound & set(one.names):
                    yield from _without(one, source)


RULES = (
    Rule(
        "unreachable",
        "remove {things}",
        "unreachable part",
        "it stands after a return, raise, break or continue, and neither makes the function a "
        "generator nor a name local",
        _unreachable,
    ),
    Rule(
        "redundant-pass",
        "remove {things}",
        "redundant pass statement",
        "the block has another statement",
        _redundant_pass,
    ),
    Rule(
        "else-pass",
        "remove {things}",
        "empty else branch",
        "the branch is a single pass, so it does nothing",
        _else_pass,
        plural="empty else branches",
    ),
    Rule(
        "unused-global",
        "remove {things}",
        "redundant global statement",
        "the function only reads the names, and no function surrounds it",
        _unused_globals,
    ),
    Rule(
        "redundant-continue",
        "remove {things}",
        "redundant continue",
        "a loop goes on after its last statement anyway",
        _last_continue,
    ),
    Rule(
        "redundant-return",
        "remove {things}",
        "redundant return",
        "a function ends after its last statement anyway",
        _last_return,
    ),
)
