"""Indent a model's function like the one it replaces; string contents are kept."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence

from bot.fixers.rung2_model.edits.match import indentation
from bot.fixers.rung2_model.edits.symbols import Definition
from sandbox.changes.syntax import parse
from sandbox.types import Frozen

_F_STRING = getattr(tokenize, "FSTRING_MIDDLE", -1)
_SILENT = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT})
_USUAL = "    "


class _Layout(Frozen):
    """Token positions in a piece of code, by line number."""

    depths: dict[int, int]
    """Nesting depth of each statement (and each `else`), by its first line."""
    inside: frozenset[int]
    """Lines that begin inside a string."""


def reindent_definition(
    code: Sequence[str], node: Definition, old: Sequence[str], old_node: Definition
) -> list[str]:
    """Return a definition's lines, indented like the one it replaces.

    Args:
        code: The lines that `node` was parsed from.
        node: The new definition.
        old: Lines of the file.
        old_node: The definition in the file.
    """
    layout = _layout(code)
    numbers = range(first_line(node), (node.end_lineno or node.lineno) + 1)
    base = indentation(old[old_node.lineno - 1])
    own = layout.depths.get(numbers[0], 0)
    unit = _unit(old, old_node, base)
    targets = {number: base + unit * max(depth - own, 0) for number, depth in layout.depths.items()}
    # The model may have moved multi-line strings with the code, or not.
    shifted = _move(code, numbers, targets, frozenset())
    kept = _move(code, numbers, targets, layout.inside - _documentation(node))
    return shifted if _resembles(shifted, old_node) > _resembles(kept, old_node) else kept


def first_line(node: Definition) -> int:
    """Return the number of its first line, decorators included."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def docstring_node(node: Definition) -> ast.Expr | None:
    """Return the docstring as a statement; None if there is none."""
    first = node.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        return first
    return None


def _unit(lines: Sequence[str], node: Definition, base: str) -> str:
    """Return the indentation unit of a definition's body."""
    inner = indentation(lines[node.body[0].lineno - 1])
    if node.body[0].lineno > node.lineno and inner.startswith(base) and inner != base:
        return inner[len(base) :]
    return next((lead for line in lines if line.strip() and (lead := indentation(line))), _USUAL)


def _layout(code: Sequence[str]) -> _Layout:
    depths: dict[int, int] = {}
    inside: set[int] = set()
    depth, begins = 0, True
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join([*code, ""])).readline):
            depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
            if begins and token.type not in _SILENT:
                depths[token.start[0]] = depth
            if token.type not in _SILENT:
                begins = token.type == tokenize.NEWLINE
            if token.type in {tokenize.STRING, _F_STRING}:
                inside.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        pass  # the code was parsed before: the rest is moved unchanged
    return _Layout(depths=depths, inside=frozenset(inside))


def _move(
    code: Sequence[str], numbers: range, targets: dict[int, str], frozen: frozenset[int]
) -> list[str]:
    """Return the lines with their statements' indentation.

    A comment takes the indentation of statements at its level.
    """
    leads = {
        indentation(code[number - 1]): targets[number] for number in numbers if number in targets
    }
    lines, lead, target = list[str](), "", ""
    for number in numbers:
        line = code[number - 1]
        own = indentation(line)
        if number in frozen:
            lines.append(line)
        elif not line.strip():
            lines.append("")
        elif number in targets:
            lead, target = own, targets[number]
            lines.append(target + line[len(own) :])
        elif line.lstrip().startswith("#") and own in leads:
            lines.append(leads[own] + line[len(own) :])
        else:
            lines.append(
                target + (line[len(lead) :] if own.startswith(lead) else line.lstrip(" \t"))
            )
    return lines


def _documentation(node: Definition) -> frozenset[int]:
    lines: set[int] = set()
    for each in ast.walk(node):
        if isinstance(each, Definition) and (text := docstring_node(each)) is not None:
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return frozenset(lines)


def _resembles(lines: Sequence[str], old: Definition) -> int:
    """Return the number of strings shared with the definition it replaces."""
    indented = bool(lines) and lines[0][:1] in {" ", "\t"}
    tree = parse("\n".join(["if 1:", *lines] if indented else lines))
    return -1 if tree is None else sum((_strings(tree) & _strings(old)).values())


def _strings(node: ast.AST) -> Counter[str]:
    return Counter(
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )
