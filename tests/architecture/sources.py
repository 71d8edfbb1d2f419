"""Facts about our source files, each parsed once for all tests."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.architecture.tracked import ROOT

SOURCES = sorted(p for folder in ("bot", "sandbox") for p in (ROOT / folder).rglob("*.py"))
LOG_METHODS = frozenset({"debug", "info", "warning", "error", "exception"})
PLAIN = {"property", "staticmethod", "classmethod", "contextmanager", "asynccontextmanager"}
"""Decorators that register nothing; one that does is a use."""
Text = tuple[int, str]
"""A line number and its text."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Function:
    """A function with its size."""

    name: str
    line: int
    lines: int
    nodes: int
    """Syntax nodes, without those that only say load or store."""


@dataclass(frozen=True)
class Source:
    """What the tests ask about one file."""

    docstring: str | None
    docstrings: tuple[Text, ...]
    """Every text that stands alone as a statement: docstrings, and those of attributes."""
    comments: tuple[Text, ...]
    log_lines: tuple[Text, ...]
    functions: tuple[Function, ...]
    defined: frozenset[str]
    """Functions, classes, methods and constants of the module."""
    used: frozenset[str]
    """Names that the module reads, also in text; an import or `__all__` alone is no use."""


@cache
def read(path: Path) -> Source:
    """Parse a file, and keep only what the tests ask: its syntax tree would slow down the rest."""
    text = path.read_text()
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    return Source(
        docstring=ast.get_docstring(tree),
        docstrings=tuple(_docstrings(nodes)),
        comments=tuple(_comments(text)),
        log_lines=tuple(_log_lines(nodes)),
        functions=tuple(_function(node) for node in nodes if isinstance(node, _FUNCTIONS)),
        defined=frozenset(_definitions(tree, nodes)),
        used=frozenset(_uses(nodes)),
    )


def _docstrings(nodes: list[ast.AST]) -> Iterator[Text]:
    for node in nodes:
        text = node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.lineno, text.value.strip()


def _comments(text: str) -> Iterator[Text]:
    if "#" not in text:
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _log_lines(nodes: list[ast.AST]) -> Iterator[Text]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            owner, text = node.func.value, node.args[0]
            is_log = isinstance(owner, ast.Name) and owner.id.strip("_") in {"log", "logger"}
            if is_log and node.func.attr in LOG_METHODS and isinstance(text, ast.Constant):
                yield node.lineno, str(text.value)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    return Function(
        name=node.name,
        line=node.lineno,
        lines=(node.end_lineno or 0) - node.lineno + 1,
        nodes=sum(not isinstance(part, ast.expr_context) for part in ast.walk(node)),
    )


def _definitions(tree: ast.Module, nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and (
            {ast.unparse(decorator) for decorator in node.decorator_list} <= PLAIN
        ):
            yield node.name
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _uses(nodes: list[ast.AST]) -> Iterator[str]:
    left_out: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Expr):
            left_out.add(node.value)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            left_out.update(ast.walk(node.value))
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.alias(name=name, asname=str()):
                yield name
            case ast.Constant(value=str(text)) if node not in left_out:
                yield from re.findall(r"\w+", text)
