"""The functions and classes of a Python file, by qualified name, and the lines they take."""

import ast
from collections.abc import Iterator

from pydantic import ConfigDict

from bot.fixers.rung2_model.edits.lines import BOM
from sandbox.changes.syntax import parse
from sandbox.types import Frozen

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Symbol(Frozen):
    """A function or class."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    name: str
    """`Class.method`, `outer.inner`."""
    node: Definition
    nested: bool
    """Inside a function."""

    @property
    def first(self) -> int:
        """Index of its first line, decorators included."""
        return min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)]) - 1

    @property
    def end(self) -> int:
        """Index behind its last line."""
        return self.node.end_lineno or self.node.lineno

    def is_named(self, name: str) -> bool:
        """Whether it goes by this name, whole or the last parts of it."""
        return self.name == name or self.name.endswith("." + name)


def tree_of(text: str) -> ast.Module | None:
    """The syntax tree of a file, with lines counted as we count them; None where there is none."""
    text = text.removeprefix(BOM).replace("\r\n", "\n")
    # Python ends lines at a lone carriage return, too.
    return None if "\r" in text else parse(text)


def symbols(tree: ast.AST, prefix: str = "", *, nested: bool = False) -> Iterator[Symbol]:
    """All functions and classes below a node, outer ones first; those in `if` and `try` too."""
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


def form_of(node: ast.AST) -> str:
    """What a piece of code says, without its layout; of one nested too deeply, something equal to nothing else."""
    try:
        return ast.dump(node)
    except RecursionError:
        return f"<{id(node)}>"
