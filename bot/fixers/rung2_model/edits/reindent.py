"""A function as a model wrote it, indented as the file indents the one it replaces; strings stay as they are."""

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
    """What tokens say of the lines of a piece of code, by number."""

    depths: dict[int, int]
    """How deep each statement (and each `else`) is nested, by the line it begins on."""
    inside: frozenset[int]
    """Lines that begin inside a string."""


def reindented(code: Sequence[str], node: Definition, old: Sequence[str], old_node: Definition) -> list[str]:
    """The lines of a definition, as far in as the one it replaces.

    Args:
        code: The lines `node` was parsed from, with its line numbers.
        node: The new definition.
        old: The lines of the file.
        old_node: The definition in the file.
    """
    layout = _layout(code)
    numbers = range(first_line(node), (node.end_lineno or node.lineno) + 1)
    base = indentation(old[old_node.lineno - 1])
    own = layout.depths.get(numbers[0], 0)
    unit = _unit(old, old_node, base)
    targets = {number: base + unit * max(depth - own, 0) for number, depth in layout.depths.items()}
    shifted = _moved(code, numbers, targets, frozenset())
    kept = _moved(code, numbers, targets, layout.inside - _documentation(node))
    return shifted if _resembles(shifted, old_node) > _resembles(kept, old_node) else kept


def first_line(node: Definition) -> int:
    """The number of its first line, decorators included."""
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def documentation_of(node: Definition) -> ast.Expr | None:
    """The docstring, as a statement."""
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first
    return None


def _unit(lines: Sequence[str], node: Definition, base: str) -> str:
    """How much further in the body of a definition is."""
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
        pass  # it was parsed: what little is left behind this is moved as it stands
    return _Layout(depths=depths, inside=frozenset(inside))


def _moved(code: Sequence[str], numbers: range, targets: dict[int, str], frozen: frozenset[int]) -> list[str]:
    """The lines with the indentation of the statements they belong to; a comment has that of the lines as far in."""
    leads = {indentation(code[number - 1]): targets[number] for number in numbers if number in targets}
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
            lines.append(target + (line[len(lead) :] if own.startswith(lead) else line.lstrip(" \t")))
    return lines


def _documentation(node: Definition) -> frozenset[int]:
    lines: set[int] = set()
    for each in ast.walk(node):
        if isinstance(each, Definition) and (text := documentation_of(each)) is not None:
            lines.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return frozenset(lines)


def _resembles(lines: Sequence[str], old: Definition) -> int:
    """How many strings a version has in common with the definition it replaces."""
    indented = bool(lines) and lines[0][:1] in {" ", "\t"}
    tree = parse("\n".join(["if 1:", *lines] if indented else lines))
    return -1 if tree is None else sum((_strings(tree) & _strings(old)).values())


def _strings(node: ast.AST) -> Counter[str]:
    return Counter(
        each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )
