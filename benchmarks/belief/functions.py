"""Find functions in a text by their qualified name, and replace one."""

import ast
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.sets.judge import same_program

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Placed:
    """A function in a text.

    Attributes:
        name: Its qualified name.
        node: Its syntax tree.
        first: Its first line, decorators included, from 0.
        last: The line after it.
    """

    name: str
    node: Function
    first: int
    last: int


def functions_in(text: str) -> dict[str, Placed]:
    """Return the outermost functions and methods of a text that are defined once."""
    found: dict[str, list[Placed]] = {}
    for one in _placed(ast.parse(text).body, ""):
        found.setdefault(one.name, []).append(one)
    return {name: ones[0] for name, ones in found.items() if len(ones) == 1}


def _placed(body: Sequence[ast.stmt], prefix: str) -> Iterator[Placed]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield Placed(prefix + node.name, node, first - 1, node.end_lineno or first)
        elif isinstance(node, ast.ClassDef):
            yield from _placed(node.body, f"{prefix}{node.name}.")


def source_of(text: str, one: Placed) -> str:
    """Return a function's own text."""
    return "".join(text.splitlines(keepends=True)[one.first : one.last])


def with_function(text: str, one: Placed, new: str) -> str:
    """Return a text in which a function is replaced.

    Args:
        text: The text that the function is in.
        one: The function.
        new: Its new text, indented or not.
    """
    lines = text.splitlines(keepends=True)
    indent = lines[one.first][: len(lines[one.first]) - len(lines[one.first].lstrip())]
    body = textwrap.indent(textwrap.dedent(new), indent)
    end = "" if body.endswith("\n") else "\n"
    return "".join([*lines[: one.first], body + end, *lines[one.last :]])


def changed_function(broken: str, right: str) -> tuple[Placed, Placed] | None:
    """Return the only function that a fix changes, before and after; None if there is more."""
    try:
        before, after = functions_in(broken), functions_in(right)
    except (SyntaxError, ValueError, RecursionError):
        return None
    differing = [
        name
        for name in before
        if name in after and ast.dump(before[name].node) != ast.dump(after[name].node)
    ]
    if len(differing) != 1:
        return None
    old, new = before[differing[0]], after[differing[0]]
    fixed = with_function(broken, old, source_of(right, new))
    return (old, new) if same_program(fixed, right) else None
