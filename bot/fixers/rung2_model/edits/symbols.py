"""Functions and classes of a Python file, with their qualified names and lines."""

import ast
from collections.abc import Iterator

from pydantic import ConfigDict

from bot.fixers.rung2_model.edits.lines import BOM
from sandbox.changes.syntax import parse
from sandbox.languages.outline import TITLES
from sandbox.types import Frozen

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Symbol(Frozen):
    """A function or class."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    """Such as `Class.method` or `outer.inner`."""
    node: Definition
    nested: bool
    """True inside a function."""

    @property
    def first(self) -> int:
        """Return the index of its first line, decorators included."""
        return min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)]) - 1

    @property
    def end(self) -> int:
        """Return the index after its last line."""
        return self.node.end_lineno or self.node.lineno


def is_named(whole: str, name: str) -> bool:
    """Return True if a name equals a qualified name, or its last parts."""
    return whole == name or whole.endswith((f".{name}", f"{TITLES}{name}"))


def parse_file(text: str) -> ast.Module | None:
    """Parse a file; return None if it is invalid or its line numbers would differ from ours."""
    text = text.removeprefix(BOM).replace("\r\n", "\n")
    # Python also ends lines at a lone carriage return; our line numbers would differ.
    return None if "\r" in text else parse(text)


def symbols(tree: ast.AST, prefix: str = "", *, nested: bool = False) -> Iterator[Symbol]:
    """Yield all functions and classes below a node, outer ones first."""
    waiting = [(tree, prefix, nested)]
    while waiting:
        node, prefix, nested = waiting.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Definition):
                name = f"{prefix}{child.name}"
                yield Symbol(name=name, node=child, nested=nested)
                inside = nested or not isinstance(child, ast.ClassDef)
                waiting.append((child, f"{name}.", inside))
            elif isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                waiting.append((child, prefix, nested))


def normal_form(node: ast.AST) -> str:
    """Return a text that is equal for equal code, ignoring layout.

    Code nested too deeply equals nothing else.
    """
    try:
        return ast.dump(node)
    except RecursionError:
        return f"<{id(node)}>"
