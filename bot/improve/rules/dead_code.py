"""Statements that can never run, or do nothing."""

import ast
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
        others = [one for one in block if not isinstance(one, ast.Pass)]
        for statement in block if others else ():
            lines = source.whole_lines(statement, statement)
            if not isinstance(statement, ast.Pass) or lines is None:
                continue
            if b"#" not in source.content[slice(*lines)]:
                yield SpliceEdit(start=lines[0], end=lines[1])


def _last_return(source: PythonFile) -> Iterator[SpliceEdit]:
    for function in source.functions:
        last = function.body[-1]
        if len(function.body) == 1 or not isinstance(last, ast.Return) or last.value is not None:
            continue
        lines = source.whole_lines(last, last)
        if lines is not None and b"#" not in source.content[slice(*lines)]:
            yield SpliceEdit(start=lines[0], end=lines[1])


RULES = (
    Rule(
        "unreachable",
        "remove {count} unreachable part{s}",
        "it stands after a return, raise, break or continue, and neither makes the function a "
        "generator nor a name local",
        _unreachable,
    ),
    Rule(
        "redundant-pass",
        "remove {count} redundant pass statement{s}",
        "the block has another statement",
        _redundant_pass,
    ),
    Rule(
        "redundant-return",
        "remove {count} redundant return{s}",
        "a function ends after its last statement anyway",
        _last_return,
    ),
)
